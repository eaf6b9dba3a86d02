//! The API document: made from the routes, completed with what every route can answer.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{OpenApi, ToSchema};

use super::problem::ProblemBody;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "askd",
        description = "One durable inbox for every question that coding agents ask their human. Errors are application/problem+json with a stable `code`.",
        license(name = "MIT OR Apache-2.0")
    ),
    components(schemas(ProblemBody))
)]
struct Document;

/// What any route may answer beside its own success.
const PROBLEMS: [(&str, &str); 12] = [
    ("400", "The request does not fit; `errors` names the fields."),
    ("401", "A valid token is needed."),
    ("403", "The token lacks a right, or the Host or Origin is not allowed."),
    ("404", "There is no such thing."),
    ("405", "The method is not allowed here."),
    ("409", "It was settled in another way before, or the key was used with another request."),
    ("413", "The body is too large."),
    ("414", "The address is too long."),
    ("415", "The body must be application/json."),
    ("429", "Too many at one time; try again after Retry-After seconds."),
    ("431", "The header is too large."),
    ("503", "The store cannot be used now, or the hub is stopping."),
];

pub fn base() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// Adds the problems and the bearer token to every operation.
pub fn complete(mut api: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    let components = api.components.get_or_insert_default();
    components.security_schemes.insert("token".to_owned(), RefOr::T(bearer));
    api.security = Some(vec![SecurityRequirement::new("token", [] as [&str; 0])]);
    for path in api.paths.paths.values_mut() {
        let operations = [&mut path.get, &mut path.post, &mut path.delete];
        for operation in operations.into_iter().flatten() {
            for (status, description) in PROBLEMS {
                let responses = &mut operation.responses.responses;
                responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(problem(description)));
            }
        }
    }
    api
}

fn problem(description: &str) -> Response {
    let schema = Ref::from_schema_name(ProblemBody::name());
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(description).content("application/problem+json", content).build()
}

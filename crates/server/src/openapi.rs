//! The API document: made from the routes, with the responses that all routes share.

use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder, Schema};
use utoipa::{OpenApi, ToSchema};

use super::problem::ProblemBody;
use super::questions::OrderName;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "askd",
        description = "One durable inbox for every question that coding agents ask their human. Errors are application/problem+json with a stable `code`.",
        license(name = "MIT OR Apache-2.0")
    ),
    components(schemas(ProblemBody, OrderName))
)]
struct Document;

/// Every refusal, by its status.
const PROBLEMS: [(&str, &str); 12] = [
    ("400", "The request does not fit; `errors` names the fields."),
    ("401", "A valid token, or log-in code, is needed."),
    ("403", "The token lacks a right, or the Host or Origin is not allowed."),
    ("404", "There is no such thing."),
    ("405", "The method is not allowed here."),
    (
        "409",
        "It was settled in another way before, the key was used with another request, or the agent cannot do this now.",
    ),
    ("413", "The body is too large."),
    ("414", "The address is too long."),
    ("415", "The body must be application/json."),
    ("429", "Too many at one time; try again after Retry-After seconds."),
    ("431", "The header is too large."),
    ("503", "The store cannot be used now, or the hub is stopping."),
];

/// Refusals of every operation.
const ALWAYS: [&str; 6] = ["400", "403", "405", "414", "431", "503"];

/// Refusals of some operations, beside those that follow from their form.
const SOMETIMES: [(&str, &[&str]); 20] = [
    ("askQuestion", &["409", "429"]),
    ("getQuestion", &["429"]),
    ("replyToQuestion", &["409"]),
    ("rejectQuestion", &["409"]),
    ("withdrawQuestion", &["409"]),
    ("sendAnswerAsMessage", &["409"]),
    ("streamEvents", &["429"]),
    ("streamTranscript", &["429"]),
    ("startSession", &["404", "409"]),
    ("sendMessage", &["409"]),
    ("sendAcpMessage", &["404", "409", "429"]),
    ("streamAcp", &["404", "429"]),
    ("endAcpServer", &["404", "409"]),
    ("replyToSessionQuestion", &["404", "409"]),
    ("rejectSessionQuestion", &["404", "409"]),
    ("streamSessionEvents", &["404", "429"]),
    ("attachSource", &["409"]),
    ("connectPlugin", &["429"]),
    ("reportClaudeHook", &["409", "429"]),
    ("answerQuestionOfAgent", &["409"]),
];

/// Descriptions of successes for routes without one.
const SUCCESSES: [(&str, &str); 4] = [
    ("200", "What was asked for."),
    ("201", "It was made."),
    ("202", "It was taken, and will be done."),
    ("204", "It was done."),
];

pub fn base() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// Adds the refusals and the bearer token to every operation.
pub fn complete(mut api: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    let components = api.components.get_or_insert_default();
    components.security_schemes.insert("token".to_owned(), RefOr::T(bearer));
    api.security = Some(vec![SecurityRequirement::new("token", [] as [&str; 0])]);
    for (status, description) in PROBLEMS {
        components.responses.insert(component(status), RefOr::T(problem(description)));
    }
    for (path, item) in &mut api.paths.paths {
        let operations = [&mut item.get, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            complete_operation(path, operation);
        }
    }
    api
}

/// The name of a refusal among the document's shared responses.
fn component(status: &str) -> String {
    format!("Problem{status}")
}

fn complete_operation(path: &str, operation: &mut Operation) {
    let id = operation.operation_id.as_deref().unwrap_or_default();
    let mut statuses = ALWAYS.to_vec();
    let open = operation.security.as_ref().is_some_and(|needed| *needed == [SecurityRequirement::default()]);
    if !open || operation.request_body.is_some() {
        statuses.push("401");
    }
    if path.contains('{') {
        statuses.push("404");
    }
    if operation.request_body.is_some() {
        statuses.extend(["413", "415"]);
    }
    for (_, more) in SOMETIMES.iter().filter(|(name, _)| *name == id) {
        statuses.extend(*more);
    }
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            parameter.schema = parameter.schema.take().map(without_null);
        }
    }
    let responses = &mut operation.responses.responses;
    for (status, response) in responses.iter_mut() {
        let said = SUCCESSES.iter().find(|(known, _)| known == status);
        if let (RefOr::T(response), Some((_, said))) = (response, said)
            && response.description.is_empty()
        {
            response.description = (*said).to_owned();
        }
    }
    for status in statuses {
        let shared = RefOr::Ref(Ref::from_response_name(component(status)));
        responses.entry(status.to_owned()).or_insert(shared);
    }
}

/// A parameter can be left out, but there is no way to write a null into an address or a header.
fn without_null(schema: RefOr<Schema>) -> RefOr<Schema> {
    match schema {
        RefOr::T(Schema::Object(mut object)) => {
            if let SchemaType::Array(types) = &object.schema_type
                && let [only] = types.iter().filter(|kind| **kind != Type::Null).collect::<Vec<_>>()[..]
            {
                object.schema_type = SchemaType::Type(only.clone());
            }
            RefOr::T(Schema::Object(object))
        }
        RefOr::T(Schema::OneOf(mut choice)) => {
            choice.items.retain(|item| !is_null(item));
            if choice.items.len() == 1 { choice.items.remove(0) } else { RefOr::T(Schema::OneOf(choice)) }
        }
        other => other,
    }
}

fn is_null(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.schema_type == SchemaType::Type(Type::Null))
}

fn problem(description: &str) -> Response {
    let schema = Ref::from_schema_name(ProblemBody::name());
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(description).content("application/problem+json", content).build()
}

//! `/v1/tokens`, and the log-in of a browser: a one-time code in a link's fragment, exchanged for a token. No
//! cookie.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::{Right, Rights, Timestamp, TokenId};
use askd_hub::TokenRecord;

use super::extract::{Id, Json};
use super::problem::{Code, Problem};
use super::state::AppState;
use super::wait::json;
use askd_hub::{Access, Caller, now};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(revoke))
        .routes(routes!(login_code))
        .routes(routes!(log_in))
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct Token {
    id: TokenId,
    name: String,
    rights: Rights,
    created_at: Timestamp,
}

impl From<TokenRecord> for Token {
    fn from(record: TokenRecord) -> Self {
        Self { id: record.id, name: record.name, rights: record.rights, created_at: record.created_at }
    }
}

#[derive(Serialize, utoipa::ToSchema)]
struct TokenList {
    tokens: Vec<Token>,
}

/// All tokens, without the tokens themselves.
#[utoipa::path(get, path = "/v1/tokens", operation_id = "listTokens", tag = "tokens", responses((status = 200, body = TokenList)))]
async fn list(State(access): State<Access>, caller: Caller) -> Result<Response, Problem> {
    let tokens = access.list(&caller)?.into_iter().map(Token::from).collect();
    Ok(json(StatusCode::OK, &TokenList { tokens }))
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenInput {
    #[schema(min_length = 1, max_length = 256)]
    name: String,
    #[schema(min_items = 1)]
    rights: Vec<Right>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreatedToken {
    #[serde(flatten)]
    token_record: Token,
    /// The token itself, shown this once.
    token: String,
}

/// Create a token. A token can hand out only rights that it has.
#[utoipa::path(post, path = "/v1/tokens", operation_id = "createToken", tag = "tokens", request_body = TokenInput, responses((status = 201, body = CreatedToken)))]
async fn create(
    State(access): State<Access>,
    caller: Caller,
    Json(input): Json<TokenInput>,
) -> Result<Response, Problem> {
    let made = access.create(&caller, &input.name, Rights::new(input.rights)).await?;
    Ok(json(StatusCode::CREATED, &CreatedToken { token_record: made.record.into(), token: made.token }))
}

/// Revoke a token; it is refused from now on.
#[utoipa::path(delete, path = "/v1/tokens/{id}", operation_id = "revokeToken", params(("id" = TokenId, Path, description = "The id of the token.")), tag = "tokens", responses((status = 204)))]
async fn revoke(
    State(access): State<Access>,
    caller: Caller,
    Id(id): Id<TokenId>,
) -> Result<Response, Problem> {
    access.revoke(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreatedCode {
    code: String,
    /// The link to open. Its fragment has the code, and browsers do not send fragments.
    url: String,
    expires_at: Timestamp,
}

/// A one-time code that a browser exchanges for a token with the rights of this one.
#[utoipa::path(post, path = "/v1/login-codes", operation_id = "createLoginCode", tag = "tokens", responses((status = 201, body = CreatedCode)))]
async fn login_code(State(state): State<AppState>, caller: Caller) -> Result<Response, Problem> {
    // A token without `read` needs no page, and must not replace a person's code.
    caller.needs(Right::Read)?;
    let made = state.hub.access.login_code(&caller)?;
    let url = format!("{}/#login={}", state.public_url, made.code);
    let life = i64::try_from(made.life.as_millis()).unwrap_or(i64::MAX);
    Ok(json(StatusCode::CREATED, &CreatedCode { code: made.code, url, expires_at: now().plus_millis(life) }))
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct LoginInput {
    code: String,
}

#[derive(Serialize, utoipa::ToSchema)]
struct LoggedIn {
    token: String,
}

/// Exchange a log-in code for a token. Needs no token. The token lasts from its first use on, which must come
/// within five minutes.
#[utoipa::path(post, path = "/v1/login", operation_id = "logIn", tag = "tokens", security(()), request_body = LoginInput, responses((status = 200, body = LoggedIn)))]
async fn log_in(State(access): State<Access>, Json(input): Json<LoginInput>) -> Result<Response, Problem> {
    match access.log_in(&input.code)? {
        Some(made) => Ok(json(StatusCode::OK, &LoggedIn { token: made.token })),
        None => Err(Problem::new(Code::LoginRefused, "make a new link with: askd open")),
    }
}

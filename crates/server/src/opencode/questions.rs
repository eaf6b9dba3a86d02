//! The list, the reply and the rejection. Unlike the real server askd checks the answers: what does not fit
//! is a 400.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use askd_core::answer::{Rejection, Reply};
use askd_core::{Question, QuestionId, Reading, RejectMode, Right, Status};
use askd_hub::{Order, QuestionFilter};

use super::super::limits::{MAX_BODY_BYTES, MAX_LIST};
use super::auth::Client;
use super::scope::Scope;
use super::wire;
use askd_hub::{Caller, EngineError, Questions};

/// Open questions in one list; these clients know no pages.
const MAX_LISTED: usize = 10_000;

type Refusal = Box<Response>;

fn refuse(status: StatusCode, body: Value) -> Refusal {
    Box::new((status, Json(body)).into_response())
}

fn not_found(id: &str) -> Refusal {
    refuse(StatusCode::NOT_FOUND, wire::not_found(id))
}

pub(super) fn failed(error: &EngineError, id: &str) -> Refusal {
    match error {
        // For these clients a settled question does not exist.
        EngineError::Conflict(_) | EngineError::NotFound(_) => not_found(id),
        EngineError::Invalid(errors) => {
            refuse(StatusCode::BAD_REQUEST, wire::bad_request(&errors.to_string(), "Payload"))
        }
        EngineError::Forbidden(right) => {
            let message = EngineError::Forbidden(*right).to_string();
            refuse(StatusCode::FORBIDDEN, json!({ "name": "Forbidden", "data": { "message": message } }))
        }
        error => {
            tracing::error!(%error, "a request of an OpenCode client failed");
            refuse(StatusCode::INTERNAL_SERVER_ERROR, wire::unknown_error("err_askd"))
        }
    }
}

pub async fn health() -> Response {
    Json(json!({ "healthy": true, "version": env!("CARGO_PKG_VERSION") })).into_response()
}

pub async fn list(State(questions): State<Questions>, Client(caller): Client, scope: Scope) -> Response {
    match open(&questions, &caller, &scope).await {
        Ok(list) => Json(list).into_response(),
        Err(error) => *failed(&error, ""),
    }
}

async fn open(questions: &Questions, caller: &Caller, scope: &Scope) -> Result<Vec<Value>, EngineError> {
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let filter = QuestionFilter { status: Some(Status::Requested), ..QuestionFilter::default() };
        let page = questions.list(caller, filter, Order::Asc, after, MAX_LIST).await?;
        listed.extend(page.questions.iter().filter(|question| scope.has(question)).map(wire::request));
        after = page.next;
        if after.is_none() || listed.len() >= MAX_LISTED {
            return Ok(listed);
        }
    }
}

/// The open question with this id.
async fn meant(questions: &Questions, caller: &Caller, scope: &Scope, id: &str) -> Result<Question, Refusal> {
    if !id.starts_with("que") {
        let message = format!("Expected a string starting with \"que\", got {id:?}\n  at [\"requestID\"]");
        return Err(refuse(StatusCode::BAD_REQUEST, wire::bad_request(&message, "Params")));
    }
    caller.needs(Right::Answer).map_err(|error| failed(&error, id))?;
    let parsed: QuestionId = id.parse().map_err(|_| not_found(id))?;
    let question = questions.question(caller, &parsed).await.map_err(|error| failed(&error, id))?;
    if question.is_open() && scope.has(&question) { Ok(question) } else { Err(not_found(id)) }
}

pub async fn reply(
    State(questions): State<Questions>,
    Client(caller): Client,
    scope: Scope,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match try_reply(&questions, &caller, &scope, &id, &headers, body).await {
        Ok(()) => Json(true).into_response(),
        Err(refusal) => *refusal,
    }
}

async fn try_reply(
    questions: &Questions,
    caller: &Caller,
    scope: &Scope,
    id: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<(), Refusal> {
    let mut answers = read_answers(headers, body).await?;
    let question = meant(questions, caller, scope, id).await?;
    // The real server reads a missing answer as none.
    if answers.len() < question.ask.questions.len() {
        answers.resize(question.ask.questions.len(), Vec::new());
    }
    let reply = Reply { reading: Reading::LabelsFirst, ..Reply::of(answers) };
    questions.reply(caller, &question.id, reply, None).await.map_err(|error| failed(&error, id))?;
    Ok(())
}

async fn read_answers(headers: &HeaderMap, body: Body) -> Result<Vec<Vec<String>>, Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let essence = kind.split(';').next().unwrap_or("").trim();
    if !essence.is_empty() && !essence.eq_ignore_ascii_case("application/json") {
        let text = format!("Unsupported content-type: {kind}");
        return Err(Box::new((StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response()));
    }
    let bad = |message: &str| refuse(StatusCode::BAD_REQUEST, wire::bad_request(message, "Payload"));
    let bytes = axum::body::to_bytes(body, MAX_BODY_BYTES).await.map_err(|_| bad("the body is too large"))?;
    if bytes.is_empty() {
        return Err(bad("Expected object, got undefined"));
    }
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|_| refuse(StatusCode::INTERNAL_SERVER_ERROR, wire::unknown_error("err_json")))?;
    let answers = value.get("answers").ok_or_else(|| bad("Missing key\n  at [\"answers\"]"))?;
    serde_json::from_value(answers.clone()).map_err(|_| {
        bad(&format!("Expected an array of arrays of strings, got {answers}\n  at [\"answers\"]"))
    })
}

/// For an OpenCode client a rejection stops the turn, so this route does that for every agent that has
/// `interrupt`.
pub async fn reject(
    State(questions): State<Questions>,
    Client(caller): Client,
    scope: Scope,
    Path(id): Path<String>,
) -> Response {
    let question = match meant(&questions, &caller, &scope, &id).await {
        Ok(question) => question,
        Err(refusal) => return *refusal,
    };
    let mode = question.ask.reject_modes.contains(&RejectMode::Interrupt).then_some(RejectMode::Interrupt);
    let rejection = Rejection { mode, reason: None };
    match questions.reject(&caller, &question.id, rejection, None).await {
        Ok(_) => Json(true).into_response(),
        Err(error) => *failed(&error, &id),
    }
}

//! The asking messages of a session, for clients that come after a question was asked, and for those that
//! check whether its tool call still runs.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

use askd_core::{Question, SessionId};
use askd_hub::{Order, QuestionFilter};

use super::super::limits::MAX_LIST;
use super::auth::Client;
use super::questions::failed;
use super::wire;
use askd_hub::{Caller, EngineError, Questions, Sessions};

/// The newest questions of a session that are shown: these clients know no pages.
const MAX_ASKED: usize = 1000;

pub async fn list(
    State(sessions): State<Sessions>,
    State(questions): State<Questions>,
    Client(caller): Client,
    Path(session): Path<String>,
) -> Response {
    match of_session(&sessions, &questions, &caller, &session).await {
        Ok(Some(messages)) => Json(messages).into_response(),
        Ok(None) => missing("Session", &session),
        Err(error) => *failed(&error, ""),
    }
}

pub async fn one(
    State(sessions): State<Sessions>,
    State(questions): State<Questions>,
    Client(caller): Client,
    Path((session, message)): Path<(String, String)>,
) -> Response {
    match of_session(&sessions, &questions, &caller, &session).await {
        Ok(Some(messages)) => match messages.into_iter().find(|each| each["info"]["id"] == message) {
            Some(found) => Json(found).into_response(),
            None => missing("Message", &message),
        },
        Ok(None) => missing("Session", &session),
        Err(error) => *failed(&error, ""),
    }
}

fn missing(noun: &str, id: &str) -> Response {
    (StatusCode::NOT_FOUND, Json(wire::missing(noun, id))).into_response()
}

/// One message for each asking one, oldest first; `None` for an unknown session.
async fn of_session(
    sessions: &Sessions,
    questions: &Questions,
    caller: &Caller,
    session: &str,
) -> Result<Option<Vec<Value>>, EngineError> {
    let Ok(id) = session.parse::<SessionId>() else { return Ok(None) };
    match sessions.get(caller, &id).await {
        Err(EngineError::NotFound(_)) => return Ok(None),
        known => drop(known?),
    }
    let asked = asked(questions, caller, &id).await?;
    let mut messages: Vec<Value> = Vec::new();
    for question in asked.iter().rev() {
        let (info, part) = wire::message(question);
        match messages.iter_mut().find(|message| message["info"]["id"] == info["id"]) {
            Some(Value::Object(message)) => {
                if let Some(Value::Array(parts)) = message.get_mut("parts") {
                    parts.push(part);
                }
            }
            _ => messages.push(json!({ "info": info, "parts": [part] })),
        }
    }
    Ok(Some(messages))
}

/// The newest first.
async fn asked(
    questions: &Questions,
    caller: &Caller,
    session: &SessionId,
) -> Result<Vec<Question>, EngineError> {
    let (mut asked, mut before) = (Vec::new(), None);
    loop {
        let filter = QuestionFilter { session: Some(session.clone()), ..QuestionFilter::default() };
        let page = questions.list(caller, filter, Order::Desc, before, MAX_LIST).await?;
        asked.extend(page.questions);
        before = page.next;
        if before.is_none() || asked.len() >= MAX_ASKED {
            return Ok(asked);
        }
    }
}

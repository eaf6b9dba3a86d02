//! The question routes of sandbox-agent v1, for clients that were written for it: reply, reject, and the
//! events of a session.
//!
//! In: askd's ids or the agent's own. Out: its shapes, in snake case. What askd knows and they do not
//! (several items, more ends than two) is in added fields; cancelled and expired are shown as rejected.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::answer::Rejection;
use askd_core::{
    Event, EventType, Question, Reading, Reply, Right, Seq, Session, ShownAnswer, Status, Surface,
};
use askd_hub::LoggedEvent;

use super::extract::{Json, Names, Query};
use super::problem::Problem;
use super::state::AppState;
use super::stream::{HEARTBEAT, LogFrames, LogStream, Reader, Streams, log_cursor, respond, trimmed};
use askd_hub::{Caller, EventLog, Questions, Sessions};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(reply)).routes(routes!(reject)).routes(routes!(events))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
struct QuestionReplyRequest {
    /// One array per item, in order: labels of options (a label comes before another option's value), or own
    /// words.
    answers: Vec<Vec<String>>,
}

/// Answer, as a client of sandbox-agent v1 does.
#[utoipa::path(post, path = "/v1/sessions/{id}/questions/{question_id}/reply", operation_id = "replyToSessionQuestion", tag = "sandbox-agent",
    params(("id" = String, Path, description = "The session, by askd's id or the agent's own."), ("question_id" = String, Path, description = "The question, by askd's id or the agent's own.")), request_body = QuestionReplyRequest,
    responses((status = 204)))]
async fn reply(
    State(questions): State<Questions>,
    caller: Caller,
    Names((session, question)): Names<(String, String)>,
    Json(request): Json<QuestionReplyRequest>,
) -> Result<Response, Problem> {
    let id = questions.find(&caller, &session, &question).await?;
    let reply = Reply { reading: Reading::LabelsFirst, ..Reply::of(request.answers) };
    questions.reply(&caller, &id, reply, None).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Reject, as a client of sandbox-agent v1 does.
#[utoipa::path(post, path = "/v1/sessions/{id}/questions/{question_id}/reject", operation_id = "rejectSessionQuestion", tag = "sandbox-agent",
    params(("id" = String, Path, description = "The session, by askd's id or the agent's own."), ("question_id" = String, Path, description = "The question, by askd's id or the agent's own.")), responses((status = 204)))]
async fn reject(
    State(questions): State<Questions>,
    caller: Caller,
    Names((session, question)): Names<(String, String)>,
) -> Result<Response, Problem> {
    let id = questions.find(&caller, &session, &question).await?;
    questions.reject(&caller, &id, Rejection::default(), None).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// One event in the shape of sandbox-agent v1.
#[derive(Serialize, utoipa::ToSchema)]
struct UniversalEvent<'a> {
    event_id: String,
    sequence: Seq,
    time: String,
    session_id: &'a str,
    native_session_id: &'a str,
    synthetic: bool,
    source: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    data: QuestionEventData<'a>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct QuestionEventData<'a> {
    question_id: &'a str,
    /// The text of the first item.
    prompt: &'a str,
    /// The labels of the first item's options.
    options: Vec<&'a str>,
    /// The first item's answer: a label, or own words.
    response: Option<String>,
    status: &'static str,
    /// All items.
    #[schema(value_type = Vec<Object>)]
    questions: &'a [askd_core::question::Item],
    /// All answers, one array of labels and own words per item.
    answers: Option<Vec<Vec<String>>>,
}

fn data(question: &Question) -> QuestionEventData<'_> {
    let first = question.ask.questions.first();
    let answers = question.outcome.as_ref().and_then(|outcome| outcome.answers.as_ref());
    let answers: Option<Vec<Vec<String>>> =
        answers.map(|answers| answers.iter().map(ShownAnswer::to_texts).collect());
    QuestionEventData {
        question_id: question.id.as_str(),
        prompt: first.map_or("", |item| item.question.as_str()),
        options: first
            .map(|item| item.options.iter().map(|option| option.label.as_str()).collect())
            .unwrap_or_default(),
        response: answers.as_ref().and_then(|answers| answers.first()?.first()).cloned(),
        status: match question.status {
            Status::Requested => "requested",
            Status::Answered => "answered",
            Status::Rejected | Status::Cancelled | Status::Expired => "rejected",
        },
        questions: &question.ask.questions,
        answers,
    }
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// Go on after this event; the stream starts at the beginning unless given.
    offset: Option<u64>,
}

/// The questions of a session as events in the shape of sandbox-agent v1.
#[utoipa::path(get, path = "/v1/sessions/{id}/events/sse", operation_id = "streamSessionEvents", tag = "sandbox-agent",
    params(("id" = String, Path, description = "The session, by askd's id or the agent's own."), EventsQuery, ("Last-Event-ID" = Option<String>, Header, description = "Go on after this event.")),
    responses((status = 200, content_type = "text/event-stream", body = UniversalEvent)))]
async fn events(
    State(log): State<EventLog>,
    State(sessions): State<Sessions>,
    State(streams): State<Streams>,
    caller: Caller,
    Names(session): Names<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.needs(Right::Read)?;
    let session = sessions.find(&session).await?;
    let cursor = log_cursor(&headers, ("offset", query.offset), 0, &log)?;
    let place = streams.take_place(&caller)?;
    let kept_after = log.trimmed_through().await?;
    let gap = (cursor < kept_after).then(|| Bytes::from(trimmed(cursor, kept_after)));
    let reader = SessionReader { log: LogStream::new(&log, cursor, kept_after), session };
    Ok(respond(place, gap, reader))
}

struct SessionReader {
    log: LogStream,
    session: Session,
}

impl Reader for SessionReader {
    async fn next(&mut self) -> Option<Bytes> {
        let session = &self.session;
        let frames = |page: &[Arc<LoggedEvent>]| {
            Bytes::from(page.iter().filter_map(|event| frame(session, event)).collect::<String>())
        };
        Some(match self.log.next(frames).await? {
            LogFrames::Bytes(bytes) => bytes,
            LogFrames::Trimmed { after, through } => Bytes::from(trimmed(after, through)),
            LogFrames::Quiet => HEARTBEAT,
        })
    }
}

fn frame(session: &Session, logged: &LoggedEvent) -> Option<String> {
    let kind = match logged.kind {
        EventType::QuestionRequested => "question.requested",
        EventType::QuestionResolved => "question.resolved",
        // Its answer did not arrive: for a client of this protocol it is asked anew.
        EventType::QuestionUpdated if logged.status == Some(Status::Requested) => "question.requested",
        _ => return None,
    };
    if logged.session.as_ref() != Some(&session.id) {
        return None;
    }
    let event: Event = serde_json::from_str(&logged.json).ok()?;
    let question = event.question?;
    if logged.kind == EventType::QuestionUpdated && question.failed_tries.is_empty() {
        return None;
    }
    let by_agent = question.outcome.as_ref().is_none_or(|outcome| outcome.by.surface == Surface::Agent);
    let universal = UniversalEvent {
        event_id: format!("evt_{}", event.seq),
        sequence: event.seq,
        time: event.at.to_string(),
        session_id: session.id.as_str(),
        native_session_id: &session.native_id,
        synthetic: !by_agent,
        source: if by_agent { "agent" } else { "daemon" },
        kind,
        data: data(&question),
    };
    let json = serde_json::to_string(&universal).ok()?;
    Some(format!("id: {}\ndata: {json}\n\n", event.seq))
}

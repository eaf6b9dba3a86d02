//! `/v1/questions`: ask, list, read, wait, reply, reject, withdraw.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::answer::Rejection;
use askd_core::{AskInput, Question, QuestionId, Reply, Right, Session, SessionId, Status, Timestamp};
use askd_hub::{Order, QuestionFilter};

use super::cursor::Cursor;
use super::extract::{Id, Json, Key, OptionalJson, Query};
use super::limits::{DEFAULT_LIST, MAX_LIST, MAX_SEARCH_CHARS, MAX_WAIT_SECONDS};
use super::problem::{Code, Problem};
use super::state::AppState;
use super::wait::{Waits, answer_when_ready, json};
use askd_hub::{Caller, EventLog, LateAnswers, Questions};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, ask))
        .routes(routes!(show))
        .routes(routes!(native))
        .routes(routes!(reply))
        .routes(routes!(reject))
        .routes(routes!(withdraw))
        .routes(routes!(send_as_message))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only questions with this status.
    status: Option<Status>,
    /// Only questions of this agent.
    agent: Option<String>,
    /// Only questions of this session.
    session: Option<SessionId>,
    /// Only the question of this tool call.
    call_id: Option<String>,
    /// Ended in whatever way (`true`), or still open.
    settled: Option<bool>,
    /// The exact folder of the question.
    project: Option<String>,
    /// Words in the question or its answer, without regard to case.
    #[param(max_length = 256)]
    text: Option<String>,
    /// Asked at or after this moment.
    since: Option<Timestamp>,
    /// Asked before this moment.
    until: Option<Timestamp>,
    /// `desc`, the newest first, unless given.
    order: Option<OrderName>,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
    /// Questions of one page; 50 unless given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
}

/// Newest first, or oldest first.
#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum OrderName {
    Desc,
    Asc,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct QuestionList {
    questions: Vec<Question>,
    next_cursor: Option<String>,
    /// The newest event this list has seen: `GET /v1/events?after=seq` goes on from here without a gap.
    seq: u64,
}

/// List questions, newest first unless `order=asc`.
#[utoipa::path(get, path = "/v1/questions", operation_id = "listQuestions", params(ListQuery), tag = "questions",
    responses((status = 200, body = QuestionList)))]
async fn list(
    State(questions): State<Questions>,
    State(log): State<EventLog>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let limit = query.limit.unwrap_or(DEFAULT_LIST);
    if !(1..=MAX_LIST).contains(&limit) {
        return Err(Problem::field("limit", "out_of_range", format!("must be 1 to {MAX_LIST}")));
    }
    if query.text.as_ref().is_some_and(|text| !(1..=MAX_SEARCH_CHARS).contains(&text.chars().count())) {
        let message = format!("must have 1 to {MAX_SEARCH_CHARS} characters");
        return Err(Problem::field("text", "out_of_range", message));
    }
    let order = match query.order {
        Some(OrderName::Asc) => Order::Asc,
        Some(OrderName::Desc) | None => Order::Desc,
    };
    let identity = log.identity();
    let after = query.cursor.map(|text| Cursor::parse(&text, identity, order)).transpose()?;
    let filter = QuestionFilter {
        status: query.status,
        agent: query.agent,
        session: query.session,
        call_id: query.call_id,
        settled: query.settled,
        project: query.project,
        text: query.text,
        since: query.since,
        until: query.until,
    };
    let page = questions.list(&caller, filter, order, after, limit).await?;
    let next_cursor = page.next.map(|seq| Cursor::text(seq, identity, order));
    Ok(json(StatusCode::OK, &QuestionList { questions: page.questions, next_cursor, seq: page.seq }))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WaitQuery {
    /// Seconds to wait until the question is settled.
    #[param(minimum = 0, maximum = 86400)]
    wait: Option<u64>,
}

impl WaitQuery {
    fn patience(&self) -> Result<Option<Duration>, Problem> {
        match self.wait {
            None | Some(0) => Ok(None),
            Some(seconds) if seconds <= MAX_WAIT_SECONDS => Ok(Some(Duration::from_secs(seconds))),
            Some(_) => Err(Problem::field(
                "wait",
                "out_of_range",
                format!("must be 0 to {MAX_WAIT_SECONDS} seconds"),
            )),
        }
    }

    /// The patience and a place to wait, if the caller wants to.
    fn turn(&self, waits: &Waits) -> Result<Option<(Duration, OwnedSemaphorePermit)>, Problem> {
        let place = |patience| Ok((patience, waits.take_place("ask again with ?wait a little later")?));
        self.patience()?.map(place).transpose()
    }
}

/// The question at once, or when it is settled or the patience is over.
async fn settled(
    questions: Questions,
    caller: Caller,
    id: QuestionId,
    status: StatusCode,
    wait: Option<(Duration, OwnedSemaphorePermit)>,
) -> Result<Response, Problem> {
    let Some((patience, turn)) = wait else {
        return Ok(json(status, &questions.question(&caller, &id).await?));
    };
    let work = async move {
        let question = questions.wait(&caller, &id, patience).await;
        drop(turn);
        question.map_err(Problem::from)
    };
    Ok(answer_when_ready(status, work))
}

/// Ask. Any program with the right `ask` may; the question is stored before the answer to this request is
/// sent.
#[utoipa::path(post, path = "/v1/questions", operation_id = "askQuestion", params(WaitQuery, IdempotencyHeader), tag = "questions",
    request_body = AskInput, responses((status = 201, body = Question)))]
async fn ask(
    State(questions): State<Questions>,
    State(waits): State<Waits>,
    caller: Caller,
    Query(query): Query<WaitQuery>,
    Key(key): Key,
    Json(input): Json<AskInput>,
) -> Result<Response, Problem> {
    // The place to wait comes first: a client that must come back must not have asked.
    let wait = query.turn(&waits)?;
    let question = questions.ask(&caller, input, key).await?;
    if wait.is_none() {
        return Ok(json(StatusCode::CREATED, &question));
    }
    settled(questions, caller, question.id, StatusCode::CREATED, wait).await
}

/// Names a request, so that a repetition has no further effect.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only its description is used; the header is read by extract::Key")]
struct IdempotencyHeader {
    /// Names this request, so that a repetition has no further effect.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255)]
    idempotency_key: Option<String>,
}

/// The person's surface, for the outcome.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only its description is used; the header is read with the token")]
struct SurfaceHeader {
    /// `web`, `terminal`, `cli`, `notification` or `api`; unless given, `api`.
    #[param(rename = "Askd-Surface", pattern = "^(web|terminal|cli|notification|api)$")]
    surface: Option<String>,
}

/// One question with its outcome and delivery.
#[utoipa::path(get, path = "/v1/questions/{id}", operation_id = "getQuestion", params(("id" = QuestionId, Path, description = "The id of the question."), WaitQuery), tag = "questions",
    responses((status = 200, body = Question)))]
async fn show(
    State(questions): State<Questions>,
    State(waits): State<Waits>,
    caller: Caller,
    Id(id): Id<QuestionId>,
    Query(query): Query<WaitQuery>,
) -> Result<Response, Problem> {
    let wait = query.turn(&waits)?;
    settled(questions, caller, id, StatusCode::OK, wait).await
}

/// The agent's own words for a question, byte for byte; `null` for one that came through the API.
#[utoipa::path(get, path = "/v1/questions/{id}/native", operation_id = "getNativeQuestion", params(("id" = QuestionId, Path, description = "The id of the question.")), tag = "questions",
    responses((status = 200, content_type = "application/json", body = serde_json::Value)))]
async fn native(
    State(questions): State<Questions>,
    caller: Caller,
    Id(id): Id<QuestionId>,
) -> Result<Response, Problem> {
    caller.needs(Right::Read)?;
    let native = questions.native(&caller, &id).await?;
    let bytes = native.unwrap_or_else(|| "null".to_owned());
    let raw = serde_json::value::RawValue::from_string(bytes);
    raw.map(|raw| json(StatusCode::OK, &raw)).map_err(|error| Problem::new(Code::Internal, error.to_string()))
}

/// Answer. The first valid answer wins; the same one again succeeds again; another one gets 409 with the
/// winner.
#[utoipa::path(post, path = "/v1/questions/{id}/reply", operation_id = "replyToQuestion", params(("id" = QuestionId, Path, description = "The id of the question."), IdempotencyHeader, SurfaceHeader), tag = "questions",
    request_body = Reply, responses((status = 200, body = Question)))]
async fn reply(
    State(questions): State<Questions>,
    caller: Caller,
    Id(id): Id<QuestionId>,
    Key(key): Key,
    Json(reply): Json<Reply>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &questions.reply(&caller, &id, reply, key).await?))
}

/// Reject. `rejectModes` of the question lists the modes.
#[utoipa::path(post, path = "/v1/questions/{id}/reject", operation_id = "rejectQuestion", params(("id" = QuestionId, Path, description = "The id of the question."), IdempotencyHeader, SurfaceHeader), tag = "questions",
    request_body = Option<Rejection>, responses((status = 200, body = Question)))]
async fn reject(
    State(questions): State<Questions>,
    caller: Caller,
    Id(id): Id<QuestionId>,
    Key(key): Key,
    OptionalJson(rejection): OptionalJson<Rejection>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &questions.reject(&caller, &id, rejection, key).await?))
}

/// Send an answer that did not reach its agent as the next message of its conversation: the call that asked
/// is gone, and askd leads its session, or the one session that it started to go on with the conversation.
/// Otherwise 409, with the answer as a text to send by hand; 409 too where the agent could not be told, and
/// then it can be sent again.
#[utoipa::path(post, path = "/v1/questions/{id}/send-as-message", operation_id = "sendAnswerAsMessage", params(("id" = QuestionId, Path, description = "The id of the question.")), tag = "questions",
    responses((status = 202, description = "The session that got the message.", body = Session)))]
async fn send_as_message(
    State(late_answers): State<LateAnswers>,
    caller: Caller,
    Id(id): Id<QuestionId>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::ACCEPTED, &late_answers.send_as_message(&caller, &id).await?))
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct Withdrawal {
    #[serde(default)]
    reason: Option<String>,
}

/// The asker takes its own question back: it ends as `cancelled`.
#[utoipa::path(post, path = "/v1/questions/{id}/withdraw", operation_id = "withdrawQuestion", params(("id" = QuestionId, Path, description = "The id of the question."), SurfaceHeader), tag = "questions",
    request_body = Option<Withdrawal>, responses((status = 200, body = Question)))]
async fn withdraw(
    State(questions): State<Questions>,
    caller: Caller,
    Id(id): Id<QuestionId>,
    OptionalJson(withdrawal): OptionalJson<Withdrawal>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &questions.withdraw(&caller, &id, withdrawal.reason).await?))
}

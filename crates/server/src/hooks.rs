//! `/v1/hooks`: reports of an agent's own hooks, and the replies. The right `ask` is enough: a hook can ask,
//! and fetch the decision of its own question; it can answer nothing.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::QuestionId;

use super::extract::{AgentsJson, Id, Json, Query};
use super::limits::MAX_WAIT_SECONDS;
use super::problem::{Code, Problem};
use super::state::AppState;
use super::wait::{Waits, answer_when_ready, json};
use askd_hub::{Caller, HookHeard, HookReport, HookWord, LocalAgents};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(report_hook)).routes(routes!(hook_took))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct HookQuery {
    /// Seconds to wait for the reply.
    #[param(minimum = 0, maximum = 86400)]
    wait: Option<u64>,
}

/// A hook of Claude Code reports what it was given. The question is stored before this is answered. The same
/// report again, after a lost connection or a restart of the hub, is the same question.
#[utoipa::path(post, path = "/v1/hooks/claude", operation_id = "reportClaudeHook", params(HookQuery), tag = "hooks", request_body = HookReport,
    responses((status = 200, body = HookWord)))]
async fn report_hook(
    State(local): State<LocalAgents>,
    State(waits): State<Waits>,
    caller: Caller,
    Query(query): Query<HookQuery>,
    AgentsJson(report): AgentsJson<HookReport>,
) -> Result<Response, Problem> {
    if !(16..=64).contains(&report.hook.len()) {
        return Err(Problem::field("hook", "invalid", "must have 16 to 64 characters"));
    }
    let wait = query.wait.unwrap_or(0);
    if wait > MAX_WAIT_SECONDS {
        return Err(Problem::field(
            "wait",
            "out_of_range",
            format!("must be 0 to {MAX_WAIT_SECONDS} seconds"),
        ));
    }
    // Processes of containers are looked for among all processes.
    let report = tokio::task::spawn_blocking(move || report.seen_from_here())
        .await
        .map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let id = match local.hook_report(&caller, &report).await? {
        HookHeard::Noted => return Ok(json(StatusCode::OK, &HookWord::Over { question_id: None })),
        HookHeard::Waits(id) => id,
    };
    if wait == 0 {
        return Ok(json(StatusCode::OK, &local.hook_word(&report, &id, Duration::ZERO).await?));
    }
    let turn = waits.take_place("ask again with ?wait a little later")?;
    let work = async move {
        let word = local.hook_word(&report, &id, Duration::from_secs(wait)).await;
        drop(turn);
        word.map_err(Problem::from)
    };
    Ok(answer_when_ready(StatusCode::OK, work))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct Took {
    /// The id of the hook process that printed the decision.
    hook: String,
}

/// A hook has printed the decision: the delivery is `sent`. Only the agent's own record makes it `confirmed`.
#[utoipa::path(post, path = "/v1/hooks/claude/{id}/took", operation_id = "confirmClaudeHookTook", params(("id" = String, Path, description = "The question that the hook waited for")), tag = "hooks",
    request_body = Took, responses((status = 204)))]
async fn hook_took(
    State(local): State<LocalAgents>,
    caller: Caller,
    Id(id): Id<QuestionId>,
    Json(took): Json<Took>,
) -> Result<Response, Problem> {
    local.hook_took(&caller, &id, &took.hook).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

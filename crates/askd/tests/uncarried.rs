//! An answer that cannot be put into its agent's own words is refused: its question stays open, the agent
//! hears nothing of it, and another answer reaches the agent.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::{Hub, PATIENCE};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

/// A server of OpenCode with one permission, until it is answered. It keeps what it was told.
#[derive(Clone, Default)]
struct Server {
    told: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    /// Begins to serve, and gives its address.
    async fn start() -> Result<(Self, String)> {
        let server = Self::default();
        let empty = || get(async || axum::Json(json!([])));
        let routes = Router::new()
            .route("/global/event", get(Self::events))
            .route("/question", empty())
            .route("/permission", get(Self::permissions))
            .route("/permission/per_1/reply", post(Self::replied))
            .route("/experimental/session", empty())
            .with_state(server.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok((server, url))
    }

    fn told(&self) -> Vec<Value> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn events() -> impl IntoResponse {
        let connected = json!({ "payload": { "type": "server.connected", "properties": {} } });
        let first = stream::iter([Bytes::from(format!("data: {connected}\n\n"))]);
        let events = first.chain(stream::pending()).map(Ok::<_, std::convert::Infallible>);
        ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events))
    }

    async fn permissions(State(server): State<Self>) -> impl IntoResponse {
        let permission = json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["echo hi"],
            "metadata": { "command": "echo hi" }, "always": ["echo *"] });
        axum::Json(if server.told().is_empty() { json!([permission]) } else { json!([]) })
    }

    async fn replied(State(server): State<Self>, axum::Json(reply): axum::Json<Value>) -> impl IntoResponse {
        server.told.lock().unwrap_or_else(PoisonError::into_inner).push(reply);
        axum::Json(true)
    }
}

async fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(Instant::now() < end, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The first question of the hub, as soon as there is one.
async fn question(hub: &Hub) -> Result<Value> {
    until("a question", || {
        let (_, list) = hub.http("GET", "/v1/questions", None)?;
        Ok(list["questions"].as_array().and_then(|questions| questions.first()).cloned())
    })
    .await
}

fn path(question: &Value, action: &str) -> Result<String> {
    Ok(format!("/v1/questions/{}{action}", question["id"].as_str().context("a question without id")?))
}

/// The reply is refused, and the question is as it was.
fn refused(hub: &Hub, question: &Value, reply: &Value) -> Result<()> {
    let (status, problem) = hub.http("POST", &path(question, "/reply")?, Some(reply))?;
    ensure!(status == 409 && problem["code"] == "channel_cannot_carry", "{reply}: {status} {problem}");
    let (_, now) = hub.http("GET", &path(question, "")?, None)?;
    ensure!(now == *question && now["status"] == "requested", "{reply} changed {question} to {now}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_askd_started_is_asked_on() -> Result<()> {
    let mut hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--no-observe").start()?;
    let start = json!({ "agent": "mock", "cwd": hub.data, "prompt": "plan" });
    let (status, session) = hub.http("POST", "/v1/sessions", Some(&start))?;
    ensure!(status == 201, "{session}");
    let plan = question(&hub).await?;
    let edited = json!({ "answers": [{ "picks": ["approve"] }], "editedPlan": "1. Something else" });
    refused(&hub, &plan, &edited)?;
    refused(&hub, &plan, &edited)?;
    // Also before the hub has found the agent again.
    hub.kill()?;
    hub.restart()?;
    refused(&hub, &plan, &edited)?;
    let (status, said) =
        hub.http("POST", &path(&plan, "/reply")?, Some(&json!({ "answers": [{ "picks": ["approve"] }] })))?;
    ensure!(status == 200, "{said}");
    let told = until("the agent went on", || {
        let (_, now) = hub.http("GET", &path(&plan, "")?, None)?;
        Ok(Some(now).filter(|now| now["delivery"]["state"] == "confirmed"))
    })
    .await?;
    ensure!(told["outcome"]["editedPlan"].is_null(), "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opencode_that_askd_is_attached_to_hears_nothing_of_it() -> Result<()> {
    let (server, url) = Server::start().await?;
    let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--no-observe").start()?;
    let (status, said) = hub.http("POST", "/v1/sources", Some(&json!({ "kind": "opencode", "url": url })))?;
    ensure!(status < 300, "{status}: {said}");
    let permission = question(&hub).await?;
    // OpenCode has a place for a note only beside a rejection.
    for pick in ["once", "always"] {
        let noted = json!({ "answers": [{ "picks": [pick] }], "notes": ["only this time"] });
        refused(&hub, &permission, &noted)?;
    }
    ensure!(server.told().is_empty(), "{:?}", server.told());
    let (status, said) = hub.http(
        "POST",
        &path(&permission, "/reply")?,
        Some(&json!({ "answers": [{ "picks": ["once"] }] })),
    )?;
    ensure!(status == 200, "{said}");
    until("OpenCode is told", || Ok((!server.told().is_empty()).then_some(()))).await?;
    ensure!(server.told() == [json!({ "reply": "once" })], "{:?}", server.told());
    Ok(())
}

//! An OpenCode server that says that it is connected before it hears its own events, without OpenCode: a question that is asked just
//! then is in no event, and in the list only after it was asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::Hub;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

/// Less than the 35 s after which askd makes a silent connection anew, and lists everything because of that.
const PATIENCE: Duration = Duration::from_secs(25);
const HEARTBEAT: &str = "server.heartbeat";

/// A server whose first list of questions is empty. `then` is the one event that follows the first of its stream.
#[derive(Clone)]
struct Server {
    then: Option<&'static str>,
    listed: Arc<AtomicUsize>,
}

impl Server {
    /// Begins to serve, and gives its address.
    async fn start(then: Option<&'static str>) -> Result<(Self, String)> {
        let server = Self { then, listed: Arc::default() };
        let empty = || get(async || axum::Json(json!([])));
        let routes = Router::new()
            .route("/global/event", get(Self::events))
            .route("/question", get(Self::questions))
            .route("/permission", empty())
            .route("/experimental/session", empty())
            .route("/session/ses_1/message/msg_1", get(Self::message))
            .with_state(server.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok((server, url))
    }

    async fn events(State(server): State<Self>) -> impl IntoResponse {
        let first = stream::iter([frame("server.connected")]);
        let then = stream::iter(server.then).then({
            let listed = server.listed;
            move |kind| {
                let listed = Arc::clone(&listed);
                async move {
                    // The first list has come back before the question is asked.
                    while listed.load(Ordering::SeqCst) == 0 {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    frame(kind)
                }
            }
        });
        let events = first.chain(then).chain(stream::pending()).map(Ok::<_, std::convert::Infallible>);
        ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events))
    }

    async fn questions(State(server): State<Self>) -> impl IntoResponse {
        let item = json!({ "question": "Which colour?", "header": "Colour",
            "options": [{ "label": "Red", "description": "r" }, { "label": "Green", "description": "g" }] });
        let question = json!({ "id": "que_1", "sessionID": "ses_1", "questions": [item],
            "tool": { "messageID": "msg_1", "callID": "call_1" } });
        let before = server.listed.fetch_add(1, Ordering::SeqCst);
        axum::Json(if before == 0 { json!([]) } else { json!([question]) })
    }

    async fn message() -> impl IntoResponse {
        let part = json!({ "id": "prt_1", "type": "tool", "sessionID": "ses_1", "messageID": "msg_1", "callID": "call_1",
            "tool": "question", "state": { "status": "running" } });
        axum::Json(json!({ "info": {}, "parts": [part] }))
    }
}

fn frame(kind: &str) -> Bytes {
    Bytes::from(format!("data: {}\n\n", json!({ "payload": { "type": kind, "properties": {} } })))
}

/// The questions of a hub that has attached itself to the server, once there are any.
async fn questions(hub: &Hub, url: &str) -> Result<Vec<Value>> {
    let attach = json!({ "kind": "opencode", "url": url });
    let (status, said) = hub.http("POST", "/v1/sources", Some(&attach))?;
    ensure!(status < 300, "{status}: {said}");
    let end = Instant::now() + PATIENCE;
    loop {
        let (_, list) = hub.http("GET", "/v1/questions", None)?;
        let found = list["questions"].as_array().context("no list")?;
        if !found.is_empty() {
            return Ok(found.clone());
        }
        ensure!(Instant::now() < end, "the question was never seen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn seen_once(then: Option<&'static str>, lists: usize) -> Result<()> {
    let (server, url) = Server::start(then).await?;
    let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--no-observe").start()?;
    let seen = questions(&hub, &url).await?;
    assert_eq!((seen.len(), &seen[0]["status"]), (1, &json!("requested")));
    // Until the last time that it is asked for, with a reserve.
    tokio::time::sleep(Duration::from_secs(7)).await;
    let (listed, end) = (|| server.listed.load(Ordering::SeqCst), Instant::now() + PATIENCE);
    while listed() < lists && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(listed(), lists);
    let (_, list) = hub.http("GET", "/v1/questions", None)?;
    assert_eq!(list["questions"], json!(seen), "it is the same one, and open");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_which_no_event_came_is_found_with_the_next_event() -> Result<()> {
    seen_once(Some(HEARTBEAT), 2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_which_no_event_came_is_found_after_a_while_without_any() -> Result<()> {
    seen_once(None, 3).await
}

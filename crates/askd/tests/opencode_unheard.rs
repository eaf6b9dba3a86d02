//! An OpenCode server that says that it is connected before it hears its own events, without OpenCode: a
//! question that is asked just then is in no event, and in the list only after it was asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::Hub;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::{Mutex, broadcast};

mod acp;

/// Less than the 35 s after which askd makes a silent connection anew, and lists everything because of that.
const PATIENCE: Duration = Duration::from_secs(25);
const HEARTBEAT: &str = "server.heartbeat";

/// A server whose first list of questions is empty. `then` is the one event that follows the first of its
/// stream.
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

/// A server that tells what the test has it tell.
#[derive(Clone)]
struct Told {
    events: broadcast::Sender<Bytes>,
    /// What waits in it now.
    listed: Arc<Mutex<Vec<Value>>>,
    /// Bodies of replies to `que_1`.
    replies: Arc<Mutex<Vec<String>>>,
    /// Bodies of prompts, refused ones too.
    prompts: Arc<Mutex<Vec<String>>>,
    /// The status for replies and prompts.
    status: Arc<AtomicU16>,
}

impl Told {
    async fn start() -> Result<(Self, String)> {
        Self::start_at(0).await
    }

    /// The same on a port that is named; 0 is any free one.
    async fn start_at(port: u16) -> Result<(Self, String)> {
        let server = Self {
            events: broadcast::channel(16).0,
            listed: Arc::default(),
            replies: Arc::default(),
            prompts: Arc::default(),
            status: Arc::new(AtomicU16::new(200)),
        };
        let empty = || get(async || axum::Json(json!([])));
        let routes = Router::new()
            .route("/global/event", get(Self::stream))
            .route(
                "/question",
                get(async |State(told): State<Self>| axum::Json(json!(*told.listed.lock().await))),
            )
            .route("/question/que_1/reply", post(Self::replied))
            .route("/permission", empty())
            .route("/experimental/session", empty())
            .route("/session", post(async || axum::Json(json!({ "id": "ses_1" }))))
            .route("/session/ses_1/prompt_async", post(Self::prompted))
            .route("/session/ses_1/message", get(async || axum::Json(json!([{}]))))
            .route("/session/ses_1/message/{id}", get(Self::message))
            .with_state(server.clone());
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok((server, url))
    }

    /// Waits until a hub listens to the events, or until none does.
    async fn heard(&self, by_a_hub: bool) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while (self.events.receiver_count() > 0) != by_a_hub {
            ensure!(Instant::now() < end, "heard by a hub: {}", !by_a_hub);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn replied_once(&self) -> Result<Vec<String>> {
        let end = Instant::now() + PATIENCE;
        while self.replies.lock().await.is_empty() {
            ensure!(Instant::now() < end, "the answer never arrived");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(self.replies.lock().await.clone())
    }

    async fn stream(State(told): State<Self>) -> impl IntoResponse {
        let next = |mut events: broadcast::Receiver<Bytes>| async move {
            events.recv().await.ok().map(|event| (event, events))
        };
        let events = stream::unfold(told.events.subscribe(), next);
        let events = stream::iter([frame("server.connected"), frame(HEARTBEAT)]).chain(events);
        (
            [(CONTENT_TYPE, "text/event-stream")],
            Body::from_stream(events.map(Ok::<_, std::convert::Infallible>)),
        )
    }

    async fn replied(State(told): State<Self>, body: String) -> impl IntoResponse {
        told.replies.lock().await.push(body);
        told.answer()
    }

    async fn prompted(State(told): State<Self>, body: String) -> impl IntoResponse {
        told.prompts.lock().await.push(body);
        told.answer()
    }

    fn answer(&self) -> (StatusCode, axum::Json<bool>) {
        let status = StatusCode::from_u16(self.status.load(Ordering::SeqCst)).unwrap_or_default();
        (status, axum::Json(status.is_success()))
    }

    /// From now on replies and prompts have this status.
    fn answers_with(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    async fn message(Path(id): Path<String>) -> impl IntoResponse {
        let part = json!({ "id": "prt_1", "type": "tool", "sessionID": "ses_1", "messageID": id, "callID": id.replace("msg", "call"),
            "tool": "question", "state": { "status": "running" } });
        axum::Json(json!({ "info": {}, "parts": [part] }))
    }

    async fn ask(&self, question: &Value) -> Result<()> {
        *self.listed.lock().await = vec![question.clone()];
        self.tell("question.asked", question)
    }

    async fn settle(&self, picks: Value) -> Result<()> {
        self.listed.lock().await.clear();
        self.tell(
            "question.replied",
            &json!({ "sessionID": "ses_1", "requestID": "que_1", "answers": [picks] }),
        )
    }

    fn tell(&self, kind: &str, properties: &Value) -> Result<()> {
        let event = json!({ "payload": { "type": kind, "properties": properties } });
        self.events.send(Bytes::from(format!("data: {event}\n\n")))?;
        Ok(())
    }
}

/// `que_1`, as another call asks it each time.
fn asked(call: u8, text: &str) -> Value {
    let item =
        json!({ "question": text, "header": "h", "options": [{ "label": "Red" }, { "label": "Blue" }] });
    json!({ "id": "que_1", "sessionID": "ses_1", "questions": [item],
        "tool": { "messageID": format!("msg_{call}"), "callID": format!("call_{call}") } })
}

/// The questions of a hub, the newest first, once they have these states.
async fn states(hub: &Hub, wanted: &[&str]) -> Result<Vec<Value>> {
    let end = Instant::now() + PATIENCE;
    loop {
        let (_, list) = hub.http("GET", "/v1/questions", None)?;
        let found = list["questions"].as_array().context("no list")?;
        if found
            .iter()
            .map(|question| question["status"].as_str().unwrap_or_default())
            .eq(wanted.iter().copied())
        {
            return Ok(found.clone());
        }
        ensure!(Instant::now() < end, "not {wanted:?}: {list}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_under_the_id_of_one_that_is_over_is_shown_and_answered() -> Result<()> {
    let (server, url) = Told::start().await?;
    let mut hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--no-observe").start()?;
    let attach = json!({ "kind": "opencode", "url": url });
    let (status, said) = hub.http("POST", "/v1/sources", Some(&attach))?;
    ensure!(status < 300, "{status}: {said}");
    server.heard(true).await?;
    server.ask(&asked(1, "One?")).await?;
    states(&hub, &["requested"]).await?;
    server.settle(json!(["Red"])).await?;
    states(&hub, &["answered"]).await?;
    // Told once more, it is the same that is over.
    server.tell("question.asked", &asked(1, "One?"))?;
    server.ask(&asked(2, "Two?")).await?;
    let open = states(&hub, &["requested", "answered"]).await?;
    assert_eq!(open[0]["questions"][0]["question"], "Two?");
    hub.kill()?;
    server.heard(false).await?;
    hub.restart()?;
    let path = format!("/v1/questions/{}/reply", open[0]["id"].as_str().context("no id")?);
    let (status, said) = hub.http("POST", &path, Some(&json!({ "answers": [["Blue"]] })))?;
    ensure!(status == 200, "{status}: {said}");
    assert_eq!(server.replied_once().await?, [r#"{"answers":[["Blue"]]}"#]);
    server.settle(json!(["Blue"])).await?;
    let all = states(&hub, &["answered", "answered"]).await?;
    assert_eq!(all[0]["outcome"]["answers"][0]["picks"], json!(["Blue"]));
    assert_eq!(all[1]["outcome"]["answers"][0]["picks"], json!(["Red"]));
    Ok(())
}

/// A hub that has started an OpenCode whose server is at this address, and the session.
fn askds_own(folder: &tempfile::TempDir, url: &str) -> Result<(Hub, Value)> {
    let says = format!(
        "#!/bin/sh\n[ \"$1\" = serve ] || exit 0\necho \"opencode server listening on {url}\"\nexec cat\n"
    );
    let hub = Hub::builder(env!("CARGO_BIN_EXE_askd"))
        .env("PATH", path_with(folder, &says)?)
        .arg("--no-observe")
        .start()?;
    let wanted = json!({ "agent": "opencode", "cwd": folder.path(), "prompt": "go" });
    let (status, session) = hub.http("POST", "/v1/sessions", Some(&wanted))?;
    ensure!(status == 201, "{status}: {session}");
    Ok((hub, session))
}

/// A search path on which this script is `opencode`.
fn path_with(folder: &tempfile::TempDir, script: &str) -> Result<String> {
    let program = folder.path().join("opencode");
    std::fs::write(&program, script)?;
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default()))
}

/// Where askd has started the server, it alone could answer: what is asked in the same words after a restart
/// must not be taken for what is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_askds_own_asks_alike_under_an_old_id_after_a_restart_and_is_answered() -> Result<()> {
    let (server, url) = Told::start().await?;
    let folder = tempfile::tempdir()?;
    let (mut hub, session) = askds_own(&folder, &url)?;
    server.heard(true).await?;
    server.ask(&asked(1, "Which?")).await?;
    states(&hub, &["requested"]).await?;
    server.settle(json!(["Red"])).await?;
    states(&hub, &["answered"]).await?;
    hub.kill()?;
    server.heard(false).await?;
    hub.restart()?;
    server.heard(true).await?;
    server.ask(&asked(2, "Which?")).await?;
    let open = states(&hub, &["requested", "answered"]).await?;
    let reply = format!("/v1/questions/{}/reply", open[0]["id"].as_str().context("no id")?);
    let (status, said) = hub.http("POST", &reply, Some(&json!({ "answers": [["Blue"]] })))?;
    ensure!(status == 200, "{status}: {said}");
    assert_eq!(server.replied_once().await?, [r#"{"answers":[["Blue"]]}"#]);
    let session = format!("/v1/sessions/{}", session["id"].as_str().context("no id")?);
    hub.http("DELETE", &session, None)?;
    Ok(())
}

/// An `opencode acp` that opens a session and says no more; `ARGS` is where it writes its arguments.
const ACP: &str = r#"#!/bin/sh
[ "$1" = acp ] || exit 0
echo "$*" > 'ARGS'
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\("\([^"\\]\|\\.\)*"\).*/\1/')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}';;
    *'"session/new"'*) result='{"sessionId":"ses_1"}';;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Clients see the second question too, and their response is for it and not for the one that is over.
#[tokio::test(flavor = "multi_thread")]
async fn opencode_over_acp_asks_alike_under_an_old_id_after_a_restart_and_is_answered() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let args = folder.path().join("args");
    let script = ACP.replace("ARGS", &args.display().to_string());
    let mut hub = Hub::builder(env!("CARGO_BIN_EXE_askd"))
        .env("PATH", path_with(&folder, &script)?)
        .arg("--no-observe")
        .start()?;
    let place = acp::Place::new(&hub, "one");
    place.open("opencode", &folder.path().display().to_string());
    let args = std::fs::read_to_string(&args)?;
    let port = args.split_whitespace().skip_while(|word| *word != "--port").nth(1).context("no port")?;
    let (server, _) = Told::start_at(port.parse()?).await?;
    server.heard(true).await?;
    server.ask(&asked(1, "Which?")).await?;
    states(&hub, &["requested"]).await?;
    server.settle(json!(["Red"])).await?;
    states(&hub, &["answered"]).await?;
    for other in 2..4 {
        hub.kill()?;
        server.heard(false).await?;
        hub.restart()?;
        server.heard(true).await?;
        if other == 2 {
            server.ask(&asked(other, "Which?")).await?;
        }
        states(&hub, &["requested", "answered"]).await?;
    }
    let mut stream = place.stream(Some(0));
    let first = stream.request(acp::EXTENSION);
    let second = stream.request(acp::EXTENSION);
    assert_eq!((&first["id"], &second["id"]), (&json!("que_1"), &json!("que_1")));
    assert_ne!(first["params"]["toolCallId"], second["params"]["toolCallId"]);
    let answered = json!({ "status": "answered", "answers": [["Blue"]] });
    let (status, said) = place.respond(&second, &answered);
    ensure!(status == 202, "{status}: {said}");
    assert_eq!(server.replied_once().await?, [r#"{"answers":[["Blue"]]}"#]);
    let all = states(&hub, &["answered", "answered"]).await?;
    assert_eq!(all[0]["outcome"]["answers"][0]["picks"], json!(["Blue"]));
    assert_eq!(all[1]["outcome"]["answers"][0]["picks"], json!(["Red"]));
    assert_eq!(place.delete(), 204);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_whose_message_was_not_taken_can_be_sent_again_and_then_no_more() -> Result<()> {
    let (server, url) = Told::start().await?;
    let folder = tempfile::tempdir()?;
    let (hub, session) = askds_own(&folder, &url)?;
    server.heard(true).await?;
    server.ask(&asked(1, "Which?")).await?;
    let open = states(&hub, &["requested"]).await?;
    let question = format!("/v1/questions/{}", open[0]["id"].as_str().context("no id")?);
    server.answers_with(400);
    let answer = json!({ "answers": [["Blue"]] });
    let (status, said) = hub.http("POST", &format!("{question}/reply"), Some(&answer))?;
    ensure!(status == 200, "{status}: {said}");
    let end = Instant::now() + PATIENCE;
    let late = loop {
        let (_, found) = hub.http("GET", &question, None)?;
        if found["delivery"]["state"] == "failed" {
            break found;
        }
        ensure!(Instant::now() < end, "the refusal was not noted: {found}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let send = format!("{question}/send-as-message");
    for status in [503, 400] {
        server.answers_with(status);
        let (refused, problem) = hub.http("POST", &send, None)?;
        assert_eq!(refused, 409, "{problem}");
        assert!(problem["detail"].as_str().context("no detail")?.ends_with("\nWhich? Blue"), "{problem}");
        assert_eq!(hub.http("GET", &question, None)?.1["delivery"], late["delivery"], "nothing is noted");
    }
    server.answers_with(200);
    let (status, to) = hub.http("POST", &send, None)?;
    ensure!(status < 300, "{status}: {to}");
    assert_eq!(to["id"], session["id"]);
    let noted = hub.http("GET", &question, None)?.1["delivery"]["error"]["reason"].clone();
    assert_eq!(noted, "sentAsMessage");
    let (status, problem) = hub.http("POST", &send, None)?;
    assert_eq!(status, 409, "{problem}");
    let prompts = server.prompts.lock().await.clone();
    assert_eq!(prompts.len(), 4, "the first words, two that were refused and the one that was taken");
    assert!(prompts[1..].iter().all(|prompt| prompt.contains("Which? Blue")), "{prompts:?}");
    let session = format!("/v1/sessions/{}", session["id"].as_str().context("no id")?);
    hub.http("DELETE", &session, None)?;
    Ok(())
}

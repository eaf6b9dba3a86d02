//! Connections that break, hang, or are not there yet: nothing is lost and nothing is asked twice.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::proxy::{Proxy, Wire};
use super::{STEP, Stage, id};

/// In which something would be seen that must not be.
const A_WHILE: Duration = Duration::from_secs(1);

/// What OpenCode's clients hear from askd.
struct Events {
    stream: Response,
    text: String,
}

impl Events {
    async fn listen(stage: &Stage) -> Result<Self> {
        let url = format!("{}/opencode/event", stage.hub.url);
        let request = stage.client.get(url).basic_auth("opencode", Some(stage.hub.token()?));
        let mut events = Self { stream: request.send().await?.error_for_status()?, text: String::new() };
        events.until("server.connected").await?;
        Ok(events)
    }

    async fn next(&mut self) -> Result<Value> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let event = serde_json::from_str(frame.trim_start_matches("data: "))?;
                self.text = rest.to_owned();
                return Ok(event);
            }
            let chunk = timeout(STEP, self.stream.chunk()).await??.context("the stream has ended")?;
            self.text.push_str(std::str::from_utf8(&chunk)?);
        }
    }

    /// The properties of the next event of this type.
    async fn until(&mut self, kind: &str) -> Result<Value> {
        loop {
            let mut event = self.next().await?;
            if event["type"] == kind {
                return Ok(event["properties"].take());
            }
        }
    }
}

/// A wire that breaks while a question is open. What happened meanwhile is found when it is whole again.
pub async fn cut() -> Result<()> {
    let stage = Stage::apart().await?;
    let proxy = Proxy::start(&stage.url, Wire::Whole).await?;
    stage.attach_at(&proxy.url)?;
    stage.source_is("connected").await?;
    let (_, question) = stage.ask("single").await?;
    proxy.set(Wire::Cut);
    stage.source_is("lost").await?;
    // Answered while nothing can be brought: it arrives later, and only then it is completed to OpenCode's
    // clients.
    let mut events = Events::listen(&stage).await?;
    stage.answer(&question, json!([["Green"]]))?;
    events.until("question.replied").await?;
    stage.prompt_in(&stage.other, "single").await?;
    let early = timeout(A_WHILE, events.until("message.part.updated")).await;
    ensure!(early.is_err(), "nothing can have arrived: {early:?}");
    proxy.set(Wire::Whole);
    let part = events.until("message.part.updated").await?;
    ensure!(part["part"]["state"]["metadata"]["answers"] == json!([["Green"]]), "{part}");
    stage.source_is("connected").await?;
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(1).await?.contains("\"Green\""));
    let new = stage.open(1).await?.remove(0);
    ensure!(new["context"]["cwd"] == stage.other.as_str(), "what was asked meanwhile: {new}");

    proxy.set(Wire::Cut);
    stage.source_is("lost").await?;
    let (_, listed) = stage.opencode_in(&stage.other, Method::GET, "/question", None).await?;
    let path = format!("/question/{}/reply", id(&listed[0]));
    stage.opencode_in(&stage.other, Method::POST, &path, Some(json!({ "answers": [["Red"]] }))).await?;
    stage.last_result(2).await?;
    proxy.set(Wire::Whole);
    let answered = stage.until(&new, "what was answered there meanwhile", "/status", "answered").await?;
    ensure!(askd_testkit::given(&answered["outcome"]["answers"]) == json!([["Red"]]), "{answered}");
    ensure!(answered["outcome"]["by"]["surface"] == "agent", "{answered}");
    Ok(())
}

/// A port that takes connections and answers none, as a server does that is just starting, and as one that
/// hangs.
pub async fn silent() -> Result<()> {
    let stage = Stage::apart().await?;
    let proxy = Proxy::start(&stage.url, Wire::Silent).await?;
    stage.attach_at(&proxy.url)?;
    let lost = stage.source_is("lost").await?;
    ensure!(lost["lastError"].is_string(), "{lost}");
    proxy.set(Wire::Whole);
    stage.source_is("connected").await?;
    let (_, question) = stage.ask("single").await?;
    proxy.set(Wire::Silent);
    stage.source_is("lost").await?;
    stage.answer(&question, json!([["Green"]]))?;
    proxy.set(Wire::Whole);
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(1).await?.contains("\"Green\""));
    Ok(())
}

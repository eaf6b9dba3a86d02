//! `./bench opencode`: what askd adds to a real OpenCode server whose model is scripted.
//!
//! In: OpenCode (`tests/agents/install`), a hub that is attached to it. Out: from asked at the server's own
//! stream to asked at a client of askd; an answer through askd beside one that is posted to the server
//! itself; and many open questions with the memory of both. Both ends of every interval are seen by this one
//! process.

use std::time::{Duration, Instant};

use askd_hub::http_sse::{SseLimits, SseSignal, listen};
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::{AgentEnv as _, OpencodeEnv, Running, required};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::Result;
use crate::hub::{Hub, rss_mb};
use crate::table::{Table, bar, percentile};
use crate::wire::Wire;

/// Questions one after the other: half are answered through askd, half at the server.
const ASKED: usize = 200;
const OPEN: usize = 200;
const PATIENCE: Duration = Duration::from_secs(120);
/// The bar of what askd adds.
const ADDED_MS: f64 = 15.0;

/// What was heard, when, and the id of the request or question.
type Sighting = (Instant, String);

/// Why it cannot be measured here, if so.
pub fn missing() -> Option<String> {
    required("opencode").err().map(|error| error.to_string())
}

struct Bench {
    hub: Hub,
    server: Running,
    url: String,
    directory: String,
    client: Client,
    /// What the server's own stream tells.
    asked_there: mpsc::UnboundedReceiver<Sighting>,
    replied_there: mpsc::UnboundedReceiver<Sighting>,
    /// What askd's stream tells.
    asked_here: mpsc::UnboundedReceiver<Sighting>,
    _stop: tokio_util::sync::DropGuard,
    _env: OpencodeEnv,
    _model: ScriptedModel,
}

pub async fn run(table: &mut Table) -> Result {
    eprintln!("opencode");
    let mut bench = Bench::start().await?;
    // The first turn loads the folder.
    bench.ask_and_answer(true).await?;
    let (mut added, mut through, mut direct) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..ASKED {
        let by_askd = n % 2 == 0;
        let (late, reply) = bench.ask_and_answer(by_askd).await?;
        added.push(late);
        if by_askd { &mut through } else { &mut direct }.push(reply);
    }
    let p99 = percentile(&mut added, 0.99);
    table.row(
        "OpenCode: asked at its stream -> asked at a client of askd",
        format!("p50 {:.2} ms, p99 {p99:.2} ms", percentile(&mut added, 0.5)),
        "the server's own stream".to_owned(),
        &bar(p99 < ADDED_MS, &format!("p99 < {ADDED_MS:.0} ms")),
    );
    let both = |samples: &mut [f64]| {
        format!("p50 {:.1} ms, p99 {:.1} ms", percentile(samples, 0.5), percentile(samples, 0.99))
    };
    table.row(
        "OpenCode: answer sent to askd -> replied at the server's stream",
        both(&mut through),
        format!("posted to the server: {}", both(&mut direct)),
        "",
    );
    bench.many(table).await
}

impl Bench {
    async fn start() -> Result<Self> {
        let item = json!({ "question": "Which colour?", "header": "Colour",
            "options": [{ "label": "Red", "description": "d" }, { "label": "Green", "description": "d" }] });
        let ask = json!({ "calls": [{ "name": "question", "args": { "questions": [item] } }] });
        let script = json!({ "scenarios": { "single": [ask, { "text": "Done." }] } });
        let model = ScriptedModel::start(Script::from_value(script)?).await?;
        let env = OpencodeEnv::new(&model.openai_base_url())?;
        let mut command = env.command(&required("opencode")?);
        command.args(OpencodeEnv::SERVE);
        let mut server = Running::start(command)?;
        let address = |line: &str| Some(line.split_once(OpencodeEnv::READY)?.1.trim().to_owned());
        let url = server.line("its address", PATIENCE, address).await?;
        let client = Client::builder().no_proxy().build()?;

        let (asked, asked_there) = mpsc::unbounded_channel();
        let (replied, replied_there) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let events = {
            let (client, url) = (client.clone(), format!("{url}/global/event"));
            move || client.get(&url).basic_auth(OpencodeEnv::USER, Some(OpencodeEnv::PASSWORD))
        };
        let mut signals = listen(events, SseLimits::default(), None, stop.clone());
        tokio::spawn(async move {
            while let Some(signal) = signals.recv().await {
                let at = Instant::now();
                let SseSignal::Event(event) = signal else { continue };
                let Ok(event) = serde_json::from_str::<Value>(&event.data) else { continue };
                let (kind, properties) = (&event["payload"]["type"], &event["payload"]["properties"]);
                match kind.as_str() {
                    Some("question.asked") => drop(asked.send((at, text(&properties["id"])))),
                    Some("question.replied") => drop(replied.send((at, text(&properties["requestID"])))),
                    _ => {}
                }
            }
        });

        let hub = Hub::start().await?;
        let (here, asked_here) = mpsc::unbounded_channel();
        let mut stream = Wire::connect(&hub.url, &hub.token).await?.events(0).await?;
        tokio::spawn(async move {
            while let Ok(data) = stream.data().await {
                let at = Instant::now();
                let Ok(event) = serde_json::from_str::<Value>(data) else { continue };
                if event["type"] == "question.requested" {
                    drop(here.send((at, text(&event["question"]["id"]))));
                }
            }
        });
        let directory = env.directory().to_string_lossy().into_owned();
        let bench = Self {
            hub,
            server,
            url,
            directory,
            client,
            asked_there,
            replied_there,
            asked_here,
            _stop: stop.drop_guard(),
            _env: env,
            _model: model,
        };
        bench.attach().await?;
        Ok(bench)
    }

    async fn attach(&self) -> Result {
        let body = json!({ "kind": "opencode", "url": self.url, "password": OpencodeEnv::PASSWORD });
        let mut wire = self.hub.wire().await?;
        wire.call("POST", "/v1/sources", &body.to_string()).await?;
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let (_, body) = wire.call("GET", "/v1/sources", "").await?;
            if serde_json::from_slice::<Value>(&body)?["sources"][0]["state"] == "connected" {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("askd did not attach to OpenCode".into())
    }

    fn call(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url)).timeout(PATIENCE);
        request
            .query(&[("directory", &self.directory)])
            .basic_auth(OpencodeEnv::USER, Some(OpencodeEnv::PASSWORD))
    }

    /// A new session of the server is told to ask.
    async fn prompt(&self) -> Result {
        let made = self.call(Method::POST, "/session").json(&json!({})).send().await?.text().await?;
        let session = text(&serde_json::from_str::<Value>(&made)?["id"]);
        let prompt = json!({ "parts": [{ "type": "text", "text": "SCENARIO:single go" }] });
        let path = format!("/session/{session}/prompt_async");
        self.call(Method::POST, &path).json(&prompt).send().await?.error_for_status()?;
        Ok(())
    }

    /// One question: how much later askd's client saw it, and how long its answer took to the server's
    /// stream.
    async fn ask_and_answer(&mut self, by_askd: bool) -> Result<(f64, f64)> {
        self.prompt().await?;
        let (there, request) = next(&mut self.asked_there).await?;
        let (here, question) = next(&mut self.asked_here).await?;
        let body = json!({ "answers": [["Red"]] });
        let mut wire = self.hub.wire().await?;
        let sent = Instant::now();
        if by_askd {
            wire.call("POST", &format!("/v1/questions/{question}/reply"), &body.to_string()).await?;
        } else {
            let path = format!("/question/{request}/reply");
            self.call(Method::POST, &path).json(&body).send().await?.error_for_status()?;
        }
        let (replied, _) = next(&mut self.replied_there).await?;
        Ok((ms(there, here), ms(sent, replied)))
    }

    async fn many(mut self, table: &mut Table) -> Result {
        let pid = u32::try_from(self.server.pid().ok_or("the server has no process")?)?;
        let before = (self.hub.rss_mb()?, rss_mb(pid)?);
        let began = Instant::now();
        let mut added = Vec::new();
        for _ in 0..OPEN {
            self.prompt().await?;
        }
        for _ in 0..OPEN {
            let (there, _) = next(&mut self.asked_there).await?;
            let (here, _) = next(&mut self.asked_here).await?;
            added.push(ms(there, here));
        }
        table.row(
            &format!("OpenCode: {OPEN} open questions, until askd has them"),
            format!("{:.1} s", began.elapsed().as_secs_f64()),
            format!("askd behind the server's stream: p99 {:.1} ms", percentile(&mut added, 0.99)),
            "",
        );
        table.row(
            &format!("RSS of askd with {OPEN} open questions of OpenCode"),
            format!("{:.1} MB ({:.1} before)", self.hub.rss_mb()?, before.0),
            format!("OpenCode's server {:.0} MB ({:.0} before)", rss_mb(pid)?, before.1),
            "",
        );
        Ok(())
    }
}

async fn next(sightings: &mut mpsc::UnboundedReceiver<Sighting>) -> Result<Sighting> {
    let heard =
        tokio::time::timeout(PATIENCE, sightings.recv()).await.map_err(|_| "nothing was heard in time")?;
    Ok(heard.ok_or("a stream ended")?)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The order of the two is not certain: negative where askd's client was woken first.
fn ms(from: Instant, to: Instant) -> f64 {
    match to.checked_duration_since(from) {
        Some(later) => later.as_secs_f64() * 1000.0,
        None => -(from - to).as_secs_f64() * 1000.0,
    }
}

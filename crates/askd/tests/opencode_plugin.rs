//! The plugin's road without OpenCode: what a plugin says over HTTP, and what it is told.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::Hub;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);
const LINK: &str = "0123456789abcdef0123456789abcdef";
const FOLDER: &str = "/w/app";

fn hub() -> Result<Hub> {
    Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--no-observe").start()
}

/// A plugin that is connected, as `plugin.js` connects.
struct Plugin<'a> {
    hub: &'a Hub,
    calls: BufReader<TcpStream>,
}

impl<'a> Plugin<'a> {
    fn connect(hub: &'a Hub, pid: u32) -> Result<Self> {
        let host = hub.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let hello = json!({ "link": LINK, "pid": pid, "directory": FOLDER }).to_string();
        let (token, length) = (hub.ask_token()?, hello.len());
        write!(
            stream,
            "POST /v1/plugins/opencode HTTP/1.0\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{hello}"
        )?;
        let mut plugin = Self { hub, calls: BufReader::new(stream) };
        let head = plugin.line()?;
        ensure!(head.contains(" 200 "), "{head}");
        Ok(plugin)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.calls.read_line(&mut line)? > 0, "the stream has ended");
        Ok(line)
    }

    /// The next call to a path with this beginning; calls before it are answered with an empty list.
    fn call(&mut self, beginning: &str) -> Result<Value> {
        loop {
            let line = self.line()?;
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let call: Value = serde_json::from_str(data)?;
            if call["path"].as_str().is_some_and(|path| path.starts_with(beginning)) {
                return Ok(call);
            }
            self.reply(&call, 200, "[]")?;
        }
    }

    fn say(&self, message: &Value) -> Result<()> {
        let path = format!("/v1/plugins/opencode/{LINK}");
        let body = json!({ "messages": [message] });
        let (status, said) = self.hub.http_as(&self.hub.ask_token()?, "POST", &path, Some(&body))?;
        ensure!(status == 204, "{status}: {said}");
        Ok(())
    }

    fn reply(&self, call: &Value, status: u16, body: &str) -> Result<()> {
        self.say(&json!({ "reply": { "call": call["call"], "status": status, "body": body } }))
    }

    fn event(&self, kind: &str, properties: &Value) -> Result<()> {
        let event = json!({ "directory": FOLDER, "payload": { "type": kind, "properties": properties } });
        self.say(&json!({ "event": event.to_string() }))
    }
}

fn request() -> Value {
    let options = json!([{ "label": "Red", "description": "r" }, { "label": "Green", "description": "g" }]);
    json!({ "id": "que_1", "sessionID": "ses_1", "tool": { "messageID": "msg_1", "callID": "call_1" },
        "questions": [{ "question": "Which colour?", "header": "Colour", "options": options }] })
}

fn part(state: &Value) -> Value {
    json!({ "id": "prt_1", "type": "tool", "sessionID": "ses_1", "messageID": "msg_1", "callID": "call_1",
        "tool": "question", "state": state })
}

fn until<T>(what: &str, look: impl Fn() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(Instant::now() < end, "did not see {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The one question, once the wanted is at the pointer.
fn question(hub: &Hub, pointer: &str, wanted: &str) -> Result<Value> {
    until(wanted, || {
        let (_, list) = hub.http("GET", "/v1/questions", None)?;
        let questions = list["questions"].as_array().context("no list")?;
        ensure!(questions.len() < 2, "{list}");
        let found = questions.first().filter(|one| one.pointer(pointer) == Some(&json!(wanted)));
        Ok(found.cloned())
    })
}

fn source(hub: &Hub, state: &str) -> Result<Value> {
    until(state, || {
        let (_, list) = hub.http("GET", "/v1/sources", None)?;
        let sources = list["sources"].as_array().context("no list")?;
        ensure!(sources.len() < 2, "{list}");
        Ok(sources.first().filter(|one| one["state"] == state).cloned())
    })
}

#[test]
fn a_plugin_that_comes_back_is_the_same_source_with_the_same_question() -> Result<()> {
    let mut hub = hub()?;
    let mut plugin = Plugin::connect(&hub, std::process::id())?;
    let call = plugin.call("/experimental/session")?;
    // Its own folder and no other: listing loads a folder into the person's process.
    assert_eq!(call["query"], json!([["directory", FOLDER], ["limit", "100"]]));
    let elsewhere = json!([{ "id": "ses_2", "directory": "/w/other", "title": "another" }]);
    plugin.reply(&call, 200, &elsewhere.to_string())?;
    let call = plugin.call("/question")?;
    assert_eq!((&call["method"], &call["query"]), (&json!("GET"), &json!([["directory", FOLDER]])));
    plugin.reply(&call, 200, "[]")?;
    plugin.event("question.asked", &request())?;
    let asked = question(&hub, "/status", "requested")?;
    assert_eq!(asked["context"]["cwd"], FOLDER);
    let connected = source(&hub, "connected")?;
    assert_eq!((&connected["kind"], &connected["agent"]), (&json!("plugin"), &json!("opencode")));
    assert!(!connected.to_string().contains(LINK), "the name of the link is told to nobody");

    // Away, while the process lives: nothing ends.
    drop(plugin);
    let lost = source(&hub, "lost")?;
    assert_eq!(lost["id"], connected["id"]);
    hub.kill()?;
    hub.restart()?;
    assert_eq!(source(&hub, "lost")?["id"], connected["id"]);
    let mut plugin = Plugin::connect(&hub, std::process::id())?;
    let call = plugin.call("/question")?;
    plugin.reply(&call, 200, &json!([request()]).to_string())?;
    let call = plugin.call("/session/ses_1/message/msg_1")?;
    plugin.reply(&call, 200, &json!({ "parts": [part(&json!({ "status": "running" }))] }).to_string())?;
    assert_eq!(source(&hub, "connected")?["id"], connected["id"]);
    assert_eq!(question(&hub, "/status", "requested")?["id"], asked["id"]);

    let path = format!("/v1/questions/{}/reply", asked["id"].as_str().unwrap());
    assert_eq!(hub.http("POST", &path, Some(&json!({ "answers": [["Green"]] })))?.0, 200);
    let call = plugin.call("/question/que_1/reply")?;
    assert_eq!((&call["method"], &call["query"]), (&json!("POST"), &json!([["directory", FOLDER]])));
    assert_eq!(call["body"], r#"{"answers":[["Green"]]}"#);
    plugin.reply(&call, 200, "true")?;
    plugin.event("question.replied", &json!({ "requestID": "que_1", "answers": [["Green"]] }))?;
    question(&hub, "/delivery/state", "sent")?;
    let done = json!({ "status": "completed", "metadata": { "answers": [["Green"]] } });
    plugin.event("message.part.updated", &json!({ "part": part(&done) }))?;
    question(&hub, "/delivery/state", "confirmed")?;
    Ok(())
}

#[test]
fn an_answer_waits_for_a_server_that_is_away_or_fails_and_not_for_one_that_refuses() -> Result<()> {
    let hub = hub()?;
    let mut plugin = Plugin::connect(&hub, std::process::id())?;
    plugin.call("/permission")?;
    plugin.event("question.asked", &request())?;
    let asked = question(&hub, "/status", "requested")?;
    drop(plugin);
    source(&hub, "lost")?;
    let path = format!("/v1/questions/{}/reply", asked["id"].as_str().unwrap());
    assert_eq!(hub.http("POST", &path, Some(&json!({ "answers": [["Red"]] })))?.0, 200);
    let mut plugin = Plugin::connect(&hub, std::process::id())?;
    let call = plugin.call("/question/que_1/reply")?;
    assert_eq!(call["body"], r#"{"answers":[["Red"]]}"#);
    plugin.reply(&call, 500, r#"{"name":"UnknownError"}"#)?;
    let again = plugin.call("/question/que_1/reply")?;
    assert_eq!((&again["body"], again["call"] == call["call"]), (&call["body"], false));
    plugin.reply(&again, 400, r#"{"name":"BadRequest"}"#)?;
    let refused = question(&hub, "/delivery/state", "failed")?;
    assert_eq!(refused["delivery"]["error"]["reason"], "refused", "{refused}");
    Ok(())
}

#[test]
fn the_end_of_the_process_ends_its_questions() -> Result<()> {
    let hub = hub()?;
    let mut agent = Command::new("sleep").arg("60").spawn()?;
    let mut plugin = Plugin::connect(&hub, agent.id())?;
    plugin.call("/permission")?;
    plugin.event("question.asked", &request())?;
    question(&hub, "/status", "requested")?;
    agent.kill()?;
    agent.wait()?;
    // Its connection is what tells; here it ends a little later.
    drop(plugin);
    let ended = question(&hub, "/status", "cancelled")?;
    assert_eq!(ended["outcome"]["cause"]["type"], "agentExited");
    source(&hub, "ended")?;
    Ok(())
}

#[test]
fn a_farewell_ends_its_questions_at_once() -> Result<()> {
    let hub = hub()?;
    let mut plugin = Plugin::connect(&hub, std::process::id())?;
    plugin.call("/permission")?;
    plugin.event("question.asked", &request())?;
    question(&hub, "/status", "requested")?;
    let path = format!("/v1/plugins/opencode/{LINK}");
    assert_eq!(hub.http_as(&hub.ask_token()?, "DELETE", &path, None)?.0, 204);
    let ended = question(&hub, "/status", "cancelled")?;
    assert_eq!(ended["outcome"]["cause"]["type"], "sessionEnded");
    source(&hub, "ended")?;
    assert_eq!(hub.http_as(&hub.ask_token()?, "DELETE", &path, None)?.0, 404);
    Ok(())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "somebody who is not askd is in its way")]
fn what_could_not_be_stored_is_asked_for_again() -> Result<()> {
    let hub = hub()?;
    let mut plugin = Plugin::connect(&hub, std::process::id())?;
    plugin.call("/permission")?;
    // Somebody else keeps the database for longer than the hub waits.
    let other = rusqlite::Connection::open(hub.data.join("askd.db"))?;
    other.execute_batch("BEGIN IMMEDIATE")?;
    plugin.event("question.asked", &request())?;
    // It is told once. So the hub has to let go of the connection, and the plugin comes back.
    let end = Instant::now() + PATIENCE;
    while plugin.line().is_ok() {
        ensure!(Instant::now() < end, "the connection goes on as if nothing were missing");
    }
    other.execute_batch("ROLLBACK")?;
    let mut plugin = until("a new connection", || Ok(Plugin::connect(&hub, std::process::id()).ok()))?;
    let call = plugin.call("/question")?;
    plugin.reply(&call, 200, &json!([request()]).to_string())?;
    let call = plugin.call("/session/ses_1/message/msg_1")?;
    plugin.reply(&call, 200, &json!({ "parts": [part(&json!({ "status": "running" }))] }).to_string())?;
    question(&hub, "/status", "requested")?;
    source(&hub, "connected")?;
    Ok(())
}

#[test]
fn a_source_that_was_let_go_stays_so() -> Result<()> {
    let hub = hub()?;
    let mut plugin = Plugin::connect(&hub, std::process::id())?;
    plugin.call("/permission")?;
    let id = source(&hub, "connected")?["id"].as_str().unwrap().to_owned();
    assert_eq!(hub.http("DELETE", &format!("/v1/sources/{id}"), None)?.0, 204);
    while plugin.line().is_ok() {}
    let again = Plugin::connect(&hub, std::process::id());
    assert!(again.is_err_and(|error| error.to_string().contains(" 404 ")));
    source(&hub, "ended")?;
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() -> Result<()> {
    let hub = hub()?;
    let hello = |link: &str, directory: &str| json!({ "link": link, "pid": 1, "directory": directory });
    let (_, token) = hub.http("POST", "/v1/tokens", Some(&json!({ "name": "r", "rights": ["read"] })))?;
    let (ask, read) = (hub.ask_token()?, token["token"].as_str().unwrap().to_owned());
    let unknown = format!("/v1/plugins/opencode/{LINK}");
    let long = format!("/{}", "x".repeat(5000));
    for (token, path, body, status) in [
        (&read, "/v1/plugins/opencode", hello(LINK, FOLDER), 403),
        (&ask, "/v1/plugins/mock", hello(LINK, FOLDER), 404),
        (&ask, "/v1/plugins/nobody", hello(LINK, FOLDER), 404),
        (&ask, "/v1/plugins/opencode", hello("short", FOLDER), 400),
        (&ask, "/v1/plugins/opencode", hello("0123456789/../abcdef", FOLDER), 400),
        (&ask, "/v1/plugins/opencode", hello(LINK, "relative"), 400),
        (&ask, "/v1/plugins/opencode", hello(LINK, &long), 400),
        (&ask, "/v1/plugins/opencode", json!({ "link": LINK }), 400),
        (&ask, &unknown, json!({ "messages": [] }), 404),
        (&ask, &unknown, json!({ "messages": [{ "other": 1 }] }), 400),
        (&read, &unknown, json!({ "messages": [] }), 403),
    ] {
        let (answered, problem) = hub.http_as(token, "POST", path, Some(&body))?;
        assert_eq!(answered, status, "{path} {body}: {problem}");
        assert!(problem["code"].is_string(), "{problem}");
    }
    assert_eq!(hub.http("GET", "/v1/sources", None)?.1["sources"], json!([]));

    // Whatever a plugin says, the conversation goes on.
    let mut plugin = Plugin::connect(&hub, std::process::id())?;
    plugin.call("/permission")?;
    plugin.say(&json!({ "event": "no JSON" }))?;
    plugin.say(&json!({ "reply": { "call": 999, "status": 200, "body": "" } }))?;
    plugin.event("question.asked", &json!({ "id": "../x", "sessionID": 5 }))?;
    plugin.event("question.asked", &request())?;
    question(&hub, "/status", "requested")?;
    Ok(())
}

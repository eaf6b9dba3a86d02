//! A client of `/v1/acp` for tests: raw bytes out, raw bytes in, every wait with an end.
//!
//! In: a hub and the name of a server. Out: responses as the bytes that came, and the stream as numbered
//! events.

#![allow(dead_code, reason = "each test uses its own part")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is missing")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::{Deref, DerefMut};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, HubBuilder};
use serde_json::{Value, json};

/// How long anything may take: generous, because CI has two slow cores and starts real agents.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The method by which an agent asks.
pub const EXTENSION: &str = "_sandboxagent/session/request_question";
pub const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < give_up, "not seen in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A hub whose agents end with it.
pub struct Guarded(Hub);

pub fn builder() -> HubBuilder {
    Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--end-agents")
}

pub fn start(builder: HubBuilder) -> Guarded {
    Guarded(builder.start().unwrap())
}

pub fn hub() -> Guarded {
    start(builder())
}

/// The questions of a status, oldest first.
pub fn questions(hub: &Hub, status: &str) -> Vec<Value> {
    let (_, list) = hub.http("GET", &format!("/v1/questions?status={status}&order=asc"), None).unwrap();
    list["questions"].as_array().unwrap().clone()
}

impl Deref for Guarded {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        &self.0
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut Hub {
        &mut self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Politely, so that the agents end too; the hub kills what is left of itself.
        drop(self.0.stop());
    }
}

/// One event of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: u64,
    pub name: String,
    pub data: String,
}

impl Event {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// Where a server is, for threads that outlive a borrow.
#[derive(Debug, Clone)]
pub struct Place {
    host: String,
    token: String,
    path: String,
}

impl Place {
    pub fn new(hub: &Hub, server: &str) -> Self {
        let host = hub.url.trim_start_matches("http://").to_owned();
        Self { host, token: hub.token().unwrap(), path: format!("/v1/acp/{server}") }
    }

    pub fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    /// Another address of the same hub.
    pub fn at(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    fn connect(&self, method: &str, query: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, token, path) = (&self.host, &self.token, &self.path);
        let length = body.len();
        let head = format!(
            "{method} {path}{query} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        stream
    }

    /// One message: the status, and the body without the white space before it.
    pub fn post(&self, query: &str, body: &str) -> (u16, String) {
        finish(self.connect("POST", query, "", body)).unwrap_or((0, String::new()))
    }

    /// A message whose response comes later.
    pub fn post_later(&self, body: &str) -> JoinHandle<(u16, String)> {
        let (place, body) = (self.clone(), body.to_owned());
        std::thread::spawn(move || place.post("", &body))
    }

    pub fn delete(&self) -> u16 {
        finish(self.connect("DELETE", "", "", "")).unwrap().0
    }

    pub fn stream(&self, after: Option<u64>) -> Stream {
        let headers = after.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        Paused(Some(self.connect("GET", "", &headers, ""))).read()
    }

    /// A stream that is connected and not read from yet.
    pub fn paused_stream(&self) -> Paused {
        Paused(Some(self.connect("GET", "", "", "")))
    }

    /// Starts the agent and opens a session; gives its id.
    pub fn open(&self, agent: &str, cwd: &str) -> String {
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": 1, "clientCapabilities": {} } });
        let (status, body) = self.post(&format!("?agent={agent}"), &hello.to_string());
        assert_eq!(status, 200, "{body}");
        self.new_session(2, cwd)
    }

    pub fn new_session(&self, id: u64, cwd: &str) -> String {
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        let new = json!({ "jsonrpc": "2.0", "id": id, "method": "session/new", "params": params });
        let (status, body) = self.post("", &new.to_string());
        assert_eq!(status, 200, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        body["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
    }

    pub fn prompt(&self, id: u64, session: &str, text: &str) -> JoinHandle<(u16, String)> {
        self.post_later(&prompt(id, session, text))
    }

    /// Answers a request of the agent.
    pub fn respond(&self, request: &Value, result: &Value) -> (u16, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        let (status, body) = self.post("", &body.to_string());
        (status, serde_json::from_str(&body).unwrap_or_default())
    }
}

pub fn prompt(id: u64, session: &str, text: &str) -> String {
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params }).to_string()
}

fn finish(mut stream: TcpStream) -> Option<(u16, String)> {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let text = String::from_utf8(answer).unwrap();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.trim_start().to_owned()))
}

/// A connection to the stream.
pub struct Paused(Option<TcpStream>);

impl Paused {
    pub fn read(&mut self) -> Stream {
        let stream = self.0.take().unwrap();
        let (sender, events) = channel();
        std::thread::spawn(move || {
            let (mut id, mut name) = (0, String::new());
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if let Some(number) = line.strip_prefix("id: ") {
                    id = number.parse().unwrap();
                } else if let Some(event) = line.strip_prefix("event: ") {
                    event.clone_into(&mut name);
                } else if let Some(data) = line.strip_prefix("data: ")
                    && sender.send(Event { id, name: name.clone(), data: data.to_owned() }).is_err()
                {
                    return;
                }
            }
        });
        Stream { events, seen: Vec::new() }
    }
}

/// A reader of the stream.
pub struct Stream {
    events: Receiver<Event>,
    pub seen: Vec<Event>,
}

impl Stream {
    pub fn next(&mut self) -> Event {
        let event = self
            .events
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| panic!("no event after {:?}", self.seen.last()));
        self.seen.push(event.clone());
        event
    }

    /// Reads on until an event is what is waited for.
    pub fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.next();
            if wanted(&event) {
                return event;
            }
        }
    }

    /// The next request of the agent with this method.
    pub fn request(&mut self, method: &str) -> Value {
        self.until(|event| event.name == "message" && event.json()["method"] == method).json()
    }

    /// Everything until the stream ends.
    pub fn rest(&mut self) -> Vec<Event> {
        while let Ok(event) = self.events.recv_timeout(PATIENCE) {
            self.seen.push(event);
        }
        self.seen.clone()
    }
}

/// Every number once, in order.
pub fn assert_no_hole(events: &[Event]) {
    let first = events.first().map_or(1, |event| event.id);
    for (event, wanted) in events.iter().zip(first..) {
        assert_eq!(event.id, wanted, "a hole or a repeat before {event:?}");
    }
}

pub fn result(response: &(u16, String)) -> Value {
    assert_eq!(response.0, 200, "{}", response.1);
    serde_json::from_str::<Value>(&response.1).unwrap()["result"].clone()
}

pub fn is_alive(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with(['Z', 'X']))
}

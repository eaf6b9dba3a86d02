//! The stage of the live tests: a real hub, real holders, real agent processes. In: requests to start agents,
//! and answers. Out: what the hub saw of them.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use askd_testkit::hub::Hub;
use serde_json::{Value, json};

/// How long anything may take: generous, because CI has two slow cores and starts real agents.
const PATIENCE: Duration = Duration::from_secs(120);

/// Tries until it is there.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < give_up, "not seen in time: {what}");
        std::thread::sleep(Duration::from_millis(25));
    }
}

pub fn is_alive(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with(['Z', 'X']))
}

/// The processes of the group that `leader` leads.
pub fn group_of(leader: i64) -> Vec<i64> {
    let all = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i64>().ok());
    let in_group = |pid: &i64| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let group =
            stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(2)?.parse::<i64>().ok());
        group == Some(leader)
    };
    all.filter(in_group).collect()
}

/// A hub with what live tests want of it. Its agents end with it.
pub struct Stage {
    pub hub: Hub,
}

impl Stage {
    pub fn new() -> Self {
        Self { hub: Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--end-agents").start().unwrap() }
    }

    pub fn start(&self, request: &Value) -> String {
        let (status, session) = self.hub.http("POST", "/v1/sessions", Some(request)).unwrap();
        assert_eq!(status, 201, "{session}");
        session["id"].as_str().unwrap().to_owned()
    }

    fn get(&self, path: &str) -> Value {
        let (status, value) = self.hub.http("GET", path, None).unwrap();
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    pub fn questions(&self, status: &str) -> Vec<Value> {
        self.get(&format!("/v1/questions?status={status}&order=asc"))["questions"].as_array().unwrap().clone()
    }

    pub fn question(&self, id: &str) -> Value {
        self.get(&format!("/v1/questions/{id}"))
    }

    pub fn session(&self, id: &str) -> Value {
        self.get(&format!("/v1/sessions/{id}"))
    }

    pub fn holders(&self) -> Vec<Value> {
        self.get("/v1/holders")["holders"].as_array().unwrap().clone()
    }

    /// The id of the session's open question, when it is there.
    pub fn open_question(&self, session: &str) -> String {
        self.open_questions(session, 1).remove(0)
    }

    pub fn open_questions(&self, session: &str, count: usize) -> Vec<String> {
        eventually(&format!("{count} open question(s)"), || {
            let of_session = |question: &Value| question["sessionId"] == session;
            let open: Vec<String> = self
                .questions("requested")
                .iter()
                .filter(|question| of_session(question))
                .map(|question| question["id"].as_str().unwrap().to_owned())
                .collect();
            (open.len() >= count).then_some(open)
        })
    }

    pub fn answer(&self, id: &str, answers: &Value) -> Value {
        self.reply(id, &json!({ "answers": answers }))
    }

    pub fn reply(&self, id: &str, reply: &Value) -> Value {
        let (status, question) =
            self.hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(reply)).unwrap();
        assert_eq!(status, 200, "{question}");
        question
    }

    pub fn reject(&self, id: &str, rejection: &Value) -> Value {
        let (status, question) =
            self.hub.http("POST", &format!("/v1/questions/{id}/reject"), Some(rejection)).unwrap();
        assert_eq!(status, 200, "{question}");
        question
    }

    /// The question once the agent has shown that it went on with its outcome.
    pub fn confirmed(&self, id: &str) -> Value {
        eventually("the confirmed delivery", || {
            let question = self.question(id);
            assert_ne!(question["delivery"]["state"], "failed", "{question}");
            (question["delivery"]["state"] == "confirmed").then_some(question)
        })
    }

    /// What a session said so far, without what it was told.
    pub fn transcript(&self, session: &str) -> String {
        said(&self.entries(session))
    }

    /// The transcript as the stream gives it, up to the newest entry at this moment.
    pub fn entries(&self, session: &str) -> Vec<Value> {
        TranscriptReader::open(self, session).rest(self)
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Politely, so that the agents end too; the hub kills what is left of itself.
        drop(self.hub.stop());
    }
}

/// The words of a session itself.
pub fn said(entries: &[Value]) -> String {
    let own = entries.iter().filter(|entry| entry["voice"] != "user");
    own.filter_map(|entry| entry["text"].as_str()).collect()
}

/// A stream of a session's transcript, from its beginning.
pub struct TranscriptReader {
    stream: TcpStream,
    path: String,
}

impl TranscriptReader {
    pub fn open(stage: &Stage, session: &str) -> Self {
        let address = stage.hub.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let token = stage.hub.token().unwrap();
        let path = format!("/v1/sessions/{session}/transcript");
        // HTTP/1.0: the answer is not in chunks.
        let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Self { stream, path }
    }

    /// What comes up to the newest entry at this moment. A heartbeat says that there is no more, where the
    /// newest one is another session's.
    pub fn rest(self, stage: &Stage) -> Vec<Value> {
        let newest = self.newest(stage);
        let mut entries = Vec::new();
        let mut number = 0;
        let mut lines = BufReader::new(self.stream).lines();
        while number < newest {
            let Some(line) = lines.next() else { break };
            let line = line.unwrap();
            if line == ": still here" {
                break;
            } else if let Some(id) = line.strip_prefix("id: ") {
                // It is there when its data is.
                let data = lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("data: "));
                entries.push(serde_json::from_str(&data.unwrap()["data: ".len()..]).unwrap());
                number = id.parse().unwrap();
            }
        }
        entries
    }

    /// The number of the newest entry: the hub names it to who asks for what is beyond.
    fn newest(&self, stage: &Stage) -> u64 {
        let (status, problem) =
            stage.hub.http("GET", &format!("{}?after={}", self.path, u32::MAX), None).unwrap();
        assert_eq!((status, &problem["errors"][0]["code"]), (400, &json!("beyond_newest")), "{problem}");
        let message = problem["errors"][0]["message"].as_str().unwrap();
        message.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

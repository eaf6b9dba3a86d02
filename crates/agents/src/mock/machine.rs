//! The mock as a pure state machine: lines and timers in, effects out. It has no IO, so codec and mock can be
//! played against each other in one thread.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::payload::Ask;
use super::script::{Step, steps};

/// The effects to carry out, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write this line.
    Say(String),
    /// Write these bytes as they are.
    Raw(Vec<u8>),
    /// Write this line so many times, as fast as possible; `#` in it becomes the number.
    Repeat {
        line: String,
        count: u64,
    },
    Stderr(String),
    /// Come back with this after so many milliseconds.
    After {
        ms: u64,
        timer: Timer,
    },
    /// Tell this session the value of a variable of the environment.
    Env {
        session: String,
        name: String,
    },
    /// Start a child that outlives the turn, and report its process id to this session.
    Child {
        session: String,
    },
    IgnoreTerm,
    Hang,
    Exit(i32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Timer {
    GoOn { session: String },
    Withdraw { request: String },
    Complete { request: String },
}

#[derive(Debug)]
struct Session {
    id: String,
    /// The id of the prompt in progress.
    prompt: Option<Value>,
    steps: VecDeque<Step>,
    /// Prompts that arrived meanwhile.
    later: VecDeque<(Value, String)>,
    paused: bool,
}

#[derive(Debug)]
struct Request {
    id: String,
    session: String,
    call: String,
    elicitation: Option<String>,
    withdrawn: bool,
}

#[derive(Debug, Default)]
pub struct Mock {
    sessions: Vec<Session>,
    requests: Vec<Request>,
    count: u64,
}

/// The line of a `session/update` with a piece of text.
pub(super) fn text_update(session: &str, text: &str) -> String {
    update(
        session,
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }),
    )
}

fn update(session: &str, update: Value) -> String {
    notification("session/update", json!({ "sessionId": session, "update": update }))
}

fn notification(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn completed(elicitation: &str) -> String {
    notification("elicitation/complete", json!({ "elicitationId": elicitation }))
}

fn response(id: &Value, result: Value) -> Effect {
    Effect::Say(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
}

impl Mock {
    pub fn new() -> Self {
        Self::default()
    }

    /// One line of the client.
    pub fn hear(&mut self, line: &str) -> Vec<Effect> {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return vec![Effect::Stderr("mock: a line that is not JSON".to_owned())];
        };
        let text = |key: &str| message.pointer(key).and_then(Value::as_str).unwrap_or_default();
        let session = text("/params/sessionId");
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some("initialize"), Some(id)) => vec![response(id, initialized())],
            (Some("session/new"), Some(id)) => {
                let new = format!("mock-{}", self.sessions.len() + 1);
                self.sessions.push(Session {
                    id: new.clone(),
                    prompt: None,
                    steps: VecDeque::new(),
                    later: VecDeque::new(),
                    paused: false,
                });
                vec![response(id, json!({ "sessionId": new }))]
            }
            (Some("session/prompt"), Some(id)) => {
                let blocks = message.pointer("/params/prompt").and_then(Value::as_array);
                let words: Vec<&str> = blocks
                    .map(|blocks| blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect())
                    .unwrap_or_default();
                self.prompted(session, id, &words.join("\n"))
            }
            (Some("session/close"), Some(id)) => {
                let mut effects = self.cancelled(session);
                effects.push(response(id, json!({})));
                effects
            }
            (Some("session/cancel"), None) => self.cancelled(session),
            (Some(_), Some(id)) => {
                let error = json!({ "code": -32601, "message": "method not found" });
                vec![Effect::Say(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())]
            }
            (Some(_), None) => Vec::new(),
            (None, Some(id)) => self.answered(id, &message),
            (None, None) => Vec::new(),
        }
    }

    /// A timer has fired.
    pub fn rings(&mut self, timer: &Timer) -> Vec<Effect> {
        let mut effects = Vec::new();
        match timer {
            Timer::GoOn { session } => {
                if let Some(session) = self.session(session) {
                    session.paused = false;
                }
                self.go_on(session, &mut effects);
            }
            Timer::Complete { request } => {
                let open = self.requests.iter().find(|open| open.id == *request);
                if let Some(id) = open.and_then(|open| open.elicitation.clone()) {
                    effects.push(Effect::Say(completed(&id)));
                }
            }
            Timer::Withdraw { request } => {
                let open = self.requests.iter_mut().find(|open| open.id == *request && !open.withdrawn);
                let Some(open) = open else { return effects };
                open.withdrawn = true;
                let session = open.session.clone();
                effects.push(Effect::Say(notification("$/cancel_request", json!({ "requestId": request }))));
                effects.push(Effect::Say(text_update(&session, &format!("withdrew {request}\n"))));
                self.go_on(&session, &mut effects);
            }
        }
        effects
    }

    fn session(&mut self, id: &str) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    fn prompted(&mut self, session: &str, id: &Value, text: &str) -> Vec<Effect> {
        let Some(known) = self.session(session) else {
            let error = json!({ "code": -32602, "message": "no such session" });
            return vec![Effect::Say(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())];
        };
        known.later.push_back((id.clone(), text.to_owned()));
        let mut effects = Vec::new();
        if known.prompt.is_none() {
            self.next_prompt(session, &mut effects);
        }
        effects
    }

    fn next_prompt(&mut self, session: &str, effects: &mut Vec<Effect>) {
        let Some(known) = self.session(session) else { return };
        if let Some((id, text)) = known.later.pop_front() {
            known.prompt = Some(id);
            known.steps = steps(&text).into();
            self.go_on(session, effects);
        }
    }

    /// Takes steps until one has to be waited for, or the turn is over.
    fn go_on(&mut self, session: &str, effects: &mut Vec<Effect>) {
        loop {
            let waits = self.requests.iter().any(|open| open.session == session && !open.withdrawn);
            let Some(known) = self.session(session) else { return };
            if waits || known.paused || known.prompt.is_none() {
                return;
            }
            match known.steps.pop_front() {
                Some(step) => {
                    if !self.step(session, step, effects) {
                        return;
                    }
                }
                None => {
                    if let Some(id) = known.prompt.take() {
                        effects.push(response(&id, json!({ "stopReason": "end_turn" })));
                    }
                    return self.next_prompt(session, effects);
                }
            }
        }
    }

    /// Takes one step; false if nothing can follow it.
    fn step(&mut self, session: &str, step: Step, effects: &mut Vec<Effect>) -> bool {
        let own = || session.to_owned();
        match step {
            Step::Say(text) => effects.push(Effect::Say(text_update(session, &text))),
            Step::Ask(asks) => {
                for ask in asks {
                    let (_, line) = self.ask(session, ask, effects);
                    effects.push(Effect::Say(line));
                }
            }
            Step::AskTwice => {
                let (_, line) = self.ask(session, Ask::Question, effects);
                effects.extend([Effect::Say(line.clone()), Effect::Say(line)]);
            }
            Step::AskAndWithdraw { after_ms } => {
                let (request, line) = self.ask(session, Ask::Question, effects);
                effects.push(Effect::Say(line));
                effects.push(Effect::After { ms: after_ms, timer: Timer::Withdraw { request } });
            }
            Step::LinkDone { after_ms } => {
                let (request, line) = self.ask(session, Ask::Link, effects);
                effects.push(Effect::Say(line));
                effects.push(Effect::After { ms: after_ms, timer: Timer::Complete { request } });
            }
            Step::AskAndCrash => {
                let (_, line) = self.ask(session, Ask::Question, effects);
                effects.push(Effect::Say(line));
                crash(effects);
                return false;
            }
            Step::Crash => {
                crash(effects);
                return false;
            }
            Step::Flood(count) => {
                effects.push(Effect::Repeat { line: text_update(session, "flood #\n"), count });
            }
            Step::Huge(bytes) => {
                let text = "x".repeat(usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30));
                effects.push(Effect::Say(text_update(session, &text)));
            }
            Step::Garbage => effects.extend(garbage(session)),
            Step::Hang => {
                effects.push(Effect::Hang);
                return false;
            }
            Step::IgnoreTerm => effects.push(Effect::IgnoreTerm),
            Step::Pause(ms) => {
                if let Some(known) = self.session(session) {
                    known.paused = true;
                }
                effects.push(Effect::After { ms, timer: Timer::GoOn { session: own() } });
            }
            Step::Env(name) => effects.push(Effect::Env { session: own(), name }),
            Step::Child => effects.push(Effect::Child { session: own() }),
        }
        true
    }

    /// Announces the call and opens the request.
    fn ask(&mut self, session: &str, ask: Ask, effects: &mut Vec<Effect>) -> (String, String) {
        self.count += 1;
        let n = self.count;
        let (id, call) = (format!("{}-{n}", ask.letter()), format!("call-{n}"));
        let params = ask.params(session, n);
        effects.push(Effect::Say(update(
            session,
            json!({ "sessionUpdate": "tool_call", "toolCallId": call, "title": ask.title(), "status": "pending" }),
        )));
        let elicitation = params.get("elicitationId").and_then(Value::as_str).map(str::to_owned);
        let line =
            json!({ "jsonrpc": "2.0", "id": id, "method": ask.method(), "params": params }).to_string();
        let request =
            Request { id: id.clone(), session: session.to_owned(), call, elicitation, withdrawn: false };
        self.requests.push(request);
        (id, line)
    }

    fn answered(&mut self, id: &Value, message: &Value) -> Vec<Effect> {
        let mut effects = Vec::new();
        let Some(at) = self.requests.iter().position(|open| id.as_str() == Some(&open.id)) else {
            return effects;
        };
        let open = self.requests.remove(at);
        let what = match (message.get("result"), message.get("error")) {
            (Some(result), _) => result.to_string(),
            (None, error) => format!("error {}", error.unwrap_or(&Value::Null)),
        };
        if open.withdrawn {
            return effects;
        }
        if let Some(id) = open.elicitation {
            effects.push(Effect::Say(completed(&id)));
        }
        let done =
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": open.call, "status": "completed" });
        effects.push(Effect::Say(update(&open.session, done)));
        effects.push(Effect::Say(text_update(&open.session, &format!("received: {what}\n"))));
        self.go_on(&open.session, &mut effects);
        effects
    }

    /// The turn is stopped: open requests are taken back and the prompt ends.
    fn cancelled(&mut self, session: &str) -> Vec<Effect> {
        let (gone, kept) =
            std::mem::take(&mut self.requests).into_iter().partition(|open| open.session == session);
        self.requests = kept;
        let gone: Vec<Request> = gone;
        let open = gone.iter().filter(|open| !open.withdrawn);
        let mut effects: Vec<Effect> = open
            .map(|open| Effect::Say(notification("$/cancel_request", json!({ "requestId": open.id }))))
            .collect();
        if let Some(known) = self.session(session) {
            known.steps.clear();
            known.paused = false;
            let running = known.prompt.take().into_iter();
            let waiting: Vec<Value> = running.chain(known.later.drain(..).map(|(id, _)| id)).collect();
            effects.extend(waiting.iter().map(|id| response(id, json!({ "stopReason": "cancelled" }))));
        }
        effects
    }
}

fn initialized() -> Value {
    json!({
        "protocolVersion": 1,
        "agentInfo": { "name": "askd-mock", "title": "Mock agent", "version": env!("CARGO_PKG_VERSION") },
        "agentCapabilities": { "loadSession": false, "sessionCapabilities": { "close": {} },
            "_meta": { "extensions": { "sessionRequestQuestion": true } } },
        "authMethods": [],
    })
}

fn crash(effects: &mut Vec<Effect>) {
    effects.push(Effect::Stderr("mock: something is wrong".to_owned()));
    effects.push(Effect::Stderr("mock: panicked at 'asked to crash'".to_owned()));
    effects.push(Effect::Exit(3));
}

/// Lines without use for a client, and one that it must refuse.
fn garbage(session: &str) -> Vec<Effect> {
    let unknown = json!({ "jsonrpc": "2.0", "id": "x-1", "method": "x/unknown", "params": {} });
    vec![
        Effect::Raw(b"not json\n{\"half\":\n[1,2]\n\xff\xfe\n\n".to_vec()),
        Effect::Say(unknown.to_string()),
        Effect::Say(update(session, json!({ "sessionUpdate": "x_unknown", "x": 1 }))),
    ]
}

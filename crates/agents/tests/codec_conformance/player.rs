//! Plays a scenario against a codec, as the engine and the store would: what was asked survives only as text,
//! an answer is checked by the core, and a restart leaves nothing but what was stored.

use std::collections::VecDeque;

use askd_agents::{Begin, Codec, Heard, KnownSession, Pending, Settlement, Speech, Start};
use askd_core::answer::Rejection;
use askd_core::lifecycle::Elsewhere;
use askd_core::{Ask, Reply};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::script::{self, Command};

/// What the store knows of a question.
struct Stored {
    native_id: String,
    session: Option<String>,
    ask: String,
    native: String,
    written: Option<Settlement>,
    over: bool,
}

struct Player<F: Fn() -> Result<Box<dyn Codec>, String>> {
    make: F,
    codec: Box<dyn Codec>,
    begin: Begin,
    stored: Vec<Stored>,
    heard: VecDeque<Value>,
    written: VecDeque<Value>,
    /// As the holder of the agent knows it.
    is_prompted: bool,
    last_line: Vec<u8>,
    /// The lines that were heard so far.
    lines: u64,
    /// The tags of calls that wait for their reply.
    calls: VecDeque<String>,
    /// All replies so far.
    replies: String,
}

pub(crate) fn play(text: &str, make: impl Fn() -> Result<Box<dyn Codec>, String>) -> Result<(), String> {
    let codec = make()?;
    let mut player = Player {
        make,
        codec,
        begin: Begin::default(),
        stored: Vec::new(),
        heard: VecDeque::new(),
        written: VecDeque::new(),
        is_prompted: false,
        last_line: Vec::new(),
        lines: 0,
        calls: VecDeque::new(),
        replies: String::new(),
    };
    for (line, command) in script::read(&text.replace("$VERSION", env!("CARGO_PKG_VERSION")))? {
        // A command that is not an expectation must find all expectations met.
        if !matches!(command, Command::Heard(_) | Command::Written(_)) {
            player.nothing_left().map_err(|why| format!("before line {line}: {why}"))?;
        }
        player.follow(command).map_err(|why| format!("line {line}: {why}"))?;
    }
    player.nothing_left().map_err(|why| format!("at the end: {why}"))
}

impl<F: Fn() -> Result<Box<dyn Codec>, String>> Player<F> {
    fn follow(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Begin(value) => {
                let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
                let sessions = value.get("sessions").and_then(Value::as_array).into_iter().flatten();
                for id in sessions.filter_map(Value::as_str) {
                    let known = KnownSession { native_id: id.to_owned(), cwd: text("cwd"), title: None };
                    self.begin.sessions.push(known);
                }
                self.begin.start = match text("start").as_deref() {
                    Some("observed") => Start::Observed,
                    _ if self.begin.sessions.is_empty() => Start::Fresh,
                    _ => Start::Resumed,
                };
                self.begin.cwd = text("cwd").unwrap_or_default();
                self.begin.prompt = text("prompt");
                let heard = self.codec.begin(self.begin.clone());
                self.take(heard)
            }
            Command::Hear(line) => {
                self.lines += 1;
                let heard = self.codec.hear(&line);
                self.last_line = line;
                self.take(heard)
            }
            Command::Overhear(line) => {
                let heard = self.codec.overhear(&line);
                self.take(heard)
            }
            Command::Written(wanted) => match self.written.pop_front() {
                Some(written) if written == wanted => Ok(()),
                Some(written) => Err(format!("was written: {written}")),
                None => Err("nothing was written".to_owned()),
            },
            Command::Heard(wanted) => {
                let chatter = is_chatter(&wanted);
                while let Some(heard) = self.heard.pop_front() {
                    if is_chatter(&heard) && !chatter {
                        continue;
                    }
                    return if is_subset(&wanted, &heard) {
                        Ok(())
                    } else {
                        Err(format!("was heard: {heard}"))
                    };
                }
                Err("nothing was heard".to_owned())
            }
            Command::Answer { native_id, reply } => {
                let settled = self.checked(native_id.as_deref(), reply)?;
                self.settle(native_id.as_deref(), settled)
            }
            Command::Reject { native_id, rejection } => {
                let (_, ask) = self.target(native_id.as_deref())?;
                let rejection: Rejection =
                    serde_json::from_value(rejection).map_err(|error| error.to_string())?;
                let (mode, reason) = rejection.check(&ask).map_err(|errors| errors.to_string())?;
                self.settle(native_id.as_deref(), Settlement::Rejected { mode, reason })
            }
            Command::Unspeakable { native_id, reply } => {
                let settled = self.checked(native_id.as_deref(), reply)?;
                let (at, ask) = self.target(native_id.as_deref())?;
                match self.codec.speak(&raw(&self.stored[at].native)?, &ask, &settled) {
                    Err(_) => Ok(()),
                    Ok(speech) => Err(format!("it was said: {speech:?}")),
                }
            }
            Command::Prompt(text) => {
                let heard = self.codec.prompt(None, &text).map_err(|error| error.to_string())?;
                self.take(heard)
            }
            Command::Interrupt => {
                let heard = self.codec.interrupt(None);
                self.take(heard)
            }
            Command::Close => {
                let heard = self.codec.close(None);
                self.take(heard)
            }
            Command::Restart => self.restart(),
            Command::Connected => {
                let heard = self.codec.connected();
                self.take(heard)
            }
            Command::Reply { status, body } => {
                let tag = self.calls.pop_front().ok_or("no call waits for a reply")?;
                let heard = self.codec.replied(&tag, status, &body);
                self.replies.push_str(&String::from_utf8_lossy(&body));
                self.last_line = body;
                self.take(heard)
            }
        }
    }

    /// The hub was killed: a new codec learns what the store knows.
    fn restart(&mut self) -> Result<(), String> {
        self.codec = (self.make)()?;
        self.calls.clear();
        if self.begin.start == Start::Fresh {
            self.begin.start = Start::Resumed;
        }
        self.begin.epoch += 1;
        self.begin.pending.clear();
        for stored in self.stored.iter().filter(|stored| !stored.over) {
            self.begin.pending.push(Pending {
                native_id: stored.native_id.clone(),
                native_session: stored.session.clone(),
                native: raw(&stored.native)?,
                written: stored.written.clone(),
            });
        }
        let heard = self.codec.begin(self.begin.clone());
        self.take(heard)
    }

    fn checked(&self, native_id: Option<&str>, reply: Value) -> Result<Settlement, String> {
        let (_, ask) = self.target(native_id)?;
        let reply: Reply = serde_json::from_value(reply).map_err(|error| error.to_string())?;
        reply.check(&ask).map(Settlement::Answered).map_err(|errors| errors.to_string())
    }

    fn target(&self, native_id: Option<&str>) -> Result<(usize, Ask), String> {
        let at = match native_id {
            Some(id) => self.stored.iter().position(|stored| stored.native_id == id),
            None => self.stored.len().checked_sub(1),
        };
        let at = at.ok_or("no such question")?;
        let ask = serde_json::from_str(&self.stored[at].ask).map_err(|error| error.to_string())?;
        Ok((at, ask))
    }

    fn settle(&mut self, native_id: Option<&str>, settled: Settlement) -> Result<(), String> {
        let (at, ask) = self.target(native_id)?;
        let native = raw(&self.stored[at].native)?;
        let speech = self.codec.speak(&native, &ask, &settled).map_err(|error| error.to_string())?;
        self.say(&speech)?;
        let native_id = self.stored[at].native_id.clone();
        let heard = self.codec.delivered(&native_id, &settled);
        self.stored[at].written = Some(settled);
        self.take(heard)
    }

    fn say(&mut self, speech: &Speech) -> Result<(), String> {
        let Speech::Bytes(bytes) = speech else {
            let Speech::Call(call) = speech else { unreachable!() };
            let body = call.body.as_ref().map(|body| serde_json::from_slice::<Value>(body));
            let body = body.transpose().map_err(|error| error.to_string())?;
            let method = format!("{:?}", call.method).to_uppercase();
            if !call.tag.is_empty() {
                self.calls.push_back(call.tag.clone());
            }
            self.written
                .push_back(json!({ "call": method, "path": call.path, "query": call.query, "body": body }));
            return Ok(());
        };
        let lines = bytes.strip_suffix(b"\n").ok_or("what is written does not end with a line feed")?;
        for line in lines.split(|byte| *byte == b'\n') {
            self.written.push_back(serde_json::from_slice(line).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    fn take(&mut self, heard: Vec<Heard>) -> Result<(), String> {
        for mut heard in heard {
            self.name_question(&mut heard);
            match &heard {
                Heard::Write(speech) => {
                    self.say(speech)?;
                    continue;
                }
                Heard::Closing { bytes, .. } => {
                    self.say(&Speech::Bytes(bytes.clone()))?;
                    continue;
                }
                Heard::FirstPrompt(bytes) => {
                    if !std::mem::replace(&mut self.is_prompted, true) {
                        self.say(&Speech::Bytes(bytes.clone()))?;
                    }
                    continue;
                }
                Heard::Asked(asked) => {
                    let line = String::from_utf8_lossy(&self.last_line);
                    // What was found in a list is kept as the event would have brought it.
                    let listed = self.replies.contains(asked.native_id.as_str());
                    if asked.native.get() != line.trim() && !listed {
                        return Err(
                            "the native request is not what the agent wrote, byte for byte".to_owned()
                        );
                    }
                    asked.ask.check().map_err(|errors| errors.to_string())?;
                    if self.stored.iter().any(|stored| stored.native_id == asked.native_id) {
                        self.heard.push_back(json!({ "heard": "askedAgain", "nativeId": asked.native_id }));
                        continue;
                    }
                    self.stored.push(Stored {
                        native_id: asked.native_id.clone(),
                        session: asked.native_session.clone(),
                        ask: serde_json::to_string(&asked.ask).map_err(|error| error.to_string())?,
                        native: asked.native.get().to_owned(),
                        written: None,
                        over: false,
                    });
                }
                Heard::Withdrawn { native_id, .. }
                | Heard::Confirmed { native_id }
                | Heard::AnsweredElsewhere { native_id, .. }
                | Heard::NotTaken { native_id, .. } => {
                    let stored = self.stored.iter_mut().find(|stored| stored.native_id == *native_id);
                    stored.ok_or("an end of a question that was not asked")?.over = true;
                }
                Heard::SessionStarted { native_id, cwd, title, .. } => {
                    self.begin.sessions.push(KnownSession {
                        native_id: native_id.clone(),
                        cwd: cwd.clone(),
                        title: title.clone(),
                    })
                }
                _ => {}
            }
            self.heard.push_back(show(&heard));
        }
        Ok(())
    }

    /// A question that has the name of one that is over, with other bytes, is stored under another name, as
    /// the engine does it.
    fn name_question(&mut self, heard: &mut Heard) {
        let Heard::Asked(asked) = heard else { return };
        let earlier = self.stored.iter().find(|stored| stored.native_id == asked.native_id);
        if earlier.is_some_and(|earlier| earlier.over && earlier.native != asked.native.get()) {
            let name = format!("{}~{}", asked.native_id, self.lines);
            if self.codec.rename(&asked.native_id, &name) {
                asked.native_id = name;
            }
        }
    }

    fn nothing_left(&mut self) -> Result<(), String> {
        if let Some(heard) = self.heard.drain(..).find(|heard| !is_chatter(heard)) {
            return Err(format!("{heard} was not expected"));
        }
        match self.written.pop_front() {
            Some(written) => Err(format!("{written} was written and was not expected")),
            None => Ok(()),
        }
    }
}

fn raw(text: &str) -> Result<Box<RawValue>, String> {
    RawValue::from_string(text.to_owned()).map_err(|error| error.to_string())
}

fn is_chatter(heard: &Value) -> bool {
    heard.get("heard").and_then(Value::as_str) == Some("chatter")
}

/// Every member that is wanted is there and fits; lists are compared member by member.
fn is_subset(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            wanted.iter().all(|(key, wanted)| is_subset(wanted, found.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len()
                && wanted.iter().zip(found).all(|(wanted, found)| is_subset(wanted, found))
        }
        _ => wanted == found,
    }
}

fn show(heard: &Heard) -> Value {
    match heard {
        Heard::Asked(asked) => {
            let mut value = serde_json::to_value(&asked.ask).unwrap();
            value["heard"] = json!("asked");
            value["nativeId"] = json!(asked.native_id);
            value["nativeSession"] = json!(asked.native_session);
            value["patienceMs"] = json!(asked.patience.map(|patience| patience.as_millis() as u64));
            value
        }
        Heard::Withdrawn { native_id, cause } => {
            json!({ "heard": "withdrawn", "nativeId": native_id, "cause": cause })
        }
        Heard::AnsweredElsewhere { native_id, how } => {
            json!({ "heard": "answeredElsewhere", "nativeId": native_id, "how": elsewhere(how) })
        }
        Heard::Confirmed { native_id } => json!({ "heard": "confirmed", "nativeId": native_id }),
        Heard::NotTaken { native_id, reason, detail } => {
            json!({ "heard": "notTaken", "nativeId": native_id, "reason": reason, "detail": detail })
        }
        Heard::SessionStarted { native_id, title, cwd, parent } => {
            json!({ "heard": "sessionStarted", "nativeId": native_id, "title": title, "cwd": cwd, "parent": parent })
        }
        Heard::SessionUpdated { native_id, title } => {
            json!({ "heard": "sessionUpdated", "nativeId": native_id, "title": title })
        }
        Heard::SessionEnded { native_id, cause } => {
            json!({ "heard": "sessionEnded", "nativeId": native_id, "cause": cause })
        }
        Heard::TurnEnded { native_session, end } => {
            json!({ "heard": "turnEnded", "nativeSession": native_session, "end": format!("{end:?}") })
        }
        Heard::Failed { step, detail } => json!({ "heard": "failed", "step": step, "detail": detail }),
        Heard::Chatter { native_session, voice, text } => {
            let voice = format!("{voice:?}").to_lowercase();
            json!({ "heard": "chatter", "nativeSession": native_session, "voice": voice, "text": text })
        }
        Heard::Incomplete { detail } => json!({ "heard": "incomplete", "detail": detail }),
        Heard::Write(_) | Heard::Closing { .. } | Heard::FirstPrompt(_) => json!({ "heard": "write" }),
        Heard::Unrecognised { why } => json!({ "heard": "unrecognised", "why": why }),
    }
}

/// The agent's own answer as JSON, field by field.
fn elsewhere(how: &Elsewhere) -> Value {
    match how {
        Elsewhere::Answered { answers, notes, via } => {
            json!({ "answered": { "answers": answers, "notes": notes, "via": via } })
        }
        Elsewhere::Rejected { reason, via } => json!({ "rejected": { "reason": reason, "via": via } }),
        Elsewhere::TimedOut { detail, via } => json!({ "timedOut": { "detail": detail, "via": via } }),
    }
}

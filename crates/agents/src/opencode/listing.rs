//! Requests to the server: everything that waits, at every connection, and the tool part of a request in
//! doubt.
//!
//! A new connection replays nothing, and the list is made while events arrive. So the codec asks for it after
//! the stream is open, and an end since then is not undone by it. But the server reports that it is connected
//! before its own events arrive, and a question in between is in no event and may be too late for the list.
//! So everything is listed again as soon as another event shows that events arrive, and until then after a
//! while (`still_connected`).
//!
//! A listed request is shown only if its tool part still waits: an aborted turn leaves its requests in the
//! list. A known request that is missing in the first list of a connection was lost by a restart. In a later
//! list it is being answered, and only its part or an event shows how.

use askd_core::Cause;
use askd_core::delivery::FailReason;
use serde_json::value::RawValue;

use super::codec::{OpencodeCodec, in_directory, is_plain, write};
use super::folders::Page;
use super::open::{Open, Way};
use super::verdict::{Standing, ended, standing, verdict};
use super::wire::{AnyRequest, Message, SessionInfo, as_event};
use crate::heard::{Call, CallMethod, Heard};

/// Attempts to load a list.
const MAX_ATTEMPTS: u32 = 3;

/// The purpose of a call.
#[derive(Debug)]
pub(super) enum Purpose {
    Sessions(Page),
    /// Finds out whether anything can wait in this session.
    Turn(SessionInfo),
    List {
        way: Way,
        directory: Option<String>,
        at: u64,
        round: Round,
        attempt: u32,
    },
    Part {
        native_id: String,
        looking: Looking,
    },
    /// askd starts a session of its own.
    NewSession {
        attempt: u32,
    },
    /// Finds out whether askd's own session has a message.
    Begun {
        attempt: u32,
    },
    /// askd says something to a session.
    Prompt {
        session: String,
    },
}

/// How often a folder was listed since the server is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    First,
    Again,
}

/// Why a tool part is looked at.
#[derive(Debug)]
pub(super) enum Looking {
    /// An unknown request in a list: shown if it waits.
    Listed {
        open: Box<Open>,
        native: Box<RawValue>,
    },
    /// A known request in a list, or one that is missing in a later list.
    Still,
    /// A known request that is missing in the first list.
    Absent,
    TurnOver,
    /// An answer was sent; `gone`: the server did not know the request.
    Spoken {
        gone: bool,
    },
}

impl OpencodeCodec {
    pub(super) fn expect(&mut self, purpose: Purpose) -> String {
        let n = self.tick();
        self.under_way.insert(n, purpose);
        n.to_string()
    }

    pub(super) fn get(
        &mut self,
        path: String,
        query: Vec<(String, String)>,
        purpose: Purpose,
        heard: &mut Vec<Heard>,
    ) {
        let tag = self.expect(purpose);
        heard.push(write(Call { tag, method: CallMethod::Get, path, query, body: None }));
    }

    /// Looks at the tool part of a known request.
    pub(super) fn look(&mut self, native_id: &str, looking: Looking, heard: &mut Vec<Heard>) {
        let Some(open) = self.open.get(native_id).cloned() else { return };
        self.look_at(&open, looking, heard);
    }

    fn look_at(&mut self, open: &Open, looking: Looking, heard: &mut Vec<Heard>) {
        let link = open.link.as_ref().filter(|link| is_plain(&link.message) && is_plain(&open.session));
        let Some(link) = link else {
            // A request without a tool part: it waits exactly if it is listed.
            return self.looked(&open.native_id, looking, "", Standing::Waiting, heard);
        };
        let path = format!("/session/{}/message/{}", open.session, link.message);
        let query = in_directory(open.directory.as_deref());
        self.get(path, query, Purpose::Part { native_id: open.native_id.clone(), looking }, heard);
    }

    pub(super) fn after_speaking(&mut self, native_id: &str, status: u16, heard: &mut Vec<Heard>) {
        if let Some(open) = self.open.get_mut(native_id) {
            open.in_flight = false;
            open.acknowledged |= (200..300).contains(&status);
        }
        if matches!(status, 200..=299 | 404) {
            self.look(native_id, Looking::Spoken { gone: status == 404 }, heard);
        }
    }

    pub(super) fn take_reply(&mut self, purpose: Purpose, status: u16, body: &[u8], heard: &mut Vec<Heard>) {
        match purpose {
            Purpose::Sessions(page) => self.take_sessions(page, status, body, heard),
            Purpose::Turn(info) => self.take_turn(info, status, body, heard),
            Purpose::List { way, directory, at, round, attempt } => {
                match serde_json::from_slice::<Vec<&RawValue>>(body).ok().filter(|_| status == 200) {
                    Some(list) => self.take_list(way, directory.as_deref(), at, round, &list, heard),
                    None if attempt < MAX_ATTEMPTS => self.list(way, directory, round, attempt + 1, heard),
                    None => heard.push(Heard::Unrecognised {
                        why: format!("the list of requests did not come ({status})"),
                    }),
                }
            }
            Purpose::Part { native_id, looking } => self.take_part(&native_id, looking, status, body, heard),
            Purpose::NewSession { attempt } => self.take_session(attempt, status, body, heard),
            Purpose::Begun { attempt } => self.take_begun(attempt, status, body, heard),
            Purpose::Prompt { session } => self.take_prompted(session, status, body, heard),
        }
    }

    pub(super) fn list(
        &mut self,
        way: Way,
        directory: Option<String>,
        round: Round,
        attempt: u32,
        heard: &mut Vec<Heard>,
    ) {
        let path = match way {
            Way::Question => "/question",
            Way::Permission => "/permission",
        };
        let query = in_directory(directory.as_deref());
        let at = self.now;
        self.get(path.to_owned(), query, Purpose::List { way, directory, at, round, attempt }, heard);
    }

    fn take_list(
        &mut self,
        way: Way,
        directory: Option<&str>,
        at: u64,
        round: Round,
        list: &[&RawValue],
        heard: &mut Vec<Heard>,
    ) {
        let mut listed = Vec::new();
        for properties in list {
            let Ok(request) = serde_json::from_str::<AnyRequest>(properties.get()) else {
                heard.push(Heard::Unrecognised { why: "a request in a list that has no id".to_owned() });
                continue;
            };
            listed.push(request.id.clone());
            if self.open.get(&request.id).is_some() {
                self.look(&request.id, Looking::Still, heard);
            } else if is_plain(&request.id) && self.open.why_ended(&request.id).is_none() {
                let of_session = self.sessions.directory(&request.session).map(str::to_owned);
                let directory = directory.map(str::to_owned).or(of_session);
                let known = directory.as_deref().unwrap_or_default();
                let Some(native) = as_event(way.event(), known, properties) else { continue };
                let open = Box::new(Open::new(way, directory, request, 0));
                self.look_at(&open.clone(), Looking::Listed { open, native }, heard);
            }
        }
        let absent = |open: &&Open| {
            open.way == way
                && open.directory.as_deref() == directory
                && open.since <= at
                && !listed.contains(&open.native_id)
        };
        let absent: Vec<String> =
            self.open.iter().filter(absent).map(|open| open.native_id.clone()).collect();
        for id in absent {
            let looking = if round == Round::First { Looking::Absent } else { Looking::Still };
            self.look(&id, looking, heard);
        }
    }

    fn take_part(
        &mut self,
        native_id: &str,
        looking: Looking,
        status: u16,
        body: &[u8],
        heard: &mut Vec<Heard>,
    ) {
        let link = match &looking {
            Looking::Listed { open, .. } => open.link.clone(),
            _ => self.open.get(native_id).and_then(|open| open.link.clone()),
        };
        let Some(link) = link else { return };
        match (status, serde_json::from_slice::<Message>(body)) {
            (200, Ok(message)) => match message.parts.into_iter().find(|part| part.call == link.call) {
                Some(part) => self.looked(native_id, looking, &part.tool, standing(part.state), heard),
                // A request may be listed a moment before its tool part is stored.
                None if matches!(looking, Looking::Listed { .. } | Looking::Still) => {
                    self.looked(native_id, looking, "", Standing::Waiting, heard);
                }
                None => {
                    let gone = Standing::Failed("its tool call is gone".to_owned());
                    self.looked(native_id, looking, "", gone, heard);
                }
            },
            (404, _) => self.session_gone(native_id, looking, heard),
            // Not known: better shown than lost, better open than ended by a guess.
            _ if matches!(looking, Looking::Listed { .. }) => {
                self.looked(native_id, looking, "", Standing::Waiting, heard);
            }
            _ => {}
        }
    }

    fn looked(
        &mut self,
        native_id: &str,
        looking: Looking,
        tool: &str,
        standing: Standing,
        heard: &mut Vec<Heard>,
    ) {
        if let Looking::Listed { open, native } = looking {
            if self.open.get(native_id).is_some() {
                // Its event was heard meanwhile.
                return;
            }
            if standing == Standing::Waiting {
                return self.show(*open, native, heard);
            }
            return self.clean_up(&open, heard);
        }
        let Some(open) = self.open.get(native_id) else { return };
        if let Some(verdict) = verdict(open, tool, standing) {
            return self.conclude(native_id, verdict, heard);
        }
        let lost = "OpenCode was restarted and has forgotten that it asked";
        let sent = open.sent.is_some();
        match looking {
            Looking::Absent if !sent => {
                let cause = Cause::SourceLost { detail: Some(lost.to_owned()) };
                self.conclude(native_id, ended(native_id.to_owned(), cause, lost, false), heard);
            }
            // It may just be on its way from the server to the part: one more look tells.
            Looking::Absent if !open.acknowledged && !open.in_flight => {
                self.look(native_id, Looking::Spoken { gone: true }, heard);
            }
            Looking::Spoken { gone: true } if !open.acknowledged => {
                let (native_id, reason) = (native_id.to_owned(), FailReason::Unconfirmed);
                let verdict =
                    Heard::NotTaken { native_id: native_id.clone(), reason, detail: lost.to_owned() };
                self.conclude(&native_id, verdict, heard);
            }
            _ => {}
        }
    }

    fn session_gone(&mut self, native_id: &str, looking: Looking, heard: &mut Vec<Heard>) {
        if let Looking::Listed { open, .. } = looking {
            return self.clean_up(&open, heard);
        }
        let Some(open) = self.open.get(native_id) else { return };
        let why = "its session was deleted in OpenCode";
        let cause = Cause::SessionEnded { detail: Some(why.to_owned()) };
        let verdict = ended(native_id.to_owned(), cause, why, open.sent.is_some());
        self.conclude(native_id, verdict, heard);
    }

    fn show(&mut self, open: Open, native: Box<RawValue>, heard: &mut Vec<Heard>) {
        let text = native.clone();
        let shown = super::wire::Envelope::read(text.get()).and_then(|envelope| {
            let properties = envelope.payload.properties.ok_or("no properties")?;
            self.hear_asked(open.way, open.directory, properties, native, heard)
        });
        if let Err(why) = shown {
            heard.push(Heard::Unrecognised { why });
        }
    }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;

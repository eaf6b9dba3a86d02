//! The agent's output for people: its text as it comes, its tools, and the end of a turn, each once.
//!
//! A text comes in pieces and then once more as a whole, so the reported length of each part is counted. A
//! turn may end with an error and then idle, and an aborted one is idle twice: only the first is its end.

use super::codec::OpencodeCodec;
use super::wire::{NamedError, Part, PartDelta};
use crate::heard::{Heard, TurnEnd, Voice};

/// The error of a turn that a person stopped.
const ABORTED: &str = "MessageAbortedError";
/// Parts of one turn with a counted length; a turn with more repeats itself at worst.
const MAX_PARTS: usize = 4096;

impl OpencodeCodec {
    pub(super) fn hear_talk(&mut self, part: &Part, heard: &mut Vec<Heard>) {
        match part.kind.as_str() {
            "text" if self.sessions.get_mut(&part.session).user.as_ref() != Some(&part.message) => {
                let text = part.text.clone();
                self.sessions.says(&part.session, part.message.clone(), part.id.clone(), text);
                let told = self.told(&part.session, &part.id);
                let rest = part.text.get(*told..).filter(|rest| !rest.is_empty());
                *told = part.text.len().max(*told);
                heard.extend(rest.map(|rest| says(&part.session, Voice::Agent, rest)));
            }
            "tool" if part.state.as_ref().is_some_and(|state| state.status == "running") => {
                let told = self.told(&part.session, &part.id);
                if *told == 0 {
                    *told = 1;
                    heard.push(says(&part.session, Voice::Tool, &part.tool));
                }
            }
            _ => {}
        }
    }

    pub(super) fn hear_more(&mut self, more: PartDelta, heard: &mut Vec<Heard>) {
        if self.sessions.says_more(&more.session, &more.part, &more.delta) {
            *self.told(&more.session, &more.part) += more.delta.len();
            heard.push(says(&more.session, Voice::Agent, &more.delta));
        }
    }

    /// The user said something: a turn begins, or goes on with it.
    pub(super) fn hear_prompted(&mut self, session: &str, message: String) {
        let session = self.sessions.get_mut(session);
        if session.user.as_ref() != Some(&message) {
            session.user = Some(message);
            session.turn_over = false;
        }
    }

    pub(super) fn hear_turn_over(
        &mut self,
        native_session: String,
        error: Option<NamedError>,
        heard: &mut Vec<Heard>,
    ) {
        let session = self.sessions.get_mut(&native_session);
        session.told.clear();
        if std::mem::replace(&mut session.turn_over, true) {
            return;
        }
        let end = match error {
            None => TurnEnd::Done,
            Some(error) if error.name == ABORTED => TurnEnd::Cancelled,
            Some(error) => TurnEnd::Failed(error.text()),
        };
        heard.push(Heard::TurnEnded { native_session: Some(native_session), end });
    }

    fn told(&mut self, session: &str, part: &str) -> &mut usize {
        let told = &mut self.sessions.get_mut(session).told;
        if told.len() >= MAX_PARTS {
            told.clear();
        }
        told.entry(part.to_owned()).or_default()
    }
}

fn says(session: &str, voice: Voice, text: &str) -> Heard {
    Heard::Chatter { native_session: Some(session.to_owned()), voice, text: Some(text.to_owned()) }
}

//! The codec of ACP on the lines and the codec of the server beside them, as one conversation.
//!
//! Clients lead the agent over ACP: its sessions, turns and permissions are told by the lines alone. Of the
//! server only questions are taken, how they end, and the titles of sessions. A question of a subagent, which
//! ACP does not know, is one of the session that it works for. A client's response to a question never goes
//! to the agent's lines: the answer is a call to the server.

use askd_core::delivery::DeliveryInput;
use askd_core::{Ask, Cause, Outcome};
use serde_json::value::RawValue;

use super::request;
use crate::acp::{AcpCodec, cancelled_turn};
use crate::codec::{Begin, ClientSays, Codec, Pending, Settlement, Start, Unspeakable};
use crate::heard::{Heard, Speech};
use crate::opencode::{NAME, OpencodeCodec};

#[derive(Debug)]
pub struct OpencodeAcpCodec {
    lines: AcpCodec,
    server: OpencodeCodec,
}

impl Default for OpencodeAcpCodec {
    fn default() -> Self {
        Self { lines: AcpCodec::new(NAME), server: OpencodeCodec::beside_acp(NAME) }
    }
}

impl OpencodeAcpCodec {
    /// Gives the events of the lines to both codecs: the server lists what waits in their sessions.
    fn told_by_lines(&mut self, heard: Vec<Heard>) -> Vec<Heard> {
        for value in &heard {
            if let Heard::SessionStarted { native_id, cwd, .. } = value {
                self.server.meet(native_id, cwd.clone());
            }
        }
        heard
    }

    fn told_by_server(&self, heard: Vec<Heard>) -> Vec<Heard> {
        heard.into_iter().filter_map(|value| self.beside_lines(value)).collect()
    }

    fn beside_lines(&self, heard: Heard) -> Option<Heard> {
        match heard {
            Heard::Asked(asked) => {
                let session = asked.native_session.clone()?;
                let shown = request::shown(*asked, self.server.root(&session))?;
                Some(Heard::Asked(Box::new(shown)))
            }
            Heard::SessionUpdated { ref native_id, .. } => self.lines.knows(native_id).then_some(heard),
            // Events of the lines, or of sessions that ACP does not know.
            Heard::SessionStarted { .. }
            | Heard::SessionEnded { .. }
            | Heard::TurnEnded { .. }
            | Heard::Chatter { .. } => None,
            heard => Some(heard),
        }
    }

    /// The questions of a turn that is cancelled. The server's codec goes on watching them: OpenCode leaves
    /// them in its list.
    fn abandon(&self, session: &str) -> impl Iterator<Item = Heard> {
        let withdrawn =
            |native_id| Heard::Withdrawn { native_id, cause: Cause::TurnAborted { detail: None } };
        self.server.unanswered(session).into_iter().map(withdrawn)
    }
}

impl Codec for OpencodeAcpCodec {
    fn begin(&mut self, begin: Begin) -> Vec<Heard> {
        let (mut on_lines, mut at_server) = (Vec::new(), Vec::new());
        for pending in begin.pending {
            match request::event(&pending.native) {
                Some(native) => at_server.push(Pending { native, ..pending }),
                None => on_lines.push(pending),
            }
        }
        self.server.begin(Begin {
            start: Start::Observed,
            sessions: begin.sessions.clone(),
            pending: at_server,
            ..Begin::default()
        });
        self.lines.begin(Begin { pending: on_lines, ..begin })
    }

    fn hear(&mut self, message: &[u8]) -> Vec<Heard> {
        let heard = self.lines.hear(message);
        self.told_by_lines(heard)
    }

    fn hear_server(&mut self, event: &[u8]) -> Vec<Heard> {
        let heard = self.server.hear(event);
        self.told_by_server(heard)
    }

    fn overhear(&mut self, message: &[u8]) -> Vec<Heard> {
        let mut heard = self.lines.overhear(message);
        if let Some(session) = cancelled_turn(message) {
            heard.extend(self.abandon(&session));
        }
        self.told_by_lines(heard)
    }

    fn connected(&mut self) -> Vec<Heard> {
        let heard = self.server.connected();
        self.told_by_server(heard)
    }

    fn still_connected(&mut self) -> Vec<Heard> {
        let heard = self.server.still_connected();
        self.told_by_server(heard)
    }

    fn replied(&mut self, tag: &str, status: u16, body: &[u8]) -> Vec<Heard> {
        let heard = self.server.replied(tag, status, body);
        self.told_by_server(heard)
    }

    fn prompt(&mut self, session: Option<&str>, text: &str) -> Result<Vec<Heard>, Unspeakable> {
        self.lines.prompt(session, text)
    }

    fn interrupt(&mut self, session: Option<&str>) -> Vec<Heard> {
        self.lines.interrupt(session)
    }

    fn close(&mut self, session: Option<&str>) -> Vec<Heard> {
        self.lines.close(session)
    }

    fn speak(&self, native: &RawValue, ask: &Ask, settled: &Settlement) -> Result<Speech, Unspeakable> {
        match request::event(native) {
            Some(event) => self.server.speak(&event, ask, settled),
            None => self.lines.speak(native, ask, settled),
        }
    }

    fn closing(&self, native: &RawValue, outcome: &Outcome) -> Option<Vec<u8>> {
        // A question of the server has nothing that waits on the lines.
        request::event(native).is_none().then(|| self.lines.closing(native, outcome)).flatten()
    }

    fn delivered(&mut self, native_id: &str, settled: &Settlement) -> Vec<Heard> {
        let mut heard = self.lines.delivered(native_id, settled);
        heard.extend(self.server.delivered(native_id, settled));
        heard
    }

    fn understand(&self, native: &RawValue, ask: &Ask, response: &str) -> Result<ClientSays, Unspeakable> {
        self.lines.understand(native, ask, response)
    }

    fn first_time(&mut self, surely: bool) {
        self.lines.first_time(surely);
    }

    fn undelivered(&mut self, native_id: &str) {
        self.lines.undelivered(native_id);
    }

    fn own_name(&self, native: &RawValue) -> Option<String> {
        match request::event(native) {
            Some(event) => self.server.own_name(&event),
            None => self.lines.own_name(native),
        }
    }

    fn forget(&mut self, native_id: &str) {
        self.lines.forget(native_id);
        self.server.forget(native_id);
    }

    fn judge(&self, status: u16, body: &[u8]) -> DeliveryInput {
        self.server.judge(status, body)
    }
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;

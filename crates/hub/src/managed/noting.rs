//! Transcript entries: every line of an agent, the visible events of its server, and askd's own.
//!
//! In: lines, events, and their meaning. Out: entries in order, given to the store with the rest of their
//! batch.

use askd_agents::{Heard, TurnEnd, Voice};
use askd_core::SessionId;
use askd_store::{NewEntry, TURN};

use super::attendant::Attendant;
use super::pipeline::Stored;
use crate::now;

impl Attendant {
    pub(super) fn hear_oversized(&mut self, n: u64, total_bytes: u64, prefix: &[u8]) {
        let text = format!("a line of {total_bytes} bytes was too long to be heard");
        let prefix = String::from_utf8_lossy(prefix).into_owned();
        let instead = self.relay.as_mut().and_then(|relay| relay.unreadable(&prefix));
        self.pipeline.following.responses.extend(instead);
        let (stream, line, raw) = self.oversized_place(n, prefix);
        let about = self.relay.as_ref().map(|_| self.main.id.clone());
        let (text, raw) = (Some(text), Some(raw));
        let entry = NewEntry { line: Some(line), text, raw, about, ..NewEntry::new(now(), "error") };
        self.unsaved.push((stream, entry));
    }

    /// The transcript position and text of a line over the limit.
    fn oversized_place(&self, n: u64, prefix: String) -> (SessionId, u64, String) {
        match &self.relay {
            Some(relay) => relay.oversized(n, &prefix),
            None => (self.main.id.clone(), n, prefix),
        }
    }

    /// Appends the line to the transcript of its session, whatever its meaning.
    pub(super) fn note_line(&mut self, n: u64, bytes: &[u8], heard: &[Heard]) {
        let raw = Some(String::from_utf8_lossy(bytes).into_owned());
        let mut entry = NewEntry { line: Some(n), raw, ..NewEntry::new(now(), "other") };
        let native_session = self.describe(&mut entry, heard);
        let session = self.session_of(native_session.as_deref());
        self.unsaved.push((session, entry));
    }

    /// Appends only visible events of a server: most are book-keeping.
    pub(super) fn note_event(&mut self, raw: Option<&str>, heard: &[Heard]) {
        let raw = raw.map(str::to_owned);
        let mut entry = NewEntry { raw, ..NewEntry::new(now(), "other") };
        let native_session = self.describe(&mut entry, heard);
        if entry.voice != "other" || entry.text.is_some() {
            self.unsaved.push((self.session_of(native_session.as_deref()), entry));
        }
    }

    /// Sets the voice and the visible text of an entry, and returns its session.
    pub(crate) fn describe(&self, entry: &mut NewEntry, heard: &[Heard]) -> Option<String> {
        let mut native_session = None;
        for value in heard {
            match value {
                Heard::Chatter { native_session: session, voice, text } => {
                    entry.voice = voice_name(*voice);
                    entry.text.clone_from(text);
                    native_session.clone_from(session);
                }
                Heard::Asked(asked) => {
                    entry.voice = "question";
                    native_session.clone_from(&asked.native_session);
                }
                Heard::TurnEnded { native_session: session, end } => {
                    entry.voice = TURN;
                    entry.text = Some(turn_text(end));
                    native_session.clone_from(session);
                }
                Heard::Failed { step, detail } => {
                    entry.voice = "error";
                    entry.text = Some(format!("{step}: {detail}"));
                }
                _ => {}
            }
        }
        native_session
    }

    pub(super) fn note_prompt(&mut self, native_session: Option<&str>, text: String) {
        let session = self.session_of(native_session);
        let entry = NewEntry { text: Some(text), ..NewEntry::new(now(), "user") };
        self.unsaved.push((session, entry));
    }

    /// Gives the pending entries to the store, so that later work comes after them.
    pub(super) fn submit_said(&mut self) {
        let mut unsaved = std::mem::take(&mut self.unsaved).into_iter().peekable();
        while let Some((session, entry)) = unsaved.next() {
            let mut entries = vec![entry];
            while let Some((_, entry)) = unsaved.next_if(|(next, _)| *next == session) {
                entries.push(entry);
            }
            let store = self.hub.store.clone();
            self.submit(async move {
                store.append(&session, entries).await?;
                Ok(Stored::Done)
            });
        }
    }

    /// Appends an error in place of an unreadable line.
    pub(super) fn note_error(&mut self, text: String) {
        let entry = NewEntry { text: Some(text), ..NewEntry::new(now(), "error") };
        match self.relay {
            Some(_) => self.push_entry(Some(entry)),
            None => self.unsaved.push((self.main.id.clone(), entry)),
        }
    }
}

fn voice_name(voice: Voice) -> &'static str {
    match voice {
        Voice::Agent => "agent",
        Voice::Thought => "thought",
        Voice::Tool => "tool",
        Voice::User => "user",
        Voice::Other => "other",
    }
}

fn turn_text(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Done => "done".to_owned(),
        TurnEnd::Cancelled => "cancelled".to_owned(),
        TurnEnd::Stopped(why) => format!("stopped: {why}"),
        TurnEnd::Failed(why) => format!("failed: {why}"),
    }
}

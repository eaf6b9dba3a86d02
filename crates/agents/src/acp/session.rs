//! The codec's memory of a conversation: enough to put a question into its context.

use std::collections::VecDeque;

use askd_core::Context;

use super::draft::beginning;
use crate::codec::KnownSession;

/// Bytes of what the agent said just before, kept for the context of a question: a few paragraphs.
const MAX_EXCERPT_BYTES: usize = 2000;
/// Bytes of a title in a question; no person reads more.
const MAX_TITLE_BYTES: usize = 4 << 10;
/// Longer ones are no folders of any system.
const MAX_CWD_BYTES: usize = 4 << 10;
/// Remembered names of tool calls: a question belongs to one of the last few.
const MAX_TOOL_CALLS: usize = 256;
/// Remembered sessions of one connection; the oldest goes first, but never the main one.
const MAX_SESSIONS: usize = 4096;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) native_id: String,
    cwd: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) busy: bool,
    said: String,
    /// True if the next text begins a new excerpt.
    broken: bool,
    tool_calls: VecDeque<ToolCall>,
    /// How many calls it has named so far.
    calls_seen: u64,
}

#[derive(Debug)]
struct ToolCall {
    id: String,
    title: Option<String>,
    /// How many calls were named before it.
    number: u64,
}

impl Session {
    fn new(native_id: &str, cwd: Option<String>, title: Option<String>) -> Self {
        Self {
            native_id: native_id.to_owned(),
            cwd,
            title,
            busy: false,
            said: String::new(),
            broken: false,
            tool_calls: VecDeque::new(),
            calls_seen: 0,
        }
    }

    pub(crate) fn says(&mut self, text: &str) {
        if std::mem::take(&mut self.broken) {
            self.said.clear();
        }
        self.said.push_str(text);
        if self.said.len() > MAX_EXCERPT_BYTES {
            let mut from = self.said.len() - MAX_EXCERPT_BYTES;
            while !self.said.is_char_boundary(from) {
                from += 1;
            }
            self.said.drain(..from);
        }
    }

    pub(crate) fn calls_tool(&mut self, call_id: &str, title: Option<&str>) {
        self.broken = true;
        if let Some(known) = self.tool_calls.iter_mut().find(|call| call.id == call_id) {
            if let Some(title) = title {
                known.title = Some(title.to_owned());
            }
            return;
        }
        if self.tool_calls.len() == MAX_TOOL_CALLS {
            self.tool_calls.pop_front();
        }
        let (id, title) = (call_id.to_owned(), title.map(str::to_owned));
        self.tool_calls.push_back(ToolCall { id, title, number: self.calls_seen });
        self.calls_seen += 1;
    }

    pub(crate) fn knows_call(&self, call_id: &str) -> bool {
        self.tool_calls.iter().any(|call| call.id == call_id)
    }

    pub(crate) fn calls_seen(&self) -> u64 {
        self.calls_seen
    }

    /// The number of calls that were named before this one, which may be new.
    pub(crate) fn call_number(&self, call_id: &str) -> u64 {
        let known = self.tool_calls.iter().find(|call| call.id == call_id);
        known.map_or(self.calls_seen, |call| call.number)
    }

    pub(crate) fn begins_turn(&mut self) {
        self.busy = true;
        self.broken = true;
    }

    pub(crate) fn call_title(&self, call_id: &str) -> Option<&str> {
        self.tool_calls.iter().find(|call| call.id == call_id).and_then(|call| call.title.as_deref())
    }

    pub(crate) fn context(&self) -> Context {
        let excerpt = self.said.trim();
        Context {
            cwd: self.cwd.clone().filter(|cwd| cwd.len() <= MAX_CWD_BYTES),
            title: self.title.as_deref().map(|title| beginning(title, MAX_TITLE_BYTES).to_owned()),
            excerpt: (!excerpt.is_empty()).then(|| excerpt.to_owned()),
            host: None,
        }
    }
}

/// The sessions of one connection, the main one first.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Vec<Session>);

impl Sessions {
    pub(crate) fn get(&self, native_id: &str) -> Option<&Session> {
        self.0.iter().find(|session| session.native_id == native_id)
    }

    pub(crate) fn get_mut(&mut self, native_id: &str) -> Option<&mut Session> {
        self.0.iter_mut().find(|session| session.native_id == native_id)
    }

    pub(crate) fn main(&self) -> Option<&Session> {
        self.0.first()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.0.iter().map(|session| session.native_id.clone()).collect()
    }

    /// Adds a name; true if it is new.
    pub(crate) fn add(&mut self, native_id: &str, cwd: Option<String>) -> bool {
        if self.get(native_id).is_some() {
            return false;
        }
        if self.0.len() >= MAX_SESSIONS {
            self.0.remove(1);
        }
        self.0.push(Session::new(native_id, cwd, None));
        true
    }

    pub(crate) fn add_known(&mut self, known: KnownSession) {
        if self.get(&known.native_id).is_none() {
            self.0.push(Session::new(&known.native_id, known.cwd, known.title));
        }
    }

    pub(crate) fn remove(&mut self, native_id: &str) {
        self.0.retain(|session| session.native_id != native_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excerpt_is_the_last_text_and_is_cut_between_characters() {
        let mut session = Session::new("s", None, None);
        session.says("old");
        session.calls_tool("t", None);
        session.says(&"ä".repeat(MAX_EXCERPT_BYTES));
        session.says("x");
        let excerpt = session.context().excerpt.unwrap();
        assert!(excerpt.len() <= MAX_EXCERPT_BYTES && excerpt.ends_with("äx") && !excerpt.contains("old"));
    }
}

//! The conversations of a server: folder, title, parent, and the last text.

use std::collections::HashMap;

use askd_core::question::Context;

use super::wire::SessionInfo;
use crate::heard::Heard;

/// Remembered sessions; a server's list is longer, and a forgotten session returns with its next event.
const MAX_SESSIONS: usize = 4096;
/// Bytes of the agent's text before its question.
const MAX_EXCERPT_BYTES: usize = 2048;

#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) directory: Option<String>,
    title: Option<String>,
    parent: Option<String>,
    /// True once the engine knows it.
    announced: bool,
    said: Option<Said>,
    /// The user's last message; its text is not the agent's.
    pub(super) user: Option<String>,
    /// The rejected permission that is ending the turn.
    pub(super) rejected: Option<String>,
    /// Of the parts of this turn, how many bytes were told.
    pub(super) told: HashMap<String, usize>,
    /// True once the end of this turn was reported.
    pub(super) turn_over: bool,
}

/// The agent's last text, with its part and message.
#[derive(Debug)]
struct Said {
    message: String,
    part: String,
    text: String,
}

impl Said {
    fn keep_the_end(&mut self) {
        let mut start = self.text.len().saturating_sub(MAX_EXCERPT_BYTES);
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        self.text.drain(..start);
    }
}

#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<String, Session>);

impl Sessions {
    pub(super) fn get_mut(&mut self, id: &str) -> &mut Session {
        if !self.0.contains_key(id) && self.0.len() >= MAX_SESSIONS {
            self.0.retain(|_, session| session.announced);
        }
        self.0.entry(id.to_owned()).or_default()
    }

    pub(super) fn known(&mut self, id: &str, directory: Option<String>, title: Option<String>) {
        let session = self.get_mut(id);
        session.directory = directory;
        session.title = title;
        session.announced = true;
    }

    /// The engine has heard of it by another way.
    pub(super) fn met(&mut self, id: &str, directory: Option<String>) {
        let session = self.get_mut(id);
        session.directory = session.directory.take().or(directory);
        session.announced = true;
    }

    pub(super) fn directory(&self, id: &str) -> Option<&str> {
        self.0.get(id)?.directory.as_deref()
    }

    /// Takes a session's data from the server; reports a new title of a known session.
    pub(super) fn learn(&mut self, info: SessionInfo) -> Option<Heard> {
        let session = self.get_mut(&info.id);
        session.directory = info.directory.or(session.directory.take());
        session.parent = info.parent.or(session.parent.take());
        let title = info.title?;
        let changed = session.title.as_ref() != Some(&title);
        session.title = Some(title.clone());
        (changed && session.announced).then_some(Heard::SessionUpdated { native_id: info.id, title })
    }

    pub(super) fn says(&mut self, id: &str, message: String, part: String, text: String) {
        let mut said = Said { message, part, text };
        said.keep_the_end();
        self.get_mut(id).said = Some(said);
    }

    /// The text goes on, if it is the agent's; it is whole only after the tool calls that follow it.
    pub(super) fn says_more(&mut self, id: &str, part: &str, text: &str) -> bool {
        let said = self.0.get_mut(id).and_then(|session| session.said.as_mut());
        let Some(said) = said.filter(|said| said.part == part) else { return false };
        said.text.push_str(text);
        said.keep_the_end();
        true
    }

    /// A session, its parent, the parent of that, and so on.
    fn line<'a>(&'a self, id: &'a str) -> Vec<&'a str> {
        let mut line = vec![id];
        while let Some(parent) =
            line.last().and_then(|id| self.0.get(*id)).and_then(|session| session.parent.as_deref())
        {
            if line.contains(&parent) {
                break;
            }
            line.push(parent);
        }
        line
    }

    /// The last of them.
    pub(super) fn root<'a>(&'a self, id: &'a str) -> &'a str {
        self.line(id).last().copied().unwrap_or(id)
    }

    /// Tells the engine of a session and its parents, once.
    pub(super) fn announce(&mut self, id: &str, directory: Option<&str>, heard: &mut Vec<Heard>) {
        let line: Vec<String> = self.line(id).into_iter().map(str::to_owned).collect();
        for native_id in line.into_iter().rev() {
            let session = self.get_mut(&native_id);
            if session.announced {
                continue;
            }
            session.announced = true;
            session.directory = session.directory.take().or_else(|| directory.map(str::to_owned));
            heard.push(Heard::SessionStarted {
                title: session.title.clone(),
                cwd: session.directory.clone(),
                parent: session.parent.clone(),
                native_id,
            });
        }
    }

    pub(super) fn context(&self, id: &str, directory: Option<&str>, message: Option<&str>) -> Context {
        let session = self.0.get(id);
        let said = session.and_then(|session| session.said.as_ref());
        Context {
            cwd: directory
                .map(str::to_owned)
                .or_else(|| session.and_then(|session| session.directory.clone())),
            title: session.and_then(|session| session.title.clone()),
            excerpt: said
                .filter(|said| Some(said.message.as_str()) == message && !said.text.trim().is_empty())
                .map(|said| said.text.clone()),
            host: None,
        }
    }

    pub(super) fn remove(&mut self, id: &str) -> bool {
        self.0.remove(id).is_some_and(|session| session.announced)
    }

    /// The folders of the sessions that the engine knows.
    pub(super) fn announced_directories(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter(|session| session.announced).filter_map(|session| session.directory.as_deref())
    }
}

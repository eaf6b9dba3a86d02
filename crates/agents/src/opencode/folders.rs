//! The folders of the server in which requests may wait, for each connection.
//!
//! Requests are listed by folder, no call lists the loaded folders, and listing makes the server load a
//! folder (its plugins, language servers and watchers). So only the folders of the newest sessions are listed
//! directly. For every other session, page by page, the codec looks at the last message, which loads nothing:
//! a request can wait only if its turn is not over, and only then is its folder listed. A second round lists
//! the same folders and the newest sessions: any other session that asks by then has changed since.

use super::codec::{OpencodeCodec, in_directory, is_plain};
use super::listing::{Purpose, Round};
use super::open::Way;
use super::wire::{LastMessage, SessionInfo};
use crate::codec::Start;
use crate::heard::Heard;

/// Sessions on one page of the server's list, newest first.
const PAGE: usize = 100;
/// Folders that are listed without a look at their sessions, so that leftovers in them are removed too.
const MAX_DIRECTORIES: usize = 24;
/// Sessions that are looked at: requests live in the memory of the server, and no process has had that many
/// turns.
const MAX_SESSIONS: usize = 10_000;
/// Attempts to load a page.
const MAX_ATTEMPTS: u32 = 3;

/// A page of the server's list of sessions.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    /// Only sessions that changed before this; unless given, the newest.
    before: Option<u64>,
    /// Sessions on the pages before.
    looked_at: usize,
    /// It is asked for once more on this connection, without those after it.
    again: bool,
    attempt: u32,
}

impl OpencodeCodec {
    pub(super) fn ask_for_everything(&mut self) -> Vec<Heard> {
        // Replies of an earlier connection say nothing about this one.
        self.under_way.clear();
        self.listed.clear();
        self.unsure = false;
        let mut heard = Vec::new();
        if self.beside_acp {
            self.list_folders(Vec::new(), &mut heard);
        } else if self.start == Start::Observed {
            self.ask_for_page(Page::default(), &mut heard);
        } else if self.main.is_none() {
            self.start_session(1, &mut heard);
        } else {
            // A server of askd's own has requests only in its own sessions; its history is that of all the
            // user's servers.
            self.list_folders(Vec::new(), &mut heard);
            self.ask_whether_begun(1, &mut heard);
        }
        heard
    }

    /// Lists again on the same connection; running calls continue.
    pub(super) fn ask_again(&mut self, heard: &mut Vec<Heard>) {
        for directory in self.listed.clone() {
            self.list_both(directory, Round::Again, heard);
        }
        if self.beside_acp || (self.start != Start::Observed && self.main.is_some()) {
            // Sessions that became known since.
            self.list_folders(Vec::new(), heard);
        } else if self.start == Start::Observed {
            self.ask_for_page(Page { again: true, ..Page::default() }, heard);
        }
    }

    /// The one folder of a user's server that is heard by its plugin.
    fn only_folder(&self) -> Option<String> {
        Some(self.cwd.clone()).filter(|cwd| self.start == Start::Observed && !cwd.is_empty())
    }

    fn ask_for_page(&mut self, page: Page, heard: &mut Vec<Heard>) {
        let mut query = in_directory(self.only_folder().as_deref());
        query.push(("limit".to_owned(), PAGE.to_string()));
        query.extend(page.before.map(|before| ("cursor".to_owned(), before.to_string())));
        self.get("/experimental/session".to_owned(), query, Purpose::Sessions(page), heard);
    }

    pub(super) fn take_sessions(&mut self, page: Page, status: u16, body: &[u8], heard: &mut Vec<Heard>) {
        let first = page.before.is_none();
        let sessions = serde_json::from_slice::<Vec<SessionInfo>>(body).ok().filter(|_| status == 200);
        let Some(sessions) = sessions else {
            if page.attempt + 1 < MAX_ATTEMPTS {
                return self.ask_for_page(Page { attempt: page.attempt + 1, ..page }, heard);
            }
            if first {
                self.list_folders(Vec::new(), heard);
            }
            return heard.push(incomplete(&format!("the list of sessions did not come ({status})")));
        };
        let next = next_page(&page, &sessions).filter(|_| !page.again);
        let looked_at = page.looked_at + sessions.len();
        let rest = if first { self.list_folders(sessions, heard) } else { sessions };
        if self.only_folder().is_some() {
            return;
        }
        for info in rest {
            self.look_at_turn(info, heard);
        }
        match next {
            Some(_) if looked_at >= MAX_SESSIONS => {
                heard.push(incomplete(&format!("it has more than {MAX_SESSIONS} sessions")));
            }
            Some(before) => {
                self.ask_for_page(Page { before: Some(before), looked_at, ..Page::default() }, heard);
            }
            None => {}
        }
    }

    /// Lists the folders of these sessions and of the known ones. Returns the sessions of folders beyond the
    /// limit.
    fn list_folders(&mut self, sessions: Vec<SessionInfo>, heard: &mut Vec<Heard>) -> Vec<SessionInfo> {
        let mut directories: Vec<Option<String>> = Vec::new();
        let mut add = |directory: Option<String>| {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        };
        self.open.iter().for_each(|open| add(open.directory.clone()));
        let recent = sessions.iter().filter_map(|info| info.directory.clone());
        let known = self.sessions.announced_directories().map(str::to_owned);
        recent.chain(known).for_each(|directory| add(Some(directory)));
        if directories.is_empty() && !self.beside_acp {
            // The server's own folder.
            directories.push(None);
        }
        if let Some(only) = self.only_folder() {
            // Any other folder would be loaded into the process of its user.
            directories = vec![Some(only)];
        }
        if !self.beside_acp {
            directories.truncate(MAX_DIRECTORIES.max(self.open.iter().count()));
        }
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            sessions.into_iter().partition(|info| directories.contains(&info.directory));
        for info in here {
            heard.extend(self.sessions.learn(info));
        }
        directories.into_iter().for_each(|directory| self.list_folder(directory, heard));
        elsewhere
    }

    fn list_folder(&mut self, directory: Option<String>, heard: &mut Vec<Heard>) {
        if self.listed.insert(directory.clone()) {
            self.list_both(directory, Round::First, heard);
        }
    }

    fn list_both(&mut self, directory: Option<String>, round: Round, heard: &mut Vec<Heard>) {
        self.list(Way::Question, directory.clone(), round, 1, heard);
        if !self.beside_acp {
            self.list(Way::Permission, directory, round, 1, heard);
        }
    }

    /// Looks at the last message of a session in an unlisted folder.
    fn look_at_turn(&mut self, info: SessionInfo, heard: &mut Vec<Heard>) {
        if is_plain(&info.id) && !self.listed.contains(&info.directory) {
            // No folder is named, so none is loaded.
            self.get(messages_of(&info.id), last_one(), Purpose::Turn(info), heard);
        }
    }

    pub(super) fn take_turn(&mut self, info: SessionInfo, status: u16, body: &[u8], heard: &mut Vec<Heard>) {
        let last = serde_json::from_slice::<Vec<LastMessage>>(body).ok().filter(|_| status == 200);
        // Not known: better loaded than missed.
        if last.is_none_or(|last| last.iter().any(|message| !message.is_over())) && status != 404 {
            let directory = info.directory.clone();
            heard.extend(self.sessions.learn(info));
            self.list_folder(directory, heard);
        }
    }
}

pub(super) fn messages_of(session: &str) -> String {
    format!("/session/{session}/message")
}

pub(super) fn last_one() -> Vec<(String, String)> {
    vec![("limit".to_owned(), "1".to_owned())]
}

/// The moment before which the next page begins. Sessions of the same millisecond may be on both pages, so
/// that none is on neither.
fn next_page(page: &Page, sessions: &[SessionInfo]) -> Option<u64> {
    let oldest = sessions.last().filter(|_| sessions.len() >= PAGE)?.time.updated?;
    let before = oldest.saturating_add(1);
    Some(if page.before.is_some_and(|last| before >= last) { oldest } else { before })
}

fn incomplete(why: &str) -> Heard {
    let detail = format!(
        "{why}: not every folder was asked for what waited in it already; whatever is asked from now on is heard in all"
    );
    Heard::Incomplete { detail }
}

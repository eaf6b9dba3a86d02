//! One ACP server while its agent is attended: what its clients and its attendant both have to know.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use askd_core::{Question, QuestionId, SessionId, Settlement, SourceId};
use askd_wire::jsonrpc::Id;

use super::relay::OwnRequest;

/// Requests of one agent that are remembered as questions, so that a late or second response finds its
/// question.
const MAX_QUESTIONS: usize = 4096;
/// Other requests of one agent that wait for a client's response.
const MAX_REQUESTS: usize = 4096;

#[derive(Debug)]
pub struct AcpServer {
    pub id: String,
    pub agent: String,
    pub(crate) source: SourceId,
    /// The transcript of this server's stream.
    pub(crate) stream: SessionId,
    /// Closes with the server.
    over: watch::Sender<()>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The agent's requests that are questions, by id.
    questions: HashMap<Id, QuestionId>,
    /// The ids, oldest first.
    asked: VecDeque<Id>,
    /// Pending questions of an earlier hub. The stream knows the meaning of an id better, as far as it
    /// reaches back.
    recalled: HashMap<Id, (Id, QuestionId)>,
    /// The agent's other unanswered requests; true if one asks a human (with a question that the inbox
    /// refused).
    requests: HashMap<Id, bool>,
    /// Requests with a response that this hub has forwarded.
    answered: HashSet<Id>,
    /// True after the agent's end; only the cleaning up is left.
    gone: bool,
    /// Clients' exact bytes for a question, forwarded byte for byte if their outcome wins.
    words: HashMap<QuestionId, Vec<(Settlement, String)>>,
}

impl Shared {
    fn forget_question(&mut self, request: &Id) {
        self.recalled.remove(request);
        if self.questions.remove(request).is_some() {
            self.asked.retain(|known| known != request);
        }
    }

    fn answer(&mut self, request: &Id) -> bool {
        if self.answered.len() >= MAX_REQUESTS {
            self.answered.clear();
        }
        self.answered.insert(request.clone())
    }
}

impl AcpServer {
    pub(crate) fn new(id: String, agent: String, source: SourceId, stream: SessionId) -> Self {
        Self { id, agent, source, stream, over: watch::Sender::new(()), shared: Mutex::default() }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes when the agent has ended and everything that it wrote is stored.
    pub(super) fn over(&self) -> watch::Receiver<()> {
        self.over.subscribe()
    }

    /// Marks the agent as ended. This comes before its clients hear of it, so that one of them can start
    /// another.
    pub(super) fn set_gone(&self) {
        self.shared().gone = true;
    }

    pub(super) fn is_gone(&self) -> bool {
        self.shared().gone
    }

    pub(crate) fn add_question(&self, request: Id, question: QuestionId) {
        let mut shared = self.shared();
        shared.forget_question(&request);
        if shared.asked.len() == MAX_QUESTIONS
            && let Some(oldest) = shared.asked.pop_front()
        {
            shared.questions.remove(&oldest);
        }
        shared.requests.remove(&request);
        shared.answered.remove(&request);
        shared.asked.push_back(request.clone());
        shared.questions.insert(request, question);
    }

    pub(crate) fn recall_question(&self, request: Id, question: QuestionId) {
        self.shared().recalled.insert(request.clone(), (request, question));
    }

    /// The same as [`Self::question`], for an earlier hub's questions.
    pub(super) fn recalled(&self, request: &Id) -> Option<(Id, QuestionId)> {
        self.shared().recalled.get(request).cloned()
    }

    /// The agent asks with this id: forget its earlier meaning until the question is stored.
    pub(super) fn asked_anew(&self, request: &Id) {
        let mut shared = self.shared();
        shared.forget_question(request);
        shared.requests.remove(request);
    }

    /// The question that a request of the agent is, and the request's id as the agent spells it.
    pub(super) fn question(&self, request: &Id) -> Option<(Id, QuestionId)> {
        self.shared().questions.get_key_value(request).map(|(own, question)| (own.clone(), question.clone()))
    }

    /// True if this hub read the request and it waits, or is a question.
    pub(super) fn knows(&self, request: &Id) -> bool {
        let shared = self.shared();
        shared.requests.contains_key(request) || shared.questions.contains_key(request)
    }

    pub(super) fn add_request(&self, request: Id, asks: bool) {
        let mut shared = self.shared();
        shared.forget_question(&request);
        shared.answered.remove(&request);
        if shared.requests.len() < MAX_REQUESTS {
            shared.requests.insert(request, asks);
        }
    }

    /// True if a request that is no question waits for a response.
    pub(super) fn has_request(&self, request: &Id) -> bool {
        self.shared().requests.contains_key(request)
    }

    /// A request that waits for this response, as the agent spells its id; it is taken only once.
    pub(super) fn take_request(&self, request: &Id) -> Option<OwnRequest> {
        let mut shared = self.shared();
        let (id, asks) = shared.requests.remove_entry(request)?;
        shared.answer(&id).then_some(OwnRequest { id, asks })
    }

    /// True if a waiting request asks a human.
    pub(super) fn asks(&self, request: &Id) -> bool {
        self.shared().requests.get(request) == Some(&true)
    }

    /// The same for a request that an earlier hub read; the caller knows whether it still waits.
    pub(super) fn take_earlier(&self, request: &Id) -> bool {
        self.shared().answer(request)
    }

    /// Keeps a client's own words for an outcome until it is delivered; a question that is over has been.
    pub(super) fn keep_words(&self, question: &Question, settled: Settlement, words: String) {
        if question.is_open() {
            self.keep(&question.id, settled, words);
        }
    }

    fn keep(&self, question: &QuestionId, settled: Settlement, words: String) {
        self.shared().words.entry(question.clone()).or_default().push((settled, words));
    }

    /// Forgets the words for an outcome that did not win; those of the winner are still to be delivered.
    pub(super) fn drop_words(&self, question: &QuestionId, settled: &Settlement) {
        if let Some(kept) = self.shared().words.get_mut(question) {
            kept.retain(|(known, _)| known != settled);
        }
    }

    /// The exact bytes of the client whose outcome won, if a client gave it.
    pub(super) fn words(&self, question: &QuestionId, settled: &Settlement) -> Option<String> {
        let shared = self.shared();
        let (_, words) = shared.words.get(question)?.iter().find(|(known, _)| known == settled)?;
        Some(words.clone())
    }

    /// Drops clients' bytes for a question: its outcome is delivered, or never will be.
    pub(crate) fn forget_words(&self, question: &QuestionId) {
        self.shared().words.remove(question);
    }
}

/// The servers of this hub.
#[derive(Default)]
pub(crate) struct Servers {
    known: Mutex<HashMap<String, Slot>>,
}

#[derive(Clone)]
pub(super) enum Slot {
    /// Another client starts it now; the channel closes at the end of that.
    Starting(watch::Receiver<()>),
    Running(Arc<AcpServer>),
}

/// The right to start a server; gives the name back when it is dropped.
pub(super) struct Starting<'a> {
    servers: &'a Servers,
    id: String,
    _done: watch::Sender<()>,
}

impl Servers {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: &str) -> Option<Slot> {
        self.known().get(id).cloned()
    }

    /// Reserves a free name.
    pub(super) fn reserve(&self, id: &str) -> Result<Starting<'_>, Slot> {
        let mut known = self.known();
        if let Some(slot) = known.get(id) {
            return Err(slot.clone());
        }
        let (done, waiting) = watch::channel(());
        known.insert(id.to_owned(), Slot::Starting(waiting));
        Ok(Starting { servers: self, id: id.to_owned(), _done: done })
    }

    pub(crate) fn add(&self, server: Arc<AcpServer>) {
        self.known().insert(server.id.clone(), Slot::Running(server));
    }

    pub(crate) fn remove(&self, server: &Arc<AcpServer>) {
        let mut known = self.known();
        if let Some(Slot::Running(running)) = known.get(&server.id)
            && Arc::ptr_eq(running, server)
        {
            known.remove(&server.id);
        }
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        let mut known = self.servers.known();
        if matches!(known.get(&self.id), Some(Slot::Starting(_))) {
            known.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use askd_core::{RejectMode, SourceId};

    use super::*;
    use crate::new_bits;

    #[test]
    fn who_loses_takes_nobody_elses_words_away() {
        let (source, stream) = (SourceId::from_bits(new_bits()), SessionId::from_bits(new_bits()));
        let server = AcpServer::new("s".to_owned(), "mock".to_owned(), source, stream);
        let id = QuestionId::from_bits(new_bits());
        let rejected = |mode| Settlement::Rejected { mode, reason: None };
        let (won, lost) = (rejected(RejectMode::Decline), rejected(RejectMode::Cancel));
        server.keep(&id, won.clone(), "the winner's words".to_owned());
        server.keep(&id, lost.clone(), "the loser's words".to_owned());
        server.drop_words(&id, &lost);
        // They are there for a second attempt, too.
        for _ in 0..2 {
            assert_eq!(server.words(&id, &won).as_deref(), Some("the winner's words"));
        }
        server.forget_words(&id);
        assert_eq!(server.words(&id, &won), None);
    }
}

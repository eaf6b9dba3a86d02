//! The work of a connection for the store: everything that the lines of a batch mean shares a commit, and the
//! connection continues to read and to obey while the store commits.
//!
//! In: work for the store, in order, and the effects that wait for it. Out: the results in the same order,
//! then the effects: bytes for the agent, responses for clients, the acknowledgement for the holder.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use askd_agents::Call;
use askd_core::{DeliveryId, Question, QuestionId};
use askd_holder::HolderConnection;
use askd_store::Chain;
use askd_wire::jsonrpc::Id;

use super::attendant::Attendant;
use crate::acp::{AcpError, Done, Response};
use crate::{EngineError, Said};

/// The time for an agent to end after `SIGTERM`, before its group is killed.
const END_GRACE: Duration = Duration::from_secs(2);
/// The same for an ACP server, because its client waits for the end.
const SERVER_END_GRACE: Duration = Duration::from_millis(700);
/// Lines that are read while others are being stored; further lines wait in the holder.
const MAX_GATHERED: u64 = 1024;

type Works = Vec<Pin<Box<dyn Future<Output = Result<Stored, EngineError>> + Send>>>;

/// The journal name of the first prompt.
const FIRST_PROMPT: &str = "first-prompt";

/// Words for the agent.
pub(crate) struct Words {
    /// The journal name: the holder writes a named message once in the agent's life, however often a hub
    /// sends it.
    pub(super) name: Option<String>,
    pub(super) bytes: Bytes,
    /// The caller that waits for the write.
    pub(super) told: Option<oneshot::Sender<Said>>,
}

impl Words {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { name: None, bytes: Bytes::from(bytes), told: None }
    }

    pub(super) fn first_prompt(bytes: Vec<u8>) -> Self {
        Self { name: Some(FIRST_PROMPT.to_owned()), ..Self::new(bytes) }
    }

    /// A pending close. It has the name that an answer would have: a request gets one response.
    pub(super) fn closing(question: &QuestionId, bytes: Bytes) -> Self {
        Self { name: Some(DeliveryId::from_bits(question.bits()).to_string()), bytes, told: None }
    }
}

/// The result of work for the store.
pub(crate) enum Stored {
    Done,
    /// A question under the agent's own name, and the request that it was for the clients of an ACP server.
    Question {
        native_id: String,
        request: Option<Id>,
        taken: Box<Result<Question, EngineError>>,
    },
}

/// The effects that wait for a batch.
#[derive(Default)]
pub(crate) struct Following {
    /// Bytes from the codec.
    pub(crate) to_write: Vec<Words>,
    /// Calls from the codec, with the caller that waits for a result.
    pub(crate) to_call: Vec<(Call, Option<oneshot::Sender<Said>>)>,
    pub(crate) responses: Vec<Response>,
    /// Callers whose messages the codec keeps for later.
    pub(crate) kept: Vec<oneshot::Sender<Said>>,
    /// Callers that wait until everything read so far is known.
    pub(crate) caught_up: Vec<oneshot::Sender<()>>,
    /// Clients with a written response, and their result once that is recorded.
    pub(crate) recorded: Vec<(Done, Result<(), AcpError>)>,
    /// The last line, which the holder may delete then.
    through: Option<u64>,
    /// How many lines these are.
    lines: u64,
}

/// Work for the store: queued, committing, and committed with effects left.
#[derive(Default)]
pub(crate) struct Pipeline {
    /// All work until something cannot be stored.
    chain: Chain,
    gathered: Works,
    pub(crate) following: Following,
    storing: Option<Storing>,
    stored: Vec<Following>,
}

struct Storing {
    /// In the store's queue, in order.
    works: Works,
    results: Vec<Option<Result<Stored, EngineError>>>,
    following: Following,
}

impl Storing {
    /// Polled once, a work stands in the store's queue, and its place there is its place in the order.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut all = Poll::Ready(());
        for (work, result) in self.works.iter_mut().zip(&mut self.results) {
            if result.is_none() {
                match work.as_mut().poll(context) {
                    Poll::Ready(stored) => *result = Some(stored),
                    Poll::Pending => all = Poll::Pending,
                }
            }
        }
        all
    }
}

impl Pipeline {
    /// True if more lines may be read before these are stored.
    pub(super) fn has_room(&self) -> bool {
        self.following.lines < MAX_GATHERED
    }

    /// Counts a line that was read.
    pub(super) fn heard(&mut self, line: u64) {
        self.following.through = Some(line);
        self.following.lines += 1;
    }

    fn is_empty(&self) -> bool {
        self.storing.is_none() && self.gathered.is_empty()
    }

    /// Gives the queued work to the store, if none of this connection is committing.
    async fn start(&mut self) {
        if self.storing.is_some() {
            return;
        }
        let (works, following) = (std::mem::take(&mut self.gathered), std::mem::take(&mut self.following));
        if works.is_empty() {
            return self.stored.push(following);
        }
        let results = works.iter().map(|_| None).collect();
        let mut storing = Storing { works, results, following };
        // Polls once to enqueue; `next_stored` polls for the result.
        std::future::poll_fn(|context| {
            let _ = storing.poll(context);
            Poll::Ready(())
        })
        .await;
        self.storing = Some(storing);
    }

    /// Waits for the commit in progress; never returns if there is none.
    pub(super) async fn next_stored(&mut self) {
        match &mut self.storing {
            Some(storing) => std::future::poll_fn(|context| storing.poll(context)).await,
            None => std::future::pending().await,
        }
    }

    /// Drops everything but the responses that clients wait for.
    pub(crate) fn abandon(&mut self) -> Vec<Response> {
        let Self { following, storing, stored, .. } = std::mem::take(self);
        let following = stored.into_iter().chain(storing.map(|storing| storing.following)).chain([following]);
        following.flat_map(|following| following.responses).collect()
    }
}

impl Attendant {
    /// Queues work for the store, with the work that follows until a caller waits for it.
    pub(crate) fn submit<F>(&mut self, work: F)
    where
        F: Future<Output = Result<Stored, EngineError>> + Send + 'static,
    {
        let work = self.pipeline.chain.with(work);
        self.pipeline.gathered.push(Box::pin(work));
    }

    /// Waits until everything read so far is stored: later work comes after it.
    pub(crate) async fn save(&mut self) -> Result<(), EngineError> {
        loop {
            // The entries go with it: an effect of a batch waits for every word of its lines.
            self.submit_said();
            if self.pipeline.is_empty() {
                return Ok(());
            }
            self.pipeline.start().await;
            self.pipeline.next_stored().await;
            self.take_stored()?;
        }
    }

    /// Takes the result of the commit in progress.
    pub(super) fn take_stored(&mut self) -> Result<(), EngineError> {
        let Some(Storing { results, following, .. }) = self.pipeline.storing.take() else { return Ok(()) };
        self.pipeline.stored.push(following);
        for stored in results.into_iter().flatten() {
            if let Stored::Question { native_id, request, taken } = stored? {
                self.relay_took(request, &taken);
                self.took_question(native_id, *taken)?;
            }
        }
        Ok(())
    }

    /// Gives the entries to the store, and carries out the effects of what is stored.
    pub(super) async fn flush(&mut self, connection: &mut HolderConnection) {
        self.submit_said();
        self.pipeline.start().await;
        for following in std::mem::take(&mut self.pipeline.stored) {
            self.follow(following, connection).await;
        }
    }

    /// The same, and waits until all is stored and done.
    pub(super) async fn flush_all(&mut self, connection: &mut HolderConnection) -> Result<(), EngineError> {
        self.save().await?;
        self.flush(connection).await;
        self.save().await
    }

    async fn follow(&mut self, following: Following, connection: &mut HolderConnection) {
        self.tell_responses(following.responses);
        let mut speaks = false;
        for Words { name, bytes, told } in following.to_write {
            let tag = if told.is_some() { self.new_tag() } else { 0 };
            let gathered = connection.gather_write(tag, name.as_deref(), bytes).is_ok();
            if let Some(told) = told.filter(|_| gathered) {
                self.prompts.insert(tag, told);
            }
            speaks |= gathered;
        }
        self.make_calls(following.to_call);
        let open = u32::try_from(self.questions.len()).unwrap_or(u32::MAX);
        if self.told_open.replace(open) != Some(open) {
            connection.set_open_questions(open);
        }
        if let Some(through) = following.through {
            connection.ack(through);
        }
        if speaks {
            // The acknowledgement of their lines goes with them: a hub that is killed sends them once.
            let _ = connection.flush().await;
        }
        for kept in following.kept {
            let _ = kept.send(Said::Written);
        }
        for waiting in following.caught_up {
            let _ = waiting.send(());
        }
        for (waiting, known) in following.recorded {
            let _ = waiting.send(known);
        }
        if self.ending.is_some() {
            let grace = if self.relay.is_some() { SERVER_END_GRACE } else { END_GRACE };
            let _ = connection.end(Some(grace), false).await;
        }
    }
}

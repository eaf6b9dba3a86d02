//! One task per managed agent: between its holder and the engine, with the agent's codec in the middle.
//!
//! In: lines of the agent, wishes of others. Out: what the lines mean, told to the engine in their order, and bytes for the
//! agent. A line is acknowledged to the holder only after everything it meant is durable, so a killed hub hears it again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use askd_agents::{Begin, Codec, Heard};
use askd_core::delivery::Redeliver;
use askd_core::{QuestionId, Session, SessionId, Source, SourceState};
use askd_holder::{Attached, Folder, HolderConnection, HolderEvent, HolderEvents, attach};
use askd_store::NewEntry;

use super::command::Command;
use super::mouth::HeldMouth;
use super::names::Names;
use super::pipeline::{Pipeline, Words};
use super::served::{Served, next_news};
use super::speaking::{said_of, was_written};
use crate::acp::Relay;
use crate::{Alarm, Engine, EngineError, Said};

/// Pause before a holder that lives but does not answer is tried again.
const ATTACH_AGAIN: Duration = Duration::from_millis(500);
/// The name under which the first words to an agent are journaled.
const OPENING: &str = "opening";

pub(crate) struct Attendant {
    pub(crate) engine: Engine,
    pub(crate) source: Source,
    /// The session that this agent was started for.
    pub(crate) main: Session,
    pub(crate) codec: Box<dyn Codec>,
    redeliver: Redeliver,
    pub(super) folder: Folder,
    /// askd's sessions by the agent's own names.
    pub(crate) sessions: HashMap<String, SessionId>,
    /// Questions whose end the codec watches for, by the agent's own names.
    pub(crate) questions: HashMap<String, QuestionId>,
    /// Questions that were over for the agent while an answer was on its way: it is not said any more.
    pub(super) taken_back: HashSet<QuestionId>,
    /// The names that its questions have had.
    pub(crate) names: Names,
    /// What was said and is not yet stored, in order.
    pub(crate) unsaved: Vec<(SessionId, NewEntry)>,
    /// What ends the agent's wait for questions that are over, until its holder says that it has it.
    pub(super) owed: HashMap<QuestionId, Bytes>,
    /// Work for the store, in order, and what waits for it.
    pub(crate) pipeline: Pipeline,
    /// Why the agent is being ended, if it is.
    pub(crate) ending: Option<String>,
    /// Outcomes that are being written, by the agent's own names of their questions, and who waits for that.
    pub(super) writes: HashMap<u64, (String, oneshot::Sender<Said>)>,
    /// Prompts that are being written, and who waits for that.
    pub(super) prompts: HashMap<u64, oneshot::Sender<Said>>,
    pub(super) probes: HashMap<String, oneshot::Sender<Option<bool>>>,
    pub(super) next_tag: u64,
    /// What has this tag or a later one was not sent yet.
    pub(super) unsent_from: u64,
    /// How many open questions the holder knows of.
    pub(super) told_open: Option<u32>,
    /// What an ACP server adds: clients that talk to the agent themselves.
    pub(crate) relay: Option<Relay>,
    /// What an agent adds that talks through a server of its own.
    pub(super) served: Option<Served>,
}

/// Why a connection to the holder is over.
pub(super) enum Over {
    /// The agent is gone, and everything about it is stored.
    Agent,
    /// Only the connection: try again.
    Connection,
}

impl Attendant {
    pub(super) fn new(
        engine: Engine,
        source: Source,
        main: Session,
        codec: Box<dyn Codec>,
        redeliver: Redeliver,
        folder: Folder,
    ) -> Self {
        Self {
            engine,
            source,
            main,
            codec,
            redeliver,
            folder,
            sessions: HashMap::new(),
            questions: HashMap::new(),
            taken_back: HashSet::new(),
            names: Names::default(),
            unsaved: Vec::new(),
            owed: HashMap::new(),
            pipeline: Pipeline::default(),
            ending: None,
            writes: HashMap::new(),
            prompts: HashMap::new(),
            probes: HashMap::new(),
            next_tag: 1,
            unsent_from: 1,
            told_open: None,
            relay: None,
            served: None,
        }
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn main(&self) -> &SessionId {
        &self.main.id
    }

    /// Attends the agent until it is gone.
    pub(super) async fn run(
        mut self,
        begin: Begin,
        commands: mpsc::Sender<Command>,
        wishes: &mut mpsc::Receiver<Command>,
    ) {
        let mut greeting = self.codec.begin(begin);
        self.open_link();
        let mut unheard = false;
        loop {
            if unheard {
                match self.take_up_anew().await {
                    Ok(words) => (greeting, unheard) = (words, false),
                    Err(why) => {
                        tracing::error!(why, source = %self.source.id, "cannot take up an agent again; trying again");
                        tokio::time::sleep(ATTACH_AGAIN).await;
                        continue;
                    }
                }
            }
            let over = match attach(&self.folder, 0).await {
                Ok(attached) => {
                    if self.is_reachable() {
                        self.reachable(&commands).await;
                    }
                    let greeting = std::mem::take(&mut greeting);
                    let over = self.serve(attached, greeting, &commands, wishes).await;
                    self.engine.targets.disconnect(&self.source.id);
                    let unconfirmed = self.relay_unconfirmed().await;
                    over.and_then(|over| unconfirmed.map(|()| over))
                }
                Err(error) => self.without_holder(error).await,
            };
            // Who waits for a write learns that its end is unknown.
            self.writes.clear();
            self.prompts.clear();
            self.probes.clear();
            match over {
                Ok(Over::Agent) => return,
                Ok(Over::Connection) => {}
                Err(error) => {
                    tracing::error!(%error, source = %self.source.id, "cannot store what an agent said; trying again");
                    self.unsaved.clear();
                    let responses = self.pipeline.abandon();
                    if let Some(relay) = &mut self.relay {
                        relay.wait_again(responses);
                    }
                    unheard = true;
                }
            }
            tokio::time::sleep(ATTACH_AGAIN).await;
        }
    }

    /// Whether the agent can be spoken to while its holder is there: on its lines, or if its server is.
    fn is_reachable(&self) -> bool {
        self.relay.is_some() || self.served.as_ref().is_none_or(Served::is_connected)
    }

    /// The agent can be spoken to from now on.
    pub(super) async fn reachable(&mut self, commands: &mpsc::Sender<Command>) {
        let speller = self.engine.outbox.speller(&self.source.agent, self.relay.is_some());
        let mouth = HeldMouth { commands: commands.clone(), redeliver: self.redeliver, speller };
        self.engine.targets.connect(self.source.id.clone(), std::sync::Arc::new(mouth));
        self.set_state(SourceState::Connected, None).await;
    }

    pub(super) async fn set_state(&mut self, state: SourceState, error: Option<String>) {
        if let Err(error) = self.engine.sources.set_state(&self.source.id, state, error).await {
            tracing::error!(%error, source = %self.source.id, "cannot store the state of a source");
        }
    }

    async fn serve(
        &mut self,
        attached: Attached,
        greeting: Vec<Heard>,
        commands: &mpsc::Sender<Command>,
        wishes: &mut mpsc::Receiver<Command>,
    ) -> Result<Over, EngineError> {
        let Attached { welcome, mut connection, mut events } = attached;
        self.recall_lines(welcome.next_line.saturating_sub(1)).await?;
        self.told_open = None;
        self.apply_all(greeting, None).await?;
        let to_write = &mut self.pipeline.following.to_write;
        let opening: Vec<Words> = to_write.extract_if(.., |words| words.name.is_none()).collect();
        let opening: Vec<u8> = opening.iter().flat_map(|words| words.bytes.iter().copied()).collect();
        if !opening.is_empty() {
            // Under a name of its own: a hub that was killed before or after this leaves it to the next, and the agent gets it once.
            let _ = connection.write(0, Some(OPENING), Bytes::from(opening)).await;
        }
        to_write.extend(self.owed.iter().map(|(question, bytes)| Words::closing(question, bytes.clone())));
        if self.served.is_none() {
            self.apply_connected().await?;
        }
        self.flush(&mut connection).await;
        let mut alarm = Alarm::new();
        loop {
            // Wishes that wait go first: what they make the agent say then comes together and shares a commit.
            if let Ok(command) = wishes.try_recv() {
                self.obey_all(command, wishes, &mut connection).await?;
            }
            tokio::select! {
                batch = events.next_batch(), if self.pipeline.has_room() => {
                    let Some(batch) = batch else {
                        self.flush_all(&mut connection).await?;
                        return Ok(Over::Connection);
                    };
                    if let Some(over) = self.take_batch(batch, &mut connection, &mut events).await? {
                        return Ok(over);
                    }
                }
                Some(command) = wishes.recv() => self.obey_all(command, wishes, &mut connection).await?,
                news = next_news(&mut self.served) => {
                    self.take_news(news, commands).await?;
                    self.flush(&mut connection).await;
                }
                () = alarm.at(connection.flush_by()) => drop(connection.flush().await),
                () = self.pipeline.next_stored() => {
                    self.take_stored()?;
                    self.flush(&mut connection).await;
                }
            }
        }
    }

    pub(super) async fn apply_connected(&mut self) -> Result<(), EngineError> {
        let heard = self.codec.connected();
        self.apply_all(heard, None).await
    }

    async fn take_batch(
        &mut self,
        batch: Vec<HolderEvent>,
        connection: &mut HolderConnection,
        events: &mut HolderEvents,
    ) -> Result<Option<Over>, EngineError> {
        for event in batch {
            match event {
                HolderEvent::Line { n, bytes } => {
                    self.hear_line(n, &bytes).await?;
                    self.pipeline.heard(n);
                }
                HolderEvent::Oversized { n, total_bytes, prefix } => {
                    self.hear_oversized(n, total_bytes, &prefix);
                    self.pipeline.heard(n);
                }
                HolderEvent::Written(written) => {
                    self.note_closing(&written);
                    self.relay_written(written.tag, &written.result).await?;
                    if let Some(said) = said_of(&written.result)
                        && let Some(told) = self.prompts.remove(&written.tag)
                    {
                        drop(told.send(said));
                    } else if let Some(said) = said_of(&written.result)
                        && let Some((native_id, reply)) = self.writes.remove(&written.tag)
                    {
                        if matches!(said, Said::NotNow(_)) {
                            self.codec.undelivered(&native_id);
                        } else if let (Some(relay), Some(question)) =
                            (&self.relay, self.questions.get(&native_id))
                        {
                            relay.server.forget_words(question);
                        }
                        drop(reply.send(said));
                    }
                }
                HolderEvent::Probed(probe) => {
                    if let Some(reply) = self.probes.remove(&probe.delivery) {
                        let _ = reply.send(was_written(probe.journaled, probe.completed));
                    }
                }
                HolderEvent::Exited(record) => {
                    self.flush_all(connection).await?;
                    self.agent_gone(&record).await?;
                    let _ = connection.end(None, true).await;
                    // The holder closes when it goes; then its folder is of no more use.
                    while events.next_batch().await.is_some() {}
                    self.forget_holder().await;
                    return Ok(Some(Over::Agent));
                }
                HolderEvent::Closed(why) => {
                    tracing::debug!(%why, source = %self.source.id, "the connection to a holder ended");
                    self.flush_all(connection).await?;
                    return Ok(Some(Over::Connection));
                }
                HolderEvent::Status(_) | HolderEvent::Unsupported { .. } => {}
            }
        }
        self.flush(connection).await;
        Ok(None)
    }

    pub(crate) fn new_tag(&mut self) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        tag
    }
}

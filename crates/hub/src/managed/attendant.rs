//! One task for each managed agent: between its holder and the engine, with the agent's codec in the middle.
//!
//! In: lines of the agent, commands. Out: the meaning of the lines, given to the engine in order, and bytes
//! for the agent. The task acknowledges a line to the holder only after everything it meant is durable, so a
//! restarted hub reads it again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use askd_agents::{Begin, Codec, Heard};
use askd_core::delivery::Redeliver;
use askd_core::{QuestionId, Session, SessionId, Source, SourceState};
use askd_holder::{Attached, Folder, HolderConnection, HolderEvent, HolderEvents, attach};
use askd_store::NewEntry;

use super::Connections;
use super::command::Command;
use super::mouth::HeldMouth;
use super::names::Names;
use super::pipeline::{Pipeline, Words};
use super::served::{Served, next_news};
use super::speaking::{said_of, was_written};
use crate::acp::Relay;
use crate::connection_services::ConnectionServices;
use crate::{Alarm, EngineError, Said};

/// Pause before the next attempt to reach a holder that lives but does not answer.
const ATTACH_AGAIN: Duration = Duration::from_millis(500);
/// The journal name of the first message to an agent.
const OPENING: &str = "opening";

pub(crate) struct Attendant {
    /// What it uses of the hub.
    pub(crate) hub: ConnectionServices,
    /// Those that attend it.
    pub(crate) connections: Connections,
    pub(crate) source: Source,
    /// The session for which this agent was started.
    pub(crate) main: Session,
    pub(crate) codec: Box<dyn Codec>,
    redeliver: Redeliver,
    pub(super) folder: Folder,
    /// askd's sessions by the agent's own names.
    pub(crate) sessions: HashMap<String, SessionId>,
    /// Questions that the codec watches, by native id.
    pub(crate) questions: HashMap<String, QuestionId>,
    /// Questions that ended for the agent while an answer was on its way; that answer is skipped.
    pub(super) taken_back: HashSet<QuestionId>,
    /// The native ids of its questions.
    pub(crate) names: Names,
    /// Transcript entries that are not yet stored, in order.
    pub(crate) unsaved: Vec<(SessionId, NewEntry)>,
    /// Pending closes, until the holder acknowledges each.
    pub(super) owed: HashMap<QuestionId, Bytes>,
    /// Work for the store in order, and the effects that wait for it.
    pub(crate) pipeline: Pipeline,
    /// Why the agent is being ended, if it is.
    pub(crate) ending: Option<String>,
    /// Outcomes that are being written, by the native id of their question, with their waiting caller.
    pub(super) writes: HashMap<u64, (String, oneshot::Sender<Said>)>,
    /// Prompts that are being written, with their waiting caller.
    pub(super) prompts: HashMap<u64, oneshot::Sender<Said>>,
    pub(super) probes: HashMap<String, oneshot::Sender<Option<bool>>>,
    pub(super) next_tag: u64,
    /// The first tag that was not yet flushed to the holder.
    pub(super) unsent_from: u64,
    /// How many open questions the holder knows of.
    pub(super) told_open: Option<u32>,
    /// The ACP proxy, if clients drive the agent.
    pub(crate) relay: Option<Relay>,
    /// The connection to a server that the agent runs.
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
        connections: &Connections,
        source: Source,
        main: Session,
        codec: Box<dyn Codec>,
        redeliver: Redeliver,
        folder: Folder,
    ) -> Self {
        Self {
            hub: connections.hub().clone(),
            connections: connections.clone(),
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
    #[tracing::instrument(name = "connection", level = "error", skip_all, fields(source = %self.source.id))]
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
                    self.hub.targets.disconnect(&self.source.id);
                    let unconfirmed = self.relay_unconfirmed().await;
                    over.and_then(|over| unconfirmed.map(|()| over))
                }
                Err(error) => self.without_holder(error).await,
            };
            // The waiting caller of each write learns that its result is unknown.
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

    /// True if the agent can be reached while its holder lives: on its lines, or through its server.
    fn is_reachable(&self) -> bool {
        self.relay.is_some() || self.served.as_ref().is_none_or(Served::is_connected)
    }

    /// The agent can be spoken to from now on.
    pub(super) async fn reachable(&mut self, commands: &mpsc::Sender<Command>) {
        let speller = self.hub.outbox.speller(&self.source.agent, self.relay.is_some());
        let mouth = HeldMouth { commands: commands.clone(), redeliver: self.redeliver, speller };
        self.hub.targets.connect(self.source.id.clone(), std::sync::Arc::new(mouth));
        self.set_state(SourceState::Connected, None).await;
    }

    pub(super) async fn set_state(&mut self, state: SourceState, error: Option<String>) {
        if let Err(error) = self.hub.sources.set_state(&self.source.id, state, error).await {
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
            // Under a name of its own: a hub that was killed before or after this leaves it to the next, and
            // the agent gets it once.
            let _ = connection.write(0, Some(OPENING), Bytes::from(opening)).await;
        }
        to_write.extend(self.owed.iter().map(|(question, bytes)| Words::closing(question, bytes.clone())));
        if self.served.is_none() {
            self.apply_connected().await?;
        }
        self.flush(&mut connection).await;
        let mut alarm = Alarm::new();
        loop {
            // Waiting commands go first: the lines that they cause then share a commit.
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

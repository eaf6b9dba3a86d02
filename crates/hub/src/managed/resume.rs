//! Reconnects after a restart to the managed agents of earlier hubs, and to an agent whose lines could not be
//! stored.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;

use askd_agents::{Begin, Codec, Heard, KnownSession, Pending, Start};
use askd_core::delivery::{DeliveryInput, Redeliver};
use askd_core::{
    Cause, Outcome, Question, QuestionId, Session, SessionId, Settlement, SourceId, SourceState,
};
use askd_holder::{Completed, Folder, HolderId, list, look, probe_offline};
use askd_store::{SourceRecord, Store};
use askd_wire::api::HeldAgent;
use serde_json::value::RawValue;

use super::Connections;
use super::attendant::Attendant;
use super::ending::end_unattended;
use super::served::Served;
use super::start::HeldSettings;
use crate::acp::{Relay, id_of};
use crate::sources::{ACP, MANAGED};
use crate::{EngineError, new_bits, now};

/// The longest time between a stored end and its pending close, including the time that a stopping hub gives
/// to its requests. An end is sent to its agent at once, so an older one has been sent.
const SAID_WITHIN: Duration = Duration::from_secs(10);

/// An agent as the store knows it.
struct Recalled {
    held: HeldSettings,
    folder: Folder,
    redeliver: Redeliver,
    codec: Box<dyn Codec>,
    main: Session,
    served: Option<Served>,
    /// By the agent's own names, as the questions are.
    sessions: HashMap<String, SessionId>,
    questions: HashMap<String, QuestionId>,
    begin: Begin,
}

/// The outcome of a question for which no answer goes to its agent, or none any more.
fn ended_without_us(question: &Question) -> Option<&Outcome> {
    let outcome = question.outcome.as_ref()?;
    (question.delivery.is_none() || outcome.agent_received.is_some()).then_some(outcome)
}

impl Attendant {
    /// Forgets what was read and could not be stored, and returns the events that reconnect the agent. Its
    /// holder sends its lines again, to a codec that knows no more than the store; a server lists everything
    /// that waits to each new connection. Waiting clients keep waiting.
    pub(super) async fn take_up_anew(&mut self) -> Result<Vec<Heard>, String> {
        let record = self.hub.store.source(&self.source.id).await.map_err(|error| error.to_string())?;
        let record = record.ok_or("its source was not stored")?;
        let recalled = self.connections.recall(&record).await?;
        self.main = recalled.main;
        self.codec = recalled.codec;
        self.sessions = recalled.sessions;
        self.questions = recalled.questions;
        // Ended questions get their pending close; open ones, and those answered since, are read again.
        for id in self.owed.keys().cloned().collect::<Vec<_>>() {
            let record = self.hub.store.question(&id).await.map_err(|error| error.to_string())?;
            if record.is_none_or(|record| ended_without_us(&record.question).is_none()) {
                self.owed.remove(&id);
            }
        }
        self.served = recalled.served;
        self.names.set_incomplete();
        let greeting = self.codec.begin(recalled.begin);
        for request in self.relay.iter().flat_map(Relay::requests) {
            drop(self.codec.overhear(request.as_bytes()));
        }
        self.open_link();
        Ok(greeting)
    }
}

fn is_held(record: &SourceRecord) -> bool {
    [MANAGED, ACP].contains(&record.source.kind.as_str())
}

impl Connections {
    /// Reconnects to every managed agent without a stored end.
    pub async fn resume_all(&self) -> Result<usize, EngineError> {
        let mut resumed = 0;
        for record in self.store().sources().await? {
            if is_held(&record) && record.source.state != SourceState::Ended {
                match self.resume(&record).await {
                    Ok(()) => resumed += 1,
                    Err(why) => {
                        tracing::error!(source = %record.source.id, why, "a managed agent cannot be taken up again");
                        let cause = Cause::SourceLost { detail: Some(why) };
                        self.hub().sources.end(&record.source.id, cause).await?;
                    }
                }
            }
        }
        self.end_left_behind().await?;
        Ok(resumed)
    }

    /// Ends holders without an agent in the store, with everything that they hold: their hub was killed while
    /// it started or ended the agent.
    async fn end_left_behind(&self) -> Result<(), EngineError> {
        let sources = self.store().sources().await?;
        let attended = sources.iter().filter(|record| record.source.state != SourceState::Ended);
        let attended =
            attended.filter_map(|record| serde_json::from_str::<HeldSettings>(&record.settings).ok());
        let attended: HashSet<HolderId> = attended.map(|held| held.holder).collect();
        match list(&self.inner.settings.data) {
            Ok(holders) => {
                for found in holders.into_iter().filter(|found| !attended.contains(&found.id)) {
                    tracing::info!(holder = %found.id, "ending what an earlier hub left behind");
                    self.hub().tasks.spawn(async move { end_unattended(&found.folder, found.id).await });
                }
            }
            Err(error) => tracing::error!(%error, "cannot look for what an earlier hub left behind"),
        }
        Ok(())
    }

    async fn resume(&self, record: &SourceRecord) -> Result<(), String> {
        let Recalled { held, folder, redeliver, codec, main, served, sessions, questions, begin } =
            self.recall(record).await?;
        let place = self.reserve_place(&record.source.id, &held.main, held.server.is_none());
        let place = place.map_err(|error| error.to_string())?;
        let mut attendant = Attendant::new(self, record.source.clone(), main, codec, redeliver, folder);
        attendant.sessions = sessions;
        attendant.owed = self.owed(&record.source.id, &*attendant.codec).await.unwrap_or_else(|error| {
            tracing::warn!(%error, source = %record.source.id, "cannot tell what is still to be said to an agent");
            HashMap::new()
        });
        attendant.served = served;
        attendant.relay = held.server.map(|server| server.relay(attendant.source(), attendant.main()));
        if let Some(relay) = &attendant.relay {
            // Open questions come last: an agent may have used the id of an answered one again.
            for pending in begin.pending.iter().rev() {
                if let (Some(request), Some(question)) =
                    (id_of(pending.native.get()), questions.get(&pending.native_id))
                {
                    relay.server.recall_question(request, question.clone());
                }
            }
        }
        attendant.questions = questions;
        attendant.names.set_incomplete();
        self.attend(attendant, begin, place);
        Ok(())
    }

    /// Everything that the store knows about an agent, for a fresh codec.
    async fn recall(&self, record: &SourceRecord) -> Result<Recalled, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let held: HeldSettings = serde_json::from_str(&record.settings).map_err(|error| text(&error))?;
        let adapter = self.hub().agents.registry().running(&record.source.agent, held.server.is_some());
        let adapter = adapter.map_err(|error| text(&error))?;
        let codec = adapter.conversation().map_err(|error| text(&error))?;
        let redeliver = adapter.descriptor().redeliver;
        let main = self.store().session(&held.main).await.map_err(|error| text(&error))?;
        let main = main.ok_or("its session was not stored")?;
        let folder = Folder::in_data(&self.inner.settings.data, &held.holder);
        let sessions =
            self.store().sessions_of_source(&record.source.id).await.map_err(|error| text(&error))?;
        let named = sessions.into_iter().filter(|session| session.native_id != session.id.as_str());
        let named: Vec<_> = named.collect();
        // HTTP calls are not journaled. If the agent also has `stdin`, send again: the server ignores the
        // duplicate.
        let journal = Some(&folder).filter(|_| held.served.is_none() || held.server.is_some());
        self.settle_claims_of(record, journal, redeliver).await.map_err(|error| text(&error))?;
        let (pending, questions) =
            pending_of(self.store(), record, &named, journal).await.map_err(|error| text(&error))?;
        let mut turns_ended = Vec::new();
        // Requests of an ACP server's clients belong to them: after a restart none of them waits for a
        // response.
        let ours: &[Session] = if held.server.is_none() { &named } else { &[] };
        for session in ours {
            turns_ended.extend(self.store().turns_ended(&session.id).await.map_err(|error| text(&error))?);
        }
        let known = |session: &Session| KnownSession {
            native_id: session.native_id.clone(),
            cwd: session.cwd.clone(),
            title: session.title.clone(),
        };
        let begin = Begin {
            start: if held.server.is_some() { Start::Observed } else { Start::Resumed },
            // A new number for each connection: the ids of its requests must not repeat those of an earlier
            // one.
            epoch: new_bits() as u32,
            cwd: held.cwd.clone(),
            prompt: held.prompt.clone(),
            sessions: named.iter().map(known).collect(),
            pending,
            turns_ended,
        };
        let served = adapter.server().zip(held.served.clone());
        Ok(Recalled {
            served: served.map(|(way, settings)| Served::new(way, settings)),
            sessions: named.into_iter().map(|session| (session.native_id, session.id)).collect(),
            held,
            folder,
            redeliver,
            codec,
            main,
            questions,
            begin,
        })
    }

    /// Close messages that the previous hub may not have sent before it stopped. The holder's journal drops
    /// those that the agent already has.
    async fn owed(
        &self,
        source: &SourceId,
        codec: &dyn Codec,
    ) -> Result<HashMap<QuestionId, Bytes>, EngineError> {
        let mut owed = HashMap::new();
        for question in self.store().ended_last(source, SAID_WITHIN).await? {
            let Some(outcome) = ended_without_us(&question) else { continue };
            let native = self.store().native(&question.id).await?;
            let native = native.and_then(|native| RawValue::from_string(native).ok());
            if let Some(bytes) = native.and_then(|native| codec.closing(&native, outcome)) {
                owed.insert(question.id, Bytes::from(bytes));
            }
        }
        Ok(owed)
    }

    /// Settles answers that the earlier hub was handing over. The holder's journal knows which of them it
    /// received. (A pending close has the same name, but its delivery has failed in the store before.) This
    /// comes before the agent's next line, which may be the evidence.
    async fn settle_claims_of(
        &self,
        record: &SourceRecord,
        folder: Option<&Folder>,
        redeliver: Redeliver,
    ) -> Result<(), EngineError> {
        for delivery in self.hub().outbox.lost_claims().await? {
            if delivery.source != record.source.id {
                continue;
            }
            let probe = folder.and_then(|folder| probe_offline(folder, delivery.id.as_str()).ok());
            let written = probe.and_then(|probe| match probe.completed {
                Completed::Unknown if !probe.journaled => None,
                _ => Some(probe.journaled),
            });
            let input = DeliveryInput::ClaimLost { redeliver, written };
            self.store().step(&delivery.question.id, input, now()).await?;
        }
        Ok(())
    }

    /// The managed agents, with the state of their processes.
    pub async fn held_agents(&self) -> Result<Vec<HeldAgent>, EngineError> {
        let sources = self.store().sources().await?;
        let running = sources.into_iter().filter(|record| record.source.state != SourceState::Ended);
        Ok(running.filter_map(|record| self.held_agent(record)).collect())
    }

    /// The holder of a source's agent; `None` if askd did not start it.
    pub(super) fn holder_of(&self, record: &SourceRecord) -> Option<(HeldSettings, Folder)> {
        let held = Some(record).filter(|record| is_held(record))?;
        let held: HeldSettings = serde_json::from_str(&held.settings).ok()?;
        let folder = Folder::in_data(&self.inner.settings.data, &held.holder);
        Some((held, folder))
    }

    /// The agent of a source, with the state of its process; `None` if askd did not start it.
    pub(super) fn held_agent(&self, record: SourceRecord) -> Option<HeldAgent> {
        let (held, folder) = self.holder_of(&record)?;
        let found = look(&folder, held.holder).ok();
        let running = found.as_ref().and_then(|found| found.running.as_ref());
        Some(HeldAgent {
            session_id: held.main,
            agent: record.source.agent,
            alive: found.as_ref().is_some_and(|found| found.alive),
            holder_pid: running.map(|running| running.holder_pid),
            agent_pid: running.map(|running| running.agent_pid),
        })
    }
}

/// Questions that are open or have a pending delivery. The journal may have an answer before the store has it
/// as sent.
pub(crate) async fn pending_of(
    store: &dyn Store,
    record: &SourceRecord,
    sessions: &[Session],
    journal: Option<&Folder>,
) -> Result<(Vec<Pending>, HashMap<String, QuestionId>), EngineError> {
    let native_session = |id: Option<&SessionId>| {
        sessions.iter().find(|session| Some(&session.id) == id).map(|session| session.native_id.clone())
    };
    let mut pending = Vec::new();
    let mut questions = HashMap::new();
    let mut add = |native_id: String, native: String, question: Question, written: Option<Settlement>| {
        let Ok(native) = RawValue::from_string(native) else { return };
        let native_session = native_session(question.ask.session_id.as_ref());
        questions.insert(native_id.clone(), question.id);
        pending.push(Pending { native_id, native_session, native, written });
    };
    for open in store.open_of_source(&record.source.id).await? {
        let native = store.native(&open.question.id).await?.unwrap_or_default();
        if let Some(native_id) = open.native_id {
            add(native_id, native, open.question, None);
        }
    }
    for queued in store.queued(&record.source.id).await? {
        let probe = journal.and_then(|journal| probe_offline(journal, queued.id.as_str()).ok());
        let written = probe.filter(|probe| probe.journaled).map(|_| queued.settlement);
        add(queued.native_id, queued.native, queued.question, written);
    }
    for sent in store.awaiting_evidence(&record.source.id).await? {
        add(sent.native_id, sent.native, sent.question, Some(sent.settlement));
    }
    Ok((pending, questions))
}

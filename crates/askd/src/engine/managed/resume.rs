//! After a restart: the managed agents that earlier hubs started, each taken up where it was left.

use std::collections::HashMap;

use askd_adapters::transport::holder::{Completed, Folder, look, probe_offline};
use askd_adapters::{Begin, KnownSession, Pending, Start};
use askd_core::delivery::{DeliveryInput, Redeliver};
use askd_core::{Cause, Question, QuestionId, SessionId, Settlement, SourceId, SourceState};
use askd_store::SourceRecord;
use serde_json::value::RawValue;

use super::attendant::{ATTACH_AGAIN, Attendant};
use super::served::Served;
use super::start::HeldSettings;
use super::{ACP, MANAGED};
use crate::engine::acp::id_of;
use crate::engine::{Engine, EngineError, new_bits, now};

/// A managed agent, for `askd doctor` and for what Ctrl-C says.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldAgent {
    pub session_id: SessionId,
    pub agent: String,
    pub alive: bool,
    pub holder_pid: Option<i32>,
    pub agent_pid: Option<i32>,
}

fn is_held(record: &SourceRecord) -> bool {
    [MANAGED, ACP].contains(&record.source.kind.as_str())
}

impl Engine {
    /// Takes up every managed agent that is not known to have ended.
    pub async fn resume_managed(&self) -> Result<usize, EngineError> {
        let mut resumed = 0;
        for record in self.store().sources().await? {
            if is_held(&record) && record.source.state != SourceState::Ended {
                match self.resume(&record).await {
                    Ok(()) => resumed += 1,
                    Err(why) => {
                        tracing::error!(source = %record.source.id, why, "a managed agent cannot be taken up again");
                        let cause = Cause::SourceLost { detail: Some(why) };
                        self.end_source(&record.source.id, cause).await?;
                    }
                }
            }
        }
        Ok(resumed)
    }

    /// Takes up one agent again, as soon as the store can be read.
    pub(super) async fn resume_when_it_can(&self, id: &SourceId) {
        loop {
            tokio::time::sleep(ATTACH_AGAIN).await;
            let why = match self.store().source(id).await {
                Ok(Some(record)) if record.source.state != SourceState::Ended => {
                    match self.resume(&record).await {
                        Ok(()) => return,
                        Err(why) => why,
                    }
                }
                Ok(_) => return self.inner.managed.remove(id),
                Err(error) => error.to_string(),
            };
            tracing::error!(source = %id, why, "cannot take up an agent again; trying again");
        }
    }

    async fn resume(&self, record: &SourceRecord) -> Result<(), String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let held: HeldSettings = serde_json::from_str(&record.settings).map_err(|error| text(&error))?;
        let managed = &self.inner.managed;
        let registry = &managed.settings.registry;
        let agent = record.source.agent.as_str();
        let adapter = if held.server.is_some() { registry.acp(agent) } else { registry.get(agent) };
        let adapter = adapter.ok_or("its agent is not registered any more")?;
        let codec = adapter.codec().map_err(|error| text(&error))?;
        let main = self.store().session(&held.main).await.map_err(|error| text(&error))?;
        let main = main.ok_or("its session was not stored")?;
        let folder = Folder::in_data(&managed.settings.data, &held.holder);
        let sessions =
            self.store().sessions_of_source(&record.source.id).await.map_err(|error| text(&error))?;
        let named = sessions.into_iter().filter(|session| session.native_id != session.id.as_str());
        let named: Vec<_> = named.collect();
        // What was called at a server is in no journal. Where there are lines too, what the journal does not know is said again: of two
        // calls the server takes the first.
        let journal = Some(&folder).filter(|_| held.served.is_none() || held.server.is_some());
        self.settle_claims_of(record, journal, adapter.descriptor().redeliver)
            .await
            .map_err(|error| text(&error))?;
        let (pending, questions) = self.pending_of(record, &named).await.map_err(|error| text(&error))?;
        let known = |session: &askd_core::Session| KnownSession {
            native_id: session.native_id.clone(),
            cwd: session.cwd.clone(),
            title: session.title.clone(),
        };
        let begin = Begin {
            start: if held.server.is_some() { Start::Observed } else { Start::Resumed },
            // Distinct for whoever attaches: the ids of its requests must not meet those of an earlier one.
            epoch: new_bits() as u32,
            cwd: held.cwd,
            prompt: held.prompt,
            sessions: named.iter().map(known).collect(),
            pending,
        };
        let mut attendant = Attendant::new(
            self.clone(),
            record.source.clone(),
            main,
            codec,
            adapter.descriptor().redeliver,
            folder,
        );
        attendant.sessions = named.into_iter().map(|session| (session.native_id, session.id)).collect();
        attendant.served =
            adapter.server().zip(held.served).map(|(way, settings)| Served::new(way, settings));
        attendant.relay = held.server.map(|server| server.relay(attendant.source(), attendant.main()));
        if let Some(relay) = &attendant.relay {
            for pending in &begin.pending {
                if let (Some(request), Some(question)) =
                    (id_of(pending.native.get()), questions.get(&pending.native_id))
                {
                    relay.server.add_question(request, question.clone());
                }
            }
        }
        attendant.questions = questions;
        attendant.names.set_incomplete();
        self.attend(attendant, begin);
        Ok(())
    }

    /// Answers that the earlier hub was just handing over. The holder's journal knows which of them it got; that has to be
    /// settled before the agent is heard again, because its next line may be the evidence.
    async fn settle_claims_of(
        &self,
        record: &SourceRecord,
        folder: Option<&Folder>,
        redeliver: Redeliver,
    ) -> Result<(), EngineError> {
        for delivery in self.store().lost_claims(&self.inner.owner, now()).await? {
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

    pub(in crate::engine) async fn pending_of(
        &self,
        record: &SourceRecord,
        sessions: &[askd_core::Session],
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
        for open in self.store().open_of_source(&record.source.id).await? {
            let native = self.store().native(&open.question.id).await?.unwrap_or_default();
            if let Some(native_id) = open.native_id {
                add(native_id, native, open.question, None);
            }
        }
        for queued in self.store().queued(&record.source.id).await? {
            add(queued.native_id, queued.native, queued.question, None);
        }
        for sent in self.store().awaiting_evidence(&record.source.id).await? {
            add(sent.native_id, sent.native, sent.question, Some(sent.settlement));
        }
        Ok((pending, questions))
    }

    /// The managed agents and whether their processes live.
    pub async fn held_agents(&self) -> Result<Vec<HeldAgent>, EngineError> {
        let sources = self.store().sources().await?;
        let running = sources.into_iter().filter(|record| record.source.state != SourceState::Ended);
        Ok(running.filter_map(|record| self.held_agent(record)).collect())
    }

    /// The agent of a source and whether its process lives; `None` if askd did not start it.
    pub(super) fn held_agent(&self, record: SourceRecord) -> Option<HeldAgent> {
        let held = Some(&record).filter(|record| is_held(record))?;
        let held: HeldSettings = serde_json::from_str(&held.settings).ok()?;
        let folder = Folder::in_data(&self.inner.managed.settings.data, &held.holder);
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

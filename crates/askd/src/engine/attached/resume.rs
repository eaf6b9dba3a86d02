//! After a restart: the servers that earlier hubs were attached to, with the questions that were open there.

use tokio_util::sync::CancellationToken;

use askd_adapters::{Begin, KnownSession, Start};
use askd_core::{Cause, SourceState};
use askd_store::SourceRecord;

use super::AttachedSettings;
use super::attendant::Attendant;
use super::link::Link;
use super::plugin::KIND as PLUGIN;
use crate::engine::{Engine, EngineError};

impl Engine {
    /// Attaches again to every server that was not let go.
    pub async fn resume_attached(&self) -> Result<usize, EngineError> {
        let mut resumed = 0;
        for record in self.store().sources().await? {
            let adapter = self.inner.managed.settings.registry.get(&record.source.kind);
            let served = adapter.is_some_and(|adapter| adapter.server().is_some());
            let plugged = record.source.kind == PLUGIN;
            if !(served || plugged) || record.source.state == SourceState::Ended {
                continue;
            }
            let taken_up =
                if plugged { self.resume_plugin(&record).await } else { self.resume_server(&record).await };
            match taken_up {
                Ok(()) => resumed += 1,
                Err(why) => {
                    tracing::error!(source = %record.source.id, why, "cannot attach to a server again");
                    self.end_source(&record.source.id, Cause::SourceLost { detail: Some(why) }).await?;
                }
            }
        }
        Ok(resumed)
    }

    async fn resume_server(&self, record: &SourceRecord) -> Result<(), String> {
        let settings: AttachedSettings =
            serde_json::from_str(&record.settings).map_err(|error| error.to_string())?;
        if settings.found.is_some_and(|found| !found.is_alive()) {
            return Err("the server that was found has ended".to_owned());
        }
        let adapter = self.inner.managed.settings.registry.get(&record.source.kind);
        let way = adapter.and_then(|adapter| adapter.server()).ok_or("its agent has no server any more")?;
        let stop = self.inner.stop.child_token();
        let link = Link::open(settings, way, stop.clone())?;
        self.take_up(record, link, String::new(), stop).await
    }

    /// Attends a server again, with all that is known of it. `cwd`: the one folder that is heard, if it is one.
    pub(super) async fn take_up(
        &self,
        record: &SourceRecord,
        link: Link,
        cwd: String,
        stop: CancellationToken,
    ) -> Result<(), String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let adapter = self.inner.managed.settings.registry.get(&record.source.agent);
        let adapter = adapter.ok_or("its agent is not known any more")?;
        let codec = adapter.codec().map_err(|error| text(&error))?;
        let sessions =
            self.store().sessions_of_source(&record.source.id).await.map_err(|error| text(&error))?;
        let sessions: Vec<_> = sessions.into_iter().filter(|session| session.live).collect();
        let (pending, questions) = self.pending_of(record, &sessions).await.map_err(|error| text(&error))?;
        let known = |session: &askd_core::Session| KnownSession {
            native_id: session.native_id.clone(),
            cwd: session.cwd.clone(),
            title: session.title.clone(),
        };
        let begin = Begin {
            start: Start::Observed,
            epoch: std::process::id(),
            cwd,
            sessions: sessions.iter().map(known).collect(),
            pending,
            ..Begin::default()
        };
        let redeliver = adapter.descriptor().redeliver;
        let mut attendant = Attendant::new(self.clone(), record.source.clone(), codec, redeliver, link);
        attendant.sessions = sessions.into_iter().map(|session| (session.native_id, session.id)).collect();
        attendant.questions = questions;
        self.attend_server(attendant, begin, stop);
        Ok(())
    }
}

//! After a restart: reconnects to the attached servers of earlier hubs, with their open questions.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use askd_agents::{Begin, KnownSession, Start};
use askd_core::{Cause, SourceId, SourceState};
use askd_store::SourceRecord;

use super::attendant::Attendant;
use super::link::Link;
use super::{AttachedServers, AttachedSettings};
use crate::EngineError;
use crate::managed::pending_of;
use crate::sources::PLUGIN;

/// Pause before a new connection to a server whose messages could not be stored.
const AGAIN: Duration = Duration::from_millis(500);

impl AttachedServers {
    /// Attaches again to every server that was not detached.
    pub async fn resume_all(&self) -> Result<usize, EngineError> {
        let mut resumed = 0;
        let mut records = self.store().sources().await?;
        records.retain(|record| self.is_attached(record));
        // A server with two channels keeps each question on the channel that reported it first.
        for record in &records {
            for native_id in pending_of(self.store(), record, &[], None).await?.1.keys() {
                self.owners().claim(&record.source, native_id);
            }
        }
        for record in &records {
            match self.take_up_attached(record).await {
                Ok(()) => resumed += 1,
                Err(why) => {
                    tracing::error!(source = %record.source.id, why, "cannot attach to a server again");
                    self.hub()
                        .sources
                        .end(&record.source.id, Cause::SourceLost { detail: Some(why) })
                        .await?;
                }
            }
        }
        Ok(resumed)
    }

    fn is_attached(&self, record: &SourceRecord) -> bool {
        let adapter = self.hub().agents.registry().get(&record.source.kind);
        let served = adapter.is_some_and(|adapter| adapter.server().is_some());
        (served || record.source.kind == PLUGIN) && record.source.state != SourceState::Ended
    }

    async fn take_up_attached(&self, record: &SourceRecord) -> Result<(), String> {
        match record.source.kind.as_str() {
            PLUGIN => self.resume_plugin(record).await,
            _ => self.resume_server(record).await,
        }
    }

    /// Attaches again to one server, as soon as the store can be read, unless it was let go.
    pub(super) async fn attach_when_it_can(&self, id: &SourceId) {
        loop {
            tokio::time::sleep(AGAIN).await;
            let why = match self.store().source(id).await {
                Ok(Some(record)) if self.is_attached(&record) => match self.take_up_attached(&record).await {
                    Ok(()) => return,
                    Err(why) => why,
                },
                Ok(_) => return,
                Err(error) => error.to_string(),
            };
            tracing::error!(source = %id, why, "cannot attach to a server again; trying again");
        }
    }

    async fn resume_server(&self, record: &SourceRecord) -> Result<(), String> {
        let settings: AttachedSettings =
            serde_json::from_str(&record.settings).map_err(|error| error.to_string())?;
        if settings.found.is_some_and(|found| !found.is_alive()) {
            return Err("the server that was found has ended".to_owned());
        }
        let adapter = self.hub().agents.registry().get(&record.source.kind);
        let way = adapter.and_then(|adapter| adapter.server()).ok_or("its agent has no server any more")?;
        let stop = self.hub().tasks.stopping().child_token();
        let link = Link::open(settings, way, stop.clone())?;
        self.take_up(record, link, String::new(), stop).await
    }

    /// Connects to a server again, with everything the store knows. `cwd` is the one folder it serves, if it
    /// is one.
    pub(super) async fn take_up(
        &self,
        record: &SourceRecord,
        link: Link,
        cwd: String,
        stop: CancellationToken,
    ) -> Result<(), String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let adapter = self.hub().agents.registry().get(&record.source.agent);
        let adapter = adapter.ok_or("its agent is not known any more")?;
        let codec = adapter.conversation().map_err(|error| text(&error))?;
        let sessions =
            self.store().sessions_of_source(&record.source.id).await.map_err(|error| text(&error))?;
        let sessions: Vec<_> = sessions.into_iter().filter(|session| session.live).collect();
        let (pending, questions) =
            pending_of(self.store(), record, &sessions, None).await.map_err(|error| text(&error))?;
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
        let mut attendant = Attendant::new(self, record.source.clone(), codec, redeliver, link);
        attendant.sessions = sessions.into_iter().map(|session| (session.native_id, session.id)).collect();
        attendant.questions = questions;
        self.attend_server(attendant, begin, stop);
        Ok(())
    }
}

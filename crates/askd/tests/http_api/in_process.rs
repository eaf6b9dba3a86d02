//! Hubs in the test's own process, for what cannot be reached from outside: small limits, agents that ask.

use std::sync::Arc;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use askd_agents::Registry;
use askd_core::Rights;
use askd_hub::{EngineSettings, Hub, ManagedSettings};
use askd_server::{AppState, Doors};
use askd_store::sqlite::SqliteStore;

use crate::common::Client;

pub struct InProcess {
    pub hub: Hub,
    store: Arc<SqliteStore>,
    pub owner: Client,
    /// Address and port.
    pub authority: String,
    pub state: AppState,
    _folder: TempDir,
    stop: CancellationToken,
}

impl InProcess {
    /// With room for this many streams and waits.
    pub async fn start(streams: usize, waits: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(&folder.path().join("askd.db"), &[7; 32]).unwrap());
        let managed = ManagedSettings {
            registry: Registry::built_in(),
            data: folder.path().to_owned(),
            exe: env!("CARGO_BIN_EXE_askd").into(),
            linger: std::time::Duration::from_secs(1),
        };
        let hub = Hub::start(store.clone(), EngineSettings::default(), managed);
        let token = hub.access.make_own_token("owner", Rights::all()).await.unwrap().token;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let url = format!("http://{authority}");
        let mut state = AppState::new(hub.clone(), Doors::default(), &url);
        state.streams = Arc::new(Semaphore::new(streams));
        state.waits = Arc::new(Semaphore::new(waits));
        let stop = CancellationToken::new();
        tokio::spawn(askd_server::serve(listener, askd_server::router(state.clone()), stop.clone()));
        let owner = Client::new(&url, Some(&token));
        Self { hub, store, owner, authority, state, _folder: folder, stop }
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

mod crowding {
    use serde_json::json;

    use super::InProcess;
    use crate::common::until;

    #[tokio::test]
    async fn too_many_streams_are_told_to_come_back() {
        let hub = InProcess::start(2, 2).await;
        let first = hub.owner.events("").await;
        let _second = hub.owner.events("").await;
        let refused = hub.owner.get("/v1/events").await;
        assert_eq!(refused.headers["retry-after"], "1");
        refused.problem(429, "too_many_streams");
        hub.owner.get("/v1/questions").await.ok(200);
        drop(first);
        until("the place of a closed stream", || async {
            (hub.state.streams.available_permits() > 0).then_some(())
        })
        .await;
        hub.owner.events("").await;
    }

    #[tokio::test]
    async fn too_many_waits_are_told_to_come_back_and_nothing_is_asked() {
        let hub = InProcess::start(2, 1).await;
        let id = hub.owner.ask_text("Which?").await;
        let (client, path) = (hub.owner.clone(), format!("/v1/questions/{id}?wait=60"));
        let waiting = tokio::spawn(async move { client.get(&path).await });
        until("the wait to begin", || async { (hub.state.waits.available_permits() == 0).then_some(()) })
            .await;
        let before = hub.owner.everything().await;
        hub.owner.get(&format!("/v1/questions/{id}?wait=60")).await.problem(429, "too_many_waits");
        let ask = json!({"questions": [{"question": "x"}]});
        hub.owner.post("/v1/questions?wait=60", &ask).await.problem(429, "too_many_waits");
        assert_eq!(hub.owner.everything().await, before, "a client that comes back must not ask twice");
        hub.owner.reply(&id, json!([["x"]])).await.ok(200);
        waiting.await.unwrap().ok(200);
    }
}

mod overtaken {
    use serde_json::json;

    use askd_core::Timestamp;
    use askd_store::{Questions as _, Retention};

    use super::InProcess;
    use crate::common::{Frame, within};

    /// Far more than the sockets hold, so that the hub waits for the reader in the middle.
    const QUESTIONS: usize = 100;
    const TEXT_BYTES: usize = 200_000;

    #[tokio::test]
    async fn a_connected_reader_that_the_retention_overtakes_is_told() {
        let hub = InProcess::start(1, 1).await;
        for _ in 0..QUESTIONS {
            let ask = json!({"questions": [{"question": "x".repeat(TEXT_BYTES)}]});
            let asked = hub.owner.ask(&ask).await;
            hub.owner.reply(asked["id"].as_str().unwrap(), json!([["x"]])).await.ok(200);
        }
        let mut slow = hub.owner.events("?after=0").await;
        assert_eq!(slow.next().await.0, 1);
        let later = Timestamp::from_millis(i64::MAX / 2);
        let all = Retention { settled_before: Some(later), ..Retention::default() };
        assert_eq!(hub.store.prune(all).await.unwrap(), QUESTIONS as u64);
        let last = hub.owner.ask_text("after all that").await;
        let mut told = None;
        loop {
            match within("what comes next", slow.frame()).await.unwrap() {
                Frame::Event { id: None, kind, data } => {
                    assert_eq!(kind, "log.trimmed");
                    assert_eq!(data["through"], 2 * QUESTIONS as u64);
                    told = data["after"].as_u64();
                }
                Frame::Event { data, .. } if data["question"]["id"] == last => break,
                Frame::Event { .. } | Frame::Comment(_) => {}
            }
        }
        assert!(told.is_some_and(|after| after < 2 * QUESTIONS as u64), "{told:?}");
    }
}

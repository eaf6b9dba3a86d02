//! A change does not depend on the client that asked for it: clients that go away while the hub writes to a
//! slow disk.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use askd_agents::Registry;
use askd_hub::{Caller, EngineSettings, Hub as Services, ManagedSettings};
use askd_store::sqlite::SqliteStore;

use crate::common::{Hub, Starting, holders, until, within};

/// A disk whose sync takes 4 ms: long enough to cut a client at any step of its request.
const SLOW_SYNC: &str = r"
#define _GNU_SOURCE
#include <unistd.h>
#include <sys/syscall.h>
#include <time.h>
static void pause_4_ms(void) { struct timespec t = {0, 4000000}; nanosleep(&t, 0); }
int fsync(int fd) { pause_4_ms(); return syscall(SYS_fsync, fd); }
int fdatasync(int fd) { pause_4_ms(); return syscall(SYS_fdatasync, fd); }
";

/// When each client goes away, after its request was sent.
const CUTS: [u64; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

/// A hub on a slow disk. The folder holds the library that makes it slow.
async fn slow_hub(args: &[&str]) -> (Hub, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("slow.c"), folder.path().join("slow.so"));
    std::fs::write(&source, SLOW_SYNC).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.unwrap().success(), "the C compiler that builds SQLite builds this too");
    let preload = format!("export LD_PRELOAD='{}'", library.display());
    let starting = args.iter().fold(Starting::fresh(), |starting, arg| starting.arg(arg));
    (starting.prelude(&preload).start().await, folder)
}

/// The bytes of a request with a JSON body.
fn post(authority: &str, token: Option<&str>, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\n{token}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    format!("{head}{body}")
}

/// Sends a request whole, and goes away after `cut` milliseconds without reading a byte.
async fn vanish(hub: &Hub, token: Option<&str>, path: &str, body: &Value, cut: u64) {
    let mut stream = TcpStream::connect(hub.authority()).await.unwrap();
    stream.write_all(post(hub.authority(), token, path, body).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(cut)).await;
}

async fn start_mock(hub: &Hub, prompt: &str) -> String {
    let session = json!({"agent": "mock", "cwd": "/tmp", "prompt": prompt});
    hub.owner.post("/v1/sessions", &session).await.ok(201)["id"].as_str().unwrap().to_owned()
}

async fn end_all_sessions(hub: &Hub) {
    let live = hub.owner.get("/v1/sessions?live=true&limit=500").await.ok(200);
    for session in live["sessions"].as_array().unwrap() {
        hub.owner.delete(&format!("/v1/sessions/{}", session["id"].as_str().unwrap())).await.ok(204);
    }
    until("every holder to end", || async { holders(&hub.data).is_empty().then_some(()) }).await;
}

#[tokio::test]
async fn a_change_whose_client_is_gone_before_the_hub_reads_it_is_carried_out() {
    let hub = super::in_process::InProcess::start(1, 1).await;
    let question = json!({"questions": [{"question": "Which?"}]});
    let ask = post(&hub.authority, Some(hub.owner.token()), "/v1/questions", &question);
    let clients = CUTS.map(|_| std::net::TcpStream::connect(&hub.authority).unwrap());
    // A later client is answered: the hub has accepted the earlier ones.
    hub.owner.get("/v1/questions").await.ok(200);
    // One thread runs this test and the hub, so the hub finds each request together with its client's end.
    for mut client in clients {
        std::io::Write::write_all(&mut client, ask.as_bytes()).unwrap();
    }
    until("every question to be there", || async {
        let list = hub.owner.get("/v1/questions?status=requested&limit=100").await.ok(200);
        (list["questions"].as_array().unwrap().len() == CUTS.len()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_answer_of_a_client_that_goes_away_reaches_its_agent_at_once() {
    let (hub, _library) = slow_hub(&[]).await;
    let mut questions = Vec::new();
    for _ in CUTS {
        let session = start_mock(&hub, "question").await;
        let open = format!("/v1/questions?session={session}&status=requested");
        let question = until("the agent to ask", || async {
            let list = hub.owner.get(&open).await.ok(200);
            list["questions"][0]["id"].as_str().map(str::to_owned)
        });
        questions.push(question.await);
    }
    for (cut, id) in CUTS.into_iter().zip(&questions) {
        let (path, body) = match cut % 3 {
            0 => (format!("/v1/questions/{id}/reject"), json!({"mode": "decline"})),
            _ => (format!("/v1/questions/{id}/reply"), json!({"answers": [["option-a"]]})),
        };
        vanish(&hub, Some(hub.owner.token()), &path, &body, cut).await;
    }
    // A claim that no task holds was found only after a minute; this ends before.
    let all = async {
        for id in &questions {
            until("the answer to be with the agent", || async {
                let question = hub.owner.question(id).await;
                (question["delivery"]["state"] == "confirmed").then_some(())
            })
            .await;
        }
    };
    within("all answers", async { tokio::time::timeout(Duration::from_secs(45), all).await.unwrap() }).await;
    end_all_sessions(&hub).await;
}

#[tokio::test]
async fn an_agent_whose_starter_goes_away_is_listed_and_can_be_ended() {
    let (hub, _library) = slow_hub(&[]).await;
    let session = json!({"agent": "mock", "cwd": "/tmp", "prompt": "hello"});
    for cut in CUTS {
        vanish(&hub, Some(hub.owner.token()), "/v1/sessions", &session, cut).await;
    }
    until("every start to come to its end", || async {
        let all = hub.owner.get("/v1/sessions?limit=500").await.ok(200);
        (all["sessions"].as_array().unwrap().len() == CUTS.len()).then_some(())
    })
    .await;
    end_all_sessions(&hub).await;
    // The end of an agent whose holder went first is stored a moment after both are gone.
    until("every source to be ended", || async {
        let sources = hub.owner.get("/v1/sources").await.ok(200);
        let sources = sources["sources"].as_array().unwrap();
        let ended = sources.iter().filter(|source| source["state"] == "ended");
        ((sources.len(), ended.count()) == (CUTS.len(), CUTS.len())).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_source_that_is_ended_while_its_agent_starts_leaves_no_agent() {
    let (hub, _library) = slow_hub(&[]).await;
    let session = json!({"agent": "mock", "cwd": "/tmp", "prompt": "question"});
    for _ in 0..6 {
        vanish(&hub, Some(hub.owner.token()), "/v1/sessions", &session, 0).await;
        let source = until("the source of the agent", || async {
            let sources = hub.owner.get("/v1/sources").await.ok(200);
            let going_on =
                sources["sources"].as_array().unwrap().iter().find(|source| source["state"] != "ended");
            going_on.map(|source| source["id"].as_str().unwrap().to_owned())
        })
        .await;
        hub.owner.delete(&format!("/v1/sources/{source}")).await.ok(204);
        until("the source to stay ended", || async {
            let live = hub.owner.get("/v1/sessions?live=true").await.ok(200);
            (live["sessions"] == json!([]) && holders(&hub.data).is_empty()).then_some(())
        })
        .await;
    }
}

/// The services of a hub on the data of a hub that was killed, which have taken up none of its agents.
async fn services_that_attend_none(hub: &Hub) -> (Services, Caller) {
    let key = std::fs::read_to_string(hub.data.join("secret-key")).unwrap();
    let bytes: Vec<u8> =
        (0..32).map(|i| u8::from_str_radix(&key.trim()[2 * i..2 * i + 2], 16).unwrap()).collect();
    let store = SqliteStore::open(&hub.data.join("askd.db"), &bytes.try_into().unwrap()).unwrap();
    let managed = ManagedSettings {
        registry: Registry::built_in(),
        data: hub.data.clone(),
        exe: env!("CARGO_BIN_EXE_askd").into(),
        linger: Duration::from_secs(60),
    };
    let services = Services::start(Arc::new(store), EngineSettings::default(), managed);
    let token = services.access.authenticate(hub.owner.token()).await.unwrap();
    (services, Caller { token, surface: askd_core::Surface::Api })
}

#[tokio::test]
async fn an_agent_that_no_task_attends_is_ended_by_delete_and_by_the_end_of_the_hub() {
    for way in ["session", "source", "stop"] {
        let mut hub = Hub::start().await;
        let session = start_mock(&hub, "question").await;
        let source = hub.owner.get(&format!("/v1/sessions/{session}")).await.ok(200)["sourceId"].clone();
        hub.kill().await;
        let (services, caller) = services_that_attend_none(&hub).await;
        assert_eq!(holders(&hub.data).len(), 1);
        match way {
            "session" => services.connections.end(&caller, &session.parse().unwrap()).await.unwrap(),
            "source" => services
                .connections
                .detach(&caller, &source.as_str().unwrap().parse().unwrap())
                .await
                .unwrap(),
            _ => assert!(services.connections.end_all().await.unwrap().is_empty()),
        }
        until("the holder to end", || async { holders(&hub.data).is_empty().then_some(()) }).await;
        let ended = services.sessions.get(&caller, &session.parse().unwrap()).await.unwrap();
        assert!(!ended.live, "{way}");
        services.stop().await;
    }
}

#[tokio::test]
async fn a_hub_that_ends_its_agents_ends_those_that_are_being_started() {
    let (mut hub, _library) = slow_hub(&["--end-agents"]).await;
    let session = json!({"agent": "mock", "cwd": "/tmp", "prompt": "question"});
    for cut in [0, 0, 3, 0, 0] {
        vanish(&hub, Some(hub.owner.token()), "/v1/sessions", &session, cut).await;
    }
    hub.signal(rustix::process::Signal::TERM);
    assert!(hub.ended().await.success());
    until("every holder to end", || async { holders(&hub.data).is_empty().then_some(()) }).await;
}

#[tokio::test]
async fn a_deadline_whose_asker_goes_away_passes_in_its_time() {
    let (hub, _library) = slow_hub(&[]).await;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() + 1500;
    let deadline = askd_core::Timestamp::from_millis(i64::try_from(at).unwrap()).to_string();
    let ask = json!({"questions": [{"question": "Which?"}], "deadline": deadline});
    // All of them before the question is on the disk.
    let cuts = [0, 1, 1, 1, 2, 2];
    for cut in cuts {
        vanish(&hub, Some(hub.owner.token()), "/v1/questions", &ask, cut).await;
    }
    // The look at deadlines comes by itself half a minute after the start; this ends before.
    let expired = until("every question to expire", || async {
        let list = hub.owner.get("/v1/questions?status=expired&limit=100").await.ok(200);
        (list["questions"].as_array().unwrap().len() == cuts.len()).then_some(())
    });
    tokio::time::timeout(Duration::from_secs(20), expired).await.unwrap();
}

#[tokio::test]
async fn a_log_in_whose_browser_goes_away_leaves_no_token() {
    let (hub, _library) = slow_hub(&[]).await;
    let tokens = || async {
        let list = hub.owner.get("/v1/tokens").await.ok(200);
        list["tokens"].as_array().unwrap().len()
    };
    let before = tokens().await;
    for cut in CUTS {
        let code = hub.owner.post_empty("/v1/login-codes").await.ok(201);
        vanish(&hub, None, "/v1/login", &json!({"code": code["code"]}), cut).await;
    }
    // One that is used is stored after all the others would have been.
    let code = hub.owner.post_empty("/v1/login-codes").await.ok(201);
    let made = hub.owner.with_token(None).post("/v1/login", &json!({"code": code["code"]})).await.ok(200);
    let browser = hub.owner.with_token(made["token"].as_str());
    let (first, second) = tokio::join!(browser.get("/v1/questions"), browser.get("/v1/sessions"));
    first.ok(200);
    second.ok(200);
    assert_eq!(tokens().await, before + 1);
}

#[tokio::test]
async fn a_wait_ends_with_its_client() {
    let hub = super::in_process::InProcess::start(1, 1).await;
    let ask = json!({"questions": [{"question": "Which?"}]});
    for _ in 0..3 {
        let (client, body) = (hub.owner.clone(), ask.clone());
        let waiting = tokio::spawn(async move { client.post("/v1/questions?wait=3600", &body).await });
        until("the wait to begin", || async { (hub.state.waits.available_permits() == 0).then_some(()) })
            .await;
        waiting.abort();
        until("the place of a client that is gone", || async {
            (hub.state.waits.available_permits() == 1).then_some(())
        })
        .await;
    }
    let asked = hub.owner.get("/v1/questions?status=requested").await.ok(200);
    assert_eq!(asked["questions"].as_array().unwrap().len(), 3, "what was asked stays");
}

#[tokio::test]
async fn a_test_that_ends_in_its_middle_leaves_no_agent() {
    let hub = Hub::start().await;
    let session = start_mock(&hub, "question").await;
    let agent = hub.owner.get(&format!("/v1/sessions/{session}")).await.ok(200)["pid"].as_i64().unwrap();
    let process = Path::new("/proc").join(agent.to_string());
    assert_eq!((holders(&hub.data).len(), process.exists()), (1, true));
    let mut holder = holders(&hub.data).into_iter().map(|pid| Path::new("/proc").join(pid.to_string()));
    let holder = holder.next().unwrap();
    drop(hub);
    until("both to be gone", || async { (!holder.exists() && !process.exists()).then_some(()) }).await;
}

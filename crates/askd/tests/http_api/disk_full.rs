//! A disk that takes no more: a clear refusal, a red health, nothing acknowledged lost, and work again when
//! there is room.
//!
//! The limit is on the size of files (`RLIMIT_FSIZE`), so writes of the hub fail as they do on a full disk,
//! and only the hub's.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::common::{Hub, Starting, until};

fn allow(hub: &Hub, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(hub.pid()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

fn large(i: usize) -> Value {
    json!({"questions": [{"question": format!("{i}: {}", "x".repeat(100_000))}]})
}

/// Asks until the hub says that it cannot; gives back what it acknowledged.
async fn fill(hub: &Hub) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for i in 0..500 {
        let answer = hub.owner.post("/v1/questions", &large(i)).await;
        if answer.status == 201 {
            acknowledged.push(answer.json["id"].as_str().unwrap().to_owned());
        } else {
            assert_eq!(answer.headers["retry-after"], "1");
            answer.problem(503, "store_unavailable");
            return acknowledged;
        }
    }
    panic!("the disk never became full");
}

async fn is_healthy(hub: &Hub, wanted: bool) {
    let client = hub.owner.with_token(None);
    until("health to tell the truth", || async {
        let answer = client.get("/v1/health").await;
        if answer.status == 200 {
            wanted.then_some(())
        } else {
            answer.problem(503, "store_unavailable");
            (!wanted).then_some(())
        }
    })
    .await;
}

async fn check(hub: &Hub, acknowledged: &[String], settled: &str) {
    for id in acknowledged {
        assert_eq!(hub.owner.question(id).await["status"], "requested");
    }
    assert_eq!(
        askd_testkit::given(&hub.owner.question(settled).await["outcome"]["answers"]),
        json!([["kept"]])
    );
}

#[tokio::test]
async fn a_full_disk_is_told_and_loses_nothing() {
    let mut hub = Starting::fresh().prelude("trap '' XFSZ").start().await;
    let settled = hub.owner.ask_text("Is it kept?").await;
    hub.owner.reply(&settled, json!([["kept"]])).await.ok(200);
    is_healthy(&hub, true).await;

    allow(&hub, Some(2 << 20));
    let acknowledged = fill(&hub).await;
    assert!(!acknowledged.is_empty());
    is_healthy(&hub, false).await;
    let open = &acknowledged[0];
    let long = json!([["y".repeat(100_000)]]);
    hub.owner.reply(open, long).await.problem(503, "store_unavailable");
    hub.owner
        .post("/v1/tokens", &json!({"name": "x".repeat(200), "rights": ["ask"]}))
        .await
        .problem(503, "store_unavailable");
    check(&hub, &acknowledged, &settled).await;
    let seq = hub.owner.get("/v1/questions?limit=1").await.ok(200)["seq"].as_u64().unwrap();
    assert_eq!(seq, acknowledged.len() as u64 + 2, "what was refused is not in the log");
    let events = hub.events("?after=0").await.take(acknowledged.len() + 2).await;
    assert_eq!(events.last().unwrap().0, seq);

    // Room again: it works without a restart.
    allow(&hub, None);
    is_healthy(&hub, true).await;
    let after = hub.owner.ask_text("After?").await;
    check(&hub, &acknowledged, &settled).await;

    // Full again, killed, and started where there is room.
    allow(&hub, Some(1 << 20));
    let more = fill(&hub).await;
    hub.kill().await;
    let next = Starting::on(&hub.data).start().await;
    is_healthy(&next, true).await;
    let all: Vec<String> = acknowledged.into_iter().chain([after]).chain(more).collect();
    check(&next, &all, &settled).await;
    assert_eq!(
        next.owner.get("/v1/questions?limit=1").await.ok(200)["seq"].as_u64().unwrap(),
        all.len() as u64 + 2
    );
    next.owner.reply(&all[0], json!([["answered"]])).await.ok(200);
}

#[tokio::test]
async fn a_hub_that_starts_on_a_full_disk_says_so() {
    let hub = Hub::start().await;
    let id = hub.owner.ask_text("Is it kept?").await;
    let mut hub = hub;
    hub.kill().await;
    let said = Starting::on(&hub.data).prelude("trap '' XFSZ; ulimit -f 0").refused().await;
    assert!(said.contains(&hub.data.display().to_string()), "{said}");
    let next = Starting::on(&hub.data).start().await;
    assert_eq!(next.owner.question(&id).await["status"], "requested");
}

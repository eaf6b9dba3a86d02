//! The load: askers, answerers, readers and a lister, each until its connection breaks. What they saw goes
//! into the ledger.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::common::{Client, Events, Hub, within};
use crate::ledger::{Ledger, READERS};
use crate::random::Random;

const ASKERS: usize = 6;
const ANSWERERS: usize = 4;

/// Names every question and every answer of the whole run.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub struct Load {
    workers: JoinSet<()>,
}

impl Load {
    pub fn start(hub: &Hub, ledger: &Arc<Ledger>, random: &mut Random) -> Self {
        let mut workers = JoinSet::new();
        for _ in 0..ASKERS {
            workers.spawn(ask_on(hub.asker.clone(), ledger.clone(), Random::new(random.number())));
        }
        for _ in 0..ANSWERERS {
            workers.spawn(answer_on(hub.owner.clone(), ledger.clone(), Random::new(random.number())));
        }
        for reader in 0..READERS {
            workers.spawn(read_on(hub.owner.clone(), ledger.clone(), reader));
        }
        workers.spawn(list_on(hub.owner.clone(), ledger.clone()));
        Self { workers }
    }

    /// Waits until every worker has noticed that the hub is gone.
    pub async fn end(mut self) {
        within("the load to end", async {
            while let Some(worker) = self.workers.join_next().await {
                worker.unwrap();
            }
        })
        .await;
    }
}

/// One request; `None` if the connection broke before its answer was complete.
async fn send(client: &Client, method: Method, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
    let mut request = client.request(method, path);
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    let bytes = response.bytes().await.ok()?;
    Some((status, serde_json::from_slice(&bytes).ok()?))
}

/// Asks in every way: plainly, with a key and again after a crash, waiting, with a deadline, and taking it
/// back.
async fn ask_on(client: Client, ledger: Arc<Ledger>, mut random: Random) {
    for key in ledger.unanswered_keys() {
        let body = json!({"questions": [{"question": key}]});
        let keyed = client.with_header("Idempotency-Key", &key);
        let Some((status, question)) = send(&keyed, Method::POST, "/v1/questions", Some(&body)).await else {
            return;
        };
        assert_eq!(status, 201, "{question}");
        ledger.asked(&question);
    }
    loop {
        let text = format!("question {}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut body = json!({"questions": [{"question": text}]});
        let mut path = "/v1/questions";
        let mut asker = client.clone();
        let way = random.below(8);
        match way {
            0 | 1 => {
                asker = client.with_header("Idempotency-Key", &text);
                ledger.keyed(&text);
            }
            2 | 3 => path = "/v1/questions?wait=1",
            4 => body["deadline"] = json!(crate::ledger::soon()),
            5 => body["questions"][0]["question"] = json!(format!("{text} {}", "x".repeat(20_000))),
            _ => {}
        }
        let Some((status, question)) = send(&asker, Method::POST, path, Some(&body)).await else { return };
        assert_eq!(status, 201, "{question}");
        ledger.asked(&question);
        if way == 6 {
            let path = format!("/v1/questions/{}/withdraw", question["id"].as_str().unwrap());
            let Some((status, answer)) = send(&client, Method::POST, &path, None).await else { return };
            ledger.settled(status, &answer);
        }
    }
}

/// Answers whatever is open, against the other answerers, and now and then twice or by rejecting.
async fn answer_on(client: Client, ledger: Arc<Ledger>, mut random: Random) {
    loop {
        let list = "/v1/questions?status=requested&order=asc&limit=20";
        let Some((status, page)) = send(&client, Method::GET, list, None).await else { return };
        assert_eq!(status, 200, "{page}");
        for question in page["questions"].as_array().unwrap() {
            ledger.seen(question);
            let id = question["id"].as_str().unwrap();
            let (path, body) = if random.below(8) == 0 {
                (format!("/v1/questions/{id}/reject"), json!({"reason": "no"}))
            } else {
                let answer = format!("answer {}", NEXT.fetch_add(1, Ordering::Relaxed));
                (format!("/v1/questions/{id}/reply"), json!({"answers": [[answer]]}))
            };
            for _ in 0..=random.below(2) {
                let Some((status, answer)) = send(&client, Method::POST, &path, Some(&body)).await else {
                    return;
                };
                ledger.settled(status, &answer);
            }
        }
    }
}

/// Reads the stream from where this reader was before the crash.
async fn read_on(client: Client, ledger: Arc<Ledger>, reader: usize) {
    let request = client.request(Method::GET, &format!("/v1/events?after={}", ledger.cursor(reader)));
    let Ok(response) = request.send().await else { return };
    assert_eq!(
        response.status(),
        200,
        "a reader's place is never beyond the log: {:?}",
        response.text().await
    );
    let mut stream = Events::of(response);
    while let Some((seq, event)) = stream.next_or_end().await {
        ledger.read(reader, seq, event);
    }
}

async fn list_on(client: Client, ledger: Arc<Ledger>) {
    loop {
        let Some((status, page)) = send(&client, Method::GET, "/v1/questions?limit=100", None).await else {
            return;
        };
        assert_eq!(status, 200, "{page}");
        for question in page["questions"].as_array().unwrap() {
            ledger.seen(question);
        }
    }
}

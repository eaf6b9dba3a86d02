//! What clients saw over all lives of the hub, and whether the hub still stands by it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::common::Client;

pub const READERS: usize = 3;

#[derive(Default)]
pub struct Ledger(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// Questions that anybody was shown, by id: the text and the place in the log.
    questions: HashMap<String, (String, u64)>,
    /// Outcomes that anybody was told, by id.
    outcomes: HashMap<String, Value>,
    /// Keys that were sent, and whether their question was acknowledged.
    keys: BTreeMap<String, bool>,
    /// What each reader read.
    logs: [Vec<(u64, Value)>; READERS],
    conflicts: u64,
}

/// A deadline that passes in this life of the hub or in the next.
pub fn soon() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    askd_core::Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap() + 400).to_string()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap()
    }

    pub fn keyed(&self, key: &str) {
        self.lock().keys.insert(key.to_owned(), false);
    }

    /// Keys whose asker does not know what became of its question.
    pub fn unanswered_keys(&self) -> Vec<String> {
        self.lock().keys.iter().filter(|(_, known)| !**known).map(|(key, _)| key.clone()).collect()
    }

    /// Acknowledged by 201.
    pub fn asked(&self, question: &Value) {
        self.seen(question);
        let asked = text(&question["questions"][0]["question"]);
        if let Some(known) = self.lock().keys.get_mut(&asked) {
            *known = true;
        }
    }

    /// Shown to anybody, by whichever way.
    pub fn seen(&self, question: &Value) {
        let id = text(&question["id"]);
        let told = (text(&question["questions"][0]["question"]), question["seq"].as_u64().unwrap());
        let mut seen = self.lock();
        let first = seen.questions.entry(id.clone()).or_insert_with(|| told.clone());
        assert_eq!(*first, told, "a question does not change: {id}");
        match (&question["outcome"], seen.outcomes.get(&id)) {
            (Value::Null, _) => {}
            (outcome, Some(first)) => assert_eq!(outcome, first, "a question has one outcome: {id}"),
            (outcome, None) => {
                seen.outcomes.insert(id, outcome.clone());
            }
        }
    }

    /// The answer to a reply, a rejection or a withdrawal: accepted, or told who won.
    pub fn settled(&self, status: u16, answer: &Value) {
        match status {
            200 => self.seen(answer),
            409 => {
                self.lock().conflicts += 1;
                assert!(!answer["question"]["outcome"].is_null(), "{answer}");
                self.seen(&answer["question"]);
            }
            _ => panic!("{status}: {answer}"),
        }
    }

    pub fn cursor(&self, reader: usize) -> u64 {
        self.lock().logs[reader].last().map_or(0, |(seq, _)| *seq)
    }

    pub fn read(&self, reader: usize, seq: u64, event: Value) {
        if event["question"].is_object() {
            self.seen(&event["question"]);
        }
        let mut seen = self.lock();
        let log = &mut seen.logs[reader];
        let last = log.last().map_or(0, |(seq, _)| *seq);
        assert_eq!(seq, last + 1, "no hole and no repeat on the stream of a reader");
        log.push((seq, event));
    }

    /// What must hold as soon as the hub is back, for what was seen lately.
    pub async fn check_after_restart(&self, hub: &Client) {
        let newest = hub.get("/v1/questions?limit=1").await.ok(200)["seq"].as_u64().unwrap();
        let (read, lately) = {
            let seen = self.lock();
            let read = seen.logs.iter().filter_map(|log| log.last()).map(|(seq, _)| *seq).max().unwrap_or(0);
            let shown = seen.questions.values().map(|(_, seq)| *seq).max().unwrap_or(0);
            let mut lately: Vec<_> = seen.questions.iter().map(|(id, (_, seq))| (*seq, id.clone())).collect();
            lately.sort();
            (read.max(shown), lately.split_off(lately.len().saturating_sub(20)))
        };
        assert!(newest >= read, "the log lost events: its newest is {newest}, somebody read {read}");
        for (_, id) in lately {
            let question = hub.question(&id).await;
            self.seen(&question);
            let told = self.lock().outcomes.get(&id).cloned();
            assert!(told.is_none() || question["outcome"] != Value::Null, "an outcome was lost: {id}");
        }
    }

    /// Everything that was ever seen, against everything that the hub has now.
    pub async fn check_all(&self, hub: &Client) -> String {
        // A deadline may pass while the pages are read: only a list during which nothing happened is compared
        // with the log.
        let newest = async || hub.get("/v1/questions?limit=1").await.ok(200)["seq"].as_u64().unwrap();
        let (stored, newest) = loop {
            let before = newest().await;
            let stored = hub.everything().await;
            if newest().await == before {
                break (stored, before);
            }
        };
        let stored: HashMap<String, Value> =
            stored["questions"].as_array().unwrap().iter().map(|q| (text(&q["id"]), q.clone())).collect();
        let log = hub.events("?after=0").await.take(usize::try_from(newest).unwrap()).await;
        let seen = self.lock();

        for (id, (asked, seq)) in &seen.questions {
            let question = stored.get(id).unwrap_or_else(|| panic!("a question was lost: {id} {asked}"));
            assert_eq!(
                (&text(&question["questions"][0]["question"]), question["seq"].as_u64()),
                (asked, Some(*seq))
            );
        }
        for (id, outcome) in &seen.outcomes {
            assert_eq!(stored[id]["outcome"], *outcome, "the outcome of {id}");
        }
        let texts: Vec<String> = stored.values().map(|q| text(&q["questions"][0]["question"])).collect();
        let unique: BTreeSet<&String> = texts.iter().collect();
        assert_eq!(unique.len(), texts.len(), "no key asked twice");

        assert!(log.iter().map(|(seq, _)| *seq).eq(1..=newest), "the log has no hole and no repeat");
        for (reader, read) in seen.logs.iter().enumerate() {
            assert_eq!(log[..read.len()], read[..], "reader {reader} read another story");
        }
        let mut requested = BTreeSet::new();
        let mut resolved = BTreeSet::new();
        for (seq, event) in &log {
            let id = text(&event["question"]["id"]);
            match event["type"].as_str().unwrap() {
                "question.requested" => {
                    assert!(requested.insert(id.clone()), "{id} was requested twice");
                    assert_eq!(stored[&id]["seq"].as_u64(), Some(*seq));
                }
                "question.resolved" => {
                    assert!(requested.contains(&id), "{id} was settled before it was asked");
                    assert!(resolved.insert(id.clone()), "{id} has two outcomes");
                    assert_eq!(stored[&id]["outcome"], event["question"]["outcome"]);
                }
                kind => panic!("nobody did anything that makes a {kind}"),
            }
        }
        for (id, question) in &stored {
            assert!(requested.contains(id), "{id} is not in the log");
            assert_eq!(resolved.contains(id), question["status"] != "requested", "{id}");
        }
        format!(
            "{} questions, {} outcomes told, {} conflicts, {newest} events, read up to {:?}",
            seen.questions.len(),
            seen.outcomes.len(),
            seen.conflicts,
            seen.logs.each_ref().map(Vec::len)
        )
    }
}

//! What a review of meaning attacked in large numbers and found whole, in small numbers: races of several who
//! settle, deadlines that pass at one moment, and pages that are read while everything changes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::common::{Answer, Hub};

const RACES: usize = 12;
const AT_ONE_MOMENT: usize = 300;

async fn settle(hub: &Hub, id: &str, how: usize) -> Answer {
    let (client, verb, body) = match how {
        0 => (&hub.owner, "reply", json!({"answers": [["A"]]})),
        1 => (&hub.owner, "reply", json!({"answers": [["B"]]})),
        2 => (&hub.owner, "reject", json!({"mode": "decline"})),
        _ => (&hub.asker, "withdraw", json!({})),
    };
    client.post(&format!("/v1/questions/{id}/{verb}"), &body).await
}

#[tokio::test]
async fn of_four_who_settle_in_four_ways_one_wins_and_the_question_has_two_events() {
    let hub = Hub::start().await;
    let mut ids = Vec::new();
    for _ in 0..RACES {
        let id = hub.asker.ask_text("Which?").await;
        let (one, two, three, four) = tokio::join!(
            settle(&hub, &id, 0),
            settle(&hub, &id, 1),
            settle(&hub, &id, 2),
            settle(&hub, &id, 3)
        );
        let (won, lost): (Vec<_>, Vec<_>) =
            [one, two, three, four].into_iter().partition(|answer| answer.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 3));
        let outcome = won[0].json["outcome"].clone();
        for answer in lost {
            assert_eq!(answer.problem(409, "already_settled")["question"]["outcome"], outcome);
        }
        assert_eq!(hub.owner.question(&id).await["outcome"], outcome);
        ids.push(id);
    }
    let events = hub.events("?after=0").await.take(2 * RACES).await;
    assert!(events.iter().zip(1..).all(|((seq, _), n)| *seq == n), "the log has no hole");
    for id in ids {
        let of_it = |(_, event): &&(u64, Value)| event["question"]["id"] == *id;
        let kinds: Vec<_> = events.iter().filter(of_it).map(|(_, event)| event["type"].clone()).collect();
        assert_eq!(kinds, ["question.requested", "question.resolved"]);
    }
}

#[tokio::test]
async fn hundreds_of_deadlines_at_one_moment_end_each_question_once() {
    let hub = Hub::start().await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let at = askd_core::Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap() + 2000);
    let body = json!({"questions": [{"question": "Which?"}], "deadline": at.to_string()});
    let asks: Vec<_> = (0..AT_ONE_MOMENT)
        .map(|_| {
            let (client, body) = (hub.asker.clone(), body.clone());
            tokio::spawn(async move { client.ask(&body).await["id"].clone() })
        })
        .collect();
    for ask in asks {
        ask.await.unwrap();
    }
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for (_, event) in hub.events("?after=0").await.take(2 * AT_ONE_MOMENT).await {
        if event["type"] == "question.resolved" {
            assert_eq!(event["question"]["status"], "expired");
            *ends.entry(event["question"]["id"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert_eq!(ends.len(), AT_ONE_MOMENT);
    assert!(ends.values().all(|times| *times == 1));
    assert_eq!(hub.owner.get("/v1/questions").await.ok(200)["seq"], 2 * AT_ONE_MOMENT, "and no other event");
}

//! Lists: pages without gap or repeat, filters, and the `seq` from which a stream goes on.

use std::collections::BTreeSet;

use serde_json::json;

use crate::common::Hub;

#[tokio::test]
async fn pages_have_no_gap_and_no_repeat_while_questions_arrive() {
    let hub = Hub::start().await;
    let mut asked = Vec::new();
    for i in 0..25 {
        asked.push(hub.owner.ask_text(&format!("{i}?")).await);
    }
    for (order, limit) in [("asc", 7), ("desc", 7), ("asc", 25), ("desc", 1)] {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        let mut late = BTreeSet::new();
        loop {
            let page =
                hub.owner.get(&format!("/v1/questions?order={order}&limit={limit}{cursor}")).await.ok(200);
            let ids =
                page["questions"].as_array().unwrap().iter().map(|q| q["id"].as_str().unwrap().to_owned());
            seen.extend(ids);
            // One arrives between two pages.
            if late.len() < 3 {
                late.insert(hub.owner.ask_text("late?").await);
            }
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let unique: BTreeSet<_> = seen.iter().collect();
        assert_eq!(unique.len(), seen.len(), "{order} {limit}: none repeats");
        let mut known = asked.clone();
        if order == "desc" {
            known.reverse();
        }
        let old: Vec<_> = seen.into_iter().filter(|id| !late.contains(id)).collect();
        assert_eq!(old, known, "{order} {limit}: none is missing");
        asked.extend(late);
        asked.sort();
    }
}

#[tokio::test]
async fn a_list_and_then_a_stream_see_everything_once() {
    let hub = Hub::start().await;
    for i in 0..3 {
        hub.owner.ask_text(&format!("before {i}?")).await;
    }
    let writer = hub.owner.clone();
    let writing = tokio::spawn(async move {
        let mut ids = Vec::new();
        for i in 0..60 {
            ids.push(writer.ask_text(&format!("during {i}?")).await);
        }
        ids
    });
    // Many readers, each beginning at another moment of the burst.
    let mut readers = Vec::new();
    for _ in 0..6 {
        let client = hub.owner.clone();
        readers.push(tokio::spawn(async move {
            let list = client.get("/v1/questions?order=asc&limit=500").await.ok(200);
            let seq = list["seq"].as_u64().unwrap();
            let mut seen: Vec<u64> =
                list["questions"].as_array().unwrap().iter().map(|q| q["seq"].as_u64().unwrap()).collect();
            assert_eq!(seen.last(), Some(&seq), "the list has all up to its seq");
            let mut stream = client.events(&format!("?after={seq}")).await;
            while seen.len() < 63 {
                seen.push(stream.next().await.0);
            }
            seen
        }));
        tokio::time::sleep(std::time::Duration::from_millis(15)).await;
    }
    assert_eq!(writing.await.unwrap().len(), 60);
    for reader in readers {
        assert_eq!(reader.await.unwrap(), (1..=63).collect::<Vec<u64>>());
    }
}

#[tokio::test]
async fn filters_find_what_they_name() {
    let hub = Hub::start().await;
    let ask = |agent: &str, call: &str| json!({"agent": agent, "questions": [{"question": "x"}], "tool": {"callId": call}});
    let one = hub.owner.ask(&ask("claude", "c1")).await;
    let two = hub.owner.ask(&ask("codex", "c2")).await;
    hub.owner.reply(two["id"].as_str().unwrap(), json!([["x"]])).await.ok(200);
    for (query, wanted) in [
        ("", vec![&two["id"], &one["id"]]),
        ("order=asc", vec![&one["id"], &two["id"]]),
        ("status=requested", vec![&one["id"]]),
        ("status=answered", vec![&two["id"]]),
        ("status=expired", vec![]),
        ("agent=codex", vec![&two["id"]]),
        ("agent=nobody", vec![]),
        ("callId=c1", vec![&one["id"]]),
        ("agent=claude&status=answered", vec![]),
        ("session=ses_00000000000000000000000000", vec![]),
        ("agent=%27%20OR%201%3D1", vec![]),
    ] {
        let list = hub.owner.get(&format!("/v1/questions?{query}")).await.ok(200);
        let found: Vec<_> =
            list["questions"].as_array().unwrap().iter().map(|question| &question["id"]).collect();
        assert_eq!(found, wanted, "{query}");
        assert_eq!(list["nextCursor"], json!(null));
        assert_eq!(list["seq"], 3);
    }
}

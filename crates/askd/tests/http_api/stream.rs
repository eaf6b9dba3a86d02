//! The stream of events is a cursor over the store: nothing is lost and nothing repeats, however slow a
//! reader is.

use std::time::Duration;

use serde_json::json;

use crate::common::{Events, Frame, Hub, Starting, within};

async fn ask_many(hub: &Hub, count: usize, size: usize) {
    let asks: Vec<_> = (0..8)
        .map(|worker| {
            let client = hub.owner.clone();
            let mine = count / 8 + usize::from(worker < count % 8);
            tokio::spawn(async move {
                for _ in 0..mine {
                    client.ask_text(&"x".repeat(size)).await;
                }
            })
        })
        .collect();
    for ask in asks {
        ask.await.unwrap();
    }
}

fn numbers(from: u64, to: u64) -> Vec<u64> {
    (from..=to).collect()
}

#[tokio::test]
async fn a_stream_starts_now_or_where_it_is_told() {
    let hub = Hub::start().await;
    let id = hub.owner.ask_text("old?").await;
    hub.owner.reply(&id, json!([["x"]])).await.ok(200);
    let mut now = hub.events("").await;
    assert_eq!(within("the first bytes", now.frame()).await, Some(Frame::Comment("connected".to_owned())));
    hub.owner.ask_text("new?").await;
    assert_eq!(now.next().await.0, 3);
    assert_eq!(hub.events("?after=1").await.next().await.0, 2);
    assert_eq!(hub.events("?after=2").await.next().await.0, 3);
    let resumed = |id: &str, query: &str| {
        let (client, query) = (hub.owner.with_header("Last-Event-ID", id), query.to_owned());
        async move { client.events(&query).await.next().await.0 }
    };
    assert_eq!(resumed("1", "").await, 2);
    assert_eq!(
        resumed("2", "?after=0").await,
        3,
        "Last-Event-ID goes before after, so that EventSource can reconnect"
    );
    assert_eq!(resumed(" 1 ", "").await, 2);
}

#[tokio::test]
async fn a_stream_has_the_events_that_its_filters_name() {
    let hub = Hub::start().await;
    let ask = |agent: &str, call: &str| json!({"agent": agent, "questions": [{"question": "x"}], "tool": {"callId": call}});
    let mut claude = hub.events("?after=0&agent=claude").await;
    let mut answered = hub.events("?after=0&status=answered").await;
    let mut call = hub.events("?after=0&callId=c3").await;
    for i in 1..=3 {
        for agent in ["codex", "claude"] {
            let asked = hub.owner.ask(&ask(agent, &format!("c{i}"))).await;
            hub.owner.reply(asked["id"].as_str().unwrap(), json!([["x"]])).await.ok(200);
        }
    }
    let seqs =
        |events: Vec<(u64, serde_json::Value)>| events.into_iter().map(|(seq, _)| seq).collect::<Vec<_>>();
    assert_eq!(seqs(claude.take(6).await), [3, 4, 7, 8, 11, 12]);
    assert_eq!(seqs(answered.take(6).await), [2, 4, 6, 8, 10, 12]);
    assert_eq!(seqs(call.take(4).await), [9, 10, 11, 12]);
}

/// The reader pauses while far more is written than the hub keeps in memory and the sockets hold.
#[tokio::test]
async fn a_reader_that_pauses_through_thousands_of_events_misses_none() {
    let hub = Hub::start().await;
    let mut slow = hub.events("?after=0").await;
    let mut reading = hub.events("?after=0").await;
    let quick =
        tokio::spawn(
            async move { reading.take(6000).await.into_iter().map(|(seq, _)| seq).collect::<Vec<_>>() },
        );
    ask_many(&hub, 6000, 1200).await;
    assert_eq!(quick.await.unwrap(), numbers(1, 6000));
    let seen: Vec<u64> = slow.take(6000).await.into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(seen, numbers(1, 6000));
}

#[tokio::test]
async fn a_reader_that_reconnects_goes_on_where_it_was() {
    let hub = Hub::start().await;
    let client = hub.owner.clone();
    let reader = tokio::spawn(async move {
        let mut seen: Vec<u64> = Vec::new();
        let mut reconnects = 0;
        while seen.len() < 1000 {
            let last = seen.last().copied().unwrap_or(0);
            let mut stream = client.with_header("Last-Event-ID", &last.to_string()).events("").await;
            // Another length of stay each time, torn down in the middle of what is on the way.
            for _ in 0..(reconnects * 13 % 90 + 1).min(1000 - seen.len()) {
                seen.push(stream.next().await.0);
            }
            reconnects += 1;
        }
        (seen, reconnects)
    });
    ask_many(&hub, 1000, 20).await;
    let (seen, reconnects) = within("the reader", reader).await.unwrap();
    assert!(reconnects > 10);
    assert_eq!(seen, numbers(1, 1000));
}

#[tokio::test]
async fn a_reader_goes_on_across_a_restart() {
    let hub = Hub::start().await;
    ask_many(&hub, 20, 20).await;
    let mut stream = hub.events("?after=0").await;
    let before = stream.take(20).await;
    let hub = hub.restarted().await;
    assert_eq!(within("the old stream to end", stream.next_or_end()).await, None);
    hub.owner.ask_text("after?").await;
    let mut again = hub.events("?after=0").await;
    assert_eq!(again.take(20).await, before, "the same events, byte for byte, from the disk");
    assert_eq!(again.next().await.0, 21);
    assert_eq!(hub.events("?after=20").await.next().await.0, 21);
}

/// The pause between heartbeats is part of the contract with proxies, so this test waits for one.
#[tokio::test]
async fn a_quiet_stream_has_heartbeats() {
    let hub = Hub::start().await;
    let mut stream: Events = hub.events("").await;
    assert_eq!(within("the first bytes", stream.frame()).await, Some(Frame::Comment("connected".to_owned())));
    assert_eq!(within("a heartbeat", stream.frame()).await, Some(Frame::Comment("still here".to_owned())));
    hub.owner.ask_text("x?").await;
    assert_eq!(stream.next().await.0, 1);
}

#[tokio::test]
async fn many_readers_see_the_same_events() {
    let hub = Starting::fresh().start().await;
    let mut readers = Vec::new();
    for _ in 0..50 {
        let mut stream = hub.events("?after=0").await;
        readers.push(tokio::spawn(async move { stream.take(200).await }));
    }
    ask_many(&hub, 200, 20).await;
    let mut first = None;
    for reader in readers {
        let seen = within("a reader", reader).await.unwrap();
        assert_eq!(seen.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), numbers(1, 200));
        assert_eq!(*first.get_or_insert_with(|| seen.clone()), seen);
    }
    tokio::time::sleep(Duration::ZERO).await;
}

/// Bytes of a stream until they hold `wanted`.
async fn until_seen(stream: &mut reqwest::Response, wanted: &str) {
    let mut seen = String::new();
    within(wanted, async {
        while !seen.contains(wanted) {
            let chunk = stream.chunk().await.unwrap().unwrap_or_else(|| panic!("it ended after {seen}"));
            seen.push_str(&String::from_utf8_lossy(&chunk));
        }
    })
    .await;
}

#[tokio::test]
async fn a_filtered_stream_beside_a_busy_log_lives_and_ends_with_its_token() {
    let hub = Hub::start().await;
    let made = hub.owner.post("/v1/tokens", &json!({"name": "reader", "rights": ["read"]})).await.ok(201);
    let reader = hub.owner.with_token(made["token"].as_str());
    let started = json!({"agent": "mock", "cwd": "/tmp", "prompt": "hello"});
    let session = hub.owner.post("/v1/sessions", &started).await.ok(201)["id"].as_str().unwrap().to_owned();
    let of_session = format!("/v1/sessions/{session}/events/sse");
    let mut streams = Vec::new();
    for (path, beat) in [
        ("/v1/events?agent=none", "still here"),
        (of_session.as_str(), "still here"),
        ("/opencode/event?directory=/nowhere", "server.heartbeat"),
    ] {
        let response = reader.request(reqwest::Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        streams.push((response, beat));
    }
    let client = hub.owner.clone();
    let busy = tokio::spawn(async move {
        loop {
            client.ask_text("busy?").await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    for (stream, beat) in &mut streams {
        until_seen(stream, beat).await;
    }
    hub.owner.delete(&format!("/v1/tokens/{}", made["id"].as_str().unwrap())).await.ok(204);
    for (stream, _) in &mut streams {
        within("the stream to end", async { while stream.chunk().await.unwrap().is_some() {} }).await;
    }
    busy.abort();
    hub.owner.delete(&format!("/v1/sessions/{session}")).await.ok(204);
}

//! Deliveries through the holder: each reaches the agent at most once, and it can be known whether it did.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

#[expect(dead_code, reason = "each test file uses its part of it")]
mod holder_support;

use std::{io::Read as _, process::Stdio};

use askd_holder::{
    Completed, HolderEvent, HolderEvents, HolderLimits, probe_offline,
    protocol::{ProbeResult, WriteResult, Written},
};
use holder_support::{Held, exit, line, program, quick, until, within};

async fn written(events: &mut HolderEvents) -> Written {
    loop {
        match within(events.next()).await.unwrap() {
            HolderEvent::Written(written) => return written,
            HolderEvent::Line { .. } => {}
            other => panic!("{other:?} instead of a written"),
        }
    }
}

async fn probed(events: &mut HolderEvents) -> ProbeResult {
    loop {
        match within(events.next()).await.unwrap() {
            HolderEvent::Probed(result) => return result,
            HolderEvent::Line { .. } | HolderEvent::Written(_) => {}
            other => panic!("{other:?} instead of a probe's result"),
        }
    }
}

fn answer(tag: u64, delivery: &str, result: WriteResult) -> Written {
    Written { tag, delivery: Some(delivery.to_owned()), result }
}

#[tokio::test]
async fn a_delivery_that_is_sent_twice_is_written_once() {
    let limits = HolderLimits { journal_sync: true, ..quick() };
    let held = Held::start_with("while read -r l; do echo \"$l\" >> heard; done", limits).await;
    let mut hub = held.attach(0).await;
    for tag in [1, 2] {
        hub.connection.write(tag, Some("d1"), "yes\n".into()).await.unwrap();
        let result = written(&mut hub.events).await;
        assert_eq!(result, answer(tag, "d1", WriteResult::Done { repeated: tag == 2 }));
    }
    drop(hub);
    // Another hub, after a crash, sends it again.
    let mut hub = held.attach(0).await;
    hub.connection.write(9, Some("d1"), "yes\n".into()).await.unwrap();
    assert_eq!(written(&mut hub.events).await, answer(9, "d1", WriteResult::Done { repeated: true }));
    hub.connection.write(10, Some("d2"), "end\n".into()).await.unwrap();
    assert_eq!(written(&mut hub.events).await, answer(10, "d2", WriteResult::Done { repeated: false }));
    until("the agent has heard the end", || {
        std::fs::read_to_string(held.file("heard")).is_ok_and(|heard| heard.ends_with("end\n"))
    })
    .await;
    assert_eq!(std::fs::read_to_string(held.file("heard")).unwrap(), "yes\nend\n");
}

#[tokio::test]
async fn after_the_death_of_the_hub_a_probe_tells_what_became_of_a_delivery() {
    let held = Held::start("while read -r l; do echo \"heard $l\"; done").await;
    let mut hub = std::process::Command::new(program())
        .args(["write", held.folder().path().to_str().unwrap(), "d1", "yes"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut sent = [0; 5];
    hub.stdout.as_mut().unwrap().read_exact(&mut sent).unwrap();
    // It has given the write away and never sees the answer. The holder has it, or it went with the hub.
    let mut next = None;
    until("the delivery was taken", || {
        next = std::fs::read_to_string(held.folder().journal()).ok();
        next.as_deref().is_some_and(|journal| journal.contains("begun d1"))
    })
    .await;
    hub.kill().unwrap();
    hub.wait().unwrap();

    let mut hub = held.attach(0).await;
    hub.connection.probe("d1").await.unwrap();
    let result = probed(&mut hub.events).await;
    assert_eq!((result.journaled, result.delivery.as_str()), (true, "d1"));
    assert!(matches!(result.completed, Completed::Yes | Completed::Unknown));
    hub.connection.probe("d0").await.unwrap();
    let never = ProbeResult { delivery: "d0".into(), journaled: false, completed: Completed::No };
    assert_eq!(probed(&mut hub.events).await, never);
    drop(hub);
    let mut hub = held.attach(0).await;
    assert_eq!(line(&mut hub.events).await, (1, "heard yes".to_owned()));
    hub.connection.probe("d1").await.unwrap();
    assert_eq!(probed(&mut hub.events).await.completed, Completed::Yes);
}

#[tokio::test]
async fn a_write_to_an_agent_that_does_not_read_neither_blocks_nor_repeats() {
    // The agent reads nothing until it is told to, and goes on talking.
    let script = "i=0; while [ ! -e go ]; do i=$((i+1)); echo $i; sleep 0.01; done; wc -c; echo end";
    let held = Held::start(script).await;
    let mut hub = held.attach(0).await;
    let big = vec![b'z'; 8 * 1024 * 1024];
    let mut busy = 0;
    for tag in 1..=6u64 {
        hub.connection.write(tag, Some(&format!("d{tag}")), big.clone().into()).await.unwrap();
    }
    // Four of them fit; the others are told so and are not journaled.
    while busy < 2 {
        let Written { tag, result, .. } = written(&mut hub.events).await;
        assert!(tag > 4 && result == WriteResult::Busy, "{tag} {result:?}");
        busy += 1;
    }
    let (before, _) = loop {
        if let Some(HolderEvent::Line { n, bytes }) = within(hub.events.next()).await {
            break (n, bytes);
        }
    };
    assert_eq!(line(&mut hub.events).await.0, before + 1, "its output is not read");
    hub.connection.write(7, Some("d1"), big.clone().into()).await.unwrap();
    assert_eq!(written(&mut hub.events).await, answer(7, "d1", WriteResult::UnderWay));
    drop(hub);

    // The next hub hears the end of the writes of the one before.
    let mut hub = held.attach(0).await;
    std::fs::write(held.file("go"), "").unwrap();
    for id in ["d1", "d2", "d3", "d4"] {
        assert_eq!(written(&mut hub.events).await, answer(0, id, WriteResult::Done { repeated: false }));
    }
    hub.connection.probe("d5").await.unwrap();
    assert!(!probed(&mut hub.events).await.journaled);
}

#[tokio::test]
async fn a_delivery_to_an_agent_without_ears_fails_and_stays_failed() {
    let held = Held::start("exec 0<&-; echo deaf; sleep 600").await;
    let mut hub = held.attach(0).await;
    assert_eq!(line(&mut hub.events).await.1, "deaf");
    for (tag, again) in [(1, false), (2, true)] {
        hub.connection.write(tag, Some("d1"), "yes\n".into()).await.unwrap();
        let Written { result: WriteResult::Failed { repeated, .. }, .. } = written(&mut hub.events).await
        else {
            panic!("it did not fail");
        };
        assert_eq!(repeated, again);
    }
    hub.connection.probe("d1").await.unwrap();
    let result = probed(&mut hub.events).await;
    assert_eq!((result.journaled, result.completed), (true, Completed::No));
}

#[tokio::test]
async fn the_journal_of_a_dead_holder_can_be_asked() {
    let held = Held::start("read -r l; echo \"$l\"; exit 3").await;
    let mut hub = held.attach(0).await;
    hub.connection.write(1, Some("d1"), "yes\n".into()).await.unwrap();
    assert_eq!(exit(&mut hub.events).await.exit.code, Some(3));
    hub.connection.end(None, true).await.unwrap();
    held.gone().await;
    let done = probe_offline(held.folder(), "d1").unwrap();
    assert_eq!((done.journaled, done.completed), (true, Completed::Yes));
    let never = probe_offline(held.folder(), "d2").unwrap();
    assert_eq!((never.journaled, never.completed), (false, Completed::No));
}

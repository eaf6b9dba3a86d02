//! The agent's lines through the holder: no hole, no repetition, whatever happens to the hub.

#![expect(clippy::panic, reason = "a failure here is a failed test")]

#[expect(dead_code, reason = "each test file uses its part of it")]
mod holder_support;

use std::{io::BufRead as _, process::Stdio};

use askd_holder::{HolderEvent, HolderLimits, status};
use holder_support::{Held, exit, line, lines, pid, program, quick, until, within};
use rustix::process::{Signal, kill_process};

#[tokio::test]
async fn a_hub_that_attaches_again_reads_on_without_hole_or_repetition() {
    let held = Held::start("i=0; while read -r l; do i=$((i+1)); echo \"$i $l\"; done").await;
    let mut first = held.attach(0).await;
    first.connection.write(1, None, "a\nb\nc\n".into()).await.unwrap();
    let seen = lines(&mut first.events, 2).await;
    assert_eq!(seen, [(1, "1 a".to_owned()), (2, "2 b".to_owned())]);
    drop(first);

    // Line 3 comes while nobody is there, or was on the way to the hub that went.
    let mut second = held.attach(2).await;
    assert_eq!(line(&mut second.events).await, (3, "3 c".to_owned()));
    second.connection.ack(3);
    second.connection.write(1, None, "d\n".into()).await.unwrap();
    assert_eq!(line(&mut second.events).await, (4, "4 d".to_owned()));
    drop(second);

    // What is acknowledged is gone, also for a hub that says it has nothing.
    let mut third = held.attach(0).await;
    assert_eq!((third.welcome.first_line, third.welcome.next_line), (4, 5));
    assert_eq!(line(&mut third.events).await, (4, "4 d".to_owned()));
}

#[tokio::test]
async fn a_killed_hub_leaves_no_hole() {
    const LINES: u64 = 20_000;
    // The second half comes only when the first hub is dead.
    let script = "seq 1 10000; while [ ! -e go ]; do sleep 0.01; done; seq 10001 20000; sleep 600";
    let held = Held::start(script).await;
    let mut hub = std::process::Command::new(program())
        .args(["read", held.folder().path().to_str().unwrap(), "0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stored: Vec<String> = Vec::new();
    let mut output = std::io::BufReader::new(hub.stdout.take().unwrap());
    while stored.len() < 5_000 {
        let mut text = String::new();
        output.read_line(&mut text).unwrap();
        stored.push(text.trim_end().to_owned());
    }
    hub.kill().unwrap();
    hub.wait().unwrap();
    // What it had written before it died is what it had stored.
    for text in output.lines() {
        stored.push(text.unwrap());
    }
    // A last line may be torn by the kill; it was then not stored.
    if stored.last().is_some_and(|text| text.split(' ').collect::<Vec<_>>().windows(2).all(|w| w[0] != w[1]))
    {
        stored.pop();
    }
    std::fs::write(held.file("go"), "").unwrap();

    let mut hub = held.attach(stored.len() as u64).await;
    while stored.len() < LINES as usize {
        let (n, text) = line(&mut hub.events).await;
        stored.push(format!("{n} {text}"));
    }
    let expected: Vec<String> = (1..=LINES).map(|n| format!("{n} {n}")).collect();
    assert!(stored == expected, "a hole or a repetition");
}

#[tokio::test]
async fn a_flood_without_a_hub_is_kept_whole() {
    const LINES: u64 = 100_000;
    let held = Held::start("seq 1 100000").await;
    // Nobody is attached until all of it has been said and the agent has gone.
    until("the agent has ended", || held.folder().read_exit().unwrap().is_some()).await;
    let mut hub = held.attach(0).await;
    for n in 1..=LINES {
        assert_eq!(line(&mut hub.events).await, (n, n.to_string()));
    }
    assert!(exit(&mut hub.events).await.exit.success());
    hub.connection.ack(LINES);
    hub.connection.end(None, false).await.unwrap();
    held.gone().await;
}

#[tokio::test]
async fn a_full_buffer_makes_the_agent_wait_and_loses_nothing() {
    const LINES: u64 = 100_000;
    let limits = HolderLimits { buffer_bytes: 64 * 1024, ..quick() };
    let held = Held::start_with("seq 1 100000; echo over > over", limits).await;
    let mut paused = status(held.folder()).await.unwrap();
    while !paused.paused {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        paused = status(held.folder()).await.unwrap();
    }
    assert!(!held.file("over").exists(), "the agent did not wait");
    assert!(paused.buffered_bytes <= paused.buffer_limit + 64, "{paused:?}");
    assert_eq!((paused.hub_attached, paused.exited), (false, false));

    let mut hub = held.attach(0).await;
    let mut expected = 1;
    let mut ended = false;
    while !ended {
        for event in within(hub.events.next_batch()).await.unwrap() {
            match event {
                HolderEvent::Line { n, bytes } => {
                    assert_eq!((n, bytes), (expected, expected.to_string().into()));
                    expected += 1;
                }
                HolderEvent::Exited(exit) => ended = exit.exit.success(),
                other => panic!("{other:?} instead of a line"),
            }
        }
        hub.connection.ack(expected - 1);
        hub.connection.flush().await.unwrap();
    }
    assert_eq!(expected, LINES + 1);
    assert!(held.file("over").exists());
    hub.connection.end(None, false).await.unwrap();
    held.gone().await;
    let left = std::fs::read_dir(held.folder().buffer()).unwrap().count();
    assert!(left <= 1, "{left} segments are left though all is acknowledged");
}

#[tokio::test]
async fn a_hub_that_does_not_read_holds_nobody_up() {
    // More than all the buffers between agent and hub: the hub takes nothing, and still its commands get
    // through.
    let held = Held::start("seq 1 1000000 & read -r l; echo \"$l\" > heard; wait; sleep 600").await;
    let mut hub = held.attach(0).await;
    hub.connection.write(7, Some("d1"), "hello\n".into()).await.unwrap();
    until("the agent has heard", || held.file("heard").exists()).await;
    for n in 1..=1_000_000 {
        loop {
            match within(hub.events.next()).await.unwrap() {
                HolderEvent::Line { n: got, .. } => {
                    assert_eq!(got, n);
                    break;
                }
                HolderEvent::Written(written) => assert_eq!(written.tag, 7),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn long_half_and_odd_lines_are_told_as_they_are() {
    let limits = HolderLimits { max_line_bytes: 1000, ..quick() };
    let script = r"printf 'a\r\n\n'; head -c 5000 /dev/zero | tr '\0' x; printf '\n\377\n'; printf half";
    let held = Held::start_with(script, limits).await;
    let mut hub = held.attach(0).await;
    let mut events = Vec::new();
    while events.len() < 6 {
        events.push(within(hub.events.next()).await.unwrap());
    }
    let line = |n, bytes: &'static [u8]| HolderEvent::Line { n, bytes: bytes.into() };
    assert_eq!(events[..2], [line(1, b"a"), line(2, b"")]);
    let HolderEvent::Oversized { n: 3, total_bytes: 5000, prefix } = &events[2] else { panic!("{events:?}") };
    assert!(prefix.len() > 1000 && prefix.iter().all(|byte| *byte == b'x'));
    assert_eq!(events[3..5], [line(4, b"\xff"), line(5, b"half")]);
    assert!(matches!(&events[5], HolderEvent::Exited(exit) if exit.exit.success()));
}

#[tokio::test]
async fn a_hub_that_acknowledges_in_time_costs_no_file() {
    let held = Held::start("while read -r l; do echo \"$l\"; done").await;
    let mut hub = held.attach(0).await;
    for n in 1..=200u64 {
        hub.connection.write(n, None, format!("{n}\n").into()).await.unwrap();
        assert_eq!(line(&mut hub.events).await, (n, n.to_string()));
        hub.connection.ack(n);
        hub.connection.flush().await.unwrap();
    }
    let status = within(async {
        loop {
            let status = status(held.folder()).await.unwrap();
            if status.acked_line == 200 {
                return status;
            }
        }
    })
    .await;
    assert_eq!(status.buffered_bytes, 0);
    assert_eq!(std::fs::read_dir(held.folder().buffer()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_lines_of_a_hub_that_goes_are_on_disk() {
    use askd_holder::leftover;
    let held = Held::start("seq 1 10; sleep 600").await;
    let mut hub = held.attach(0).await;
    lines(&mut hub.events, 10).await;
    drop(hub);
    until("the lines to be on disk", || leftover(held.folder(), 0, 20).unwrap().lines.len() == 10).await;
}

#[tokio::test]
async fn a_killed_holder_loses_only_lines_that_no_hub_acknowledged() {
    use askd_holder::leftover;
    let held = Held::start("trap '' PIPE; seq 1 10; while :; do sleep 600; done").await;
    let mut hub = held.attach(0).await;
    lines(&mut hub.events, 10).await;
    hub.connection.ack(6);
    hub.connection.flush().await.unwrap();
    kill_process(pid(held.handle.holder_pid), Signal::KILL).unwrap();
    held.gone().await;
    // What is left is a run of the lines behind the acknowledged ones, which the hub has stored.
    let left = leftover(held.folder(), 6, 20).unwrap();
    let numbers: Vec<u64> = left.lines.iter().map(line_number).collect();
    assert!(numbers == [] as [u64; 0] || numbers == [7, 8, 9, 10], "{numbers:?}");
    let found = askd_holder::list(held.data()).unwrap();
    assert!(askd_holder::end_leftover(&found[0], Signal::KILL).unwrap());
}

fn line_number(line: &askd_holder::protocol::ToHub) -> u64 {
    use askd_holder::protocol::ToHub;
    match line {
        ToHub::Line { n, .. } | ToHub::Oversized { n, .. } => *n,
        other => panic!("no line: {other:?}"),
    }
}

#[tokio::test]
async fn a_line_of_megabytes_arrives_whole() {
    let held = Held::start("head -c 9000000 /dev/zero | tr '\\0' y; echo; echo after").await;
    let mut hub = held.attach(0).await;
    let Some(HolderEvent::Line { n: 1, bytes }) = within(hub.events.next()).await else { panic!("no line") };
    assert_eq!(bytes.len(), 9_000_000);
    assert_eq!(line(&mut hub.events).await, (2, "after".to_owned()));
}

#[tokio::test]
async fn the_lines_of_a_killed_holder_can_still_be_read() {
    use askd_holder::{end_leftover, forget, leftover, list, protocol::ToHub};
    let held = Held::start("trap '' PIPE; seq 1 10; while :; do sleep 600; done").await;
    let mut hub = held.attach(0).await;
    lines(&mut hub.events, 10).await;
    // The hub acknowledges nothing: after a second in memory the lines are on disk.
    until("the lines to be on disk", || leftover(held.folder(), 0, 20).unwrap().lines.len() == 10).await;
    kill_process(pid(held.handle.holder_pid), Signal::KILL).unwrap();
    held.gone().await;

    let mut found = list(held.data()).unwrap();
    let dead = found.pop().unwrap();
    assert!(found.is_empty() && !dead.alive && dead.exit.is_none());
    assert_eq!(dead.orphan.map(|process| process.pid), Some(held.handle.agent_pid));
    let left = leftover(held.folder(), 7, 2).unwrap();
    let expected = [8u64, 9].map(|n| ToHub::Line { n, bytes: n.to_string().into() });
    assert_eq!((left.lines.as_slice(), left.more, left.torn), (&expected[..], true, false));
    assert!(forget(held.folder()).is_err(), "an agent without holder was forgotten");
    assert!(end_leftover(&dead, Signal::KILL).unwrap());
    until("the folder can go", || forget(held.folder()).is_ok()).await;
    assert!(list(held.data()).unwrap().is_empty());
}

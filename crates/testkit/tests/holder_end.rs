//! Ends: of the agent by itself, by the hub, by the holder's own end, by nobody coming. Nothing of the agent
//! is left.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod holder_support;

use std::{path::Path, time::Duration};

use askd_holder::{
    EndOfConnection, ExitWhy, HolderEvent, HolderLimits, SpawnError, forget, leftover, list,
    process::{ProcessExit, children_of, facts},
    protocol::ToHolder,
    spawn,
};
use holder_support::{Held, exit, line, lines, pid, program, quick, spec, until, vanished, within};
use rustix::process::{Signal, kill_process};

fn lingering(seconds: u64) -> HolderLimits {
    HolderLimits { linger_seconds: seconds, ..quick() }
}

/// Pids that a script has written, one per line.
fn pids(path: &Path) -> Vec<i32> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

#[tokio::test]
async fn a_crash_is_told_with_code_and_last_stderr_lines() {
    let limits = HolderLimits { stderr_tail_lines: 2, ..quick() };
    let held = Held::start_with("echo out; seq 1 1000 >&2; printf 'last words' >&2; exit 42", limits).await;
    let mut hub = held.attach(0).await;
    assert_eq!(line(&mut hub.events).await, (1, "out".to_owned()));
    let told = exit(&mut hub.events).await;
    assert_eq!(told.exit, ProcessExit { code: Some(42), signal: None });
    assert_eq!(
        (told.why, told.stderr_tail.as_slice()),
        (ExitWhy::Itself, &["1000".into(), "last words".into()][..])
    );
    // It is told to the next hub too, until one lets the holder go.
    drop(hub);
    let mut hub = held.attach(1).await;
    assert!(hub.welcome.exited);
    assert_eq!(exit(&mut hub.events).await, told);
    hub.connection.ack(1);
    hub.connection.end(None, false).await.unwrap();
    assert_eq!(within(hub.events.next()).await, Some(HolderEvent::Closed(EndOfConnection::Gone)));
    held.gone().await;
    let found = list(held.data()).unwrap();
    assert_eq!((found.len(), found[0].alive, found[0].exit.as_ref()), (1, false, Some(&told)));
    forget(held.folder()).unwrap();
    assert!(list(held.data()).unwrap().is_empty());
}

#[tokio::test]
async fn a_death_by_signal_is_told_as_one() {
    let held = Held::start("kill -SEGV $$").await;
    let mut hub = held.attach(0).await;
    let told = exit(&mut hub.events).await;
    assert_eq!((told.exit, told.why), (ProcessExit { code: None, signal: Some(11) }, ExitWhy::Itself));
}

#[tokio::test]
async fn the_holder_waits_until_the_last_lines_are_acknowledged() {
    let held = Held::start("trap 'echo bye; exit 7' TERM; echo hi; while :; do sleep 0.05; done").await;
    let mut hub = held.attach(0).await;
    assert_eq!(line(&mut hub.events).await, (1, "hi".to_owned()));
    hub.connection.end(Some(Duration::from_secs(30)), false).await.unwrap();
    assert_eq!(line(&mut hub.events).await, (2, "bye".to_owned()));
    let told = exit(&mut hub.events).await;
    assert_eq!((told.exit.code, told.why), (Some(7), ExitWhy::Hub));
    drop(hub);
    // The hub died before it had stored the line; the next one still gets it.
    let mut hub = held.attach(1).await;
    assert_eq!(line(&mut hub.events).await, (2, "bye".to_owned()));
    hub.connection.ack(2);
    hub.connection.flush().await.unwrap();
    held.gone().await;
}

#[tokio::test]
async fn an_agent_that_ignores_term_is_killed_with_all_that_it_started() {
    // A child in the group that ignores TERM too, one that has left the group, and a grandchild whose parent
    // is dead.
    let script = "trap '' TERM
        sleep 600 & echo $! >> pids
        setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 600; done' &
        sh -c 'sleep 600 & echo $! >> pids'
        while [ $(wc -l < pids) -lt 3 ]; do sleep 0.01; done
        echo ready; while :; do sleep 600; done";
    let held = Held::start(script).await;
    let mut hub = held.attach(0).await;
    assert_eq!(line(&mut hub.events).await.1, "ready");
    let started = pids(&held.file("pids"));
    assert_eq!(started.len(), 3);
    hub.connection.end(Some(Duration::from_millis(50)), false).await.unwrap();
    let told = exit(&mut hub.events).await;
    assert_eq!((told.exit.signal, told.why), (Some(9), ExitWhy::Hub));
    hub.connection.ack(1);
    hub.connection.flush().await.unwrap();
    held.gone().await;
    for raw in started.into_iter().chain([held.handle.agent_pid]) {
        vanished(raw).await;
    }
    vanished(held.handle.holder_pid).await;
}

#[tokio::test]
async fn what_an_agent_leaves_in_its_group_ends_with_it_and_leaves_no_zombie() {
    let held =
        Held::start("trap '' TERM; sleep 600 & echo $! >> pids; sh -c 'exit 1' & echo done; exit 0").await;
    let mut hub = held.attach(0).await;
    assert!(exit(&mut hub.events).await.exit.success());
    for raw in pids(&held.file("pids")) {
        vanished(raw).await;
    }
    until("the holder has no child left", || children_of(held.handle.holder_pid).unwrap().is_empty()).await;
}

#[tokio::test]
async fn a_process_that_has_left_the_group_lives_until_the_end_is_asked() {
    let script = "setsid sh -c 'echo $$ > server; exec sleep 600' &
        while [ ! -s server ]; do sleep 0.01; done; echo up";
    let held = Held::start(script).await;
    let mut hub = held.attach(0).await;
    // The server keeps the agent's stdout open, and still the exit is told.
    assert!(exit(&mut hub.events).await.exit.success());
    let server = pids(&held.file("server"))[0];
    assert!(facts(server).unwrap().is_some_and(|process| !process.is_zombie()));
    hub.connection.ack(1);
    hub.connection.end(None, false).await.unwrap();
    held.gone().await;
    vanished(server).await;
}

#[tokio::test]
async fn a_holder_that_is_terminated_ends_its_agent_and_says_so() {
    let held = Held::start("echo hi; sleep 600").await;
    let mut hub = held.attach(0).await;
    lines(&mut hub.events, 1).await;
    // From a terminal it hears nothing.
    for ignored in [Signal::INT, Signal::HUP, Signal::PIPE] {
        kill_process(pid(held.handle.holder_pid), ignored).unwrap();
    }
    hub.connection.send(&ToHolder::Status).await.unwrap();
    assert!(matches!(within(hub.events.next()).await, Some(HolderEvent::Status(report)) if !report.exited));
    kill_process(pid(held.handle.holder_pid), Signal::TERM).unwrap();
    let told = exit(&mut hub.events).await;
    assert_eq!((told.exit.signal, told.why), (Some(15), ExitWhy::HolderSignal));
    held.gone().await;
    vanished(held.handle.agent_pid).await;
    assert_eq!(held.folder().read_exit().unwrap(), Some(told));
}

#[tokio::test]
async fn without_hub_and_question_the_holder_goes_after_its_time() {
    let held = Held::start_with("echo hi; sleep 600", lingering(1)).await;
    held.gone().await;
    vanished(held.handle.agent_pid).await;
    assert_eq!(held.folder().read_exit().unwrap().unwrap().why, ExitWhy::Linger);

    // An open question keeps it: the agent is still there when another one, started later, has gone. Whoever
    // attaches needs time.
    let asking = Held::start_with("echo hi; sleep 600", lingering(5)).await;
    let mut hub = asking.attach(0).await;
    hub.connection.set_open_questions(1);
    hub.connection.send(&ToHolder::Status).await.unwrap();
    while !matches!(within(hub.events.next()).await, Some(HolderEvent::Status(_))) {}
    drop(hub);
    let idle = Held::start_with("sleep 600", lingering(6)).await;
    idle.gone().await;
    assert!(asking.folder().is_alive().unwrap());
    let mut hub = asking.attach(0).await;
    assert_eq!(hub.welcome.open_questions, 1);
    hub.connection.set_open_questions(0);
    hub.connection.flush().await.unwrap();
    drop(hub);
    asking.gone().await;
}

#[tokio::test]
async fn an_ended_agent_whose_hub_never_comes_back_does_not_keep_its_holder() {
    let held = Held::start_with("echo hi; sleep 600", lingering(5)).await;
    let mut hub = held.attach(0).await;
    line(&mut hub.events).await;
    hub.connection.set_open_questions(1);
    hub.connection.end(None, false).await.unwrap();
    exit(&mut hub.events).await;
    drop(hub);
    held.gone().await;
    assert_eq!(held.folder().read_exit().unwrap().unwrap().why, ExitWhy::Hub);
    // The line that nobody has acknowledged is still to be had.
    assert_eq!(leftover(held.folder(), 0, 10).unwrap().lines.len(), 1);
}

#[tokio::test]
async fn an_end_without_acknowledgement_does_not_wait() {
    let held = Held::start("seq 1 1000; sleep 600").await;
    let mut hub = held.attach(0).await;
    hub.connection.end(None, true).await.unwrap();
    held.gone().await;
    vanished(held.handle.agent_pid).await;
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_is_told_at_once() {
    let data = tempfile::tempdir().unwrap();
    let mut wrong = spec(data.path(), "", quick());
    wrong.command = "no-such-agent-anywhere".into();
    let error = spawn(program(), wrong).await.unwrap_err();
    assert!(matches!(&error, SpawnError::Agent(_)), "{error}");
    let found = list(data.path()).unwrap();
    assert_eq!((found.len(), found[0].alive), (1, false));
    assert_eq!(found[0].exit.as_ref().unwrap().why, ExitWhy::NotStarted);

    let data = tempfile::tempdir().unwrap();
    let error = spawn(Path::new("/no/such/program"), spec(data.path(), "", quick())).await.unwrap_err();
    assert!(matches!(&error, SpawnError::Program(_)), "{error}");
    let error = spawn(Path::new("false"), spec(data.path(), "", quick())).await.unwrap_err();
    assert!(matches!(&error, SpawnError::Ended { exit, .. } if exit.code == Some(1)), "{error}");
}

#[tokio::test]
async fn the_agent_has_the_environment_of_the_spec_and_nothing_else() {
    let held = Held::start("env | sed 's/=.*//' | sort; ps -o pgid= -p $$ | tr -d ' '").await;
    let mut hub = held.attach(0).await;
    let mut said = Vec::new();
    while let Some(HolderEvent::Line { bytes, .. }) = within(hub.events.next()).await {
        said.push(String::from_utf8(bytes.to_vec()).unwrap());
    }
    // The shell adds its own.
    said.retain(|name| !matches!(name.as_str(), "PWD" | "OLDPWD" | "SHLVL" | "_"));
    let group = held.handle.agent_pid.to_string();
    assert_eq!(said, ["ASKD_SESSION", "PATH", &group]);
    let environment = std::fs::read(format!("/proc/{}/environ", held.handle.holder_pid)).unwrap();
    assert!(environment.is_empty(), "the holder has the hub's environment");
}

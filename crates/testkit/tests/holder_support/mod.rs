//! What the tests of the holder share: a holder in a throw-away folder whose agent is a shell script, ended
//! by its pid when the test is over.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure here is a failed test"
)]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use askd_holder::{
    Attached, ExitRecord, Folder, HolderEvent, HolderEvents, HolderHandle, HolderId, HolderLimits,
    HolderSpec, SESSION_VARIABLE, attach, process::facts, spawn,
};
use rustix::process::{Pid, Signal, kill_process};

/// The hard end of every wait; no test depends on how long something takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_holder-for-tests"))
}

pub(crate) struct Held {
    data: tempfile::TempDir,
    pub(crate) handle: HolderHandle,
}

pub(crate) fn spec(data: &Path, script: &str, limits: HolderLimits) -> HolderSpec {
    let id = HolderId::new("h1").unwrap();
    HolderSpec {
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: data.to_owned(),
        env: BTreeMap::from([
            (SESSION_VARIABLE.to_owned(), "ses_1".to_owned()),
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
        ]),
        folder: Folder::in_data(data, &id).path().to_owned(),
        id,
        limits,
    }
}

pub(crate) fn quick() -> HolderLimits {
    // A test that is killed cannot end its holder; that one then goes by itself.
    HolderLimits { grace_ms: 200, journal_sync: false, linger_seconds: 60, ..HolderLimits::default() }
}

impl Held {
    pub(crate) async fn start(script: &str) -> Self {
        Self::start_with(script, quick()).await
    }

    pub(crate) async fn start_with(script: &str, limits: HolderLimits) -> Self {
        let data = tempfile::tempdir().unwrap();
        let spec = spec(data.path(), script, limits);
        let handle = spawn(program(), spec).await.unwrap();
        Self { data, handle }
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.handle.folder
    }

    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// A file beside the holders, where the script is started.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    pub(crate) async fn attach(&self, after: u64) -> Attached {
        within(attach(self.folder(), after)).await.unwrap()
    }

    /// Waits until the holder's process has gone.
    pub(crate) async fn gone(&self) {
        until("the holder has gone", || !self.folder().is_alive().unwrap()).await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // The lock proves that the pid is still the holder's.
        if self.folder().is_alive().unwrap_or(false) {
            let _ = kill_process(pid(self.handle.holder_pid), Signal::TERM);
            for _ in 0..500 {
                if !self.folder().is_alive().unwrap_or(false) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

pub(crate) fn pid(raw: i32) -> Pid {
    Pid::from_raw(raw).unwrap()
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("this should not take so long")
}

pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited in vain: {what}"));
}

/// Neither running nor a zombie.
pub(crate) async fn vanished(raw: i32) {
    until("the process has vanished", || facts(raw).unwrap().is_none()).await;
}

/// The next line with its number; what became of writes is passed over.
pub(crate) async fn line(events: &mut HolderEvents) -> (u64, String) {
    loop {
        match within(events.next()).await {
            Some(HolderEvent::Line { n, bytes }) => return (n, String::from_utf8(bytes.to_vec()).unwrap()),
            Some(HolderEvent::Written(_)) => {}
            other => panic!("{other:?} instead of a line"),
        }
    }
}

pub(crate) async fn lines(events: &mut HolderEvents, count: usize) -> Vec<(u64, String)> {
    let mut lines = Vec::new();
    for _ in 0..count {
        lines.push(line(events).await);
    }
    lines
}

/// Passes over all events until the agent's end.
pub(crate) async fn exit(events: &mut HolderEvents) -> ExitRecord {
    loop {
        match within(events.next()).await {
            Some(HolderEvent::Exited(exit)) => return exit,
            Some(HolderEvent::Closed(end)) => panic!("closed before the exit was told: {end}"),
            None => panic!("no exit was told"),
            Some(_) => {}
        }
    }
}

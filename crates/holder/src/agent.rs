//! The agent's process as the holder sees it: started in its own group, watched, ended, reaped.
//!
//! In: the spec, the wish to end it, and time. Out: its pipes, its exit, and the certainty that nothing of it
//! is left. The holder is a subreaper, so whatever the agent starts stays below the holder, wherever it puts
//! itself: ending the agent (`Scope::Tree`) reaches also what has left the group.

use std::{
    io,
    os::unix::process::CommandExt as _,
    process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Signal, WaitOptions};

use super::spec::HolderSpec;
use crate::process::{MAX_GRACE, ProcessExit, ProcessFacts, descendants, signal_group, signal_same};

/// The pause between two KILLs to the remaining processes, which may have started others meanwhile.
const KILL_AGAIN: Duration = Duration::from_millis(50);
/// A process in an uninterruptible call does not die of KILL; the session's end does not wait for it longer
/// than this.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// How far an end reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// The agent's process group: its rest after the agent has exited by itself.
    Group,
    /// All processes below the holder.
    Tree,
}

#[derive(Debug)]
struct Ending {
    scope: Scope,
    kill_at: Instant,
    next_kill: Instant,
}

#[derive(Debug)]
pub(super) struct Agent {
    pub(super) pid: i32,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    exit: Option<ProcessExit>,
    ending: Option<Ending>,
    over: bool,
}

impl Agent {
    pub(super) fn start(spec: &HolderSpec) -> io::Result<Self> {
        let mut child = Command::new(&spec.command)
            .args(&spec.args)
            .current_dir(&spec.cwd)
            .env_clear()
            .envs(&spec.env)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // Our ends only; the agent's ends stay blocking.
        for pipe in [
            stdin.as_ref().map(std::os::fd::AsFd::as_fd),
            stdout.as_ref().map(std::os::fd::AsFd::as_fd),
            stderr.as_ref().map(std::os::fd::AsFd::as_fd),
        ]
        .into_iter()
        .flatten()
        {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        Ok(Self { pid, stdin, stdout, stderr, exit: None, ending: None, over: false })
    }

    /// Reaps ended children: the agent, or orphans below this holder. Call it after `SIGCHLD`.
    pub(super) fn reap(&mut self, grace: Duration, now: Instant) {
        self.collect();
        if self.exit.is_some() && self.ending.is_none() {
            self.end(Scope::Group, grace, now);
        }
        self.look(now);
    }

    /// Asks the agent to end, and sees to it that it does. A second call can only widen and hurry.
    pub(super) fn end(&mut self, scope: Scope, grace: Duration, now: Instant) {
        let kill_at = now + grace.min(MAX_GRACE);
        let wider = self.ending.as_ref().is_none_or(|ending| ending.scope < scope);
        let ending = self.ending.get_or_insert(Ending { scope, kill_at, next_kill: kill_at });
        ending.scope = ending.scope.max(scope);
        ending.kill_at = ending.kill_at.min(kill_at);
        ending.next_kill = ending.next_kill.min(ending.kill_at);
        if wider {
            self.over = false;
            self.signal(Signal::TERM);
        }
        self.look(now);
    }

    /// Kills when the time has come. Call whenever `wake_at` is reached.
    pub(super) fn tick(&mut self, now: Instant) {
        if self.over || self.ending.as_ref().is_none_or(|ending| now < ending.next_kill) {
            return;
        }
        self.signal(Signal::KILL);
        if let Some(ending) = &mut self.ending {
            ending.next_kill = now + KILL_AGAIN;
        }
        self.look(now);
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.ending.as_ref().filter(|_| !self.over).map(|ending| ending.next_kill)
    }

    /// How the agent ended, if it has.
    pub(super) fn exit(&self) -> Option<ProcessExit> {
        self.exit
    }

    /// True if the agent has ended, and every process that its end covers.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Leaves no zombie of ours.
    fn collect(&mut self) {
        // Any other result (`ECHILD`, or no ended child) means that nothing is left to reap.
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid.as_raw_nonzero().get() == self.pid {
                self.exit = Some(status.into());
            }
        }
    }

    fn look(&mut self, now: Instant) {
        self.collect();
        let Some(ending) = &self.ending else { return };
        let given_up = now >= ending.kill_at + KILL_PATIENCE;
        let nobody_left =
            || self.targets(ending.scope).map_or_else(|_| !group_exists(self.pid), |left| left.is_empty());
        self.over = given_up || (self.exit.is_some() && nobody_left());
    }

    /// The processes to end that have not ended or are not reaped. An error without `/proc`: then only the
    /// group can be reached.
    fn targets(&self, scope: Scope) -> io::Result<Vec<ProcessFacts>> {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut family = descendants(own)?;
        family.retain(|process| {
            let there = !process.is_zombie() || process.parent == own;
            there && (scope == Scope::Tree || process.group == self.pid)
        });
        Ok(family)
    }

    /// Errors are not looked at: what cannot be signalled is gone, or is seen by the next look.
    fn signal(&self, signal: Signal) {
        let Some(scope) = self.ending.as_ref().map(|ending| ending.scope) else { return };
        let targets = self.targets(scope);
        let as_group = self.exit.is_none() || targets.is_err();
        if as_group {
            // All at once, including processes that are starting now.
            let _ = signal_group(self.pid, signal);
        }
        for process in targets.unwrap_or_default() {
            if !(as_group && process.group == self.pid) {
                let _ = signal_same(&process, signal);
            }
        }
    }
}

fn group_exists(group: i32) -> bool {
    rustix::process::Pid::from_raw(group)
        .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

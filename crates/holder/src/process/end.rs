//! Ending processes. In: a group, or a process with its start time. Out: the signal sent to exactly those, or
//! the knowledge that they are gone. A pid that was given to another process meanwhile is never signalled.

use std::{io, time::Duration};

use rustix::process::Signal;

use super::proc_fs::{ProcessFacts, as_pid, facts};

/// Between asking a process to end and ending it. Agents write their session file when they are asked.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(5);
/// The longest time that a caller may let an agent take; ending a session is always prompt.
pub const MAX_GRACE: Duration = Duration::from_secs(60);

/// Signals a whole process group. `Ok(false)` if there is no such group. Use it only while the group's leader
/// is not reaped, because the number of an empty group may be given to another.
pub fn signal_group(group: i32, signal: Signal) -> io::Result<bool> {
    let Some(group) = as_pid(group) else { return Ok(false) };
    found(rustix::process::kill_process_group(group, signal))
}

/// Signals one process if it still is the one that was looked at. `Ok(false)`: it is gone.
pub fn signal_same(process: &ProcessFacts, signal: Signal) -> io::Result<bool> {
    let Some(pid) = as_pid(process.pid) else { return Ok(false) };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        // The handle pins the process; now check that it is the same one.
        if facts(process.pid)?.map(|now| now.start_time) != Some(process.start_time) {
            return Ok(false);
        }
        found(pidfd_send_signal(&handle, signal))
    }
    #[cfg(not(target_os = "linux"))]
    {
        if facts(process.pid)?.map(|now| now.start_time) != Some(process.start_time) {
            return Ok(false);
        }
        found(rustix::process::kill_process(pid, signal))
    }
}

/// Ends a child that was started as the leader of its own group (`process_group(0)`): TERM to the group, the
/// grace, KILL to the group, reaped. The rest of the group gets its KILL also when the leader went in time.
#[cfg(feature = "client")]
pub async fn end_child(
    child: &mut tokio::process::Child,
    grace: Duration,
) -> io::Result<std::process::ExitStatus> {
    let Some(group) = child.id().and_then(|pid| i32::try_from(pid).ok()) else {
        return child.wait().await;
    };
    signal_group(group, Signal::TERM)?;
    let ended = tokio::time::timeout(grace.min(MAX_GRACE), child.wait()).await;
    match ended {
        Ok(status) => {
            let status = status?;
            for member in super::proc_fs::members_of(group)? {
                signal_same(&member, Signal::KILL)?;
            }
            Ok(status)
        }
        Err(_) => {
            signal_group(group, Signal::KILL)?;
            child.wait().await
        }
    }
}

fn found(result: rustix::io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_another_start_time_is_left_alone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = facts(i32::try_from(child.id()).unwrap()).unwrap().unwrap();
        let other = ProcessFacts { start_time: found.start_time + 1, ..found };
        assert!(!signal_same(&other, Signal::KILL).unwrap());
        assert!(child.try_wait().unwrap().is_none());
        assert!(signal_same(&found, Signal::KILL).unwrap());
        child.wait().unwrap();
        assert!(!signal_same(&found, Signal::KILL).unwrap());
        assert!(!signal_group(0, Signal::KILL).unwrap() && !signal_group(1, Signal::KILL).unwrap());
    }

    #[tokio::test]
    async fn a_child_that_ignores_term_is_killed_with_its_group() {
        let mut child = tokio::process::Command::new("sh")
            .args(["-c", "trap '' TERM; sleep 600 & echo ready; wait; wait"])
            .stdout(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut ready = [0u8; 6];
        let mut stdout = child.stdout.take().unwrap();
        tokio::io::AsyncReadExt::read_exact(&mut stdout, &mut ready).await.unwrap();
        let status = end_child(&mut child, Duration::from_millis(100)).await.unwrap();
        assert_eq!(super::super::ProcessExit::from(status).signal, Some(9));
        // The end of the pipe shows that the group is empty.
        let mut rest = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut stdout, &mut rest).await.unwrap();
        assert!(rest.is_empty());
    }
}

//! Facts about processes from `/proc`. In: a process id. Out: parent, group, start time, command line, and
//! the processes above and below. Without `/proc` the results are errors or empty, never wrong.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use rustix::process::Pid;

/// The longest chain of parents; a longer one means that `/proc` changed meanwhile.
pub const MAX_PARENTS: usize = 128;

/// The facts about one process. A pid alone is not an identity, pid and start time are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessFacts {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// Clock ticks since boot.
    pub start_time: u64,
    /// The state letter of `/proc/PID/stat`.
    pub state: u8,
}

impl ProcessFacts {
    /// Ended, but not yet reaped by its parent.
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// The facts of one process; `None` when there is no such process.
pub fn facts(pid: i32) -> io::Result<Option<ProcessFacts>> {
    Ok(named_facts(pid)?.map(|(facts, _)| facts))
}

/// The same with its name.
pub(super) fn named_facts(pid: i32) -> io::Result<Option<(ProcessFacts, String)>> {
    let stat = match read_at_once(&of(pid).join("stat")) {
        Ok(stat) => stat,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    parse_stat(&stat)
        .map(Some)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unexpected form of /proc/PID/stat"))
}

/// Reads a file that does not report its size, with a large buffer from the start: [`fs::read`] would begin
/// with a few bytes and read again and again.
fn read_at_once(path: &Path) -> io::Result<Vec<u8>> {
    const ROOM: usize = 1 << 12;
    let mut bytes = Vec::with_capacity(ROOM);
    fs::File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// When the process started, in clock ticks since boot.
pub fn start_time(pid: i32) -> io::Result<Option<u64>> {
    Ok(facts(pid)?.map(|facts| facts.start_time))
}

/// The command line of a process, argument by argument; empty for a zombie.
pub fn command_line(pid: i32) -> io::Result<Option<Vec<String>>> {
    match read_at_once(&of(pid).join("cmdline")) {
        Ok(bytes) => {
            let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
            if bytes.is_empty() {
                return Ok(Some(Vec::new()));
            }
            let argument = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
            Ok(Some(bytes.split(|byte| *byte == 0).map(argument).collect()))
        }
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The process and its parents, nearest first, up to the first process of the machine.
pub fn parent_chain(pid: i32) -> io::Result<Vec<ProcessFacts>> {
    let mut chain = Vec::new();
    let mut next = pid;
    while next > 0 && chain.len() < MAX_PARENTS {
        let Some(found) = facts(next)? else { break };
        next = found.parent;
        chain.push(found);
    }
    Ok(chain)
}

/// All processes below `pid`, children and children's children, zombies included, parents before their
/// children.
pub fn descendants(pid: i32) -> io::Result<Vec<ProcessFacts>> {
    let mut rest = all()?;
    let mut family: Vec<ProcessFacts> = Vec::new();
    let mut parents = vec![pid];
    while !parents.is_empty() {
        let (born, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|process| parents.contains(&process.parent));
        parents = born.iter().map(|process| process.pid).collect();
        family.extend(born);
        rest = others;
    }
    Ok(family)
}

/// The direct children of `pid`.
pub fn children_of(pid: i32) -> io::Result<Vec<ProcessFacts>> {
    Ok(all()?.into_iter().filter(|process| process.parent == pid).collect())
}

/// The members of a process group, wherever they are in the family.
pub fn members_of(group: i32) -> io::Result<Vec<ProcessFacts>> {
    Ok(all()?.into_iter().filter(|process| process.group == group).collect())
}

fn all() -> io::Result<Vec<ProcessFacts>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // A process may end while the folder is read; then it is not there.
        if let Ok(Some(process)) = facts(pid) {
            found.push(process);
        }
    }
    Ok(found)
}

pub(super) fn of(pid: i32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// `pid (name) state ppid pgrp session ...`: the name may hold blanks and parentheses, so read from its last
/// `)`.
fn parse_stat(stat: &[u8]) -> Option<(ProcessFacts, String)> {
    let name_end = memchr::memrchr(b')', stat)?;
    let name = stat.get(memchr::memchr(b'(', stat)? + 1..name_end)?;
    let pid = std::str::from_utf8(stat.split(|byte| *byte == b' ').next()?).ok()?.parse().ok()?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // Field 22 of the line; four of them (3 to 6) are read already.
    let start_time = fields.nth(15)?.parse().ok()?;
    let facts = ProcessFacts { pid, parent, group, session, start_time, state };
    Some((facts, String::from_utf8_lossy(name).into_owned()))
}

/// A pid in the form of the kernel calls.
pub(super) fn as_pid(pid: i32) -> Option<Pid> {
    if pid > 1 { Pid::from_raw(pid) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_bad_bytes_does_not_confuse() {
        let line = b"42 (a) b (\xff) c) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2 3";
        let expected =
            ProcessFacts { pid: 42, parent: 7, group: 8, session: 9, start_time: 12345, state: b'S' };
        let (facts, name) = parse_stat(line).unwrap();
        assert_eq!((facts, name.as_str()), (expected, "a) b (\u{fffd}) c"));
        assert_eq!(parse_stat(b"42 (x) S 7"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn own_family_is_found_upwards_and_downwards() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let child_pid = i32::try_from(child.id()).unwrap();
        let chain: Vec<i32> = parent_chain(child_pid).unwrap().iter().map(|process| process.pid).collect();
        assert_eq!(chain[..2], [child_pid, own]);
        assert!(descendants(own).unwrap().iter().any(|process| process.pid == child_pid));
        assert!(start_time(child_pid).unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(facts(child_pid).unwrap(), None);
        assert_eq!(command_line(child_pid).unwrap(), None);
    }
}

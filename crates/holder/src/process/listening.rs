//! The processes of this user that listen on this machine. In: nothing, or a process id. Out: processes, the
//! ports on which one can be reached over loopback, and a variable of its environment. Without `/proc` the
//! result is empty.

use std::os::unix::fs::MetadataExt as _;
use std::{fs, io};

use super::proc_fs::{named_facts, of};

/// State "listen" in `/proc/net/tcp`.
const LISTEN: &str = "0A";
/// 127.0.0.1 and 0.0.0.0 as `/proc/net/tcp` writes them.
const REACHABLE: [&str; 2] = ["0100007F", "00000000"];

/// A process of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnProcess {
    pub pid: i32,
    /// Clock ticks since boot.
    pub started: u64,
    pub name: String,
}

/// The ids of all processes.
pub fn process_ids() -> io::Result<Vec<i32>> {
    let id = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Ok(fs::read_dir("/proc")?.filter_map(|entry| id(entry.ok()?)).collect())
}

/// The id that was given last. While it is the same, no process has begun. For much less than
/// [`process_ids`].
pub fn newest_id() -> io::Result<i32> {
    let load = fs::read_to_string("/proc/loadavg")?;
    let newest = load.split_whitespace().next_back().and_then(|id| id.parse().ok());
    // Some systems report 0 for an unknown id.
    let newest = newest.filter(|id| *id > 0);
    newest.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unexpected form of /proc/loadavg"))
}

/// A process of this process's user; `None` if it is another user's, or has ended.
pub fn own_process(pid: i32) -> io::Result<Option<OwnProcess>> {
    let user = rustix::process::geteuid().as_raw();
    if !fs::metadata(of(pid)).is_ok_and(|metadata| metadata.uid() == user) {
        return Ok(None);
    }
    Ok(named_facts(pid)?.map(|(facts, name)| OwnProcess { pid, started: facts.start_time, name }))
}

/// The TCP ports on which a process can be reached over loopback.
pub fn listening_ports(pid: i32) -> io::Result<Vec<u16>> {
    let mut inodes = Vec::new();
    for entry in fs::read_dir(of(pid).join("fd"))? {
        let Ok(target) = fs::read_link(entry?.path()) else { continue };
        let target = target.to_string_lossy();
        inodes.extend(
            target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).map(str::to_owned),
        );
    }
    if inodes.is_empty() {
        return Ok(Vec::new());
    }
    let table = fs::read_to_string(of(pid).join("net/tcp"))?;
    let mut ports: Vec<u16> = table.lines().skip(1).filter_map(|row| port_in(row, &inodes)).collect();
    ports.sort_unstable();
    ports.dedup();
    Ok(ports)
}

/// `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...`
fn port_in(row: &str, inodes: &[String]) -> Option<u16> {
    let fields: Vec<&str> = row.split_ascii_whitespace().collect();
    let (address, port) = fields.get(1)?.split_once(':')?;
    let ours = fields.get(9).is_some_and(|inode| inodes.iter().any(|own| own == inode));
    let listens = *fields.get(3)? == LISTEN && REACHABLE.contains(&address);
    if ours && listens { u16::from_str_radix(port, 16).ok() } else { None }
}

/// A variable of the environment at the start of a process.
pub fn variable(pid: i32, name: &str) -> io::Result<Option<String>> {
    let environment = fs::read(of(pid).join("environ"))?;
    let value = environment.split(|byte| *byte == 0).find_map(|pair| {
        pair.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")).map(<[u8]>::to_vec)
    });
    Ok(value.and_then(|value| String::from_utf8(value).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_listener_of_this_process_is_found_and_no_other() {
        let here = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let elsewhere = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let ports = listening_ports(own).unwrap();
        assert!(ports.contains(&here.local_addr().unwrap().port()), "{ports:?}");
        assert!(!ports.contains(&elsewhere.local_addr().unwrap().port()), "{ports:?}");
        assert!(process_ids().unwrap().contains(&own));
        let found = own_process(own).unwrap().unwrap();
        assert_eq!(Some(found.started), super::super::start_time(own).unwrap());
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(found.name, name.trim_end());
    }

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .env("ASKD_TEST_WORD", "a=b")
            .env("ASKD_TEST_WORDS", "other")
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // A process that begins has no environment for a moment.
        let word = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            variable(pid, "ASKD_TEST_WORD").unwrap()
        });
        let none = variable(pid, "ASKD_TEST").unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((word.as_deref(), none), (Some("a=b"), None));
    }
}

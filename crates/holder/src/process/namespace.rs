//! Processes of other PID namespaces, such as a container's: the same process has another number there.
//!
//! In: the number of a process here, or its number in its own namespace. Out: the other one. A process of a
//! namespace that is not below this one cannot be seen, and has no number here.

use std::fs;

use super::listening::process_ids;
use super::proc_fs::of;

/// The number of the PID namespace of the machine itself, the same in every Linux (`PROC_PID_INIT_INO`).
const OF_THE_MACHINE: u64 = 0xEFFF_FFFC;

/// The PID namespace of this process; `None` on a system without them.
pub fn own_namespace() -> Option<u64> {
    namespace_in("self")
}

/// True if this process runs in a PID namespace of its own, as in a container.
pub fn in_container() -> bool {
    own_namespace().is_some_and(|namespace| namespace != OF_THE_MACHINE)
}

/// The number of this process in the mounted `/proc`. In a namespace with the `/proc` of its parent, this is
/// not the process's own number.
pub fn own_pid() -> Option<i32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// The number of a process in its own namespace.
pub fn inner_pid(pid: i32) -> Option<u32> {
    innermost(&fs::read_to_string(of(pid).join("status")).ok()?)
}

/// The number here of the process that has the number `inner` in the namespace. Looks through all processes.
pub fn pid_here(inner: u32, namespace: u64) -> Option<u32> {
    if own_namespace() == Some(namespace) {
        return Some(inner);
    }
    let is_it =
        |pid: &i32| inner_pid(*pid) == Some(inner) && namespace_in(&pid.to_string()) == Some(namespace);
    process_ids().ok()?.into_iter().find(is_it).and_then(|pid| u32::try_from(pid).ok())
}

fn namespace_in(process: &str) -> Option<u64> {
    let name = fs::read_link(format!("/proc/{process}/ns/pid")).ok()?;
    name.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// `NSpid: OUTER ... INNER`, from the namespace of `/proc` to the process's own.
fn innermost(status: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_the_one_that_a_process_has_for_itself() {
        assert_eq!(innermost("Name:\tclaude\nNSpid:\t4711\t23\t7\nNSsid:\t1\t2\n"), Some(7));
        assert_eq!(innermost("Name:\tNSpid: 3\n"), None);
    }

    #[test]
    fn this_process_has_its_own_number_here_and_none_in_another_namespace() {
        let own = std::process::id();
        let here = own_pid().unwrap();
        assert_eq!((inner_pid(here), pid_here(own, own_namespace().unwrap())), (Some(own), Some(own)));
        assert_eq!(pid_here(own, 1), None);
    }
}

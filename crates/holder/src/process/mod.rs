//! Processes: the facts in `/proc`, how a process ended, and how to end it with its children.

mod end;
mod exit;
mod listening;
mod namespace;
mod proc_fs;

#[cfg(feature = "client")]
pub use end::end_child;
pub use end::{DEFAULT_GRACE, MAX_GRACE, signal_group, signal_same};
pub use exit::ProcessExit;
pub use listening::{OwnProcess, listening_ports, newest_id, own_process, process_ids, variable};
pub use namespace::{in_container, inner_pid, own_namespace, own_pid, pid_here};
pub use proc_fs::{
    MAX_PARENTS, ProcessFacts, children_of, command_line, descendants, facts, members_of, parent_chain,
    start_time,
};

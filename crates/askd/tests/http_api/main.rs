//! What the hub promises over HTTP, proved against the real binary. One module per promise; each test has a
//! hub of its own.

#[cfg(test)]
mod answering;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod bad_reply;
#[cfg(test)]
#[path = "../common/mod.rs"]
mod common;
#[cfg(test)]
mod data_folder;
#[cfg(test)]
mod deadlines;
#[cfg(test)]
mod disk_full;
#[cfg(test)]
mod doors;
#[cfg(test)]
mod held;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod in_process;
#[cfg(test)]
mod late;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod login;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod shutdown;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod vanishing;
#[cfg(test)]
mod waiting;

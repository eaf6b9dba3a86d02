//! How a process ended. In: a wait status. Out: code or signal, and words for them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The end of a process: exactly one of the two is there, unless it could not be learnt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl ProcessExit {
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl From<rustix::process::WaitStatus> for ProcessExit {
    fn from(status: rustix::process::WaitStatus) -> Self {
        Self { code: status.exit_status(), signal: status.terminating_signal() }
    }
}

impl From<std::process::ExitStatus> for ProcessExit {
    fn from(status: std::process::ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        Self { code: status.code(), signal: status.signal() }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exited with code {code}"),
            (None, Some(signal)) => match name_of(signal) {
                Some(name) => write!(f, "was ended by signal {signal} ({name})"),
                None => write!(f, "was ended by signal {signal}"),
            },
            (None, None) => f.write_str("ended in an unknown way"),
        }
    }
}

/// The names that a human meets; the numbers are the same on every Linux and macOS for these.
fn name_of(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_reads_as_a_sentence() {
        let words = |code, signal| ProcessExit { code, signal }.to_string();
        assert_eq!(words(Some(3), None), "exited with code 3");
        assert_eq!(words(None, Some(9)), "was ended by signal 9 (SIGKILL)");
        assert_eq!(words(None, Some(40)), "was ended by signal 40");
        assert_eq!(words(None, None), "ended in an unknown way");
    }
}

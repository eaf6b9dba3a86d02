//! The agent and limits of a holder. In: the hub's command. Out: `spec.json`, checked on both sides.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::protocol::MAX_LINE_BYTES;
use crate::process::{DEFAULT_GRACE, MAX_GRACE};
use askd_wire::lines::DEFAULT_MAX_LINE_BYTES;

/// Tells askd's own hook inside a managed agent that the hub already hears this session.
pub const SESSION_VARIABLE: &str = "ASKD_SESSION";
/// The command line's variable for a token; a managed agent must not have one.
pub const TOKEN_VARIABLE: &str = "ASKD_TOKEN";

/// Longest id: it is a folder name and part of a socket path.
const MAX_ID_BYTES: usize = 64;
/// Lines that the hub has not acknowledged, per agent. A day of chatter of one agent; 200 agents stay below
/// 13 GB.
const DEFAULT_BUFFER_BYTES: u64 = 64 * 1024 * 1024;
/// Less than this makes a stop and go out of every burst.
const MIN_BUFFER_BYTES: u64 = 4 * 1024;
/// Enough to show a stack trace.
const DEFAULT_STDERR_LINES: usize = 50;
/// The tail stays in memory and travels in one frame, with every byte escaped in the worst case.
const MAX_STDERR_LINES: usize = 200;
/// A holder that no hub has reached for a week ends.
const DEFAULT_LINGER_SECONDS: u64 = 7 * 24 * 60 * 60;

/// The name of a holder, and of its folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HolderId(String);

impl HolderId {
    pub fn new(id: impl Into<String>) -> Result<Self, SpecError> {
        let id = id.into();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if id.is_empty() || id.len() > MAX_ID_BYTES || !id.bytes().all(plain) {
            return Err(SpecError::Id(id));
        }
        Ok(Self(id))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HolderId {
    type Error = SpecError;
    fn try_from(id: String) -> Result<Self, SpecError> {
        Self::new(id)
    }
}

impl From<HolderId> for String {
    fn from(id: HolderId) -> Self {
        id.0
    }
}

impl fmt::Display for HolderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The bounds of one holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HolderLimits {
    /// A longer line becomes `Oversized`.
    pub max_line_bytes: usize,
    /// High-water mark of the disk buffer: from here on the agent's `stdout` is not read. One line may go
    /// beyond it.
    pub buffer_bytes: u64,
    /// Last lines of `stderr` in the report of the agent's end.
    pub stderr_tail_lines: usize,
    /// How long the holder stays without a hub and without an open question.
    pub linger_seconds: u64,
    /// The default time between TERM and KILL.
    pub grace_ms: u64,
    /// True to force a delivery's journal entry to disk before its bytes go to the agent. Otherwise the
    /// journal survives the death of hub and holder, but not that of the machine.
    pub journal_sync: bool,
}

impl Default for HolderLimits {
    fn default() -> Self {
        Self {
            max_line_bytes: DEFAULT_MAX_LINE_BYTES,
            buffer_bytes: DEFAULT_BUFFER_BYTES,
            stderr_tail_lines: DEFAULT_STDERR_LINES,
            linger_seconds: DEFAULT_LINGER_SECONDS,
            grace_ms: u64::try_from(DEFAULT_GRACE.as_millis()).unwrap_or(u64::MAX),
            journal_sync: true,
        }
    }
}

impl HolderLimits {
    pub fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    pub fn linger(&self) -> Duration {
        Duration::from_secs(self.linger_seconds)
    }
}

/// The process to start. `env` may hold secrets, so only its owner can read the file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HolderSpec {
    pub id: HolderId,
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment of the agent: nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// The holder's folder, absolute.
    pub folder: PathBuf,
    #[serde(default)]
    pub limits: HolderLimits,
}

/// Environment values may be secrets and do not belong into a log.
impl fmt::Debug for HolderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HolderSpec")
            .field("id", &self.id)
            .field("command", &self.command)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("folder", &self.folder)
            .field("limits", &self.limits)
            .finish()
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SpecError {
    #[error("use {0:?} as a holder id: 1 to {MAX_ID_BYTES} of a-z, A-Z, 0-9, - and _")]
    Id(String),
    #[error("start an agent without a command")]
    NoCommand,
    #[error("use {0} as {1}: it is not absolute")]
    NotAbsolute(PathBuf, &'static str),
    #[error("start a managed agent without {SESSION_VARIABLE} in its environment")]
    NoSession,
    #[error("start a managed agent with {TOKEN_VARIABLE} in its environment")]
    Token,
    #[error("start an agent with the unusable environment variable {0:?}")]
    Variable(String),
    #[error("start an agent with a NUL in its command line")]
    Nul,
    #[error("accept the limit {name} = {value}: it must be between {least} and {most}")]
    Limit { name: &'static str, value: u64, least: u64, most: u64 },
}

impl HolderSpec {
    pub fn check(&self) -> Result<(), SpecError> {
        if self.command.is_empty() {
            return Err(SpecError::NoCommand);
        }
        if self.command.contains('\0') || self.args.iter().any(|argument| argument.contains('\0')) {
            return Err(SpecError::Nul);
        }
        for (path, what) in [(&self.cwd, "working directory"), (&self.folder, "holder folder")] {
            if !path.is_absolute() {
                return Err(SpecError::NotAbsolute(path.clone(), what));
            }
        }
        if self.env.get(SESSION_VARIABLE).is_none_or(String::is_empty) {
            return Err(SpecError::NoSession);
        }
        if self.env.contains_key(TOKEN_VARIABLE) {
            return Err(SpecError::Token);
        }
        let unusable =
            |name: &str, value: &str| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        if let Some((name, _)) = self.env.iter().find(|(name, value)| unusable(name, value)) {
            return Err(SpecError::Variable(name.clone()));
        }
        let limits = &self.limits;
        let within = |name, value, least, most| {
            if value < least || value > most {
                return Err(SpecError::Limit { name, value, least, most });
            }
            Ok(())
        };
        within("maxLineBytes", limits.max_line_bytes as u64, 1, MAX_LINE_BYTES as u64)?;
        within("bufferBytes", limits.buffer_bytes, MIN_BUFFER_BYTES, u64::MAX / 2)?;
        within("stderrTailLines", limits.stderr_tail_lines as u64, 0, MAX_STDERR_LINES as u64)?;
        within("lingerSeconds", limits.linger_seconds, 0, u64::from(u32::MAX))?;
        within("graceMs", limits.grace_ms, 0, u64::try_from(MAX_GRACE.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> HolderSpec {
        HolderSpec {
            id: HolderId::new("h1").unwrap(),
            command: "agent".into(),
            args: vec![],
            cwd: "/".into(),
            env: BTreeMap::from([(SESSION_VARIABLE.to_owned(), "ses_1".to_owned())]),
            folder: "/data/holders/h1".into(),
            limits: HolderLimits::default(),
        }
    }

    #[test]
    fn a_spec_without_session_or_with_a_token_is_refused() {
        assert_eq!(spec().check(), Ok(()));
        let mut without = spec();
        without.env.clear();
        assert_eq!(without.check(), Err(SpecError::NoSession));
        let mut with_token = spec();
        with_token.env.insert(TOKEN_VARIABLE.into(), "t".into());
        assert_eq!(with_token.check(), Err(SpecError::Token));
        let mut relative = spec();
        relative.cwd = "x".into();
        assert_eq!(relative.check(), Err(SpecError::NotAbsolute("x".into(), "working directory")));
        let mut boundless = spec();
        boundless.limits.max_line_bytes = usize::MAX;
        assert!(matches!(boundless.check(), Err(SpecError::Limit { name: "maxLineBytes", .. })));
    }

    #[test]
    fn an_id_cannot_leave_its_folder() {
        for id in ["", "..", "a/b", "a b", &"x".repeat(65)] {
            assert_eq!(HolderId::new(id), Err(SpecError::Id(id.to_owned())));
        }
    }

    #[test]
    fn a_secret_is_not_in_the_debug_text_and_the_file_reads_back() {
        let mut spec = spec();
        spec.env.insert("KEY".into(), "hunter2".into());
        assert!(!format!("{spec:?}").contains("hunter2"));
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<HolderSpec>(&text).unwrap(), spec);
    }
}

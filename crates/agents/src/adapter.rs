//! One agent: its descriptor, the place of its program, its command line, and a codec for each conversation.
//!
//! In: a search path, a request to launch. Out: programs found, a command line. It starts no process: the
//! holder starts the agent, and the hub asks for its version.
//!
//! The recipe for a new agent stands at [`Adapter`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::codec::Codec;
use crate::descriptor::{Descriptor, RoadHere};
use crate::outside::Conversation;

/// All that the hub needs to find, start and understand one agent.
///
/// The recipe for a new agent, with which a newcomer added a small one in 20 minutes:
///
/// 1. Record what the real program writes: put its lines into `conformance/NAME/ask-and-answer.script` as they
///    came, with neutral paths and nothing else changed.
/// 2. Make a folder `src/NAME/` with three parts: a [`Descriptor`] (begin with [`crate::Claims::none`]), this
///    trait, and a [`Codec`]. `src/mock/` shows an agent in small, `src/acp/` a large one.
/// 3. Add its line to [`crate::Registry::built_in`].
/// 4. Claim one capability after the other, each with its script:
///    `cargo nextest run --workspace --test codec_conformance`.
/// 5. Put the real program on the stage: a file and a line in `live_conformance/cast.rs` of the crate `askd`
///    make it ask. `cargo nextest run --workspace --test live_conformance NAME::` plays every claimed scene.
/// 6. Let the tests that list all agents fail, and add the new one: the registry's, the live suite's, the fuzz
///    targets, and the tables of `docs/agents.md`.
///
/// `docs/adapters.md` has the rules that each scenario checks.
pub trait Adapter: Send + Sync {
    fn descriptor(&self) -> &Descriptor;

    /// The agent's programs in the given search path, best first.
    fn find(&self, path_var: &OsStr) -> Vec<FoundProgram> {
        find_programs(&self.descriptor().programs, path_var)
    }

    /// The command line that starts it under askd, or why this version of it cannot be started so.
    fn launch(&self, request: &LaunchRequest) -> Result<Launch, AdapterError>;

    /// A codec for one conversation; an error if the adapter is not built.
    fn codec(&self) -> Result<Box<dyn Codec>, AdapterError>;

    /// A codec with the rules for the bytes of every agent; the engine uses this one.
    fn conversation(&self) -> Result<Box<dyn Codec>, AdapterError> {
        Ok(Box::new(Conversation::new(self.codec()?)))
    }

    /// The argument that prints its program's version, if the command line depends on that.
    fn version_argument(&self) -> Option<&'static str> {
        None
    }

    /// The channels of a version, if they differ by version.
    fn roads_of(&self, version: &str) -> Vec<RoadHere> {
        let _ = version;
        Vec::new()
    }

    /// The command that continues a conversation after the end of its process.
    fn resume_command(&self, native_id: &str) -> Option<String> {
        let _ = native_id;
        None
    }

    /// The native id of the conversation that an agent with these arguments continues; `None` if it begins
    /// one.
    fn resumed<'a>(&self, args: &'a [String]) -> Option<&'a str> {
        let _ = args;
        None
    }

    /// The way to attach to a running server of this agent; `None` if it has no server.
    fn server(&self) -> Option<ServerWay> {
        None
    }
}

/// An agent's own HTTP server: its event stream and the user of its basic authentication. An agent with a
/// server is also started as one ([`Adapter::launch`]) and uses it alone; or it uses ACP on its lines, and
/// the server is a second channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerWay {
    /// The path of the stream; its events go to [`Codec::hear`].
    pub events: &'static str,
    /// The user name unless another one is given.
    pub user: &'static str,
    /// The usual address of such a server.
    pub url: &'static str,
    /// A path that every such server has, with or without a password.
    pub health: &'static str,
    /// The way to learn the address of a server that askd starts.
    pub listening: Listening,
    /// The variables for its user name and its password.
    pub user_variable: &'static str,
    pub password_variable: &'static str,
}

/// The way to learn the address of a server that askd started, and the moment from which it can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    /// It prints its address after these words as soon as it can be asked.
    Says(&'static str),
    /// It gets a port of this machine by this option, and can be asked as soon as it says anything.
    Given(&'static str),
}

/// A program of an agent on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundProgram {
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// Set by the caller that asked the program.
    pub version: Option<String>,
    /// The channels of this version, if they differ by version.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roads: Vec<RoadHere>,
}

/// A request to start an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRequest {
    pub cwd: PathBuf,
    /// For agents that take their first prompt on the command line; others hear it from the codec.
    pub prompt: Option<String>,
    /// The user's own arguments, passed on as they are.
    pub args: Vec<String>,
    pub program: PathBuf,
    /// The program's version, if [`Adapter::version_argument`] asks for it.
    pub version: Option<String>,
}

/// The process to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Variables that must not reach the agent.
    pub env_remove: Vec<String>,
}

/// askd's own variables that would let an agent answer for its human. Removed from every agent's environment.
pub const SCRUBBED: [&str; 2] = ["ASKD_TOKEN", "ASKD_URL"];

impl Launch {
    pub fn new(command: &Path, args: Vec<String>) -> Self {
        let env_remove = SCRUBBED.map(str::to_owned).to_vec();
        Self { command: command.to_owned(), args, env: Vec::new(), env_remove }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    #[error("askd cannot run {agent} yet: {why}")]
    NotBuilt { agent: String, why: String },
    #[error(
        "{agent} {found} cannot be started by askd: {why}. Supported: {supported}. Update it with: {update}"
    )]
    Unsupported { agent: String, found: String, supported: &'static str, why: String, update: &'static str },
    #[error("the command of an agent must not be empty")]
    EmptyCommand,
    #[error("the command has a quote that is not closed: {0}")]
    OpenQuote(String),
    #[error("{0:?} is not a name for an agent: 1 to 256 letters, digits, '.', '_' or '-'")]
    BadName(String),
    #[error("an agent called {0:?} exists already")]
    NameTaken(String),
}

/// Looks for executable files of the given names in a search path. Absolute and relative paths are taken as
/// they are.
pub fn find_programs(names: &[String], path_var: &OsStr) -> Vec<FoundProgram> {
    let mut found: Vec<FoundProgram> = Vec::new();
    let mut add = |path: PathBuf| {
        if is_executable(&path) && found.iter().all(|known| known.path != path) {
            found.push(FoundProgram { path, version: None, roads: Vec::new() });
        }
    };
    for name in names {
        if Path::new(name).components().count() > 1 {
            add(PathBuf::from(name));
            continue;
        }
        for folder in std::env::split_paths(path_var).filter(|folder| !folder.as_os_str().is_empty()) {
            add(folder.join(name));
        }
    }
    found
}

fn is_executable(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    metadata.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executable_files_are_programs_and_the_path_order_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        for (folder, mode) in [(&a, 0o644), (&b, 0o755)] {
            std::fs::create_dir_all(folder.join("folder-agent")).unwrap();
            std::fs::write(folder.join("agent"), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(folder.join("agent"), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths([&a, &b]).unwrap();
        let names = ["folder-agent", "agent", "agent"].map(str::to_owned);
        let found = find_programs(&names, &path);
        assert_eq!(found, [FoundProgram { path: b.join("agent"), version: None, roads: Vec::new() }]);
        let absolute = [b.join("agent").to_string_lossy().into_owned()];
        assert_eq!(find_programs(&absolute, OsStr::new("")), found);
    }
}

//! Finds out whether this command runs inside an agent: an agent must not answer for its human.
//!
//! In: the environment and the processes above this one. Out: a reason to refuse, or nothing. It is a guard
//! against an agent that runs `askd answer`, not a wall: SECURITY.md describes one.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::exit::{Exit, Failure, Outcome};

/// askd sets it in every agent that it starts. Nothing overrides it.
pub const SESSION: &str = "ASKD_SESSION";
/// A person sets it to 1 to declare that the agent above does not type, for instance in a test of askd
/// itself.
pub const ALLOW: &str = "ASKD_ALLOW_INSIDE_AGENT";

/// The most ancestors; a longer chain is a loop in the data.
const MAX_DEPTH: usize = 64;

/// The agent of a process, by its name and its arguments.
pub type AgentOfProcess = fn(&str, &[String]) -> Option<String>;

/// Keeps agents from answering. The program supplies the test for agents: the command line knows none.
#[derive(Debug, Clone, Copy)]
pub struct Guard(pub AgentOfProcess);

impl Guard {
    /// Refuses to continue if an agent could be the one that answers.
    pub fn refuse_inside_agent(self, what: &str) -> Outcome {
        let session = env::var_os(SESSION).is_some_and(|value| !value.is_empty());
        let allowed = env::var_os(ALLOW).is_some_and(|value| value == "1");
        match reason(session, allowed, || self.above_this_process()) {
            None => Ok(()),
            Some(why) => Err(Failure::new(
                Exit::Refused,
                format!(
                    "refusing to {what}: {why}, and an agent must not answer for its human. \
                     Use a terminal of your own, or the inbox in a browser"
                ),
            )),
        }
    }

    fn above_this_process(self) -> Option<(u32, String)> {
        let pid = std::process::id();
        let proc = Proc(PathBuf::from("/proc"));
        let has_proc = proc.parent(pid).is_some();
        if has_proc { agent_above(self.0, &proc, pid) } else { agent_above(self.0, &Listed::now(), pid) }
    }
}

fn reason(session: bool, allowed: bool, above: impl FnOnce() -> Option<(u32, String)>) -> Option<String> {
    if session {
        return Some(format!("this runs inside an agent that askd started ({SESSION} is set)"));
    }
    if allowed {
        return None;
    }
    above().map(|(pid, agent)| format!("this runs inside the agent {agent} (process {pid})"))
}

/// The nearest agent among the processes above `pid`.
fn agent_above(agent_of: AgentOfProcess, processes: &impl Processes, pid: u32) -> Option<(u32, String)> {
    let mut pid = processes.parent(pid)?;
    for _ in 0..MAX_DEPTH {
        if let Some(agent) = agent_of(&processes.name(pid), &processes.arguments(pid)) {
            return Some((pid, agent));
        }
        pid = processes.parent(pid)?;
    }
    None
}

/// The system's process table.
trait Processes {
    fn parent(&self, pid: u32) -> Option<u32>;
    fn name(&self, pid: u32) -> String;
    /// The first is the program itself.
    fn arguments(&self, pid: u32) -> Vec<String>;
}

/// Linux: a folder per process.
struct Proc(PathBuf);

impl Processes for Proc {
    /// `PID (NAME) STATE PPID ...`; the name may contain spaces and brackets.
    fn parent(&self, pid: u32) -> Option<u32> {
        let stat = std::fs::read_to_string(self.0.join(pid.to_string()).join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_whitespace().nth(1)?.parse().ok().filter(|ppid| *ppid != 0)
    }

    fn name(&self, pid: u32) -> String {
        let folder = self.0.join(pid.to_string());
        let program = std::fs::read_link(folder.join("exe")).ok();
        let program =
            program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let comm = || std::fs::read_to_string(folder.join("comm")).ok();
        program.or_else(comm).unwrap_or_default().trim().to_owned()
    }

    fn arguments(&self, pid: u32) -> Vec<String> {
        let bytes = std::fs::read(self.0.join(pid.to_string()).join("cmdline")).unwrap_or_default();
        bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }
}

/// On other systems: the parents and command lines in the output of `ps`.
struct Listed(HashMap<u32, (u32, Vec<String>)>);

impl Listed {
    /// Lines of `PID PPID COMMAND ARGUMENT...`.
    fn read(listing: &str) -> Self {
        let process = |line: &str| {
            let mut words = line.split_whitespace();
            let (pid, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some((pid, (parent, words.map(str::to_owned).collect())))
        };
        Self(listing.lines().filter_map(process).collect())
    }

    fn now() -> Self {
        let output = Command::new("ps").args(["-axo", "pid=,ppid=,command="]).output();
        Self::read(
            &output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default(),
        )
    }
}

impl Processes for Listed {
    fn parent(&self, pid: u32) -> Option<u32> {
        self.0.get(&pid).map(|(parent, _)| *parent).filter(|parent| *parent != 0)
    }

    fn name(&self, pid: u32) -> String {
        self.arguments(pid).into_iter().next().unwrap_or_default()
    }

    fn arguments(&self, pid: u32) -> Vec<String> {
        self.0.get(&pid).map(|(_, arguments)| arguments.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn process(proc: &Path, pid: u32, parent: u32, comm: &str, arguments: &[&str]) {
        let folder = proc.join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), format!("{pid} ({comm}) S {parent} 1 1 0")).unwrap();
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("cmdline"), arguments.join("\0")).unwrap();
    }

    /// As the registry knows them; that it does is tested there.
    fn agent_of(_: &str, arguments: &[String]) -> Option<String> {
        let named = |name: &str| arguments.iter().any(|argument| argument.contains(name));
        ["claude", "gemini"].into_iter().find(|name| named(name)).map(str::to_owned)
    }

    #[test]
    fn an_agent_anywhere_above_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let proc = dir.path();
        process(proc, 1, 0, "systemd", &["/sbin/init"]);
        process(
            proc,
            10,
            1,
            "a) S 1 (b",
            &["/usr/bin/node", "--x", "/lib/node_modules/@anthropic-ai/claude-code/cli.js"],
        );
        process(proc, 20, 10, "bash", &["bash", "-c", "askd answer"]);
        process(proc, 30, 20, "askd", &["askd", "answer"]);
        assert_eq!(agent_above(agent_of, &Proc(proc.to_owned()), 30), Some((10, "claude".to_owned())));
        process(proc, 10, 1, "bash", &["bash"]);
        assert_eq!(agent_above(agent_of, &Proc(proc.to_owned()), 30), None);
        process(proc, 1, 1, "loop", &[]);
        assert_eq!(agent_above(agent_of, &Proc(proc.to_owned()), 30), None);
    }

    #[test]
    fn where_there_is_no_proc_the_listing_tells_the_same() {
        let listing = "  1     0 /sbin/launchd\n 10     1 node /opt/homebrew/bin/gemini --x\n 20    10 /bin/zsh -c askd\n 30 20 askd answer\n";
        assert_eq!(agent_above(agent_of, &Listed::read(listing), 30), Some((10, "gemini".to_owned())));
        assert_eq!(agent_above(agent_of, &Listed::read(listing), 10), None);
        assert!(Listed::now().parent(std::process::id()).is_some(), "ps is understood");
    }

    #[test]
    fn nothing_overrides_a_managed_agent() {
        let above = || Some((7, "codex".to_owned()));
        assert!(reason(true, true, || None).is_some());
        assert!(reason(false, false, above).is_some_and(|why| why.contains("codex (process 7)")));
        assert_eq!(reason(false, true, above), None);
        assert_eq!(reason(false, false, || None), None);
    }
}

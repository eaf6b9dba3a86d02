//! tmux: the pane in which a process runs, what it shows, and keys for it.
//!
//! In: a process id. Out: its pane, found by the process tree (the server above it and the socket that this
//! one listens on, so it works for every server and every environment), the text of its screen, and keys, one
//! per call. A pane that is being scrolled, is dead, or shares its keys with others is not typed into. No
//! agent's meaning is known here.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use askd_holder::process::{self, ProcessFacts};

/// The name of a tmux server in the process table.
const SERVER: &str = "tmux: server";
/// tmux answers at once or is not asked any longer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Open files of a server that are looked through for its socket; it has a few per client and pane.
const MAX_FILES: usize = 4096;
/// Bytes of a screen; a pane of 500 columns and 200 lines has fewer.
const MAX_SCREEN: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TmuxError {
    #[error("process {0} does not run in tmux")]
    NotInTmux(u32),
    #[error("tmux has no pane for it")]
    NoPane,
    #[error("tmux did not answer in time")]
    TooSlow,
    #[error("tmux cannot be run: {0}")]
    NotRun(String),
    #[error("tmux refuses: {0}")]
    Refused(String),
    #[error("somebody is scrolling in the pane")]
    Scrolled,
    #[error("the pane shares its keys with other panes")]
    Synchronized,
    #[error("the pane's program has ended")]
    Dead,
}

/// One pane of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    socket: PathBuf,
    id: String,
    /// The first process in it.
    pid: i32,
    pub session: String,
}

/// The pane of a process.
pub async fn pane_of(pid: u32) -> Result<Pane, TmuxError> {
    let not_there = TmuxError::NotInTmux(pid);
    let (socket, chain) = server_above(pid).ok_or(not_there)?;
    let panes = panes(&socket).await?;
    panes.into_iter().find(|pane| is_in(pane, &chain)).ok_or(TmuxError::NoPane)
}

/// True if a process runs in tmux, without asking tmux.
pub fn is_in_tmux(pid: u32) -> bool {
    server_above(pid).is_some()
}

/// The names of the tmux sessions of processes. Processes outside of tmux are left out.
pub async fn sessions_of(pids: &[u32]) -> HashMap<u32, String> {
    let mut servers: HashMap<PathBuf, Vec<Pane>> = HashMap::new();
    let mut found = HashMap::new();
    for &pid in pids {
        let Some((socket, chain)) = server_above(pid) else { continue };
        if !servers.contains_key(&socket) {
            servers.insert(socket.clone(), panes(&socket).await.unwrap_or_default());
        }
        let pane = servers[&socket].iter().find(|pane| is_in(pane, &chain));
        found.extend(pane.map(|pane| (pid, pane.session.clone())));
    }
    found
}

fn is_in(pane: &Pane, chain: &[ProcessFacts]) -> bool {
    chain.iter().any(|process| process.pid == pane.pid)
}

/// The socket of the tmux server above a process, and the processes between them.
fn server_above(pid: u32) -> Option<(PathBuf, Vec<ProcessFacts>)> {
    let mut chain = process::parent_chain(i32::try_from(pid).ok()?).ok()?;
    let name = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let server = chain.iter().position(|process| name(process.pid).trim_end() == SERVER)?;
    let socket = socket_of(chain[server].pid)?;
    chain.truncate(server);
    Some((socket, chain))
}

/// The socket on which a process listens.
fn socket_of(pid: i32) -> Option<PathBuf> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten().take(MAX_FILES);
    let inode = |entry: std::fs::DirEntry| {
        let target = std::fs::read_link(entry.path()).ok()?;
        Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    let inodes: Vec<String> = files.filter_map(inode).collect();
    let table = std::fs::read(format!("/proc/{pid}/net/unix")).ok()?;
    table.split(|byte| *byte == b'\n').find_map(|line| {
        let (inode, path) = listed(line)?;
        inodes.iter().any(|known| known == inode).then_some(path)
    })
}

/// Inode and path of one line of `/proc/net/unix`: `Num RefCount Protocol Flags Type St Inode Path`.
fn listed(line: &[u8]) -> Option<(&str, PathBuf)> {
    let slash = line.iter().position(|byte| *byte == b'/')?;
    let inode = std::str::from_utf8(&line[..slash]).ok()?.split_ascii_whitespace().nth(6)?;
    Some((inode, PathBuf::from(OsString::from_vec(line[slash..].to_vec()))))
}

async fn panes(socket: &Path) -> Result<Vec<Pane>, TmuxError> {
    let list = tmux(socket, &["list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{session_name}"]).await?;
    let pane = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (id, pid, session) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
        Some(Pane { socket: socket.to_owned(), id: id.to_owned(), pid, session: session.to_owned() })
    };
    Ok(list.lines().filter_map(pane).collect())
}

async fn tmux(socket: &Path, args: &[&str]) -> Result<String, TmuxError> {
    tmux_given(socket, args, "").await
}

/// The same, with something to read.
async fn tmux_given(socket: &Path, args: &[&str], input: &str) -> Result<String, TmuxError> {
    let mut command = tokio::process::Command::new("tmux");
    command.arg("-S").arg(socket).args(args).env_remove("TMUX").kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = async {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A tmux that does not read it has ended, and its exit says why.
            drop(stdin.write_all(input.as_bytes()).await);
        }
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(PATIENCE, run).await.map_err(|_| TmuxError::TooSlow)?;
    let output = output.map_err(|error: std::io::Error| TmuxError::NotRun(error.to_string()))?;
    if !output.status.success() {
        return Err(TmuxError::Refused(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let bytes = &output.stdout[..output.stdout.len().min(MAX_SCREEN)];
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

impl Pane {
    /// The screen now; an error if keys would not reach its program alone.
    pub async fn screen(&self) -> Result<String, TmuxError> {
        let state = "#{pane_dead}#{pane_in_mode}#{pane_synchronized}";
        let look =
            ["display-message", "-p", "-t", &self.id, state, ";", "capture-pane", "-p", "-t", &self.id];
        let seen = tmux(&self.socket, &look).await?;
        let (state, screen) = seen.split_once('\n').unwrap_or((&seen, ""));
        match state.as_bytes() {
            [b'0', b'0', b'0'] => Ok(screen.to_owned()),
            [b'1', ..] => Err(TmuxError::Dead),
            [_, b'0', _] => Err(TmuxError::Synchronized),
            _ => Err(TmuxError::Scrolled),
        }
    }

    /// Presses one key, by tmux's name for it.
    pub async fn press(&self, key: &str) -> Result<(), TmuxError> {
        tmux(&self.socket, &["send-keys", "-t", &self.id, key]).await.map(drop)
    }

    /// Types a text unchanged: in one piece, without paste marks. tmux reads it from its standard input,
    /// because every user can read the arguments of a process.
    pub async fn type_text(&self, text: &str) -> Result<(), TmuxError> {
        // A buffer name of this process: another program's buffer must not be typed here.
        let buffer = format!("askd-{}-{}", std::process::id(), self.id);
        let load = ["load-buffer", "-b", &buffer, "-", ";"];
        let paste = ["paste-buffer", "-d", "-r", "-b", &buffer, "-t", &self.id];
        let typed = tmux_given(&self.socket, &[&load[..], &paste].concat(), text).await;
        if typed.is_err() {
            drop(tmux(&self.socket, &["delete-buffer", "-b", &buffer]).await);
        }
        typed.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_sockets_is_read_with_blanks_in_paths_and_without_unnamed_ones() {
        let line = b"0000000000000000: 00000002 00000000 00010000 0001 01 4711 /tmp/tmux-0/my socket";
        assert_eq!(listed(line), Some(("4711", PathBuf::from("/tmp/tmux-0/my socket"))));
        assert_eq!(listed(b"0000000000000000: 00000003 00000000 00000000 0001 03 4712"), None);
        assert_eq!(listed(b"/"), None);
    }

    /// A server of its own; what is typed there is what its program reads.
    #[tokio::test]
    async fn a_process_is_found_in_its_pane_and_hears_what_is_typed() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let pid_file = folder.path().join("pid");
        let line = format!("sh -c 'echo $$ > {}; exec cat'", pid_file.display());
        let start = ["-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", "80", "-y", "10", &line];
        if let Err(error) = tmux(&socket, &start).await {
            // Not every machine that compiles askd has tmux.
            assert!(matches!(error, TmuxError::NotRun(_)), "{error}");
            return;
        }
        let pid = loop {
            let text = std::fs::read_to_string(&pid_file).unwrap_or_default();
            if let Ok(pid) = text.trim().parse::<u32>() {
                break pid;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let pane = pane_of(pid).await.unwrap();
        assert_eq!((pane.socket.as_path(), pane.session.as_str()), (socket.as_path(), "mine"));
        assert_eq!(sessions_of(&[pid, 1]).await, HashMap::from([(pid, "mine".to_owned())]));
        pane.type_text("-l; \"üñ\" 🦀;").await.unwrap();
        pane.press("Enter").await.unwrap();
        // Once by the terminal's echo, once by the program.
        while pane.screen().await.unwrap().matches("-l; \"üñ\" 🦀;").count() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(tmux(&socket, &["list-buffers"]).await.unwrap(), "", "the text was left in a buffer");
        tmux(&socket, &["copy-mode", "-t", &pane.id]).await.unwrap();
        assert_eq!(pane.screen().await, Err(TmuxError::Scrolled));
        tmux(&socket, &["kill-server"]).await.unwrap();
        assert!(!is_in_tmux(1));
        assert_eq!(pane_of(1).await, Err(TmuxError::NotInTmux(1)));
    }
}

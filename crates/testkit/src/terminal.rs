//! A real terminal for programs that draw on one: a tmux server of its own, which ends with everything in it
//! when it is dropped.
//!
//! In: a program with its arguments and environment, keys. Out: what the screen shows.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

const PAUSE: Duration = Duration::from_millis(100);
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Looks until there is something to see, at most for `limit`.
pub async fn until<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(Instant::now() < end, "did not see {what} within {limit:?}");
        tokio::time::sleep(PAUSE).await;
    }
}

pub struct Terminal {
    socket: String,
}

impl Terminal {
    /// Nothing runs in it yet.
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { socket: format!("askd-{}-{number}", std::process::id()) }
    }

    /// Runs a program with this environment and no other.
    pub fn open(&self, cwd: &Path, env: &[(String, String)], program: &Path, args: &[&str]) -> Result<()> {
        let quote = |word: &str| format!(" '{}'", word.replace('\'', r"'\''"));
        let mut line = "exec env -i".to_owned();
        line.extend(env.iter().map(|(name, value)| quote(&format!("{name}={value}"))));
        line.push_str(&quote(&program.to_string_lossy()));
        line.extend(args.iter().map(|arg| quote(arg)));
        let cwd = cwd.to_string_lossy();
        let begin = ["-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50", "-s", "it", "-c"];
        self.tmux(&[&begin[..], &[&cwd, &line]].concat()).map(drop)
    }

    pub fn tmux(&self, args: &[&str]) -> Result<String> {
        let out = Command::new("tmux").arg("-L").arg(&self.socket).args(args).env_remove("TMUX").output()?;
        ensure!(out.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    }

    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "it"]).unwrap_or_else(|error| error.to_string())
    }

    pub fn key(&self, key: &str) -> Result<()> {
        self.tmux(&["send-keys", "-t", "it", key]).map(drop)
    }

    pub fn close(&self) -> Result<()> {
        self.tmux(&["kill-session", "-t", "it"]).map(drop)
    }

    /// The program's own process: the shell of the terminal has become it.
    pub fn pid(&self) -> Result<u32> {
        Ok(self.tmux(&["list-panes", "-t", "it", "-F", "#{pane_pid}"])?.trim().parse()?)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.tmux(&["kill-server"]));
    }
}

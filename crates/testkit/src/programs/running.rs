//! A program that runs for a test, speaks in lines, and cannot outlive the test.
//!
//! In: a command. Out: a [`Running`] to which lines are written and from which they are read, each wait with
//! a limit. The program leads a process group of its own; when the value is dropped, the whole group is
//! killed by its id.

use std::collections::VecDeque;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Lines of stdout that wait to be read; past that the program waits too.
const QUEUED_LINES: usize = 1_024;
/// Lines of stdout and stderr that an error shows: enough to see what went wrong.
const SHOWN_LINES: usize = 40;
/// Characters of a line that an error shows: the first line of Claude Code alone has several thousand.
const SHOWN_CHARS: usize = 400;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("start `{program}`: {source}")]
    Start { program: String, source: io::Error },
    #[error("write to `{program}`: {source}{shown}")]
    Write { program: String, source: io::Error, shown: Shown },
    #[error("see {what} from `{program}` within {limit:?}{shown}")]
    Late { program: String, what: String, limit: Duration, shown: Shown },
    #[error("see {what} from `{program}`: it closed its stdout{shown}")]
    Closed { program: String, what: String, shown: Shown },
}

#[derive(Debug)]
pub struct Running {
    program: String,
    group: Option<Pid>,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: mpsc::Receiver<String>,
    recent: Arc<Mutex<VecDeque<String>>>,
}

/// The last lines of a program, to be put at the end of an error.
#[derive(Debug)]
pub struct Shown(Vec<String>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl Running {
    /// Starts a command with its three streams piped. Needs a Tokio runtime.
    pub fn start(mut command: Command) -> Result<Self, RunError> {
        use std::os::unix::process::CommandExt as _;
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut command = tokio::process::Command::from(command);
        let mut child = command
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| RunError::Start { program: program.clone(), source })?;
        let recent = Arc::new(Mutex::new(VecDeque::new()));
        let (lines, stdout) = mpsc::channel(QUEUED_LINES);
        if let Some(out) = child.stdout.take() {
            tokio::spawn(read(out, "out", recent.clone(), Some(lines)));
        }
        if let Some(err) = child.stderr.take() {
            tokio::spawn(read(err, "err", recent.clone(), None));
        }
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let stdin = child.stdin.take();
        Ok(Self { program, group, child, stdin, stdout, recent })
    }

    /// The id of the program, which is also that of its process group.
    pub fn pid(&self) -> Option<i32> {
        self.group.map(Pid::as_raw_pid)
    }

    /// Writes one line of JSON.
    pub async fn send(&mut self, message: &Value) -> Result<(), RunError> {
        let line = format!("{message}\n");
        let written = match &mut self.stdin {
            None => Err(io::ErrorKind::BrokenPipe.into()),
            Some(stdin) => match stdin.write_all(line.as_bytes()).await {
                Ok(()) => stdin.flush().await,
                failed => failed,
            },
        };
        written.map_err(|source| RunError::Write {
            program: self.program.clone(),
            source,
            shown: self.shown(),
        })
    }

    /// Reads lines until one is what is waited for; the others are passed over.
    pub async fn line<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut wanted: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, RunError> {
        let end = Instant::now() + limit;
        loop {
            let program = self.program.clone();
            match timeout_at(end, self.stdout.recv()).await {
                Ok(Some(line)) => {
                    if let Some(found) = wanted(&line) {
                        return Ok(found);
                    }
                }
                Ok(None) => {
                    return Err(RunError::Closed { program, what: what.to_owned(), shown: self.shown() });
                }
                Err(_) => {
                    return Err(RunError::Late {
                        program,
                        what: what.to_owned(),
                        limit,
                        shown: self.shown(),
                    });
                }
            }
        }
    }

    /// The same for lines of JSON; a line that is none is passed over.
    pub async fn message(
        &mut self,
        what: &str,
        limit: Duration,
        mut wanted: impl FnMut(&Value) -> bool,
    ) -> Result<Value, RunError> {
        self.line(what, limit, |line| serde_json::from_str(line).ok().filter(|message| wanted(message))).await
    }

    /// Closes stdin and waits for the program to end by itself.
    pub async fn end(mut self, limit: Duration) -> Result<ExitStatus, RunError> {
        self.stdin = None;
        // Whoever is not read from may not be able to end.
        self.stdout.close();
        match tokio::time::timeout(limit, self.child.wait()).await {
            Ok(Ok(status)) => Ok(status),
            _ => Err(RunError::Late {
                program: self.program.clone(),
                what: "the end".to_owned(),
                limit,
                shown: self.shown(),
            }),
        }
    }

    fn shown(&self) -> Shown {
        Shown(self.recent.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Reads a stream to its end, so that the program never waits on us for a stream that nobody wants.
async fn read(
    stream: impl AsyncRead + Unpin,
    name: &str,
    recent: Arc<Mutex<VecDeque<String>>>,
    lines: Option<mpsc::Sender<String>>,
) {
    let mut reader = BufReader::new(stream).lines();
    while let Ok(Some(line)) = reader.next_line().await {
        {
            let mut recent = recent.lock().unwrap_or_else(PoisonError::into_inner);
            recent.push_back(format!("{name}: {}", line.chars().take(SHOWN_CHARS).collect::<String>()));
            if recent.len() > SHOWN_LINES {
                recent.pop_front();
            }
        }
        if let Some(lines) = &lines {
            let _ = lines.send(line).await;
        }
    }
}

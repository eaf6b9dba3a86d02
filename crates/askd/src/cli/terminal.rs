//! Lines from the person at the terminal, with or without echo.
//!
//! In: a prompt. Out: a line, or that the person left (Ctrl-C, Ctrl-D). The terminal is as it was afterwards, whatever happens.

use std::io::{self, IsTerminal, Write};

use std::sync::OnceLock;

use tokio::sync::{Mutex, mpsc};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Lines that are read before anybody wants them.
const LINES_AHEAD: usize = 16;

/// Whether somebody can be asked.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// One line, or `None` at the end of input or on Ctrl-C.
pub(super) async fn read_line(prompt: &str, secret: bool) -> io::Result<Option<String>> {
    // Held here and not by the reader, which Ctrl-C leaves behind blocked.
    let quiet = if secret { Some(Quiet::begin()?) } else { None };
    let mut lines = lines().lock().await;
    // What was typed before the question could be seen was not meant for it; what is typed after it is.
    while lines.try_recv().is_ok() {}
    let mut screen = io::stderr();
    screen.write_all(prompt.as_bytes())?;
    screen.flush()?;
    let line = tokio::select! {
        line = lines.recv() => line.unwrap_or(Ok(None)),
        _ = tokio::signal::ctrl_c() => Ok(None),
    };
    drop(lines);
    drop(quiet);
    if secret || matches!(line, Ok(None)) {
        screen.write_all(b"\n")?;
    }
    line
}

type Lines = Mutex<mpsc::Receiver<io::Result<Option<String>>>>;

/// The lines of this process's standard input, read by one thread: a question that is over leaves no reader behind that
/// would swallow the answer to the next one.
fn lines() -> &'static Lines {
    static LINES: OnceLock<Lines> = OnceLock::new();
    LINES.get_or_init(|| {
        let (sender, lines) = mpsc::channel(LINES_AHEAD);
        std::thread::spawn(move || {
            loop {
                let mut line = String::new();
                let read = io::stdin().read_line(&mut line).map(|bytes| (bytes > 0).then_some(line));
                let last = !matches!(read, Ok(Some(_)));
                if sender.blocking_send(read).is_err() || last {
                    return;
                }
            }
        });
        Mutex::new(lines)
    })
}

/// While it lives, what is typed is not shown.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

//! Lines from the person at the terminal, with or without echo.
//!
//! In: a prompt. Out: a line, or that the person left (Ctrl-C, Ctrl-D). The terminal is as it was afterwards, whatever happens.

use std::io::{self, IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Whether somebody can be asked.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// One line, or `None` at the end of input or on Ctrl-C.
pub(super) async fn read_line(prompt: &str, secret: bool) -> io::Result<Option<String>> {
    let mut screen = io::stderr();
    screen.write_all(prompt.as_bytes())?;
    screen.flush()?;
    // Held here and not by the reader, which Ctrl-C leaves behind blocked.
    let quiet = if secret { Some(Quiet::begin()?) } else { None };
    let reader = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|bytes| (bytes > 0).then_some(line))
    });
    let line = tokio::select! {
        line = reader => line.map_err(io::Error::other)?,
        _ = tokio::signal::ctrl_c() => Ok(None),
    };
    drop(quiet);
    if secret || matches!(line, Ok(None)) {
        screen.write_all(b"\n")?;
    }
    line
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

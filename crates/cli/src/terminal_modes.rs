//! A prompt's changes of the terminal, and their reversal on every way out.
//!
//! In: whether the terminal echoes, and whether it marks pastes. Out: a value that reverses both when it is
//! dropped. A signal that ends the command drops it too (`cli::run`); while Ctrl-Z has stopped the command,
//! the terminal is as before.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use super::terminal::forget_unfinished;

/// Asks the terminal to mark pasted text (bracketed paste), and to stop that.
const MARK_PASTES: &[u8] = b"\x1b[?2004h";
const DO_NOT_MARK_PASTES: &[u8] = b"\x1b[?2004l";

/// The present changes.
static CHANGED: Mutex<Option<Modes>> = Mutex::new(None);

#[derive(Debug, Clone)]
struct Modes {
    /// Before and while nothing is shown.
    echo: Option<(Termios, Termios)>,
    marks_pastes: bool,
    /// The text to show again after a stop.
    prompt: String,
}

impl Modes {
    fn begin(&self) -> io::Result<()> {
        if let Some((_, quiet)) = &self.echo {
            tcsetattr(io::stdin(), OptionalActions::Flush, quiet)?;
        }
        if self.marks_pastes { write(MARK_PASTES) } else { Ok(()) }
    }

    fn end(&self) {
        // If the terminal is gone, there is nothing to restore.
        if self.marks_pastes {
            let _gone = write(DO_NOT_MARK_PASTES);
        }
        if let Some((before, _)) = &self.echo {
            let _gone = tcsetattr(io::stdin(), OptionalActions::Flush, before);
        }
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut screen = io::stderr();
    screen.write_all(bytes)?;
    screen.flush()
}

fn changed() -> MutexGuard<'static, Option<Modes>> {
    CHANGED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state while a person is asked; a secret is not echoed. At every end, unread input is dropped, except
/// after a line that everyone may see.
pub(super) struct Attention {
    is_secret: bool,
    pub(super) answered: bool,
}

impl Attention {
    pub(super) fn begin(secret: bool, marks_pastes: bool, prompt: &str) -> io::Result<Self> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            tokio::spawn(stop_as_others_do());
        });
        let mut modes = Modes { echo: None, marks_pastes, prompt: prompt.to_owned() };
        if secret {
            let before = tcgetattr(io::stdin())?;
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO);
            modes.echo = Some((before, quiet));
        }
        // From here on, dropping it reverses the changes.
        let attention = Self { is_secret: secret, answered: false };
        changed().insert(modes).begin()?;
        Ok(attention)
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        if let Some(modes) = changed().take() {
            modes.end();
        }
        if !self.is_secret && !self.answered {
            forget_unfinished();
        }
    }
}

/// Ctrl-Z: the terminal is changed back before this process stops, and changed again when it goes on.
async fn stop_as_others_do() -> io::Result<()> {
    let mut stop = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
    let mut goes_on = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    while stop.recv().await.is_some() {
        if let Some(modes) = changed().as_ref() {
            modes.end();
        }
        kill_process(getpid(), Signal::STOP)?;
        // The signal may be taken a moment later than it was sent.
        goes_on.recv().await;
        let again = changed().clone();
        if let Some(modes) = again {
            modes.begin()?;
            write(modes.prompt.as_bytes())?;
        }
    }
    Ok(())
}

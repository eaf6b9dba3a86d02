//! Lines from the person at the terminal, with or without echo.
//!
//! In: a prompt. Out: a line, or that the person left (Ctrl-C, Ctrl-D). The terminal is as it was afterwards, whatever happens:
//! what was typed at a prompt that is over, finished or not, is neither the answer to another question nor a command of the shell.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::OnceLock;

use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use tokio::sync::{Mutex, mpsc};

/// What is read before anybody wants it: this many lines, or parts of a line that Ctrl-D ended.
const PARTS_AHEAD: usize = 16;
/// More than the longest line that a terminal hands over at once (4,096 bytes on Linux).
const PART_BYTES: usize = 8192;

/// What a person did at a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Line(String),
    /// Ctrl-D: there is no more input.
    End,
    /// Ctrl-C.
    Interrupted,
}

/// Whether somebody can be asked.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Forgets what was typed so far. Said before something new is shown: what was typed before it could be seen was not meant for
/// it, what is typed after it is.
pub(super) async fn forget_typed() {
    let mut parts = parts().lock().await;
    forget_unfinished();
    while parts.try_recv().is_ok() {}
}

pub(super) async fn read_line(prompt: &str, secret: bool) -> io::Result<Typed> {
    // Held here and not by the reader, which Ctrl-C leaves behind blocked.
    let mut attention = Attention::begin(secret)?;
    let mut parts = parts().lock().await;
    let mut screen = io::stderr();
    screen.write_all(prompt.as_bytes())?;
    screen.flush()?;
    let typed = tokio::select! {
        line = whole_line(&mut parts) => line?.map_or(Typed::End, Typed::Line),
        _ = tokio::signal::ctrl_c() => Typed::Interrupted,
    };
    let line_ended = matches!(typed, Typed::Line(_));
    attention.answered = line_ended;
    drop(attention);
    if secret || !line_ended {
        screen.write_all(b"\n")?;
    }
    Ok(typed)
}

type Parts = mpsc::Receiver<io::Result<Vec<u8>>>;

/// A line with its end; `None` where the input ended.
async fn whole_line(parts: &mut Parts) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    while let Some(part) = parts.recv().await {
        let part = part?;
        if part.is_empty() {
            return Ok(None);
        }
        line.extend(part);
        if line.ends_with(b"\n") {
            return String::from_utf8(line).map(Some).map_err(io::Error::other);
        }
    }
    Ok(None)
}

/// The standard input of this process as the terminal hands it over, a line at a time, read by one thread: a question that is over
/// leaves no reader behind that would swallow the answer to the next one.
fn parts() -> &'static Mutex<Parts> {
    static PARTS: OnceLock<Mutex<Parts>> = OnceLock::new();
    PARTS.get_or_init(|| {
        let (sender, parts) = mpsc::channel(PARTS_AHEAD);
        std::thread::spawn(move || {
            let mut bytes = [0; PART_BYTES];
            loop {
                let read = match io::stdin().read(&mut bytes) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read.map(|count| bytes[..count].to_vec()),
                };
                let last = !matches!(&read, Ok(part) if !part.is_empty());
                if sender.blocking_send(read).is_err() || last {
                    return;
                }
            }
        });
        Mutex::new(parts)
    })
}

/// Drops the line that is being typed: it is still the terminal's, and whoever reads next would get it.
fn forget_unfinished() {
    // If the terminal is gone, there is nothing to forget.
    let _gone = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// A person is being asked; a secret is not shown while it is typed. However it ends, what was typed and not read is forgotten,
/// but for what follows a line that everybody may see.
struct Attention {
    shown_before: Option<Termios>,
    answered: bool,
}

impl Attention {
    fn begin(secret: bool) -> io::Result<Self> {
        let mut attention = Self { shown_before: None, answered: false };
        if secret {
            let before = tcgetattr(io::stdin())?;
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO);
            attention.shown_before = Some(before);
            tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        }
        Ok(attention)
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        match &self.shown_before {
            Some(before) => {
                // If the terminal is gone, there is nothing to restore.
                let _gone = tcsetattr(io::stdin(), OptionalActions::Flush, before);
            }
            None if !self.answered => forget_unfinished(),
            None => {}
        }
    }
}

//! Lines from the person at the terminal, with or without echo.
//!
//! In: a prompt. Out: a line, or why there is none. The terminal is as it was afterwards, whatever happens:
//! what was typed at a prompt that is over, finished or not, is neither the answer to another question nor a
//! command of the shell.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionread};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use tokio::sync::{Mutex, mpsc};

use super::keystrokes::{is_cut, paste_goes_on, typed_line};
use super::screen::obeys_escapes;
use super::terminal_modes::Attention;

/// Lines, or parts of a line that Ctrl-D ended, that are read in advance.
const PARTS_AHEAD: usize = 16;
/// More than the longest line of a terminal (4,096 bytes on Linux).
const PART_BYTES: usize = 8192;
/// Lines that come closer to each other than this were pasted: a hand needs longer to type the next line and
/// its Enter.
const BETWEEN_LINES: Duration = Duration::from_millis(50);

/// Bytes of the terminal reach the reader within this time.
const HANDED_OVER: Duration = Duration::from_millis(10);

/// A person's action at a prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// The text before Enter; only a text that the terminal marked as pasted contains line breaks.
    Line(String),
    /// It contained keys that write no text, such as an arrow, Tab or Escape.
    Keys,
    /// Several lines at once, the last perhaps without its end, which the terminal did not mark as pasted.
    SeveralLines,
    /// The terminal has cut it off.
    TooLong,
    /// Ctrl-D: there is no more input.
    End,
    /// Ctrl-C.
    Interrupted,
}

/// The terminal was closed: whatever is written to it fails.
#[derive(Debug, thiserror::Error)]
#[error("the terminal was closed")]
pub(super) struct Closed;

fn or_closed(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(Errno::IO.raw_os_error()) { io::Error::other(Closed) } else { error }
}

/// True if a person can be asked.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Drops everything typed so far. Call it before showing something new: earlier input was not meant for it,
/// later input is. True if there were lines.
pub async fn forget_typed() -> bool {
    let mut parts = parts().lock().await;
    forget_unfinished();
    let mut any = false;
    while parts.try_recv().is_ok() {
        any = true;
    }
    any
}

/// Something new is on the screen: what is typed in the first moment was not meant for it and is dropped. The
/// moment lasts until no line came for so long: a held Enter does not get through. `false` if the person left
/// by Ctrl-C.
pub async fn has_appeared(moment: Duration) -> io::Result<bool> {
    let quiet = async {
        loop {
            tokio::time::sleep(moment).await;
            if !forget_typed().await {
                return;
            }
        }
    };
    let stays = tokio::select! {
        () = quiet => true,
        _ = tokio::signal::ctrl_c() => false,
    };
    if obeys_escapes() {
        // The terminal shows the dropped text; the prompt takes its place.
        io::stderr().write_all(b"\r\x1b[K").map_err(or_closed)?;
    }
    Ok(stays)
}

/// A line that is no answer: a password, or a message to an agent.
pub async fn read_line(prompt: &str, secret: bool) -> io::Result<Typed> {
    read(prompt, secret, false).await.map_err(or_closed)
}

/// A line that may be an answer: several lines at once, as from a paste, are told apart from it.
pub async fn read_answer(prompt: &str, secret: bool) -> io::Result<Typed> {
    read(prompt, secret, true).await.map_err(or_closed)
}

async fn read(prompt: &str, secret: bool, answers: bool) -> io::Result<Typed> {
    // Held here and not by the reader, which Ctrl-C leaves blocked.
    let mut attention = Attention::begin(secret, answers && obeys_escapes(), prompt)?;
    let mut parts = parts().lock().await;
    let mut screen = io::stderr();
    screen.write_all(prompt.as_bytes())?;
    screen.flush()?;
    let typed = tokio::select! {
        line = whole_line(&mut parts, answers) => line?,
        _ = tokio::signal::ctrl_c() => Typed::Interrupted,
    };
    attention.answered = matches!(typed, Typed::Line(_));
    drop(attention);
    if matches!(typed, Typed::SeveralLines | Typed::TooLong) {
        // The rest of the same paste.
        while parts.try_recv().is_ok() {}
    }
    // The last line of a paste may have no end.
    if secret || matches!(typed, Typed::End | Typed::Interrupted | Typed::SeveralLines) {
        screen.write_all(b"\n")?;
    }
    Ok(typed)
}

type Parts = mpsc::Receiver<io::Result<Vec<u8>>>;

async fn whole_line(parts: &mut Parts, answers: bool) -> io::Result<Typed> {
    let mut line = Vec::new();
    while let Some(part) = parts.recv().await {
        let part = part?;
        if part.is_empty() {
            return Ok(Typed::End);
        }
        if is_cut(&part) {
            return Ok(Typed::TooLong);
        }
        line.extend(part);
        if !line.ends_with(b"\n") || (answers && paste_goes_on(&line)) {
            continue;
        }
        if answers && another_line(parts).await {
            return Ok(Typed::SeveralLines);
        }
        return Ok(typed_line(line).map_or(Typed::Keys, Typed::Line));
    }
    Ok(Typed::End)
}

/// True if more came with the line before: another line, or the beginning of one.
async fn another_line(parts: &mut Parts) -> bool {
    tokio::time::sleep(BETWEEN_LINES).await;
    // The end of the input is not a line; the reader ends with it, so that it is not lost here.
    if matches!(parts.try_recv(), Ok(Ok(part)) if !part.is_empty()) {
        return true;
    }
    if more_was_typed().unwrap_or_default() {
        return true;
    }
    // The reader may have been quicker than the look.
    matches!(tokio::time::timeout(HANDED_OVER, parts.recv()).await, Ok(Some(Ok(part))) if !part.is_empty())
}

/// True if the terminal holds unread bytes. In its line mode it does not report a line without an end, such
/// as the last one of a paste, so this leaves that mode for the look. The bytes then go to the reader, as
/// after Ctrl-D.
fn more_was_typed() -> io::Result<bool> {
    let terminal = io::stdin();
    let before = tcgetattr(&terminal)?;
    let mut by_key = before.clone();
    by_key.local_modes.remove(LocalModes::ICANON);
    tcsetattr(&terminal, OptionalActions::Now, &by_key)?;
    let count = ioctl_fionread(&terminal);
    tcsetattr(&terminal, OptionalActions::Now, &before)?;
    Ok(count? > 0)
}

/// The standard input of this process as the terminal hands it over, a line at a time, read by one thread: a
/// question that is over leaves no reader behind that would swallow the answer to the next one.
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

/// Drops the unfinished line: the terminal still holds it, and the next reader would get it.
pub fn forget_unfinished() {
    // If the terminal is gone, there is nothing to forget.
    let _gone = tcflush(io::stdin(), QueueSelector::IFlush);
}

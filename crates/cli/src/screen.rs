//! The output: `stdout`, in colour only for a person.
//!
//! In: clean text. Out: bytes on `stdout`; a reader that closed it is an ordinary end, never a panic.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use super::text::is_invisible;

#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub json: bool,
    /// Columns of the terminal; `None` when the output is a file or a pipe.
    pub width: Option<usize>,
    pub paint: Paint,
}

impl Screen {
    pub fn new(json: bool) -> Self {
        let stdout = io::stdout();
        let width = stdout.is_terminal().then(|| {
            rustix::termios::tcgetwinsize(&stdout)
                .map(|size| usize::from(size.ws_col))
                .ok()
                .filter(|columns| *columns > 0)
                .unwrap_or(80)
        });
        Self { json, width, paint: Paint::for_terminal(stdout.is_terminal()) }
    }

    pub fn line(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Prints a text unchanged, without an added line break.
    pub fn text(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// A whole result: one line for programs, laid out for reading on a terminal.
    pub fn json(&self, value: &Value) -> io::Result<()> {
        let text = if self.width.is_some() { format!("{value:#}") } else { value.to_string() };
        self.line(&plain_json(&text))
    }

    /// One of many results, on one line.
    pub fn json_line(&self, json: &str) -> io::Result<()> {
        self.line(&plain_json(json))
    }
}

/// JSON may be shown on a terminal too: what serde leaves as it is, but a terminal would obey, becomes an
/// escape.
pub fn plain_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        if c != '\n' && (c.is_control() || is_invisible(c)) {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A line for people on `stderr`, beside the result; without a reader it is lost.
pub fn say(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// The pause between checks that `stdout` still has a reader.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Ends when the reader of `stdout` has closed it. A command that prints nothing would not notice.
pub async fn unread() {
    loop {
        let stdout = io::stdout();
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_gone = poll(&mut polled, Some(&at_once)).is_ok_and(|ready| ready > 0)
            && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP);
        if is_gone {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// True if the terminal understands escape sequences.
pub fn obeys_escapes() -> bool {
    env::var_os("TERM").is_some_and(|value| value != "dumb" && !value.is_empty())
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    pub fn for_terminal(is_terminal: bool) -> Self {
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self(is_terminal && !no_color && !dumb)
    }

    #[cfg(test)]
    pub fn none() -> Self {
        Self(false)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_the_same_value_and_nothing_that_a_terminal_obeys() {
        let value = serde_json::json!({ "text": "a\u{9b}31m\u{202e}b\u{1b}[0m\u{e0041}" });
        let shown = plain_json(&format!("{value:#}"));
        assert!(shown.chars().all(|c| c == '\n' || (!c.is_control() && !is_invisible(c))), "{shown:?}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }

    #[test]
    fn colour_is_only_where_it_is_wanted() {
        assert_eq!(Paint::none().red("x"), "x");
        assert_eq!(Paint(true).red("x"), "\u{1b}[31mx\u{1b}[0m");
    }
}

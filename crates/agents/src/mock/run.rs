//! The mock on real streams: a thread that reads lines, and a loop that writes, waits and misbehaves.
//!
//! In: standard input. Out: standard output and error, and the exit code. It ends at the end of its input,
//! unless it was told to be stubborn. The test that needs no process uses [`Mock`] itself.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::machine::{Effect, Mock, Timer, text_update};

/// Lines that are read in advance.
const READ_AHEAD: usize = 256;
/// A client's line may be this long; the mock has no reason to take more.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// How long a child of the word `child` lives: longer than any test.
const CHILD_SECONDS: &str = "3600";

/// Runs until the end; the number is the exit code.
pub fn run(input: impl Read + Send + 'static, output: impl Write, errors: impl Write) -> i32 {
    let (sender, lines) = sync_channel(READ_AHEAD);
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        loop {
            let mut line = String::new();
            match (&mut input).take(MAX_LINE_BYTES).read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if sender.send(line).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    let mut outside = Outside {
        output: BufWriter::new(output),
        errors,
        timers: Vec::new(),
        children: Vec::new(),
        stubborn: false,
    };
    // A client that closed our output has ended.
    outside.work(&lines).unwrap_or(1)
}

struct Outside<O: Write, E: Write> {
    output: BufWriter<O>,
    errors: E,
    timers: Vec<(Instant, Timer)>,
    children: Vec<Child>,
    stubborn: bool,
}

impl<O: Write, E: Write> Outside<O, E> {
    fn work(&mut self, lines: &Receiver<String>) -> std::io::Result<i32> {
        let mut mock = Mock::new();
        loop {
            let next = self.timers.iter().map(|(at, _)| *at).min();
            let wait =
                next.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(Instant::now()));
            let mut effects = match lines.recv_timeout(wait) {
                Ok(line) => mock.hear(&line),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) if self.stubborn => hang(),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            };
            let now = Instant::now();
            let (due, later) = std::mem::take(&mut self.timers).into_iter().partition(|(at, _)| *at <= now);
            self.timers = later;
            let due: Vec<(Instant, Timer)> = due;
            effects.extend(due.iter().flat_map(|(_, timer)| mock.rings(timer)));
            for effect in effects {
                if let Some(code) = self.perform(effect)? {
                    return Ok(code);
                }
            }
            self.output.flush()?;
        }
    }

    fn line(&mut self, line: &str) -> std::io::Result<()> {
        self.output.write_all(line.as_bytes())?;
        self.output.write_all(b"\n")
    }

    fn perform(&mut self, effect: Effect) -> std::io::Result<Option<i32>> {
        match effect {
            Effect::Say(line) => self.line(&line)?,
            Effect::Raw(bytes) => self.output.write_all(&bytes)?,
            Effect::Repeat { line, count } => {
                let (before, after) = line.split_once('#').unwrap_or((&line, ""));
                for n in 0..count {
                    writeln!(self.output, "{before}{n}{after}")?;
                }
            }
            Effect::Stderr(line) => writeln!(self.errors, "{line}")?,
            Effect::After { ms, timer } => {
                self.timers.push((Instant::now() + Duration::from_millis(ms), timer));
            }
            Effect::Env { session, name } => {
                let text = match std::env::var(&name) {
                    Ok(value) => format!("env {name}={value}\n"),
                    Err(_) => format!("env {name} is not set\n"),
                };
                self.line(&text_update(&session, &text))?;
            }
            Effect::Child { session } => {
                let child = Command::new("sleep")
                    .arg(CHILD_SECONDS)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .spawn()?;
                self.line(&text_update(&session, &format!("child {}\n", child.id())))?;
                self.children.push(child);
            }
            Effect::IgnoreTerm => {
                // The flag itself is unused: an installed handler keeps the signal from ending the process.
                signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))?;
                self.stubborn = true;
            }
            Effect::Hang => {
                self.output.flush()?;
                hang();
            }
            Effect::Exit(code) => {
                self.output.flush()?;
                self.errors.flush()?;
                return Ok(Some(code));
            }
        }
        Ok(None)
    }
}

/// Does nothing, for ever.
fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

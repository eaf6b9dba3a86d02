//! A command at a real terminal (a pseudo-terminal made by util-linux's `script`).

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, PATIENCE, wait};
use serde_json::Value;

pub const ASKD: &str = env!("CARGO_BIN_EXE_askd");
/// A command at a terminal, killed at the end.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Terminal {
    /// Starts a shell's command, in which `$ASKD` is the binary.
    pub fn start(hub: &Hub, script: &str) -> Self {
        let mut command = Command::new("script");
        command.args(["-qec", script, "/dev/null"]).env("ASKD", ASKD);
        command.env("ASKD_DATA", &hub.data).env("ASKD_ALLOW_INSIDE_AGENT", "1");
        command.env("TERM", "xterm").env("NO_COLOR", "1").env("SHELL", "/bin/sh");
        command.env_remove("ASKD_SESSION").env_remove("ASKD_URL").env_remove("ASKD_TOKEN");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux (Debian: bsdutils) is needed for this test");
        let keys = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let screen = Arc::new(Mutex::new(String::new()));
        let shared = screen.clone();
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = output.read(&mut bytes)
                && count > 0
            {
                shared.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, screen, reader: Some(reader) }
    }

    pub fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Waits until the screen shows `text`.
    pub fn see(&self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.screen().contains(text) {
            assert!(Instant::now() < end, "no {text:?} on the screen:\n{}", self.screen());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until `text` was shown so many times.
    pub fn see_times(&self, text: &str, times: usize) {
        let end = Instant::now() + PATIENCE;
        while self.screen().matches(text).count() < times {
            assert!(Instant::now() < end, "not {times} times {text:?} on the screen:\n{}", self.screen());
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn keys(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// The exit code and everything that was on the screen.
    pub fn end(mut self) -> (i32, String) {
        let status = wait(&mut self.child, PATIENCE).unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status.code().unwrap_or(-1), self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What became of a question.
pub fn outcome(hub: &Hub, id: &str) -> Value {
    hub.http("GET", &format!("/v1/questions/{id}"), None).unwrap().1["outcome"].clone()
}

//! A home of its own with settings in it, and askd under several names.

#![allow(dead_code, reason = "each test uses its own part")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use askd_testkit::hub::{Ran, run};
use serde_json::Value;

pub const ASKD: &str = env!("CARGO_BIN_EXE_askd");

pub struct Home {
    folder: tempfile::TempDir,
    pub path: PathBuf,
    pub settings: PathBuf,
}

impl Home {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let settings = path.join(".claude/settings.json");
        fs::create_dir_all(path.join(".claude")).unwrap();
        Self { folder, path, settings }
    }

    /// The same program at another place or under another name.
    pub fn askd_at(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !path.exists() {
            fs::hard_link(ASKD, &path).or_else(|_| fs::copy(ASKD, &path).map(drop)).unwrap();
        }
        path
    }

    pub fn command<S: AsRef<OsStr>>(&self, exe: &Path, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(exe);
        command
            .env_clear()
            .env("HOME", &self.path)
            .env("PATH", "/usr/bin:/bin")
            .env("ASKD_ALLOW_INSIDE_AGENT", "1");
        command.current_dir(&self.path).args(args);
        command
    }

    pub fn askd<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        run(&mut self.command(Path::new(ASKD), args), "").unwrap()
    }

    pub fn text(&self) -> Option<String> {
        fs::read_to_string(&self.settings).ok()
    }

    /// The state that a run says it has left.
    pub fn state<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let ran = self.askd(args.into_iter().map(|arg| arg.as_ref().to_owned()).chain(["--json".into()]));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json().unwrap()["state"].as_str().unwrap().to_owned()
    }
}

/// How many of askd's hooks are in a text.
pub fn hooks_in(text: &str) -> usize {
    text.matches(" hook claude\"").count()
}

/// All names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// What doctor says under a name: state, detail, remedy.
pub fn checks(ran: &Ran, name: &str) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let json = ran.json().unwrap();
    let list = json["checks"].as_array().unwrap();
    list.iter()
        .filter(|check| check["name"] == name)
        .map(|check| (text(&check["state"]), text(&check["detail"]), text(&check["remedy"])))
        .collect()
}

/// Numbers that look random and are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }
}

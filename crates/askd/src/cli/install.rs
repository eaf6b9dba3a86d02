//! `askd install` and `askd uninstall`: askd's hooks in a settings file of Claude Code, and out of it again. OpenCode's plugin is in
//! `install_opencode`.
//!
//! In: which settings file. Out: the file with a few lines more or without them, and what was changed on stdout. The text from
//! before is kept in the data folder, so that an untouched file is restored to the byte.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use askd_adapters::agents::claude_hook::{hook_command, install, uninstall};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::exit::{Exit, Failure, Outcome};
use super::install_opencode;
use super::screen::{Screen, say};
use crate::data::{DataFolder, write_secret};

#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    /// The agent to hook into
    #[arg(value_enum)]
    agent: InstallAgent,
    /// This project's shared settings: .claude/settings.json, or the folder .opencode
    #[arg(long, conflicts_with_all = ["local", "settings", "config_dir"])]
    pub(super) project: bool,
    /// This project's own settings: .claude/settings.local.json
    #[arg(long, conflicts_with = "settings")]
    local: bool,
    /// Another settings file of Claude Code
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Another config folder of OpenCode
    #[arg(long, value_name = "DIR")]
    pub(super) config_dir: Option<PathBuf>,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum InstallAgent {
    Claude,
    Opencode,
}

/// What a file was before askd changed it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Before {
    path: PathBuf,
    /// `None`: there was no file.
    text: Option<String>,
    /// What askd wrote.
    written: String,
}

pub(super) fn install_into(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    match args.checked()? {
        InstallAgent::Claude => install_hooks(args, data, screen),
        InstallAgent::Opencode => install_opencode::install(args, data, screen),
    }
}

pub(super) fn uninstall_from(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    match args.checked()? {
        InstallAgent::Claude => uninstall_hooks(args, data, screen),
        InstallAgent::Opencode => install_opencode::uninstall(args, data, screen),
    }
}

fn install_hooks(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    let path = args.path()?;
    let before = read(&path)?;
    let command = command(data.as_deref())?;
    let after =
        install(before.as_deref().unwrap_or_default(), &command).map_err(|error| refused(&path, &error))?;
    if before.as_deref() == Some(after.as_str()) {
        return report(screen, &path, "unchanged", "askd's hooks are there already");
    }
    show(screen, &path, before.as_deref(), &after)?;
    if args.dry_run {
        return report(screen, &path, "dry-run", "nothing was changed");
    }
    let folder = folder(data)?;
    let older = recall(&folder, &path).filter(|older| before.as_deref() == Some(older.written.as_str()));
    let text = older.map_or_else(|| before.clone(), |older| older.text);
    // Without the record the hooks can still be taken out; only an odd way of writing could then differ.
    if let Err(error) = keep(&folder, &Before { path: path.clone(), text, written: after.clone() }) {
        say(&format!("askd: cannot keep the text from before: {error}"));
    }
    write(&path, &after)?;
    report(screen, &path, "installed", "sessions that start from now on bring their questions here")
}

fn uninstall_hooks(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    let path = args.path()?;
    let Some(before) = read(&path)? else {
        return report(screen, &path, "unchanged", "there is no such file");
    };
    let folder = folder(data)?;
    let known = recall(&folder, &path).filter(|known| known.written == before);
    let after = match &known {
        Some(known) => known.text.clone(),
        None => Some(uninstall(&before).map_err(|error| refused(&path, &error))?),
    };
    if after.as_deref() == Some(before.as_str()) {
        return report(screen, &path, "unchanged", "askd's hooks are not in it");
    }
    show(screen, &path, Some(&before), after.as_deref().unwrap_or_default())?;
    if args.dry_run {
        return report(screen, &path, "dry-run", "nothing was changed");
    }
    match &after {
        Some(text) => write(&path, text)?,
        None => fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))?,
    }
    drop(fs::remove_file(record(&folder, &path)));
    report(screen, &path, "uninstalled", "the settings are as they were without askd")
}

impl InstallArgs {
    /// The agent, if no flag of another one is given.
    fn checked(&self) -> Outcome<InstallAgent> {
        let foreign = match self.agent {
            InstallAgent::Claude => self.config_dir.is_some().then_some("--config-dir"),
            InstallAgent::Opencode if self.local => Some("--local"),
            InstallAgent::Opencode => self.settings.is_some().then_some("--settings"),
        };
        foreign.map_or(Ok(self.agent), |flag| Err(Failure::usage(format!("{flag} is not for this agent"))))
    }

    fn path(&self) -> Outcome<PathBuf> {
        let path = if let Some(path) = &self.settings {
            path.clone()
        } else if self.project {
            PathBuf::from(".claude/settings.json")
        } else if self.local {
            PathBuf::from(".claude/settings.local.json")
        } else {
            user_settings()
                .ok_or_else(|| Failure::usage("there is no HOME; give the file with --settings"))?
        };
        // A link is followed: what it points to is changed, and it stays a link.
        let path = real_path(&path)?;
        Ok(path)
    }
}

/// The user's own settings of Claude Code.
pub(super) fn user_settings() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("CLAUDE_CONFIG_DIR").or_else(|| set("HOME").map(|home| home.join(".claude")));
    config.map(|config| config.join("settings.json"))
}

/// What the hooks run.
pub(super) fn command(data: Option<&Path>) -> Outcome<String> {
    let text = |path: PathBuf| {
        path.into_os_string()
            .into_string()
            .map_err(|path| Failure::usage(format!("{path:?} is not a name that JSON can hold")))
    };
    let program = text(std::env::current_exe()?)?;
    let data =
        data.map(|data| std::path::absolute(data).map_err(Failure::from).and_then(text)).transpose()?;
    Ok(hook_command(&program, data.as_deref()))
}

pub(super) fn folder(data: Option<PathBuf>) -> Outcome<DataFolder> {
    let folder = data.map(DataFolder::at).or_else(DataFolder::from_environment);
    folder.ok_or_else(|| Failure::usage("there is no data folder; give one with --data"))
}

fn record(folder: &DataFolder, path: &Path) -> PathBuf {
    let name = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    folder.path().join(format!("settings-before-{}.json", &name[..16]))
}

fn recall(folder: &DataFolder, path: &Path) -> Option<Before> {
    let known: Before = serde_json::from_slice(&fs::read(record(folder, path)).ok()?).ok()?;
    (known.path == path).then_some(known)
}

fn keep(folder: &DataFolder, before: &Before) -> io::Result<()> {
    folder.create()?;
    write_secret(&record(folder, &before.path), serde_json::to_string(before)?.as_bytes())
}

pub(super) fn read(path: &Path) -> Outcome<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Failure::new(
                Exit::Error,
                format!("{} is not UTF-8; nothing was changed", path.display()),
            )),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path, &error)),
    }
}

/// Beside, then into place, with the rights that the file had.
pub(super) fn write(path: &Path, text: &str) -> Outcome {
    let write = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mode = fs::metadata(path).map_or(0o600, |meta| meta.permissions().mode() & 0o777);
        let beside = path.with_extension(format!("askd-{}", std::process::id()));
        fs::write(&beside, text)?;
        fs::set_permissions(&beside, fs::Permissions::from_mode(mode))?;
        fs::File::open(&beside)?.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| failed("write", path, &error))
}

pub(super) fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Error, format!("cannot {what} {}: {error}", path.display()))
}

fn refused(path: &Path, why: &impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Error, format!("{}: {why}", path.display()))
}

fn show(screen: Screen, path: &Path, before: Option<&str>, after: &str) -> Outcome {
    if screen.json {
        return Ok(());
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.unwrap_or_default().lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let left = old.len().min(new.len()) - same;
    let tail = old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(old, new)| old == new).count();
    let mut text = format!("{}\n", path.display());
    let marked =
        |mark: char, lines: &[&str]| lines.iter().map(|line| format!("{mark} {line}\n")).collect::<String>();
    text.push_str(&marked(' ', &old[same.saturating_sub(2)..same]));
    text.push_str(&marked('-', &old[same..old.len() - tail]));
    text.push_str(&marked('+', &new[same..new.len() - tail]));
    text.push_str(&marked(' ', &new[new.len() - tail..(new.len() - tail + 2).min(new.len())]));
    Ok(screen.line(&text)?)
}

fn report(screen: Screen, path: &Path, state: &str, text: &str) -> Outcome {
    if screen.json {
        return Ok(screen.json(&json!({ "settings": path, "state": state }))?);
    }
    Ok(screen.line(&format!("{}: {state}: {text}", path.display()))?)
}

/// The path without links, also of what is not there yet: by it a thing is known again when it is there.
pub(super) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let known = path.ancestors().find_map(|ancestor| Some((ancestor, fs::canonicalize(ancestor).ok()?)));
    let Some((ancestor, real)) = known else { return Ok(path) };
    // Part by part: to join nothing would add a slash.
    Ok(path.components().skip(ancestor.components().count()).fold(real, |path, part| path.join(part)))
}

//! `askd install` and `askd uninstall`: askd's hooks in a settings file of Claude Code, and out of it again.
//! OpenCode's plugin is in `install_opencode`.
//!
//! In: which settings file. Out: the file with a few lines more or without them, and what was changed on
//! stdout. The text from before is kept in the data folder, so that an untouched file is restored to the
//! byte.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use askd_agents::claude_hook::{SettingsError, found_hooks, hook_command, hooks_are_off, install, uninstall};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::install_opencode;
use super::user_file::{TRIES, UserFile, busy, failed};
use askd_cli::exit::{Exit, Failure, Outcome};
use askd_cli::screen::{Screen, say};
use askd_cli::text::{clean, one_line};
use askd_data::{DataFolder, lock_folder, sweep_beside, tell_folder, write_secret};

#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    /// The agent
    #[arg(value_enum)]
    agent: InstallAgent,
    /// This project's shared settings: .claude/settings.json, or the folder .opencode
    #[arg(long, conflicts_with_all = ["local", "settings", "config_dir"])]
    pub(super) project: bool,
    /// This project's own settings: .claude/settings.local.json
    #[arg(long, conflicts_with_all = ["settings", "config_dir"])]
    local: bool,
    /// Another settings file of Claude Code
    #[arg(long, value_name = "FILE", conflicts_with = "config_dir")]
    settings: Option<PathBuf>,
    /// Another config folder of the agent (for Claude Code: its CLAUDE_CONFIG_DIR; the hub then reads the
    /// transcripts in it)
    #[arg(long, value_name = "DIR")]
    pub(super) config_dir: Option<PathBuf>,
    /// Show the changes, and make none
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum InstallAgent {
    Claude,
    Opencode,
}

/// The state of a file before askd changed it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Before {
    /// For people; programs use the name of the record.
    path: String,
    /// Without any askd. `None`: there was no file.
    text: Option<String>,
    /// The texts that askd wrote: the last installation's and, in case that failed, the one before it.
    written: Vec<String>,
    /// The folders that askd made for the file, the outermost first. Names instead of paths, because JSON
    /// holds only UTF-8.
    made: Vec<OsString>,
}

/// The stored facts about a file.
#[derive(Debug, Default)]
struct Known {
    before: Option<Before>,
    /// True if the file is exactly as askd wrote it.
    is_exact: bool,
}

pub(super) fn install_into(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    match args.checked()? {
        InstallAgent::Claude => {
            install_hooks(args, data.clone(), screen)?;
            args.tell_folder(data, true)
        }
        InstallAgent::Opencode => install_opencode::install(args, data, screen),
    }
}

pub(super) fn uninstall_from(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    match args.checked()? {
        InstallAgent::Claude => {
            uninstall_hooks(args, data.clone(), screen)?;
            args.tell_folder(data, false)
        }
        InstallAgent::Opencode => install_opencode::uninstall(args, data, screen),
    }
}

fn install_hooks(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    let path = args.path()?;
    let command = command(data.as_deref())?;
    for _ in 0..TRIES {
        let file = UserFile::read(&path)?;
        args.sweep(&file, data.clone())?;
        let before = file.text()?;
        let after = install(before.unwrap_or_default(), &command).map_err(|why| not_taken(&file, &why))?;
        let off = hooks_are_off(&after) == Some(true);
        let then = if off {
            "but disableAllHooks is true in it: Claude Code runs no hook until you take that out"
        } else {
            "sessions that start from now on bring their questions here"
        };
        if before == Some(after.as_str()) {
            let text = if off {
                format!("askd's hooks are there already, {then}")
            } else {
                "askd's hooks are there already".to_owned()
            };
            return report(screen, file.path(), "unchanged", &text);
        }
        file.check()?;
        if args.dry_run {
            show(screen, file.path(), before, &after)?;
            return report(screen, file.path(), "dry-run", "nothing was changed");
        }
        let folder = folder(data.clone())?;
        let (known, _) = recall(&folder, file.path(), before);
        let mut written: Vec<String> =
            before.filter(|_| known.is_exact).map(str::to_owned).into_iter().collect();
        written.push(after.clone());
        let text = match (&known.before, before) {
            (Some(known_before), _) if known.is_exact => known_before.text.clone(),
            (known_before, Some(before)) => Some(without(&file, before, known_before.as_ref())?),
            (_, None) => None,
        };
        let mut made = known.before.map(|before| before.made).unwrap_or_default();
        made.extend(file.missing_folders().into_iter().map(PathBuf::into_os_string));
        let record = Before { path: shown(file.path()), text, written, made };
        // Without the record the hooks can still be taken out; only an odd way of writing could then differ.
        if let Err(error) = keep(&folder, file.path(), &record) {
            say(&format!("askd: cannot keep the text from before: {error}"));
        }
        if file.replace(Some(&after))? {
            show(screen, file.path(), before, &after)?;
            return report(screen, file.path(), "installed", then);
        }
    }
    Err(busy(&path))
}

fn uninstall_hooks(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    let path = args.path()?;
    for _ in 0..TRIES {
        let file = UserFile::read(&path)?;
        args.sweep(&file, data.clone())?;
        let Some(before) = file.text()? else {
            return report(screen, file.path(), "unchanged", "there is no such file");
        };
        let folder = folder(data.clone())?;
        let (known, records) = recall(&folder, file.path(), Some(before));
        let after = match &known.before {
            // An older askd's record may contain the hooks of a still older one.
            Some(known_before) if known.is_exact => known_before
                .text
                .as_ref()
                .map(|text| uninstall(text, Some(text)).unwrap_or_else(|_| text.clone())),
            known_before => Some(without(&file, before, known_before.as_ref())?)
                // A file of askd's own has no rest. Without a hook in it, it is another file of that name.
                .filter(|text| {
                    text == before
                        || !(is_empty(text)
                            && known_before.as_ref().is_some_and(|known| known.text.is_none()))
                }),
        };
        if after.as_deref() == Some(before) {
            return report(screen, file.path(), "unchanged", "askd's hooks are not in it");
        }
        file.check()?;
        if args.dry_run {
            show(screen, file.path(), Some(before), after.as_deref().unwrap_or_default())?;
            return report(screen, file.path(), "dry-run", "nothing was changed");
        }
        if !file.replace(after.as_deref())? {
            continue;
        }
        if after.is_none() {
            // Removes only empty folders that askd made.
            let made = known.before.as_ref().map(|before| before.made.as_slice()).unwrap_or_default();
            made.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
        }
        // The records last: a run that is killed before this can be followed by one that knows the folders.
        for record in records {
            drop(fs::remove_file(record));
        }
        show(screen, file.path(), Some(before), after.as_deref().unwrap_or_default())?;
        let text = match after {
            None => "the file that askd made is gone",
            Some(_) if known.is_exact => "the settings are as they were without askd",
            Some(_) => "askd's hooks are out, and everything else in it stays",
        };
        return report(screen, file.path(), "uninstalled", text);
    }
    Err(busy(&path))
}

/// The text without any askd's hooks.
fn without(file: &UserFile, text: &str, known: Option<&Before>) -> Outcome<String> {
    uninstall(text, known.and_then(|known| known.text.as_deref())).map_err(|why| not_taken(file, &why))
}

fn is_empty(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
        .is_ok_and(|members| members.is_empty())
}

impl InstallArgs {
    /// The agent, if no flag of another one is given.
    fn checked(&self) -> Outcome<InstallAgent> {
        let foreign = match self.agent {
            InstallAgent::Claude => None,
            InstallAgent::Opencode if self.local => Some("--local"),
            InstallAgent::Opencode => self.settings.is_some().then_some("--settings"),
        };
        foreign.map_or(Ok(self.agent), |flag| Err(Failure::usage(format!("{flag} is not for this agent"))))
    }

    /// Removes the files of killed runs beside the file and its record: they contain everything that the
    /// settings contain.
    fn sweep(&self, file: &UserFile, data: Option<PathBuf>) -> Outcome {
        if self.dry_run {
            return Ok(());
        }
        file.sweep()?;
        for record in records(&folder(data)?, file.path(), file.text()?) {
            sweep_record(&record);
        }
        Ok(())
    }

    fn path(&self) -> Outcome<PathBuf> {
        let path = if let Some(path) = &self.settings {
            path.clone()
        } else if let Some(folder) = &self.config_dir {
            folder.join("settings.json")
        } else if self.project {
            PathBuf::from(".claude/settings.json")
        } else if self.local {
            PathBuf::from(".claude/settings.local.json")
        } else {
            user_settings()
                .ok_or_else(|| Failure::usage("there is no HOME; give the file with --settings"))?
        };
        Ok(path)
    }

    /// The config folder of Claude Code in question. A project's settings belong to none.
    fn claude_folder(&self) -> Option<PathBuf> {
        let own = || user_settings().and_then(|path| path.parent().map(Path::to_owned));
        match (&self.config_dir, &self.settings) {
            (Some(folder), _) => Some(folder.clone()),
            (None, Some(file)) => std::path::absolute(file).ok()?.parent().map(Path::to_owned),
            (None, None) if self.project || self.local => None,
            (None, None) => own(),
        }
    }

    /// Tells the hub that the transcripts in this folder may be read, or no longer. The folder is kept as it
    /// is named, because hooks name transcripts by it.
    fn tell_folder(&self, data: Option<PathBuf>, is_known: bool) -> Outcome {
        // Hooks name folders in JSON, which holds only UTF-8.
        let nameable = |folder: &PathBuf| folder.to_str().is_some();
        let Some(named) = self.claude_folder().filter(nameable).filter(|_| !self.dry_run) else {
            return Ok(());
        };
        let (data, named) = (folder(data)?, std::path::absolute(named)?);
        if is_known {
            data.create().map_err(|error| Failure::new(Exit::Error, error.to_string()))?;
        }
        tell_folder(&data, &named, is_known).map_err(|error| failed("note", &named, &error))
    }
}

/// The user's own settings of Claude Code.
pub(super) fn user_settings() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("CLAUDE_CONFIG_DIR").or_else(|| set("HOME").map(|home| home.join(".claude")));
    config.map(|config| config.join("settings.json"))
}

/// The command of the hooks. It contains the given data folder, because Claude Code may run without that
/// environment.
pub(super) fn command(data: Option<&Path>) -> Outcome<String> {
    let text = |path: PathBuf| {
        path.into_os_string()
            .into_string()
            .map_err(|path| Failure::usage(format!("{path:?} is not a name that JSON can hold")))
    };
    let program = text(std::env::current_exe()?)?;
    let told = data.map(Path::to_owned).or_else(DataFolder::told_by_environment);
    let data =
        told.map(|data| std::path::absolute(data).map_err(Failure::from).and_then(text)).transpose()?;
    Ok(hook_command(&program, data.as_deref()))
}

pub(super) fn folder(data: Option<PathBuf>) -> Outcome<DataFolder> {
    let folder = data.map(DataFolder::at).or_else(DataFolder::from_environment);
    let folder = folder.ok_or_else(|| Failure::usage("there is no data folder; give one with --data"))?;
    if let Some(told) = folder.mend_default() {
        say(&format!("askd: {told}"));
    }
    // The records in it decide the text that uninstalling writes.
    folder.check().map_err(|error| Failure::new(Exit::Error, error.to_string()))?;
    Ok(folder)
}

fn record(folder: &DataFolder, path: &Path) -> PathBuf {
    let name = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    folder.path().join(format!("settings-before-{}.json", &name[..16]))
}

/// The places of a file's records: this data folder, the usual one and those in its hooks.
fn records(folder: &DataFolder, path: &Path, text: Option<&str>) -> Vec<PathBuf> {
    let hooks = text.and_then(|text| found_hooks(text).ok()).unwrap_or_default();
    let mut folders = vec![folder.clone()];
    folders.extend(DataFolder::usual());
    folders.extend(hooks.into_iter().filter_map(|hook| hook.data).map(DataFolder::at));
    let mut records: Vec<PathBuf> = folders.iter().map(|folder| record(folder, path)).collect();
    records.sort_unstable();
    records.dedup();
    records
}

/// Removes the files of killed runs beside a record.
pub(super) fn sweep_record(record: &Path) {
    // Without the lock, the next run removes them.
    if let Some(Ok(_lock)) = record.parent().map(lock_folder) {
        sweep_beside(record);
    }
}

/// The record of a file, and the places of all its records.
fn recall(folder: &DataFolder, path: &Path, text: Option<&str>) -> (Known, Vec<PathBuf>) {
    let records = records(folder, path, text);
    let mut known = Known::default();
    for record in &records {
        let before = fs::read(record).ok().and_then(|bytes| serde_json::from_slice::<Before>(&bytes).ok());
        let Some(before) = before else { continue };
        let is_exact = text.is_some_and(|text| before.written.iter().any(|written| written == text));
        if known.before.is_none() || (is_exact && !known.is_exact) {
            known = Known { before: Some(before), is_exact };
        }
    }
    (known, records)
}

fn keep(folder: &DataFolder, path: &Path, before: &Before) -> io::Result<()> {
    folder.create().map_err(io::Error::other)?;
    let _lock = lock_folder(folder.path())?;
    write_secret(&record(folder, path), serde_json::to_string(before)?.as_bytes())
}

fn not_taken(file: &UserFile, why: &SettingsError) -> Failure {
    Failure::new(Exit::Error, format!("{}: {why}", file.path().display()))
}

/// A path for people and for JSON, even if it is not UTF-8.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
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
    let mut text = format!("{}\n", one_line(&shown(path)));
    // A project's settings are another's text.
    let marked = |mark: char, lines: &[&str]| {
        lines.iter().map(|line| format!("{mark} {}\n", clean(line).replace('\n', " "))).collect::<String>()
    };
    text.push_str(&marked(' ', &old[same.saturating_sub(2)..same]));
    text.push_str(&marked('-', &old[same..old.len() - tail]));
    text.push_str(&marked('+', &new[same..new.len() - tail]));
    text.push_str(&marked(' ', &new[new.len() - tail..(new.len() - tail + 2).min(new.len())]));
    Ok(screen.line(&text)?)
}

fn report(screen: Screen, path: &Path, state: &str, text: &str) -> Outcome {
    if screen.json {
        return Ok(screen.json(&json!({ "settings": shown(path), "state": state }))?);
    }
    Ok(screen.line(&format!("{}: {state}: {text}", one_line(&shown(path))))?)
}

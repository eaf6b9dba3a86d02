//! `askd install opencode` and `askd uninstall opencode`: askd's plugin in a config folder of OpenCode.
//!
//! In: a config folder. Out: the plugin in it and, if no other program keeps npm packages there, the files
//! that keep OpenCode from waiting for a registry before it draws. The data folder records what was made, so
//! that exactly that is removed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use askd_agents::opencode::{
    LOCK_FILE, MODULES_FOLDER, OTHERS, PLUGIN_FILE, is_plugin, lock_text, plugin_data, plugin_text,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::install::{InstallArgs, folder, shown, sweep_record};
use super::user_file::{TRIES, UserFile, busy, failed};
use askd_cli::exit::{Exit, Failure, Outcome};
use askd_cli::screen::{Screen, say};
use askd_cli::text::one_line;
use askd_data::{DataFolder, lock_folder, real_path, write_secret};

/// The files and folders that askd made in a config folder, in order.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    /// Names instead of paths, because JSON holds only UTF-8.
    config: OsString,
    paths: Vec<OsString>,
}

/// One thing to make; a folder has no text.
struct Step {
    path: PathBuf,
    text: Option<String>,
    why: &'static str,
}

impl Made {
    fn new<'a>(config: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        let paths = paths.map(|path| path.clone().into_os_string()).collect();
        Self { config: config.to_owned().into_os_string(), paths }
    }
}

impl Step {
    fn make(&self) -> Outcome {
        match &self.text {
            Some(text) => write(&self.path, text),
            None => fs::create_dir_all(&self.path).map_err(|error| failed("make", &self.path, &error)),
        }
    }
}

/// Removes the files and empty folders that a failed run has made, the last first.
fn take_back(made: &[&PathBuf]) {
    for path in made.iter().rev() {
        let is_folder = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
        drop(if is_folder { fs::remove_dir(path) } else { fs::remove_file(path) });
    }
}

pub(super) fn install(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    let config = config_folder(args)?;
    let data = folder(data)?;
    if !args.dry_run {
        sweep(&data, &config)?;
    }
    let steps = steps(&config, &data)?;
    if steps.is_empty() {
        return report(screen, &config, "unchanged", "askd's plugin is there already", &[]);
    }
    let paths: Vec<PathBuf> = steps.iter().map(|step| step.path.clone()).collect();
    show(screen, '+', steps.iter().map(|step| (step.path.as_path(), step.why)))?;
    if args.dry_run {
        return report(screen, &config, "dry-run", "nothing was changed", &paths);
    }
    let plugin = UserFile::read(&config.join(PLUGIN_FILE))?;
    let (made_before, records) = recall(&data, &config, plugin.text()?);
    let new: Vec<PathBuf> =
        steps.iter().filter(|step| !is_there(&step.path)).map(|step| step.path.clone()).collect();
    let made = Made::new(&config, made_before.iter().chain(&new));
    // Without the record the plugin can still be taken away; only folders that are empty then would stay.
    match keep(&data, &made) {
        Ok(()) => records
            .iter()
            .filter(|path| **path != record(&data, &config))
            .for_each(|path| drop(fs::remove_file(path))),
        Err(error) => say(&format!("askd: cannot keep what was made: {error}")),
    }
    let mut made_now = Vec::new();
    let done = steps.iter().try_for_each(|step| {
        step.make()?;
        made_now.extend(new.iter().find(|path| **path == step.path));
        Ok(())
    });
    if let Err(why) = done {
        take_back(&made_now);
        // Without a step of this run, and without a record if there was none. On a full disk the record stays
        // as it is, which names more than there is.
        if made_before.is_empty() {
            drop(fs::remove_file(record(&data, &config)));
        } else {
            drop(keep(&data, &Made::new(&config, made_before.iter())));
        }
        return Err(why);
    }
    report(
        screen,
        &config,
        "installed",
        "an OpenCode that starts from now on brings its questions here",
        &paths,
    )
}

/// The missing parts of the folder.
fn steps(config: &Path, data: &DataFolder) -> Outcome<Vec<Step>> {
    let data = std::path::absolute(data.path())?;
    let data = data.to_str().ok_or_else(|| Failure::usage("the name of the data folder is not UTF-8"))?;
    let (plugin, text) = (config.join(PLUGIN_FILE), plugin_text(data));
    let mut steps = Vec::new();
    let file = UserFile::read(&plugin)?;
    match file.text()? {
        Some(known) if known == text => return Ok(steps),
        Some(known) if !is_plugin(known) => return Err(not_ours(&plugin)),
        _ => file.check()?,
    }
    let alone = OTHERS.iter().all(|other| !is_there(&config.join(other)));
    let folders = plugin.parent().into_iter().flat_map(Path::ancestors);
    let missing: Vec<&Path> = folders.take_while(|folder| !folder.exists()).collect();
    let folder = |path: &Path, why| Step { path: path.to_owned(), text: None, why };
    steps.extend(missing.into_iter().rev().map(|path| folder(path, "a folder")));
    if alone {
        let why = "so that OpenCode does not wait for npm before it draws";
        steps.push(folder(&config.join(MODULES_FOLDER), why));
        steps.push(Step { path: config.join(LOCK_FILE), text: Some(lock_text()), why });
    }
    steps.push(Step { path: plugin, text: Some(text), why: "the plugin" });
    Ok(steps)
}

pub(super) fn uninstall(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    let config = config_folder(args)?;
    let data = folder(data)?;
    if !args.dry_run {
        sweep(&data, &config)?;
    }
    let plugin = UserFile::read(&config.join(PLUGIN_FILE))?;
    let (made, records) = recall(&data, &config, plugin.text()?);
    let mut gone: Vec<(PathBuf, &str)> = Vec::new();
    let mut stays: Vec<(PathBuf, &str)> = Vec::new();
    match plugin.text()? {
        Some(text) if is_plugin(text) => gone.push((config.join(PLUGIN_FILE), "the plugin")),
        Some(_) => return Err(not_ours(plugin.path())),
        None => {}
    }
    let lock = config.join(LOCK_FILE);
    let is_our_lock = match UserFile::read(&lock)?.text() {
        Ok(Some(text)) if text == lock_text() => {
            gone.push((lock, "made by askd"));
            true
        }
        Ok(None) => false,
        _ if made.contains(&lock) => {
            stays.push((lock, "was changed since"));
            false
        }
        _ => false,
    };
    let is_known = !made.is_empty();
    let files = [config.join(PLUGIN_FILE), config.join(LOCK_FILE)];
    let mut folders: Vec<PathBuf> = made.into_iter().filter(|path| !files.contains(path)).rev().collect();
    let modules = config.join(MODULES_FOLDER);
    // The lock file is proof enough: askd makes the two together.
    if is_our_lock && !folders.contains(&modules) {
        folders.insert(0, modules);
    }
    for path in folders {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if !meta.is_dir() {
            stays.push((path, "is not the folder that askd made"));
        } else if inside(&path)
            .is_ok_and(|inside| inside.iter().all(|path| gone.iter().any(|gone| gone.0 == *path)))
        {
            gone.push((path, "a folder that askd made and that is empty then"));
        } else {
            stays.push((path, "is used by others"));
        }
    }
    let paths: Vec<PathBuf> = gone.iter().map(|(path, _)| path.clone()).collect();
    if gone.is_empty() {
        return report(screen, &config, "unchanged", "askd's plugin is not in it", &[]);
    }
    if args.dry_run {
        show(screen, '-', gone.iter().map(|(path, why)| (path.as_path(), *why)))?;
        return report(screen, &config, "dry-run", "nothing was changed", &paths);
    }
    for file in files.iter().filter(|file| paths.contains(file)) {
        UserFile::read(file)?.check()?;
    }
    for (path, _) in &gone {
        let is_folder = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
        if is_folder {
            fs::remove_dir(path).map_err(|error| failed("remove", path, &error))?;
        } else {
            replace(path, None)?;
        }
    }
    for record in records {
        drop(fs::remove_file(record));
    }
    show(screen, '-', gone.iter().map(|(path, why)| (path.as_path(), *why)))?;
    for (path, why) in &stays {
        say(&format!("askd: {} {why} and stays", one_line(&shown(path))));
    }
    let text = if stays.is_empty() && is_known {
        "the folder is as it was without askd"
    } else {
        "askd's plugin is gone; what others have changed or use stays"
    };
    report(screen, &config, "uninstalled", text, &paths)
}

/// Removes the files of killed runs beside the plugin, the lock file and the record: a folder with such a
/// file in it would stay for ever.
fn sweep(data: &DataFolder, config: &Path) -> Outcome {
    for name in [PLUGIN_FILE, LOCK_FILE] {
        // A path that is no file of the user has none beside it.
        if let Ok(file) = UserFile::read(&config.join(name)) {
            file.sweep()?;
        }
    }
    sweep_record(&record(data, config));
    Ok(())
}

fn write(path: &Path, text: &str) -> Outcome {
    replace(path, Some(text))
}

/// The new text of a file, whatever it contains now.
fn replace(path: &Path, text: Option<&str>) -> Outcome {
    for _ in 0..TRIES {
        if UserFile::read(path)?.replace(text)? {
            return Ok(());
        }
    }
    Err(busy(path))
}

/// True also for a dangling link.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

fn config_folder(args: &InstallArgs) -> Outcome<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = if let Some(folder) = &args.config_dir {
        folder.clone()
    } else if args.project {
        PathBuf::from(".opencode")
    } else {
        let base = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
        base.ok_or_else(|| Failure::usage("there is no HOME; give the folder with --config-dir"))?
            .join("opencode")
    };
    Ok(real_path(&folder)?)
}

fn record(data: &DataFolder, config: &Path) -> PathBuf {
    let name = blake3::hash(config.as_os_str().as_encoded_bytes()).to_hex();
    data.path().join(format!("opencode-made-{}.json", &name[..16]))
}

/// The files that askd made in a config folder, and the places of that record: this data folder, and the one
/// of the present plugin.
fn recall(data: &DataFolder, config: &Path, plugin: Option<&str>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let of_plugin = plugin.and_then(plugin_data).map(DataFolder::at);
    let folders = [Some(data.clone()), of_plugin].into_iter().flatten();
    let mut records: Vec<PathBuf> = folders.map(|folder| record(&folder, config)).collect();
    records.dedup();
    let known = |path: &PathBuf| serde_json::from_slice::<Made>(&fs::read(path).ok()?).ok();
    let mut paths: Vec<PathBuf> = Vec::new();
    for made in records.iter().filter_map(known).filter(|made| made.config == config) {
        let made = made.paths.into_iter().map(PathBuf::from);
        let new: Vec<PathBuf> = made.filter(|path| !paths.contains(path)).collect();
        paths.extend(new);
    }
    (paths, records)
}

fn keep(data: &DataFolder, made: &Made) -> io::Result<()> {
    data.create().map_err(io::Error::other)?;
    let _lock = lock_folder(data.path())?;
    write_secret(&record(data, Path::new(&made.config)), serde_json::to_string(made)?.as_bytes())
}

fn not_ours(path: &Path) -> Failure {
    let text = format!("{} is not askd's; nothing was changed", path.display());
    Failure::new(Exit::Error, text)
}

fn show<'a>(screen: Screen, mark: char, steps: impl Iterator<Item = (&'a Path, &'a str)>) -> Outcome {
    if screen.json {
        return Ok(());
    }
    let lines = steps.map(|(path, why)| format!("{mark} {}  ({why})\n", one_line(&shown(path))));
    Ok(screen.line(&lines.collect::<String>())?)
}

fn report(screen: Screen, config: &Path, state: &str, text: &str, paths: &[PathBuf]) -> Outcome {
    if screen.json {
        let paths: Vec<String> = paths.iter().map(|path| shown(path)).collect();
        return Ok(screen.json(&json!({ "folder": shown(config), "state": state, "paths": paths }))?);
    }
    Ok(screen.line(&format!("{}: {state}: {text}", one_line(&shown(config))))?)
}

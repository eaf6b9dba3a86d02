//! `askd install opencode` and `askd uninstall opencode`: askd's plugin in a config folder of OpenCode, and away again.
//!
//! In: which config folder. Out: the plugin in it, and where nobody else has anything of npm there, what keeps OpenCode from waiting
//! for a registry before it draws. What was made is kept in the data folder, so that exactly that is taken away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use askd_adapters::agents::opencode::{
    LOCK_FILE, MODULES_FOLDER, OTHERS, PLUGIN_FILE, is_plugin, lock_text, plugin_text,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::exit::{Exit, Failure, Outcome};
use super::install::{InstallArgs, failed, folder, read, real_path, write};
use super::screen::{Screen, say};
use crate::data::{DataFolder, write_secret};

/// What askd has made in a config folder, in the order of making.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    config: PathBuf,
    paths: Vec<PathBuf>,
}

/// One thing to make; a folder has no text.
struct Step {
    path: PathBuf,
    text: Option<String>,
    why: &'static str,
}

pub(super) fn install(args: &InstallArgs, data: Option<PathBuf>, screen: Screen) -> Outcome {
    let config = config_folder(args)?;
    let data = folder(data)?;
    let steps = steps(&config, &data)?;
    if steps.is_empty() {
        return report(screen, &config, "unchanged", "askd's plugin is there already", &[]);
    }
    let paths: Vec<PathBuf> = steps.iter().map(|step| step.path.clone()).collect();
    show(screen, '+', steps.iter().map(|step| (step.path.as_path(), step.why)))?;
    if args.dry_run {
        return report(screen, &config, "dry-run", "nothing was changed", &paths);
    }
    let mut made =
        recall(&data, &config).unwrap_or_else(|| Made { config: config.clone(), paths: Vec::new() });
    made.paths.extend(steps.iter().filter(|step| !step.path.exists()).map(|step| step.path.clone()));
    // Without the record the plugin can still be taken away; only folders that are empty then would stay.
    if let Err(error) = keep(&data, &made) {
        say(&format!("askd: cannot keep what was made: {error}"));
    }
    for step in &steps {
        match &step.text {
            Some(text) => write(&step.path, text)?,
            None => fs::create_dir_all(&step.path).map_err(|error| failed("make", &step.path, &error))?,
        }
    }
    report(
        screen,
        &config,
        "installed",
        "an OpenCode that starts from now on brings its questions here",
        &paths,
    )
}

/// What is missing in the folder.
fn steps(config: &Path, data: &DataFolder) -> Outcome<Vec<Step>> {
    let data = std::path::absolute(data.path())?;
    let data = data.to_str().ok_or_else(|| Failure::usage("the name of the data folder is not UTF-8"))?;
    let (plugin, text) = (config.join(PLUGIN_FILE), plugin_text(data));
    let mut steps = Vec::new();
    match read(&plugin)? {
        Some(known) if known == text => return Ok(steps),
        Some(known) if !is_plugin(&known) => return Err(not_ours(&plugin)),
        _ => {}
    }
    let alone = OTHERS.iter().all(|other| !config.join(other).exists());
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
    let plugin = config.join(PLUGIN_FILE);
    let made = recall(&data, &config);
    let mut files = Vec::new();
    match read(&plugin)? {
        Some(text) if is_plugin(&text) => files.push((plugin, "the plugin")),
        Some(_) => return Err(not_ours(&plugin)),
        None => {}
    }
    let lock = config.join(LOCK_FILE);
    match read(&lock)? {
        Some(text) if text == lock_text() => files.push((lock, "made by askd")),
        Some(_) if made.as_ref().is_some_and(|made| made.paths.contains(&lock)) => {
            say(&format!("askd: {} was changed since and stays", lock.display()));
        }
        _ => {}
    }
    let folders: Vec<PathBuf> = made.map_or_else(Vec::new, |made| made.paths.into_iter().rev().collect());
    let mut gone: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    for path in folders.iter().filter(|path| path.is_dir()) {
        if inside(path).is_ok_and(|inside| inside.iter().all(|path| gone.contains(path))) {
            gone.push(path.clone());
            files.push((path.clone(), "a folder that askd made and nobody uses"));
        }
    }
    if files.is_empty() {
        return report(screen, &config, "unchanged", "askd's plugin is not in it", &[]);
    }
    show(screen, '-', files.iter().map(|(path, why)| (path.as_path(), *why)))?;
    if args.dry_run {
        return report(screen, &config, "dry-run", "nothing was changed", &gone);
    }
    for (path, _) in &files {
        let removed = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
        removed.map_err(|error| failed("remove", path, &error))?;
    }
    drop(fs::remove_file(record(&data, &config)));
    report(screen, &config, "uninstalled", "the folder is as it was without askd", &gone)
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

fn recall(data: &DataFolder, config: &Path) -> Option<Made> {
    let made: Made = serde_json::from_slice(&fs::read(record(data, config)).ok()?).ok()?;
    (made.config == config).then_some(made)
}

fn keep(data: &DataFolder, made: &Made) -> io::Result<()> {
    data.create()?;
    write_secret(&record(data, &made.config), serde_json::to_string(made)?.as_bytes())
}

fn not_ours(path: &Path) -> Failure {
    let text = format!("{} is not askd's; nothing was changed", path.display());
    Failure::new(Exit::Error, text)
}

fn show<'a>(screen: Screen, mark: char, steps: impl Iterator<Item = (&'a Path, &'a str)>) -> Outcome {
    if screen.json {
        return Ok(());
    }
    let lines = steps.map(|(path, why)| format!("{mark} {}  ({why})\n", path.display()));
    Ok(screen.line(&lines.collect::<String>())?)
}

fn report(screen: Screen, config: &Path, state: &str, text: &str, paths: &[PathBuf]) -> Outcome {
    if screen.json {
        return Ok(screen.json(&json!({ "folder": config, "state": state, "paths": paths }))?);
    }
    Ok(screen.line(&format!("{}: {state}: {text}", config.display()))?)
}

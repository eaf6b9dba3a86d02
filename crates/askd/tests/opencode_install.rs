//! `askd install opencode` and `askd uninstall opencode`: what they add and take away, to the byte.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use askd_testkit::hub::Ran;

/// A folder with everything in it, and what is in each file.
fn all(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            found.push((path.clone(), (!path.is_dir()).then(|| fs::read(&path).unwrap())));
            folders.extend(path.is_dir().then_some(path));
        }
    }
    found.sort();
    found
}

fn askd(home: &Path, words: &[&str]) -> Result<Ran> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_askd"));
    command.args(words).arg("--data").arg(home.join("data")).current_dir(home);
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
    askd_testkit::hub::run(&mut command, "")
}

#[test]
fn what_was_installed_is_taken_away_to_the_byte() -> Result<()> {
    let home = tempfile::tempdir()?;
    let home = home.path().canonicalize()?;
    let scene = |files: &[(&str, &str)], seeded: bool| -> Result<()> {
        let config = home.join(".config/opencode");
        for (name, text) in files {
            let path = config.join(name);
            fs::create_dir_all(path.parent().unwrap())?;
            fs::write(path, text)?;
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(home.join("data"))?;
        let before = all(&home);
        let ran = askd(&home, &["install", "opencode", "--dry-run"])?;
        ensure!(ran.code == 0 && ran.stdout.contains("+ ") && ran.stdout.contains("askd.js"), "{ran:?}");
        ensure!(all(&home) == before, "a dry run changed something");
        let ran = askd(&home, &["install", "opencode"])?;
        ensure!(ran.code == 0, "{ran:?}");
        let plugin = fs::read_to_string(config.join("plugins/askd.js"))?;
        ensure!(plugin.contains(&format!("const DATA = \"{}\"", home.join("data").display())));
        ensure!(
            config.join("package-lock.json").exists()
                == (seeded || files.iter().any(|f| f.0 == "package-lock.json"))
        );
        ensure!(config.join("node_modules").exists() == seeded);
        let ran = askd(&home, &["install", "opencode"])?;
        ensure!(ran.stdout.contains("unchanged"), "{ran:?}");
        let installed = all(&home);
        let ran = askd(&home, &["uninstall", "opencode", "--dry-run"])?;
        ensure!(ran.stdout.contains("- ") && all(&home) == installed, "{ran:?}");
        let ran = askd(&home, &["uninstall", "opencode", "--json"])?;
        ensure!(ran.json()?["state"] == "uninstalled", "{ran:?}");
        assert_eq!(all(&home), before);
        let ran = askd(&home, &["uninstall", "opencode"])?;
        ensure!(ran.code == 0 && ran.stdout.contains("unchanged"), "{ran:?}");
        fs::remove_dir_all(home.join(".config")).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        Ok(())
    };
    // Nothing there at all; a config only; somebody's own plugin; somebody's own packages.
    scene(&[], true)?;
    scene(&[("opencode.json", "{ }\n")], true)?;
    scene(&[("plugins/mine.js", "export const Mine = async () => ({})")], false)?;
    scene(&[("package.json", "{}"), ("package-lock.json", "{}")], false)?;
    Ok(())
}

#[test]
fn what_is_not_askds_is_left_alone() -> Result<()> {
    let home = tempfile::tempdir()?;
    let home = home.path().canonicalize()?;
    let config = home.join(".config/opencode");
    fs::create_dir_all(config.join("plugins"))?;
    fs::write(config.join("plugins/askd.js"), "export const Mine = 1")?;
    let before = all(&config);
    for verb in ["install", "uninstall"] {
        let ran = askd(&home, &[verb, "opencode"])?;
        ensure!(ran.code == 1 && ran.stderr.contains("is not askd's"), "{ran:?}");
    }
    assert_eq!(all(&config), before);
    for words in [["install", "opencode", "--local"], ["install", "opencode", "--settings=x"]] {
        let ran = askd(&home, &words)?;
        ensure!(ran.code == 2 && ran.stderr.contains("is not for this agent"), "{ran:?}");
    }

    // What was changed or filled since stays; the rest goes.
    fs::remove_dir_all(&config)?;
    askd(&home, &["install", "opencode"])?;
    fs::write(config.join("package-lock.json"), "{ \"changed\": true }")?;
    fs::write(config.join("node_modules/something"), "")?;
    let ran = askd(&home, &["uninstall", "opencode"])?;
    ensure!(ran.code == 0 && ran.stderr.contains("was changed since and stays"), "{ran:?}");
    let left: Vec<PathBuf> = all(&config).into_iter().map(|(path, _)| path).collect();
    let stays = ["node_modules", "node_modules/something", "package-lock.json"];
    assert_eq!(left, stays.map(|name| config.join(name)));
    Ok(())
}

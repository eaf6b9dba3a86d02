//! A user's config folder of OpenCode under `askd install` and `askd uninstall`, whatever was done to it in
//! between.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod files;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use askd_testkit::hub::run;
use files::{ASKD, Home};

/// Everything that is there but askd's own data folders.
fn all(home: &Home) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    let mut folders = vec![home.path.clone()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".local") || path.ends_with("data") {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            folders.extend(meta.is_dir().then(|| path.clone()));
            found.push((path, meta.is_symlink()));
        }
    }
    found.sort();
    found
}

fn config(home: &Home) -> PathBuf {
    home.path.join(".config/opencode")
}

/// Does something to a config folder; the second folder is for what lies elsewhere.
type Change = fn(&Path, &Path);

#[test]
fn every_kind_of_folder_is_as_it_was() {
    let kinds: [(&str, Change); 6] = [
        ("nothing", |_, _| ()),
        ("an empty folder", |_, config| fs::create_dir_all(config).unwrap()),
        ("a plugin of the user's", |_, config| {
            fs::create_dir_all(config.join("plugins")).unwrap();
            fs::write(config.join("plugins/mine.js"), "x").unwrap();
        }),
        ("a link in the plugin's place", |home, config| {
            fs::create_dir_all(config.join("plugins")).unwrap();
            fs::create_dir(home.join("dot")).unwrap();
            symlink(home.join("dot/askd.js"), config.join("plugins/askd.js")).unwrap();
        }),
        ("a link to a folder", |home, config| {
            fs::create_dir_all(config.parent().unwrap()).unwrap();
            fs::create_dir(home.join("dot")).unwrap();
            symlink(home.join("dot"), config).unwrap();
        }),
        ("a link to nothing", |home, config| {
            fs::create_dir_all(config.parent().unwrap()).unwrap();
            symlink(home.join("dot"), config).unwrap();
        }),
    ];
    for (kind, make) in kinds {
        // By the same askd, by one with another data folder, and through two of them.
        for installs in [vec![vec![]], vec![vec!["--data", "data"]], vec![vec![], vec!["--data", "data"]]] {
            let home = Home::new();
            make(&home.path, &config(&home));
            let before = all(&home);
            for words in &installs {
                let words = words.iter().copied().chain(["install", "opencode"]);
                assert_eq!(home.state(words), "installed", "{kind}");
            }
            let ran = home.askd(["uninstall", "opencode"]);
            assert!(ran.code == 0 && ran.stdout.contains("uninstalled"), "{kind}: {ran:?}");
            if kind != "a plugin of the user's" && kind != "a link in the plugin's place" {
                assert!(ran.stdout.contains("as it was without askd"), "{kind}: {ran:?}");
            }
            assert_eq!(all(&home), before, "{kind}, {installs:?}");
        }
    }
}

#[test]
fn what_the_user_has_made_of_it_stays_and_is_named() {
    let edits: [(&str, Change); 3] = [
        ("node_modules", |home, config| {
            fs::remove_dir(config.join("node_modules")).unwrap();
            fs::create_dir(home.join("nm")).unwrap();
            symlink(home.join("nm"), config.join("node_modules")).unwrap();
        }),
        ("plugins", |_, config| fs::write(config.join("plugins/mine.js"), "x").unwrap()),
        ("package-lock.json", |_, config| fs::write(config.join("package-lock.json"), "{}").unwrap()),
    ];
    for (name, edit) in edits {
        let home = Home::new();
        let config = config(&home);
        home.askd(["install", "opencode"]);
        edit(&home.path, &config);
        let ran = home.askd(["uninstall", "opencode"]);
        assert!(ran.code == 0 && !ran.stdout.contains("as it was"), "{name}: {ran:?}");
        assert!(ran.stderr.contains(name) && ran.stderr.contains("and stays"), "{name}: {ran:?}");
        assert!(fs::symlink_metadata(config.join(name)).is_ok() && !config.join("plugins/askd.js").exists());
    }
}

#[test]
fn a_plugin_that_may_not_be_replaced_is_refused_before_anything_is_done() {
    let home = Home::new();
    home.askd(["install", "opencode"]);
    let before = all(&home);
    fs::hard_link(config(&home).join("plugins/askd.js"), home.path.join(".local/other")).unwrap();
    for words in [vec!["uninstall", "opencode"], vec!["--data", "data", "install", "opencode"]] {
        let ran = home.askd(&words);
        assert!(ran.code == 1 && ran.stderr.contains("hard links"), "{ran:?}");
        assert_eq!(all(&home), before);
    }
}

#[test]
fn what_a_killed_run_has_left_is_removed_by_the_next_one_and_keeps_no_folder() {
    let home = Home::new();
    let before = all(&home);
    home.askd(["install", "opencode"]);
    let data = home.path.join(".local/share/askd");
    let names = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let record = names.into_iter().find(|name| name.starts_with("opencode-made-")).unwrap();
    let left = [
        config(&home).join(".askd-new"),
        config(&home).join("plugins/.askd-new"),
        data.join(record.replace(".json", ".new-4194999")),
    ];
    for (verb, state) in [("install", "unchanged"), ("uninstall", "uninstalled")] {
        left.iter().for_each(|path| fs::write(path, "x").unwrap());
        assert_eq!(home.state([verb, "opencode"]), state);
        assert!(left.iter().all(|path| !path.exists()), "{verb}");
    }
    assert_eq!(all(&home), before);
}

#[test]
fn a_full_disk_leaves_nothing_of_a_new_plugin_or_of_new_settings() {
    for agent in ["opencode", "claude"] {
        for data in ["/proc/no-folder", "data"] {
            let home = Home::new();
            fs::remove_dir(home.path.join(".claude")).unwrap();
            let before = all(&home);
            // No file can grow beyond one block.
            let script = format!("trap '' XFSZ; ulimit -f 1; exec {ASKD} --data {data} install {agent}");
            let ran = run(&mut home.command(Path::new("/bin/sh"), ["-c", &script]), "").unwrap();
            assert!(ran.code == 1 && ran.stderr.contains("cannot write"), "{agent} {data}: {ran:?}");
            assert_eq!(all(&home), before, "{agent} {data}: {ran:?}");
            assert_eq!(home.state(["--data", "data", "install", agent]), "installed");
            assert_eq!(home.state(["--data", "data", "uninstall", agent]), "uninstalled");
            assert_eq!(all(&home), before, "{agent} {data}");
        }
    }
}

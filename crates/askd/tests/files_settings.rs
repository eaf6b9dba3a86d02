//! A user's settings of Claude Code under `askd install`, `askd uninstall`, kills, full disks and every kind
//! of file.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod files;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use askd_testkit::hub::run;
use files::{ASKD, Dice, Home, checks, hooks_in, names};
use serde_json::{Value, json};

/// A kind of file: its name, and what makes it.
type Kind = (&'static str, fn(&Home));

fn put(home: &Home, text: impl AsRef<[u8]>) {
    fs::write(&home.settings, text).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

const TAKEN: [Kind; 18] = [
    ("none", |home| fs::remove_dir(home.path.join(".claude")).unwrap()),
    ("empty", |home| put(home, "")),
    ("an object", |home| put(home, "{}")),
    ("line ends of Windows", |home| put(home, "{\r\n\t\"a\": 1\r\n}\r\n")),
    ("tabs", |home| put(home, "{\n\t\"a\": [1,\n\t2]\n}")),
    ("written oddly", |home| {
        put(home, "{ \"hooks\" : {\"PreToolUse\":[ ] ,\"PermissionRequest\":[]},\n\t\"model\":\"opus\"}");
    }),
    ("byte order mark", |home| put(home, "\u{feff}{\n  \"a\": 1\n}\n")),
    ("half a surrogate pair", |home| put(home, r#"{"a":"\ud83d","\udc00":{}}"#)),
    ("numbers beyond all bounds", |home| {
        put(home, r#"{"a":1e999,"b":123456789012345678901234567890,"c":1.50}"#)
    }),
    ("doubled keys", |home| put(home, r#"{"a":1,"a":2,"hooks":{"Stop":[],"Stop":[]}}"#)),
    ("two megabytes", |home| put(home, format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20)))),
    ("mode 640", |home| {
        put(home, "{}\n");
        fs::set_permissions(&home.settings, fs::Permissions::from_mode(0o640)).unwrap();
    }),
    ("link", |home| {
        fs::create_dir(home.path.join("dot")).unwrap();
        fs::write(home.path.join("dot/s.json"), "{ }\n").unwrap();
        symlink("../dot/s.json", &home.settings).unwrap();
    }),
    ("link to a link", |home| {
        fs::write(home.path.join("s.json"), "{ }\n").unwrap();
        symlink(home.path.join("s.json"), home.path.join("t.json")).unwrap();
        symlink("../t.json", &home.settings).unwrap();
    }),
    ("link to nothing", |home| symlink(home.path.join("dot/deep/s.json"), &home.settings).unwrap()),
    ("folder is a link", |home| {
        fs::rename(home.path.join(".claude"), home.path.join("dot")).unwrap();
        symlink("dot", home.path.join(".claude")).unwrap();
        put(home, "{ }\n");
    }),
    ("folder is a link to nothing", |home| {
        fs::remove_dir(home.path.join(".claude")).unwrap();
        symlink("dot/claude", home.path.join(".claude")).unwrap();
    }),
    ("another program's hooks", |home| {
        let hook = r#"{"matcher":"Bash","hooks":[{"type":"command","command":"/a/audit.sh; /usr/bin/askd hook claude"},{"type":"command","command":"/opt/askdesk/bin/askdesk hook claude"}]}"#;
        put(home, format!("{{\"hooks\":{{\"PreToolUse\":[{hook}]}}}}"));
    }),
];

/// Everything below a folder but the data folder: names, links, modes, contents.
fn all(folder: &Path) -> Vec<(PathBuf, Option<PathBuf>, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".local") {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let text = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            found.push((path.clone(), fs::read_link(&path).ok(), meta.mode(), text));
            folders.extend(meta.is_dir().then_some(path));
        }
    }
    found.sort();
    found
}

#[test]
fn every_kind_of_file_is_as_it_was_after_install_and_uninstall() {
    for (kind, make) in TAKEN {
        let home = Home::new();
        make(&home);
        let before = all(&home.path);
        let foreign = home.text().map_or(0, |text| hooks_in(&text));
        for verb in ["install", "uninstall"] {
            let ran = home.askd([verb, "claude", "--dry-run"]);
            assert!(ran.code == 0 && all(&home.path) == before, "{kind}: {ran:?}");
        }
        assert_eq!(home.state(["install", "claude"]), "installed", "{kind}");
        let installed = home.text().unwrap();
        assert_eq!(hooks_in(&installed), foreign + 3, "{kind}: {installed}");
        assert_eq!(home.state(["install", "claude"]), "unchanged", "{kind}");
        assert_eq!(home.text().unwrap(), installed, "{kind}");
        // By another askd, and that one again.
        let other = home.askd_at(".local/bin/my-askd");
        let upgrade = |exe: &Path| run(&mut home.command(exe, ["install", "claude"]), "").unwrap();
        let ran = upgrade(&other);
        assert!(ran.code == 0 && ran.stdout.contains("installed"), "{kind}: {ran:?}");
        assert!(upgrade(&other).stdout.contains("unchanged"), "{kind}");
        assert_eq!(hooks_in(&home.text().unwrap()), foreign + 3, "{kind}");
        assert_eq!(home.state(["uninstall", "claude"]), "uninstalled", "{kind}");
        assert_eq!(all(&home.path), before, "{kind}");
        assert_eq!(home.state(["uninstall", "claude"]), "unchanged", "{kind}");
    }
}

/// The ACL of a file as Linux stores it: its owner, one more user who may read, group, mask, others.
fn acl() -> Vec<u8> {
    const ANYBODY: u32 = u32::MAX;
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, ANYBODY), (2, 4, 12345), (4, 0, ANYBODY), (16, 4, ANYBODY), (32, 0, ANYBODY)];
    let entry = |(kind, rights, who): (u16, u16, u32)| {
        [&kind.to_le_bytes()[..], &rights.to_le_bytes(), &who.to_le_bytes()].concat()
    };
    [2_u32.to_le_bytes().to_vec(), entries.map(entry).concat()].concat()
}

#[test]
fn what_is_noted_on_a_file_and_who_may_read_it_stay() {
    let get = |path: &Path, name: &str| {
        let mut value = Vec::with_capacity(1024);
        rustix::fs::getxattr(path, name, rustix::buffer::spare_capacity(&mut value)).ok().map(|_| value)
    };
    let set = |path: &Path, name: &str, value: &[u8]| {
        rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty())
    };
    let home = Home::new();
    put(&home, "{}\n");
    let folder = home.path.join(".claude");
    if set(&home.settings, "user.note", b"mine").is_err() {
        // A file system that has none loses none.
        return;
    }
    let has_acls = set(&home.settings, "system.posix_acl_access", &acl()).is_ok();
    let look = || {
        let acl = get(&home.settings, "system.posix_acl_access");
        (get(&home.settings, "user.note"), acl, mode(&home.settings))
    };
    let before = look();
    assert_eq!((before.0.as_deref(), before.1.is_some()), (Some(&b"mine"[..]), has_acls));
    for verb in ["install", "uninstall"] {
        assert_eq!(home.askd([verb, "claude"]).code, 0);
        assert_eq!(look(), before, "{verb}");
    }
    // And what a folder gives to new files is not given to one that is replaced.
    if has_acls {
        rustix::fs::removexattr(&home.settings, "system.posix_acl_access").unwrap();
        fs::set_permissions(&home.settings, fs::Permissions::from_mode(0o640)).unwrap();
        set(&folder, "system.posix_acl_default", &acl()).unwrap();
        assert_eq!(home.askd(["install", "claude"]).code, 0);
        assert_eq!((get(&home.settings, "system.posix_acl_access"), mode(&home.settings)), (None, 0o640));
    }
}

#[test]
fn what_is_no_file_of_the_user_is_refused_and_left_alone() {
    let is_root = rustix::process::geteuid().is_root();
    let refused: [(Kind, &str); 11] = [
        (
            ("a pipe", |home| {
                rustix::fs::mkfifoat(rustix::fs::CWD, &home.settings, rustix::fs::Mode::RWXU).unwrap();
            }),
            "it is a pipe",
        ),
        (("a device", |home| symlink("/dev/null", &home.settings).unwrap()), "it is a device"),
        (("a folder", |home| fs::create_dir(&home.settings).unwrap()), "it is a folder"),
        (("a socket", |home| drop(UnixListener::bind(&home.settings).unwrap())), "it is a socket"),
        (
            ("no write bit", |home| {
                fs::set_permissions(&home.settings, fs::Permissions::from_mode(0o444)).unwrap();
            }),
            "chmod u+w",
        ),
        (("two names", |home| fs::hard_link(&home.settings, home.path.join("other")).unwrap()), "hard links"),
        (
            ("another user's", |home| std::os::unix::fs::chown(&home.settings, Some(12345), None).unwrap()),
            "the user 12345",
        ),
        (("no UTF-8", |home| put(home, b"{\"a\":\"\xff\"}")), "not UTF-8"),
        (("no JSON", |home| put(home, "{ oops")), "not valid JSON"),
        (
            ("links in a circle", |home| symlink("settings.json", &home.settings).unwrap()),
            "lead to each other",
        ),
        (
            ("too large", |home| fs::File::create(&home.settings).unwrap().set_len(17 << 20).unwrap()),
            "larger than",
        ),
    ];
    for ((kind, make), why) in refused {
        if kind == "another user's" && !is_root {
            continue;
        }
        for verb in ["install", "uninstall"] {
            let home = Home::new();
            if ["no write bit", "two names", "another user's"].contains(&kind) {
                put(&home, "{}\n");
                if verb == "uninstall" {
                    assert_eq!(home.askd(["install", "claude"]).code, 0);
                }
            }
            make(&home);
            let look = || {
                let meta = fs::symlink_metadata(&home.settings).unwrap();
                let text = if meta.is_file() { fs::read(&home.settings).unwrap() } else { Vec::new() };
                (meta.mode(), meta.uid(), meta.ino(), meta.nlink(), text, names(&home.path.join(".claude")))
            };
            let before = look();
            for words in
                [vec![verb, "claude"], vec![verb, "claude", "--dry-run"], vec![verb, "claude", "--json"]]
            {
                let ran = home.askd(&words);
                assert!(ran.code == 1 && ran.stderr.contains(why), "{kind}, {words:?}: {ran:?}");
                assert!(ran.stderr.contains("nothing was changed") || kind == "links in a circle", "{ran:?}");
                assert_eq!(look(), before, "{kind}, {words:?}");
            }
        }
    }
}

/// askd in a shell that lets no file grow beyond one block, and has no data folder to write to: none can be
/// made there.
fn on_a_full_disk(home: &Home, shell: &str) -> askd_testkit::hub::Ran {
    let script = format!("{shell} ulimit -f 1; exec {ASKD} --data /proc/no-folder install claude");
    run(&mut home.command(Path::new("/bin/sh"), ["-c", &script]), "").unwrap()
}

#[test]
fn a_full_disk_or_a_kill_leaves_the_file_and_nothing_that_others_can_read() {
    let home = Home::new();
    let text = format!("{{\"env\":{{\"KEY\":\"sk-secret\"}},\"p\":\"{}\"}}\n", "x".repeat(9000));
    put(&home, &text);
    fs::set_permissions(&home.settings, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = on_a_full_disk(&home, "trap '' XFSZ;");
    assert!(ran.code == 1 && ran.stderr.contains("cannot write"), "{ran:?}");
    assert_eq!(
        (home.text(), names(&home.path.join(".claude"))),
        (Some(text.clone()), vec!["settings.json".to_owned()])
    );
    // The system ends the process in the middle of its writing.
    let ran = on_a_full_disk(&home, "");
    assert!(ran.code != 0, "{ran:?}");
    let left: Vec<String> =
        names(&home.path.join(".claude")).into_iter().filter(|name| name != "settings.json").collect();
    assert_eq!((home.text(), left.len()), (Some(text.clone()), 1));
    assert_eq!(mode(&home.path.join(".claude").join(&left[0])), 0o600);
    assert_eq!(home.state(["install", "claude"]), "installed");
    assert_eq!(home.state(["uninstall", "claude"]), "uninstalled");
    assert_eq!(
        (home.text(), names(&home.path.join(".claude"))),
        (Some(text), vec!["settings.json".to_owned()])
    );
    assert_eq!(mode(&home.settings), 0o644);
}

#[test]
fn many_at_once_and_kills_tear_nothing() {
    let home = Home::new();
    let text = format!("{{\n  \"p\": \"{}\"\n}}\n", "x".repeat(100_000));
    put(&home, &text);
    let mut dice = Dice(11);
    for _ in 0..6 {
        let mut running: Vec<_> = (0..6)
            .map(|n| {
                let verb = if n % 2 == 0 { "install" } else { "uninstall" };
                let mut command = home.command(Path::new(ASKD), [verb, "claude"]);
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        std::thread::sleep(Duration::from_millis(dice.below(60) as u64));
        for child in running.iter_mut().take(2) {
            drop(child.kill());
        }
        for child in &mut running {
            child.wait().unwrap();
        }
        let now = home.text().unwrap();
        assert!(serde_json::from_str::<Value>(&now).is_ok() && [0, 3].contains(&hooks_in(&now)));
    }
    home.askd(["install", "claude"]);
    assert_eq!(home.state(["uninstall", "claude"]), "uninstalled");
    let left: Value = serde_json::from_str(&home.text().unwrap()).unwrap();
    assert_eq!(left, serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(names(&home.path.join(".claude")), ["settings.json"]);
}

#[test]
fn what_a_killed_run_has_left_is_removed_by_the_next_one_even_if_that_has_nothing_to_do() {
    let home = Home::new();
    put(&home, "{\n}\n");
    let data = home.path.join(".local/share/askd");
    // So that the names of its records are known.
    home.askd(["install", "claude"]);
    let record = names(&data).into_iter().find(|name| name.starts_with("settings-before-")).unwrap();
    let left = [home.path.join(".claude/.askd-new"), data.join(record.replace(".json", ".new-4194999"))];
    for (words, state) in [
        (["install", "claude"], "unchanged"),
        (["uninstall", "claude"], "uninstalled"),
        (["uninstall", "claude"], "unchanged"),
    ] {
        left.iter().for_each(|path| fs::write(path, "sk-secret").unwrap());
        assert_eq!(home.state(words), state);
        assert!(left.iter().all(|path| !path.exists()), "{words:?}");
    }
}

#[test]
fn an_empty_file_that_the_user_made_later_stays() {
    let home = Home::new();
    assert_eq!(home.state(["install", "claude"]), "installed");
    put(&home, "{}\n");
    assert_eq!(home.state(["uninstall", "claude"]), "unchanged");
    assert_eq!(home.text().as_deref(), Some("{}\n"));
}

#[test]
fn config_folders_that_are_told_of_at_once_are_all_known_and_all_forgotten() {
    let home = Home::new();
    let list = home.path.join(".local/share/askd/claude-folders.json");
    for (verb, known) in [("install", 12), ("uninstall", 0)] {
        let running: Vec<_> = (0..12)
            .map(|n| {
                let folder = home.path.join(format!("config{n}"));
                let words = [verb.as_ref(), "claude".as_ref(), "--config-dir".as_ref(), folder.as_os_str()];
                home.command(Path::new(ASKD), words).stdout(Stdio::null()).spawn().unwrap()
            })
            .collect();
        for mut child in running {
            assert!(child.wait().unwrap().success());
        }
        let told =
            fs::read(&list).map_or(Vec::new(), |bytes| serde_json::from_slice::<Vec<Value>>(&bytes).unwrap());
        assert_eq!(told.len(), known, "{verb}");
    }
}

#[test]
fn hooks_of_an_askd_that_is_gone_do_not_come_back() {
    let home = Home::new();
    put(&home, "{\n  \"model\": \"opus\"\n}\n");
    let (old, new) = (home.askd_at("v1/askd"), home.askd_at("v2/askd"));
    run(&mut home.command(&old, ["install", "claude"]), "").unwrap();
    put(&home, home.text().unwrap().replace("opus", "sonnet"));
    run(&mut home.command(&new, ["install", "claude"]), "").unwrap();
    fs::remove_file(old).unwrap();
    let ran = run(&mut home.command(&new, ["uninstall", "claude"]), "").unwrap();
    assert!(ran.code == 0 && ran.stdout.contains("as they were without askd"), "{ran:?}");
    assert_eq!(home.text().unwrap(), "{\n  \"model\": \"sonnet\"\n}\n");
    // With another data folder in between, also where askd has made the file.
    fs::remove_file(&home.settings).unwrap();
    assert_eq!(home.askd(["--data", "X", "install", "claude"]).code, 0);
    assert_eq!(home.askd(["install", "claude"]).code, 0);
    assert_eq!(home.askd(["--data", "X", "install", "claude"]).code, 0);
    let ran = home.askd(["uninstall", "claude"]);
    assert!(ran.code == 0 && ran.stdout.contains("that askd made is gone"), "{ran:?}");
    assert!(!home.settings.exists());
}

/// Settings without empty containers of hooks.
fn normal(value: Option<Value>) -> Value {
    let mut value = value.unwrap_or_else(|| json!({}));
    let members = value.as_object_mut().unwrap();
    if let Some(events) = members.get_mut("hooks").and_then(Value::as_object_mut) {
        events.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
        if events.is_empty() {
            members.shift_remove("hooks");
        }
    }
    value
}

/// One edit of a user's, the same in a file with askd's hooks and in one without.
fn edit(value: Option<Value>, kind: usize, n: usize) -> Value {
    let mut value = value.unwrap_or_else(|| json!({}));
    let events = ["PreToolUse", "PermissionRequest", "PostToolUse", "Stop"];
    let is_foreign = |group: &Value| {
        !group.to_string().contains("askd hook claude") && !group.to_string().contains("--data")
    };
    match kind {
        0 => value[format!("k{}", n % 3)] = json!(n),
        1 => drop(value.as_object_mut().unwrap().shift_remove(&format!("k{}", n % 3))),
        2 | 3 => {
            let group = json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": format!("other {n}") }] });
            let hooks = value.as_object_mut().unwrap().entry("hooks").or_insert_with(|| json!({}));
            let list = hooks.as_object_mut().unwrap().entry(events[n % 4]).or_insert_with(|| json!([]));
            let at = if kind == 2 { 0 } else { list.as_array().unwrap().len() };
            list.as_array_mut().unwrap().insert(at, group);
        }
        _ => {
            if let Some(list) = value["hooks"][events[n % 4]].as_array_mut()
                && let Some(at) = list.iter().position(is_foreign)
            {
                list.remove(at);
            }
            if value["hooks"].is_null() {
                value.as_object_mut().unwrap().shift_remove("hooks");
            } else if value["hooks"][events[n % 4]].is_null() {
                value["hooks"].as_object_mut().unwrap().shift_remove(events[n % 4]);
            }
        }
    }
    value
}

#[test]
fn whatever_happens_in_between_the_file_is_the_one_without_askd() {
    let mut dice = Dice(20_261_119);
    for round in 0..14 {
        let home = Home::new();
        let exes = ["v1/askd", "v2/askd", "x/my-askd", "o'dd dir/askd-0.3"].map(|name| home.askd_at(name));
        let mut without: Option<Value> = match dice.below(3) {
            0 => None,
            1 => Some(json!({ "model": "opus", "hooks": { "PreToolUse": [], "Stop": [] } })),
            _ => Some(json!({ "hooks": { "PermissionRequest": [{ "matcher": "", "hooks": [] }] } })),
        };
        let write = |value: &Value, is_pretty: bool| {
            put(&home, if is_pretty { format!("{value:#}\n") } else { value.to_string() });
        };
        if let Some(value) = &without {
            write(value, true);
        }
        let mut told = Vec::new();
        for _ in 0..14 {
            let (what, n) = (dice.below(10), dice.below(1000));
            told.push((what, n));
            if what < 5 {
                let now = home.text().map(|text| serde_json::from_str(&text).unwrap());
                write(&edit(now, what, n), n % 2 == 0);
                without = Some(edit(without, what, n));
                continue;
            }
            let verb = if what < 8 { "install" } else { "uninstall" };
            let mut words = vec![verb, "claude"];
            if n % 5 == 0 {
                words.extend(["--data", "a data folder"]);
            }
            let ran = run(&mut home.command(&exes[n % 4], &words), "").unwrap();
            assert_eq!(ran.code, 0, "round {round}, {told:?}: {ran:?}");
            let text = home.text().unwrap_or_default();
            let (count, wanted) = (hooks_in(&text), if verb == "install" { 3 } else { 0 });
            assert_eq!(count, wanted, "round {round}, {told:?}: {text}");
            if verb == "uninstall" {
                let now = home.text().map(|text| serde_json::from_str(&text).unwrap());
                assert_eq!(normal(now), normal(without.clone()), "round {round}, {told:?}");
            }
        }
        assert_eq!(home.askd(["uninstall", "claude"]).code, 0);
        let now = home.text().map(|text| serde_json::from_str(&text).unwrap());
        assert_eq!(normal(now), normal(without), "round {round}, {told:?}");
    }
}

#[test]
fn names_that_are_not_utf_8_and_texts_of_others_do_no_harm() {
    let home = Home::new();
    let odd = home.path.join(OsString::from_vec(b"\xff".to_vec()));
    fs::create_dir(&odd).unwrap();
    for (flag, path) in [("--settings", odd.join("settings.json")), ("--config-dir", odd.clone())] {
        let agent = if flag == "--settings" { "claude" } else { "opencode" };
        for (verb, state) in [("install", "installed"), ("uninstall", "uninstalled")] {
            let words =
                [verb.into(), agent.into(), flag.into(), path.clone().into_os_string(), "--json".into()];
            let ran = home.askd(words);
            assert_eq!((ran.code, &ran.json().unwrap()["state"]), (0, &json!(state)), "{ran:?}");
        }
        assert_eq!(names(&odd), [""; 0]);
    }
    let project = home.path.join("a\u{1b}[31mb");
    fs::create_dir_all(project.join(".claude")).unwrap();
    fs::write(
        project.join(".claude/settings.json"),
        "{\n  \"a\": \"\u{9b}2J\u{202e}txt\u{7f}\",\n  \"b\": 1\n}\n",
    )
    .unwrap();
    let mut command = home.command(Path::new(ASKD), ["install", "claude", "--project"]);
    let ran = run(command.current_dir(&project), "").unwrap();
    let is_plain = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
    assert!(ran.code == 0 && ran.stdout.chars().all(is_plain), "{ran:?}");
}

#[test]
fn doctor_says_what_is_wrong_with_the_hooks_and_its_command_mends_just_that() {
    let askd = |home: &Home, env: &[(&str, &str)], words: &[&str]| {
        run(home.command(Path::new(ASKD), words).envs(env.iter().copied()), "").unwrap()
    };
    let told =
        |home: &Home, env: &[(&str, &str)]| checks(&askd(home, env, &["doctor", "--json"]), "claude hooks");
    let home = Home::new();
    assert_eq!(told(&home, &[])[0].0, "info");
    // The folder that install was told of is in the command, and doctor knows for whose hub it looks.
    let elsewhere = home.path.join("my data").to_str().unwrap().to_owned();
    let env = [("ASKD_DATA", elsewhere.as_str())];
    askd(&home, &env, &["install", "claude"]);
    assert!(home.text().unwrap().contains(&format!("--data '{elsewhere}' hook claude")));
    assert_eq!(told(&home, &env)[0].0, "ok");
    let mend = |home: &Home, env: &[(&str, &str)], word: &str| {
        let wrong = told(home, env);
        let (state, detail, remedy) = &wrong[0];
        assert!(state == "warn" && detail.contains(word), "{word}: {wrong:?}");
        // As it stands: a shell here finds no askd, or another one.
        run(&mut home.command(Path::new("/bin/sh"), ["-c", remedy]), "").unwrap();
        let right = told(home, env);
        assert!(right.len() == 1 && right[0].0 == "ok", "{word}: {remedy}: {right:?}");
    };
    mend(&home, &[], "this is the hub of");
    // Where a shell finds this one, its name will do.
    let folder = Path::new(ASKD).parent().unwrap().to_str().unwrap();
    askd(&home, &[], &["uninstall", "claude"]);
    assert_eq!(told(&home, &[("PATH", folder)])[0].2, "askd install claude");
    askd(&home, &[], &["install", "claude"]);
    mend(&home, &env, "this is the hub of");
    // Three groups of one event and none of the others.
    let group = |value: &Value| value["hooks"]["PreToolUse"][0].clone();
    let installed: Value = serde_json::from_str(&home.text().unwrap()).unwrap();
    let group = group(&installed);
    put(&home, json!({ "hooks": { "PreToolUse": [group, group, group] } }).to_string());
    mend(&home, &env, "has no hook for PermissionRequest");
    put(&home, home.text().unwrap().replace("604800", "60"));
    mend(&home, &env, "hooks of another version");
    // A project that is shared with others.
    askd(&home, &[], &["uninstall", "claude"]);
    fs::write(&home.settings, "{}").unwrap();
    let other = home.askd_at("theirs/askd");
    let (ours, project) = (&home.settings, home.path.join("app"));
    fs::create_dir_all(project.join(".claude")).unwrap();
    run(home.command(&other, ["install", "claude", "--project"]).current_dir(&project), "").unwrap();
    fs::remove_file(&other).unwrap();
    let doctor = || {
        checks(
            &run(home.command(Path::new(ASKD), ["doctor", "--json"]).current_dir(&project), "").unwrap(),
            "claude hooks",
        )
    };
    let wrong = doctor();
    assert!(wrong[0].1.contains("theirs/askd, which is not there"), "{wrong:?}");
    assert!(wrong[0].2.ends_with("askd install claude --project"), "{wrong:?}");
    run(home.command(Path::new("/bin/sh"), ["-c", &wrong[0].2]).current_dir(&project), "").unwrap();
    assert_eq!(doctor()[0].0, "ok");
    // Hooks that Claude Code does not run, and files that cannot be read.
    fs::write(ours, "{\"disableAllHooks\":true}").unwrap();
    let wrong = doctor();
    assert!(
        wrong.iter().any(|(state, detail, remedy)| state == "warn"
            && detail.contains("disableAllHooks is true")
            && remedy.contains("take \"disableAllHooks\" out of")),
        "{wrong:?}"
    );
    let ran = home.askd(["install", "claude"]);
    assert!(ran.stdout.contains("runs no hook until you take that out"), "{ran:?}");
    fs::write(ours, b"{\"a\":\"\xff\"}").unwrap();
    assert!(doctor().iter().any(|(state, detail, _)| state == "warn" && detail.contains("not UTF-8")));
}

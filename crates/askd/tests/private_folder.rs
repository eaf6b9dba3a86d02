//! A data folder that others can use is refused by every program of askd, and a token of the folder goes to
//! the folder's socket only.
//!
//! The attackers are played: a listener on the port of a killed hub, folders, files and sockets of another
//! user (where the tests run as root), folders and files with open modes.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use askd_testkit::hub::{Hub, PATIENCE, Ran, private_folder, run, wait};
use serde_json::{Value, json};

const ASKD: &str = env!("CARGO_BIN_EXE_askd");
/// The user `nobody`, who is not the one that runs the tests.
const STRANGER: u32 = 65534;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Keeps all that is said to it and never answers.
struct Thief(Arc<Mutex<Vec<u8>>>);

impl Thief {
    fn on_port(listener: TcpListener) -> Self {
        let heard = Self(Arc::default());
        let all = Arc::clone(&heard.0);
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| listen(stream, &all)));
        heard
    }

    fn on_socket(listener: UnixListener) -> Self {
        let heard = Self(Arc::default());
        let all = Arc::clone(&heard.0);
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| listen(stream, &all)));
        heard
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

fn listen(mut stream: impl Read + Send + 'static, all: &Arc<Mutex<Vec<u8>>>) {
    let all = Arc::clone(all);
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut bytes) {
            all.lock().unwrap().extend_from_slice(&bytes[..read]);
        }
    });
}

/// What Claude Code gives to its hook when it asks.
fn hook_input() -> String {
    json!({ "session_id": "s-1", "transcript_path": "/nowhere/s-1.jsonl", "cwd": "/w/app",
        "hook_event_name": "PermissionRequest", "tool_name": "AskUserQuestion",
        "tool_input": { "questions": [{ "question": "Which?", "header": "H", "multiSelect": false,
            "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }] }] } })
    .to_string()
}

fn hook(hub: &Hub) -> Ran {
    run(&mut hub.command(["hook", "claude"]), &hook_input()).unwrap()
}

/// The commands that use the folder's token.
const COMMANDS: [&[&str]; 8] = [
    &["list"],
    &["show", "x"],
    &["answer", "x", "y"],
    &["reject", "x"],
    &["watch"],
    &["open", "--print"],
    &["token", "list"],
    &["run", "mock", "--prompt", "question"],
];

/// Every program of askd refuses the folder, says the same about it, and the hook is silent.
fn all_refuse(hub: &Hub, words: &[&str]) {
    let said = |ran: &Ran| words.iter().all(|word| ran.stderr.contains(word));
    for args in COMMANDS {
        let ran = hub.run(args).unwrap();
        assert!(ran.code == 1 && said(&ran), "{args:?}: {words:?} in {ran:?}");
    }
    let doctor = hub.run(["doctor"]).unwrap();
    assert!(
        doctor.code == 1 && words.iter().all(|word| doctor.stdout.contains(word)),
        "{words:?} in {doctor:?}"
    );
    let up = hub.run(["up", "--listen", "127.0.0.1:0"]).unwrap();
    assert!(up.code == 1 && said(&up), "{words:?} in {up:?}");
    assert_eq!(hook(hub), Ran { code: 0, stdout: String::new(), stderr: String::new() });
}

/// A folder that a hub has used and left.
fn left_folder() -> Hub {
    let mut hub = Hub::start(ASKD).unwrap();
    hub.kill().unwrap();
    hub
}

#[test]
fn the_port_of_a_killed_hub_learns_no_token() {
    let hub = left_folder();
    let thief = Thief::on_port(TcpListener::bind(hub.url.trim_start_matches("http://")).unwrap());
    // The recorded process lives, as far as anyone can see.
    let info = json!({ "url": hub.url, "pid": std::process::id(), "version": env!("CARGO_PKG_VERSION") });
    fs::write(hub.data.join("hub.json"), info.to_string()).unwrap();
    for args in COMMANDS {
        let ran = hub.run(args).unwrap();
        assert!(ran.code == 3 && ran.stderr.ends_with("start it with: askd up\n"), "{args:?} gave {ran:?}");
    }
    assert_eq!(hub.run(["doctor"]).unwrap().code, 3);
    assert_eq!(hook(&hub).stdout, "");
    // An address that the user names is not the folder's either: its token stays here, and the command says
    // so.
    let named = run(hub.command(["token", "list"]).env("ASKD_URL", "http://127.0.0.1:9"), "").unwrap();
    assert_eq!(named.code, 3, "{named:?}");
    assert_eq!(thief.heard(), "", "nothing at all was said to the port");
}

#[test]
fn an_address_gets_no_token_of_the_folder() {
    let hub = Hub::start(ASKD).unwrap();
    let refused = hub.run(["list", "--url", &hub.url]).unwrap();
    assert!(refused.code == 6 && refused.stderr.contains("by its socket"), "{refused:?}");
    let token = hub.token().unwrap();
    let given = run(hub.command(["list"]).env("ASKD_URL", &hub.url).env("ASKD_TOKEN", token), "").unwrap();
    assert_eq!(given.code, 0, "{given:?}");
}

#[test]
fn no_proxy_learns_a_token() {
    let hub = Hub::start(ASKD).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let thief = Thief::on_port(listener);
    let ask = |env: &[(&str, &str)]| {
        let mut command = hub.command(["list"]);
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
            command.env(name, &proxy);
        }
        run(command.envs(env.iter().copied()), "").unwrap().code
    };
    assert_eq!(ask(&[]), 0);
    // Not an address of this machine, as far as its name says.
    assert_eq!(ask(&[("ASKD_URL", "http://0.0.0.0:9"), ("ASKD_TOKEN", "askd_secret")]), 3);
    assert_eq!(thief.heard(), "");
}

#[test]
fn a_folder_that_others_can_use_is_refused() {
    let hub = left_folder();
    let shown = hub.data.display().to_string();
    for open in [0o777, 0o750, 0o701] {
        mode(&hub.data, open);
        let command = format!("chmod 700 {shown}");
        all_refuse(&hub, &[&shown, "others can use it", &format!("{open:o}"), &command]);
        assert!(!hub.data.join("missed.jsonl").exists(), "the hook writes nothing into such a folder");
    }
    // What is kept in the folder decides what uninstalling writes.
    let settings = hub.data.with_file_name("settings.json");
    fs::write(&settings, "{}").unwrap();
    for verb in ["install", "uninstall"] {
        let args = [verb.as_ref(), "claude".as_ref(), "--settings".as_ref(), settings.as_os_str()];
        let ran = hub.run(args).unwrap();
        assert!(ran.code == 1 && ran.stderr.contains("chmod 700"), "{ran:?}");
        assert_eq!(fs::read_to_string(&settings).unwrap(), "{}");
    }
}

#[test]
fn a_folder_that_others_can_exchange_is_refused() {
    let place = private_folder().unwrap();
    let above = place.path().join("above");
    fs::create_dir(&above).unwrap();
    let mut hub = Hub::builder(ASKD).data(above.join("data")).start().unwrap();
    // Another user could put a folder with a socket of its own in its place after it was looked at.
    mode(&above, 0o777);
    let ran = hub.run(["list"]).unwrap();
    let words = [above.display().to_string(), "others can exchange what is in it (mode 777)".to_owned()];
    assert!(ran.code == 1 && words.iter().all(|word| ran.stderr.contains(word)), "{ran:?}");
    assert_eq!(hook(&hub), Ran { code: 0, stdout: String::new(), stderr: String::new() });
    hub.kill().unwrap();
    all_refuse(&hub, &[&words[0], &words[1], &format!("chmod go-w {}", above.display())]);

    // Nobody can exchange another user's folder below one with the sticky bit.
    mode(&above, 0o1777);
    hub.restart().unwrap();
    assert_eq!(hub.run(["list"]).unwrap().code, 0);
    if is_root() {
        // But its owner can.
        chown(&above, Some(STRANGER), Some(STRANGER)).unwrap();
        let ran = hub.run(["list"]).unwrap();
        let belongs = format!("it belongs to the user {STRANGER}");
        assert!(ran.code == 1 && ran.stderr.contains(&belongs), "{ran:?}");
        chown(&above, Some(0), Some(0)).unwrap();
    }
}

#[test]
fn a_secret_that_others_can_use_is_refused() {
    let hub = left_folder();
    let token = hub.data.join("token");
    mode(&token, 0o644);
    let command = format!("chmod 600 {}", token.display());
    all_refuse(&hub, &["others can use it (mode 644)", &command]);
    mode(&token, 0o600);
    for name in ["ask-token", "secret-key"] {
        let path = hub.data.join(name);
        mode(&path, 0o640);
        let up = hub.run(["up", "--listen", "127.0.0.1:0"]).unwrap();
        let command = format!("chmod 600 {}", path.display());
        assert!(up.code == 1 && up.stderr.contains(&command), "{up:?}");
        mode(&path, 0o600);
    }
}

#[test]
fn a_file_that_others_can_write_is_refused_before_it_is_read() {
    let hub = left_folder();
    let agents = hub.data.join("agents");
    fs::write(&agents, "not even an agent").unwrap();
    for open in [0o666, 0o620] {
        mode(&agents, open);
        let up = hub.run(["up", "--listen", "127.0.0.1:0"]).unwrap();
        assert!(up.code == 1 && up.stderr.contains(&format!("chmod go-w {}", agents.display())), "{up:?}");
    }
    mode(&agents, 0o644);
    let up = hub.run(["up", "--listen", "127.0.0.1:0"]).unwrap();
    assert!(up.code == 1 && !up.stderr.contains("chmod"), "what others can only read is read: {up:?}");
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    if !is_root() {
        eprintln!("only root can give a file to another user; the rule has a test of its own");
        return;
    }
    let give = |path: &Path, user: u32| chown(path, Some(user), Some(user)).unwrap();
    let me = rustix::process::geteuid().as_raw();
    let belongs = format!("it belongs to the user {STRANGER}, and this is the user {me}");
    let hub = left_folder();
    give(&hub.data, STRANGER);
    all_refuse(&hub, &[&hub.data.display().to_string(), &belongs, "choose another folder with --data"]);
    give(&hub.data, me);

    // A link of another user's to a good folder: it can point elsewhere a moment later.
    let link = hub.data.with_file_name("link");
    std::os::unix::fs::symlink(&hub.data, &link).unwrap();
    assert_eq!(run(hub.command(["list"]).env("ASKD_DATA", &link), "").unwrap().code, 3);
    std::os::unix::fs::lchown(&link, Some(STRANGER), Some(STRANGER)).unwrap();
    let ran = run(hub.command(["list"]).env("ASKD_DATA", &link), "").unwrap();
    assert!(ran.code == 1 && ran.stderr.contains(&belongs), "{ran:?}");

    // Planted while the folder was open, and closed since.
    for name in ["agents", "askd.db", "holders"] {
        let (path, mine) = (hub.data.join(name), hub.data.join("mine"));
        let was_there = path.exists();
        if was_there {
            fs::rename(&path, &mine).unwrap();
        }
        fs::write(&path, "pwn=/bin/sh").unwrap();
        give(&path, STRANGER);
        let up = hub.run(["up", "--listen", "127.0.0.1:0"]).unwrap();
        let command = format!("rm -r {}", path.display());
        assert!(up.code == 1 && up.stderr.contains(&belongs) && up.stderr.contains(&command), "{up:?}");
        fs::remove_file(&path).unwrap();
        if was_there {
            fs::rename(&mine, &path).unwrap();
        }
    }

    let path = hub.data.join("hub.sock");
    fs::remove_file(&path).unwrap();
    let thief = Thief::on_socket(UnixListener::bind(&path).unwrap());
    mode(&path, 0o600);
    give(&path, STRANGER);
    all_refuse(&hub, &[&path.display().to_string(), &belongs]);
    assert_eq!(thief.heard(), "", "a planted socket learns nothing");
}

#[test]
fn a_socket_that_others_can_use_is_refused() {
    let hub = Hub::start(ASKD).unwrap();
    let path = hub.data.join("hub.sock");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    mode(&path, 0o666);
    let ran = hub.run(["list"]).unwrap();
    assert!(ran.code == 1 && ran.stderr.contains(&format!("chmod 600 {}", path.display())), "{ran:?}");
    assert_eq!(hook(&hub).stdout, "");
    mode(&path, 0o600);
    assert_eq!(hub.run(["list"]).unwrap().code, 0);
}

/// One request by the socket: the status, or `None` where the connection was closed without a word.
fn by_socket(path: &Path, host: &str, token: &str) -> Option<u16> {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "GET /v1/questions HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\n\r\n"
    );
    // A hub that turns us away may have closed it by now.
    drop(stream.write_all(head.as_bytes()));
    let mut text = String::new();
    drop(stream.read_to_string(&mut text));
    text.split(' ').nth(1).map(|status| status.parse().unwrap())
}

#[test]
fn the_socket_has_the_same_guards_as_the_port() {
    let hub = Hub::start(ASKD).unwrap();
    let path = hub.data.join("hub.sock");
    let token = hub.token().unwrap();
    assert_eq!(by_socket(&path, "localhost", &token), Some(200));
    assert_eq!(by_socket(&path, "localhost", "askd_wrong"), Some(401));
    assert_eq!(by_socket(&path, "evil.example", &token), Some(403));
}

#[test]
fn the_hub_turns_a_process_of_another_user_away() {
    if !is_root() {
        eprintln!("only root can be two users");
        return;
    }
    // The hub is the stranger's; root can open its folder, and is another user all the same. Not below
    // TMPDIR, which may be root's alone.
    let place = tempfile::tempdir_in("/tmp").unwrap();
    mode(place.path(), 0o755);
    let (binary, data) = (place.path().join("askd"), place.path().join("data"));
    fs::copy(ASKD, &binary).unwrap();
    fs::create_dir(&data).unwrap();
    mode(&data, 0o700);
    chown(&data, Some(STRANGER), Some(STRANGER)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary);
    command.args(["up", "--no-observe", "--no-discovery", "--listen", "127.0.0.1:0", "--data"]).arg(&data);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (path, end) = (data.join("hub.sock"), Instant::now() + PATIENCE);
    // `hub.json` is written after the socket listens.
    while !data.join("hub.json").exists() {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "the hub did not start");
        thread::sleep(std::time::Duration::from_millis(10));
    }
    let token = fs::read_to_string(data.join("token")).unwrap();
    let heard = by_socket(&path, "localhost", token.trim());
    askd_testkit::hub::signal(child.id(), "TERM").unwrap();
    wait(&mut child, PATIENCE).unwrap();
    assert_eq!(heard, None);
    assert!(!path.exists(), "a hub that ends takes its socket away");
}

#[test]
fn a_path_that_is_too_long_for_a_socket_works_all_the_same() {
    let folder = private_folder().unwrap();
    let data: PathBuf = folder.path().join("d".repeat(120)).join("data");
    let mut hub = Hub::builder(ASKD).arg("--no-observe").data(&data).start().unwrap();
    let id = hub.ask(&json!({ "questions": [{ "question": "Which?" }] })).unwrap()["id"].clone();
    let list = hub.run(["list", "--json"]).unwrap().json().unwrap();
    assert_eq!(list["questions"][0]["id"], id);
    let mut waiting = hub.command(["hook", "claude"]);
    let mut waiting = waiting.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    waiting.stdin.take().unwrap().write_all(hook_input().as_bytes()).unwrap();
    let end = Instant::now() + PATIENCE;
    let asked = loop {
        let list = hub.http("GET", "/v1/questions?status=requested&agent=claude", None).unwrap().1;
        if let Some(asked) = list["questions"].get(0) {
            break asked["id"].as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < end && waiting.try_wait().unwrap().is_none(), "the hook did not ask");
        thread::sleep(std::time::Duration::from_millis(20));
    };
    // The hub is killed meanwhile and another one takes the place of its socket.
    hub.kill().unwrap();
    hub.restart_elsewhere().unwrap();
    assert_eq!(hub.run(["answer", &asked, "A"]).unwrap().code, 0);
    assert!(wait(&mut waiting, PATIENCE).unwrap().success());
    let mut printed = String::new();
    waiting.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(printed.contains("\"Which?\":\"A\""), "{printed}");
}

/// The commands with the folder that the platform has for a user's data.
fn at_home(home: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(ASKD);
    command.args(args).env_clear().env("HOME", home).env("ASKD_ALLOW_INSIDE_AGENT", "1");
    run(&mut command, "").unwrap()
}

#[test]
fn the_default_folder_is_closed_with_one_line_of_notice() {
    let home = private_folder().unwrap();
    let data = home.path().join(".local/share/askd");
    fs::create_dir_all(&data).unwrap();
    mode(&data, 0o755);
    assert!(
        at_home(home.path(), &["doctor"]).stdout.contains("others can use it"),
        "the doctor changes nothing"
    );
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o755);
    let ran = at_home(home.path(), &["list"]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(ran.code == 3 && lines.len() == 2 && lines[0].contains("it is closed now (mode 700)"), "{ran:?}");
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(at_home(home.path(), &["list"]).stderr.lines().count(), 1);
}

#[test]
fn a_hook_of_an_earlier_askd_works_and_is_named() {
    let hub = Hub::builder(ASKD).arg("--no-observe").start().unwrap();
    let input: Value = serde_json::from_str(&hook_input()).unwrap();
    for n in 0..2 {
        let body = json!({ "hook": format!("{n:0>32}"), "pid": std::process::id(), "input": input });
        let (status, said) =
            hub.http_as(&hub.ask_token().unwrap(), "POST", "/v1/hooks/claude", Some(&body)).unwrap();
        assert_eq!(status, 200, "{said}");
    }
    let log = hub.log();
    assert_eq!(log.matches("of an earlier askd speaks to the port").count(), 1, "{log}");
    let end = Instant::now() + PATIENCE;
    while !hub.data.join("on-the-port.json").exists() {
        assert!(Instant::now() < end, "no note for the doctor");
        thread::sleep(std::time::Duration::from_millis(10));
    }
    let doctor = hub.run(["doctor", "--json"]).unwrap().json().unwrap();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "claude hook").expect("a check");
    assert!(check["remedy"].as_str().unwrap().starts_with("askd install claude"), "{check}");
    assert_eq!(doctor["usable"], true);
}

#[test]
fn what_askd_makes_itself_is_private_whatever_the_umask() {
    let folder = private_folder().unwrap();
    let open = folder.path().join("askd");
    fs::write(&open, format!("#!/bin/sh\numask 000\nexec {ASKD} \"$@\"\n")).unwrap();
    mode(&open, 0o700);
    let mut hub = Hub::builder(&open).data(folder.path().join("data")).start().unwrap();
    let wish = json!({ "agent": "mock", "prompt": "question" });
    assert_eq!(hub.http("POST", "/v1/sessions", Some(&wish)).unwrap().0, 201);
    let settings = folder.path().join("settings.json");
    let args = ["install".as_ref(), "claude".as_ref(), "--settings".as_ref(), settings.as_os_str()];
    assert_eq!(hub.run(args).unwrap().code, 0);
    hub.kill().unwrap();
    // The question of this hook is noted as missed.
    assert_eq!(hook(&hub).code, 0);
    assert!(hub.data.join("missed.jsonl").exists());
    hub.restart().unwrap();
    assert_eq!(hub.run(["list"]).unwrap().code, 0);
}

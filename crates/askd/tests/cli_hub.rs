//! The hub from the command line: starting and ending it, finding it, its tokens, the doctor.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, PATIENCE, run, signal};
use serde_json::{Value, json};

const ASKD: &str = env!("CARGO_BIN_EXE_askd");

#[test]
fn without_a_hub_every_command_says_how_to_start_one() {
    let mut hub = Hub::start(ASKD).unwrap();
    hub.kill().unwrap();
    let commands: [&[&str]; 6] =
        [&["list"], &["show", "x"], &["answer", "x", "y"], &["watch"], &["open"], &["token", "list"]];
    for args in commands {
        let ran = hub.run(args).unwrap();
        assert!(ran.code == 3 && ran.stderr.ends_with("start it with: askd up\n"), "{args:?} gave {ran:?}");
    }
    let doctor = hub.run(["doctor"]).unwrap();
    assert!(doctor.code == 3 && doctor.stdout.contains("and has ended"), "{doctor:?}");
    assert!(doctor.stdout.contains("-> start it with: askd up"), "{doctor:?}");
}

#[test]
fn ctrl_c_ends_the_hub_cleanly_and_nothing_is_lost() {
    let mut hub = Hub::start(ASKD).unwrap();
    let id = hub.ask(&json!({ "questions": [{ "question": "Still there?" }] })).unwrap()["id"].clone();
    let url = hub.url.clone();
    assert!(hub.interrupt().unwrap().success(), "{}", hub.log());
    hub.restart().unwrap();
    assert_eq!(hub.url, url);
    assert_eq!(hub.run(["show", "--oldest", "--json"]).unwrap().json().unwrap()["id"], id);
    hub.kill().unwrap();
    hub.restart().unwrap();
    assert_eq!(hub.run(["show", "--oldest", "--json"]).unwrap().json().unwrap()["id"], id);
}

#[test]
fn an_agent_that_was_just_ended_is_not_left_running() {
    let mut hub = Hub::start(ASKD).unwrap();
    let start = |prompt: &str| {
        let wish = json!({ "agent": "mock", "prompt": prompt });
        hub.http("POST", "/v1/sessions", Some(&wish)).unwrap().1["id"].as_str().unwrap().to_owned()
    };
    let (kept, ended) = (start("question"), start("ignore-term hang"));
    assert_eq!(hub.http("DELETE", &format!("/v1/sessions/{ended}"), None).unwrap().0, 204);
    assert!(hub.interrupt().unwrap().success(), "{}", hub.log());
    let log = hub.log();
    assert!(log.contains(&format!("leaving running: mock {kept}")) && !log.contains(&ended), "{log}");
    hub.restart().unwrap();
    let holders = hub.http("GET", "/v1/holders", None).unwrap().1["holders"].clone();
    assert_eq!(holders.as_array().unwrap().len(), 1, "{holders}");
    assert_eq!(holders[0]["sessionId"], kept);
    assert_eq!(hub.http("DELETE", &format!("/v1/sessions/{kept}"), None).unwrap().0, 204);
    assert!(hub.interrupt().unwrap().success(), "{}", hub.log());
}

#[test]
fn an_agent_that_cannot_be_reached_does_not_keep_the_hub_and_is_named_with_the_way_to_end_it() {
    let mut hub = Hub::builder(ASKD).arg("--end-agents").start().unwrap();
    let start = || {
        let wish = json!({ "agent": "mock", "prompt": "question" });
        hub.http("POST", "/v1/sessions", Some(&wish)).unwrap().1["id"].as_str().unwrap().to_owned()
    };
    let stuck = start();
    let holder = hub.holders()[0];
    signal(holder, "STOP").unwrap();
    let ended = start();
    let stop = hub.interrupt().unwrap();
    let log = hub.log();
    assert_eq!(stop.code(), Some(1), "{log}");
    assert!(log.contains(&format!("ending: mock {ended}")), "{log}");
    assert_eq!(hub.holders(), [holder], "the other agent has ended: {log}");
    let told =
        log.lines().find(|line| line.contains("could not be ended")).unwrap_or_else(|| panic!("{log}"));
    assert!(told.contains(&stuck), "{told}");
    let (_, command) = told.split_once("; end it with: ").unwrap();
    let killed = run(Command::new("sh").args(["-c", command]), "").unwrap();
    assert_eq!(killed.code, 0, "{command}: {killed:?}");
    let agent = command.rsplit_once(" -").unwrap().1;
    let lives = || std::fs::read(format!("/proc/{agent}/cmdline")).is_ok_and(|line| !line.is_empty());
    let give_up = Instant::now() + PATIENCE;
    while !hub.holders().is_empty() || lives() {
        assert!(Instant::now() < give_up, "{command} ended nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_second_hub_on_the_same_folder_is_refused_and_the_world_is_not_let_in_by_mistake() {
    let hub = Hub::start(ASKD).unwrap();
    let second = hub.run(["up", "--listen", "127.0.0.1:0"]).unwrap();
    assert!(second.code == 1 && second.stderr.contains(&hub.url), "{second:?}");
    let world = hub.run(["up", "--listen", "0.0.0.0:0"]).unwrap();
    assert!(world.code == 2 && world.stderr.contains("--expose-beyond-loopback"), "{world:?}");
    assert_eq!(hub.run(["up", "--listen", "nowhere"]).unwrap().code, 2);
    assert_eq!(hub.run(["list", "--status", "odd"]).unwrap().code, 2);
    assert_eq!(hub.run(["nonsense"]).unwrap().code, 2);
    assert_eq!(hub.run(["list", "--limit", "0"]).unwrap().code, 2);
    let help = hub.run(["--help"]).unwrap();
    assert!(help.code == 0 && help.stdout.contains("Exit codes:"), "{help:?}");
}

#[test]
fn tokens_have_the_rights_that_they_were_made_with() {
    let hub = Hub::start(ASKD).unwrap();
    hub.ask(&json!({ "questions": [{ "question": "Which?" }] })).unwrap();
    let create = ["token", "create", "--right", "read", "--name", "reader", "--json"];
    let made = hub.run(create).unwrap().json().unwrap();
    let reader = made["token"].as_str().unwrap();
    let create = ["token", "create", "--right", "ask", "--right", "answer", "--name", "phone"];
    let plain = hub.run(create).unwrap();
    let phone = plain.stdout.trim();
    assert!(phone.starts_with("askd_") && !phone.contains(char::is_whitespace), "{plain:?}");

    let with = |token: &str, args: &[&str]| {
        run(hub.command(args).env("ASKD_URL", &hub.url).env("ASKD_TOKEN", token), "").unwrap()
    };
    assert_eq!(with(reader, &["list"]).code, 0);
    assert_eq!(with(reader, &["answer", "--oldest", "x"]).code, 6);
    assert_eq!(with(reader, &["token", "list"]).code, 6);
    assert_eq!(with("askd_unknown", &["list"]).code, 6);
    let answered = with(phone, &["answer", "--oldest", "x", "--json"]);
    assert_eq!(answered.json().unwrap()["outcome"]["by"], json!({ "surface": "cli", "actor": "phone" }));

    let list = hub.run(["token", "list"]).unwrap();
    assert!(list.stdout.contains("reader") && !list.stdout.contains(reader), "{list:?}");
    assert_eq!(hub.run(["token", "revoke", "reader"]).unwrap().code, 0);
    assert_eq!(with(reader, &["list"]).code, 6);
    assert_eq!(hub.run(["token", "revoke", "reader"]).unwrap().code, 4);
}

#[test]
fn the_link_that_open_prints_logs_in_once() {
    let hub = Hub::start(ASKD).unwrap();
    let link = hub.run(["open", "--print"]).unwrap();
    let code = link.stdout.trim().strip_prefix(&format!("{}/#login=", hub.url)).unwrap().to_owned();
    let body = json!({ "code": code });
    let (status, json) = hub.http_as("", "POST", "/v1/login", Some(&body)).unwrap();
    assert_eq!(status, 200, "{json}");
    let token = json["token"].as_str().unwrap();
    assert_eq!(hub.http_as(token, "GET", "/v1/questions", None).unwrap().0, 200);
    assert_eq!(hub.http_as("", "POST", "/v1/login", Some(&body)).unwrap().0, 401);
}

#[test]
fn the_doctor_finds_what_is_wrong() {
    let hub = Hub::start(ASKD).unwrap();
    let well = hub.run(["doctor", "--json"]).unwrap();
    let json = well.json().unwrap();
    assert_eq!((well.code, &json["usable"]), (0, &json!(true)), "{json:#}");
    let state = |json: &Value, name: &str| {
        let checks = json["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap_or(&Value::Null)["state"].clone()
    };
    for name in
        ["data folder", "token file", "disk", "hub", "version", "token", "questions", "sources", "sessions"]
    {
        assert_eq!(state(&json, name), json!("ok"), "{name} in {json:#}");
    }
    std::fs::set_permissions(hub.data.join("token"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = hub.run(["doctor", "--json"]).unwrap();
    assert_eq!((open.code, state(&open.json().unwrap(), "token file")), (1, json!("fail")));
    let stranger = ["doctor", "--json", "--token", "askd_wrong", "--url", &hub.url];
    let stranger = hub.run(stranger).unwrap();
    assert_eq!((stranger.code, state(&stranger.json().unwrap(), "token")), (6, json!("fail")));
}

#[test]
fn the_doctor_tells_of_agents_that_live_on_without_a_hub() {
    let mut hub = Hub::start(ASKD).unwrap();
    let start = json!({ "agent": "mock", "cwd": hub.data, "prompt": "question" });
    assert_eq!(hub.http("POST", "/v1/sessions", Some(&start)).unwrap().0, 201);
    hub.kill().unwrap();
    let holder = hub.holders()[0];
    let doctor = hub.run(["doctor"]).unwrap();
    let told = format!("goes on without a hub: holder {holder}, agent ");
    assert!(doctor.code == 3 && doctor.stdout.contains(&told), "{doctor:?}");
    assert!(doctor.stdout.contains("the next askd up takes it up again"), "{doctor:?}");
}

#[test]
fn wrong_usage_is_json_where_json_was_asked_for() {
    let missing = "the following required arguments were not provided: --right <RIGHT>";
    let odd =
        "invalid value 'odd' for '--status <STATUS>': use open, answered, rejected, cancelled or expired";
    let cases: [(&[&str], &str); 2] =
        [(&["token", "create", "--json"], missing), (&["list", "--status", "odd", "--json"], odd)];
    for (args, wanted) in cases {
        let ran = run(Command::new(ASKD).args(args), "").unwrap();
        let said: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!((ran.code, ran.stdout.as_str(), said), (2, "", json!({ "error": wanted, "exitCode": 2 })));
    }
    // Behind -- it is an answer, not a flag.
    let ran = run(Command::new(ASKD).args(["list", "--status", "odd", "--", "--json"]), "").unwrap();
    assert!(ran.code == 2 && ran.stderr.starts_with("error: "), "{ran:?}");
    let help = run(Command::new(ASKD).args(["list", "--help", "--json"]), "").unwrap();
    assert!(help.code == 0 && help.stdout.contains("Examples:"), "{help:?}");
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(Command::new(ASKD).args(["completions", shell]), "").unwrap();
        assert_eq!(ran.code, 0, "{shell}: {}", ran.stderr);
        assert!(ran.stdout.contains("answer") && ran.stdout.contains("doctor"), "{shell}");
    }
}

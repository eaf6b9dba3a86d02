//! MCP servers, permission modes, resumed conversations and older versions.

use std::os::unix::fs::PermissionsExt as _;

use askd_testkit::hub::Hub;
use askd_testkit::programs::AgentEnv as _;
use serde_json::{Value, json};

use super::{Claude, asked, say};
use crate::live::{Stage, eventually};

pub fn elicitation() {
    let claude = Claude::new("claude");
    let stage = Stage::new();
    let session = stage.start(&claude.request_with_mcp("mcp"));
    let id = stage.open_question(&session);
    let question = stage.question(&id);
    assert_eq!(question["kind"], "form", "{question}");
    stage.answer(&id, &json!([["blue"], ["7"]]));
    stage.confirmed(&id);
    let told = claude.told(1).0;
    assert!(told.contains(r#"given: {"action":"accept","content":{"color":"blue","count":7}}"#), "{told}");
    // The other two words that an elicitation knows.
    for (count, mode) in [(2, "decline"), (3, "cancel")] {
        let id = say(&stage, &session, "mcp");
        stage.reject(&id, &json!({ "mode": mode }));
        stage.confirmed(&id);
        let told = claude.told(count).0;
        assert!(told.contains(&format!(r#"given: {{"action":"{mode}""#)), "{told}");
    }
}

/// How it is told what it may do; in all of these it asks.
pub const ASKING: [&str; 8] = [
    "--dangerously-skip-permissions",
    "--allowedTools AskUserQuestion",
    "--permission-mode bypassPermissions",
    "--permission-mode acceptEdits",
    "--permission-mode auto",
    "--permission-mode default",
    "--permission-mode manual",
    "--permission-mode plan",
];

/// Where it is told to ask nobody, the model hears it at once and no question comes.
pub fn asking_nobody() {
    let stage = Stage::new();
    for (args, wanted) in [
        ("--permission-mode dontAsk", "don't ask mode"),
        ("--permission-prompts none", "AskUserQuestion is disabled for this session"),
    ] {
        let claude = Claude::new("claude");
        stage.start(&with(&claude, args));
        let (told, is_error) = claude.told(1);
        assert!(is_error && told.contains(wanted), "{args}: {told}");
        assert!(stage.questions("requested").is_empty(), "{args}");
    }
}

/// What is called dangerous hides no question in older versions either.
pub fn older_modes(program: &str) {
    ASKING[..2].iter().for_each(|args| asks_with(program, args));
}

fn with(claude: &Claude, args: &str) -> Value {
    let mut request = claude.request("single");
    request["args"] = args.split(' ').collect();
    request
}

pub fn asks_with(program: &str, args: &str) {
    let claude = Claude::new(program);
    let stage = Stage::new();
    let session = stage.start(&with(&claude, args));
    let id = stage.open_question(&session);
    stage.answer(&id, &json!([["JWT"]]));
    stage.confirmed(&id);
    assert!(claude.told(1).0.contains("\"Which auth?\"=\"JWT\""), "{args}");
}

/// The hooks of `askd install` are silent in a session that askd leads: it has one question, by one road.
pub fn own_hooks_are_silent() {
    let claude = Claude::new("claude");
    let stage = Stage::new();
    let settings = claude.env.config_dir().join("settings.json").to_string_lossy().into_owned();
    let data = stage.hub.data.to_string_lossy().into_owned();
    let ran = stage.hub.run(["--data", &data, "install", "claude", "--settings", &settings]).unwrap();
    assert_eq!(ran.code, 0, "{ran:?}");
    let session = stage.start(&claude.request("single"));
    let id = stage.open_question(&session);
    stage.answer(&id, &json!([["JWT"]]));
    stage.confirmed(&id);
    assert!(claude.told(1).0.contains("\"Which auth?\"=\"JWT\""));
    let (_, list) = stage.hub.http("GET", "/v1/questions", None).unwrap();
    assert_eq!(list["questions"].as_array().unwrap().len(), 1, "{list}");
    let (_, list) = stage.hub.http("GET", "/v1/sources", None).unwrap();
    let sources = list["sources"].as_array().unwrap();
    assert!(!sources.is_empty() && sources.iter().all(|source| source["kind"] != "hook"), "{list}");
}

/// A killed session is gone with its question; its conversation goes on in a new process.
pub fn resumed() {
    let claude = Claude::new("claude");
    let (stage, session, id) = asked(&claude, "single");
    let killed = stage.session(&session);
    stage.answer(&id, &json!([["JWT"]]));
    stage.confirmed(&id);
    claude.told(1);
    let (status, _) = stage.hub.http("DELETE", &format!("/v1/sessions/{session}"), None).unwrap();
    assert_eq!(status, 204);
    eventually("the end of the session", || (stage.session(&session)["live"] == false).then_some(()));
    let native = killed["nativeId"].as_str().unwrap();
    let mut request = claude.request("single");
    request["args"] = json!(["--resume", native]);
    let again = stage.start(&request);
    let id = stage.open_question(&again);
    assert_eq!(stage.session(&again)["nativeId"], native, "the same conversation");
    stage.answer(&id, &json!([["Session cookies"]]));
    stage.confirmed(&id);
    assert!(claude.told(2).0.contains("\"Which auth?\"=\"Session cookies\""));
}

/// The portable road, on a version that is not the newest.
pub fn older(program: &str) {
    let claude = Claude::new(program);
    let (stage, session, id) = asked(&claude, "several-items");
    stage.answer(&id, &json!([["JWT"], ["Logging", "日本 🦀"], ["own\nwords"]]));
    stage.confirmed(&id);
    let (told, is_error) = claude.told(1);
    let wanted = "\"Which auth?\"=\"JWT\", \"Which of these?\"=\"Logging, 日本 🦀\", \"Which \"name\"?\nSecond line\"=\"own\nwords\"";
    assert!(!is_error && told.contains(wanted), "{told}");

    let say = |scenario: &str| say(&stage, &session, scenario);
    let id = say("single");
    stage.reply(&id, &json!({ "answers": [["JWT"]], "notes": ["but short-lived"] }));
    stage.confirmed(&id);
    let (told, _) = claude.told(2);
    assert!(told.contains("JWT") && told.contains("but short-lived"), "{told}");
    let id = say("single");
    stage.reject(&id, &json!({ "reason": "Ask Ada" }));
    stage.confirmed(&id);
    assert!(claude.told(3).1);
    let id = say("single");
    stage.answer(&id, &json!([[]]));
    stage.confirmed(&id);
    assert!(claude.told(4).0.contains("The user did not answer the questions."), "{:?}", claude.told(4));
    // Two calls in one turn are two questions, answered in any order.
    let first = say("two-open-at-once");
    let both = stage.open_questions(&session, 2);
    assert_eq!(both[0], first);
    stage.answer(&both[1], &json!([["y"]]));
    stage.answer(&both[0], &json!([["Session cookies"]]));
    both.iter().for_each(|id| drop(stage.confirmed(id)));
    let told: String = claude.results(6)[4..].iter().map(|result| result.text.as_str()).collect();
    assert!(told.contains("\"Which auth?\"=\"Session cookies\"") && told.contains("=\"y\""), "{told}");
    let id = say("single");
    stage.reject(&id, &json!({ "mode": "interrupt" }));
    stage.confirmed(&id);
}

pub fn older_plan(program: &str) {
    let claude = Claude::new(program);
    let (stage, _, id) = asked(&claude, "plan");
    assert_eq!(stage.question(&id)["body"]["text"], "# Plan\n\n1. Do A\n");
    stage.reply(&id, &json!({ "answers": [["approve"]], "editedPlan": "# Plan\n\n1. Only B\n" }));
    stage.confirmed(&id);
    let (told, is_error) = claude.told(2);
    // 2.0.76 says it as a message within the result, 2.1.120 as the approved plan itself.
    assert!(!is_error && told.contains("approved your plan") && told.contains("1. Only B"), "{told}");
}

/// A version that cannot ask without a screen is not started, until it is updated: also where a wrapper hides
/// that it was.
pub fn too_old() {
    let claude = Claude::new("claude");
    let bin = claude.env.place().home().join("bin");
    let real = bin.join("real");
    std::fs::rename(bin.join("claude"), &real).unwrap();
    let (said, old) = (bin.join("version"), "2.0.70 (Claude Code)\n");
    std::fs::write(&said, old).unwrap();
    let wrapper = format!(
        "#!/bin/sh\n[ -s '{said}' ] || exec '{real}' \"$@\"\n[ \"$1\" = --version ] && exec cat '{said}'\ntouch '{bin}/started'\n",
        said = said.display(),
        real = real.display(),
        bin = bin.display(),
    );
    std::fs::write(bin.join("claude"), wrapper).unwrap();
    std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let stage = Stage::new();
    let (status, problem) = stage.hub.http("POST", "/v1/sessions", Some(&claude.request("single"))).unwrap();
    assert_eq!((status, &problem["code"]), (409, &json!("agent_unsupported")), "{problem}");
    for part in ["2.0.70", "2.0.71 and newer", "npm install"] {
        assert!(problem["detail"].as_str().unwrap().contains(part), "{part} is not in {problem}");
    }
    assert!(!bin.join("started").exists() && stage.holders().is_empty(), "it was started");
    let (_, sessions) = stage.hub.http("GET", "/v1/sessions", None).unwrap();
    assert_eq!(sessions["sessions"], json!([]));
    std::fs::write(&said, "").unwrap();
    let session = stage.start(&claude.request("single"));
    let id = stage.open_question(&session);
    stage.answer(&id, &json!([["JWT"]]));
    stage.confirmed(&id);
}

/// The hub tells the roads of the version that is installed, and doctor says them to a person.
pub fn versions() {
    for (program, version) in
        [("claude", "2.1.325"), ("claude-2.1.120", "2.1.120"), ("claude-2.0.76", "2.0.76")]
    {
        let claude = Claude::new(program);
        let bin = claude.env.place().home().join("bin");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let builder = Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--no-observe");
        let hub =
            builder.env("PATH", path).env("CLAUDE_CONFIG_DIR", claude.env.config_dir()).start().unwrap();
        let found = eventually("its version", || {
            let (_, mut list) = hub.http("GET", "/v1/agents", None).unwrap();
            let agents = list["agents"].as_array_mut().unwrap();
            let claude = agents.iter_mut().find(|agent| agent["name"] == "claude").unwrap();
            Some(claude["found"][0].take()).filter(|found| found["version"].is_string())
        });
        assert!(
            found["version"].as_str().is_some_and(|said| said.starts_with(version)),
            "{program}: {found}"
        );
        let works = |road: &Value| (road["works"] == true).then(|| road["road"].as_str().unwrap().to_owned());
        let works: Vec<String> = found["roads"].as_array().unwrap().iter().filter_map(works).collect();
        assert_eq!(works, ["controlProtocol", "hook", "transcript", "keys"], "{found}");
        let data = hub.data.to_string_lossy().into_owned();
        let said = hub.run(["--data", &data, "doctor"]).unwrap().stdout;
        for part in [
            &format!("works with {version}"),
            "none of askd's hooks is installed",
            "every permission mode but dontAsk",
        ] {
            assert!(said.contains(part), "{part:?} is not in {said}");
        }
    }
}

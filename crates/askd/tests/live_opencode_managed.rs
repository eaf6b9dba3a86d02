//! Real OpenCode that askd starts itself: its server in a holder, guarded by a password that nobody sees, its
//! questions in the inbox, and its end with all its processes. What holds for every agent is in
//! `live_conformance`.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
mod live;
mod managed_opencode;

use std::process::ExitCode;

use askd_testkit::programs::live::Live;
use live::{Stage, eventually};
use managed_opencode::{Opencode, asks, bash, single_item};
use reqwest::Method;
use serde_json::{Value, json};

/// A name and the test; each needs the program.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    let tests: [Test; 7] = [
        ("the_command_shows_what_it_says_and_its_end", the_command),
        ("a_conversation_goes_on_and_ends_with_all_its_processes", goes_on_and_ends),
        ("its_password_is_nowhere_to_be_seen_and_it_has_no_token", guarded),
        ("a_hub_killed_before_the_server_is_up_finds_it", killed_at_the_start),
        ("a_hub_killed_while_it_prompts_prompts_once", killed_at_the_prompt),
        ("a_subagent_has_a_session_of_its_own", subagent),
        ("two_at_once_do_not_know_of_each_other", two_at_once),
    ];
    let mut live = Live::new();
    for (name, body) in tests {
        live = live.test(name, &["opencode"], move || async move {
            body();
            Ok(())
        });
    }
    live.run()
}

fn opencode() -> Opencode {
    let child = json!({ "name": "task", "args": {
        "description": "sub", "prompt": "SCENARIO:single go", "subagent_type": "asker" } });
    let done = json!({ "text": "All is done." });
    Opencode::playing(json!({ "scenarios": {
        "single": [{ "text": "One question.", "calls": [asks(&[single_item()])] }, done],
        "environment": [{ "calls": [bash("env")] }, done],
        "subagent": [{ "calls": [child] }, done],
        "talk": [{ "text": "Just talking." }],
    } }))
}

fn say(stage: &Stage, session: &str, scenario: &str) {
    let text = json!({ "text": format!("SCENARIO:{scenario} go") });
    let (status, problem) =
        stage.hub.http("POST", &format!("/v1/sessions/{session}/messages"), Some(&text)).unwrap();
    assert_eq!(status, 202, "{problem}");
}

fn received(agent: &Opencode, answer: &str) {
    eventually(&format!("{answer} at the model"), || agent.received().contains(answer).then_some(()));
}

fn the_command() {
    let agent = opencode();
    // What the command starts is started by the hub, with the hub's environment.
    let mut builder = askd_testkit::hub::Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--end-agents");
    for (name, value) in agent.environment() {
        builder = builder.env(name, value);
    }
    // It looks for servers too (only in the agent's home), and does not take its own for a stranger's.
    let home = agent.env.home();
    let builder = builder.env("ASKD_NO_DISCOVERY", "").arg("--discovery-home").arg(home);
    let stage = Stage { hub: builder.start().unwrap() };
    let cwd = agent.env.directory().display().to_string();
    let mut command = stage.hub.command(["run", "opencode", "--cwd", &cwd, "--prompt", "SCENARIO:single go"]);
    let (answerer, ran) = std::thread::scope(|scope| {
        let ran = scope.spawn(|| command.stdin(std::process::Stdio::null()).output().unwrap());
        let ours = |question: &Value| question["context"]["cwd"] == cwd.as_str();
        let question = eventually("the question", || stage.questions("requested").into_iter().find(ours));
        let id = question["id"].as_str().unwrap().to_owned();
        let pid = stage.holders()[0]["agentPid"].as_i64().unwrap();
        let found = format!("(found, process {pid})");
        let (_, sources) = stage.hub.http("GET", "/v1/sources", None).unwrap();
        assert!(!sources.to_string().contains(&found), "{sources}");
        stage.answer(&id, &json!([["Green"]]));
        (id, ran.join().unwrap())
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, told) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{said}{told}");
    assert!(said.contains("One question.") && said.contains("All is done."), "{said}{told}");
    assert_eq!(said.matches("All is done.").count(), 1, "said once: {said}");
    assert!(told.contains("question"), "the tool that it uses: {told}");
    stage.confirmed(&answerer);
    eventually("its end", || stage.holders().is_empty().then_some(()));
}

fn goes_on_and_ends() {
    let (stage, agent) = (Stage::new(), opencode());
    let session = stage.start(&agent.request("talk"));
    eventually("what it says", || stage.transcript(&session).contains("Just talking.").then_some(()));
    say(&stage, &session, "single");
    let question = stage.open_question(&session);
    let holder = stage.holders().remove(0);
    let leader = holder["agentPid"].as_i64().unwrap();
    let processes = live::group_of(leader);
    assert!(!processes.is_empty());
    assert_eq!(stage.hub.http("DELETE", &format!("/v1/sessions/{session}"), None).unwrap().0, 204);
    assert_eq!(stage.question(&question)["outcome"]["cause"]["type"], "sessionEnded");
    eventually("all processes are gone", || {
        (!processes.iter().any(|pid| live::is_alive(*pid)) && stage.holders().is_empty()).then_some(())
    });
    let turns = stage.entries(&session).iter().filter(|entry| entry["voice"] == "turn").count();
    assert_eq!(turns, 1, "the first turn ended once, the second never");
}

fn guarded() {
    let (stage, agent) = (Stage::new(), opencode());
    let session = stage.start(&agent.request("environment"));
    let permission = stage.open_question(&session);
    let leader = stage.holders()[0]["agentPid"].as_i64().unwrap();
    let environ = std::fs::read_to_string(format!("/proc/{leader}/environ")).unwrap();
    let variable = |name: &str| {
        let of_name = |pair: &&str| pair.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        environ.split('\0').find(of_name).map(|pair| pair[name.len() + 1..].to_owned())
    };
    let password = variable("OPENCODE_SERVER_PASSWORD").unwrap();
    assert!(password.len() >= 32, "not a generated one");
    assert_eq!(variable("ASKD_SESSION").as_deref(), Some(session.as_str()));
    let own: Vec<&str> = environ.split('\0').filter(|pair| pair.starts_with("ASKD_")).collect();
    assert_eq!(own.len(), 1, "{own:?}");
    let commands =
        live::group_of(leader).into_iter().map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")));
    for command in commands.flatten() {
        assert!(!String::from_utf8_lossy(&command).contains(&password));
    }
    // Nobody gets in without it.
    let (status, sources) = stage.hub.http("GET", "/v1/sources", None).unwrap();
    assert_eq!(status, 200);
    assert_eq!(
        (&sources["sources"][0]["kind"], &sources["sources"][0]["state"]),
        (&json!("managed"), &json!("connected"))
    );
    stage.answer(&permission, &json!([["once"]]));
    stage.confirmed(&permission);
    let shown = format!("{sources}{}{}", stage.transcript(&session), stage.hub.log());
    assert!(!shown.contains(&password), "the password is shown");
}

fn killed_at_the_start() {
    let (mut stage, agent) = (Stage::new(), opencode());
    let session = stage.start(&agent.request("single"));
    stage.hub.kill().unwrap();
    stage.hub.restart().unwrap();
    let question = stage.open_question(&session);
    stage.answer(&question, &json!([["Red"]]));
    stage.confirmed(&question);
    received(&agent, "\"Red\"");
}

/// The server lists a message only a while after it took it: what the next hub says again is the same
/// message.
fn killed_at_the_prompt() {
    let (mut stage, agent) = (Stage::new(), opencode());
    let session = stage.start(&agent.request("single"));
    let native = eventually("its name, just before it is prompted", || {
        stage.session(&session)["nativeId"].as_str().filter(|id| *id != session).map(str::to_owned)
    });
    stage.hub.kill().unwrap();
    stage.hub.restart().unwrap();
    let question = stage.open_question(&session);
    let pid = &stage.session(&session)["pid"];
    let path = format!("/session/{native}/message");
    let prompts = || {
        let messages = agent.call(pid, Method::GET, &path, None);
        let all = messages.as_array().unwrap().clone();
        all.into_iter().filter(|message| message["info"]["role"] == "user").collect::<Vec<_>>()
    };
    let first = prompts().remove(0);
    let name = first["info"]["id"].as_str().unwrap();
    assert!(name.ends_with(&native[native.len() - 14..]), "{name} is not the name that askd gave it");
    // Once more, in the same words: while it asks, and after its turn.
    let again = json!({ "messageID": first["info"]["id"],
        "parts": [{ "type": "text", "id": first["parts"][0]["id"], "text": first["parts"][0]["text"] }] });
    let say_again =
        || agent.call(pid, Method::POST, &format!("/session/{native}/prompt_async"), Some(again.clone()));
    say_again();
    stage.answer(&question, &json!([["Red"]]));
    stage.confirmed(&question);
    let turns = |count: usize| {
        eventually("the end of the turn", || {
            let ended = stage.entries(&session).iter().filter(|entry| entry["voice"] == "turn").count();
            (ended == count).then_some(())
        });
    };
    turns(1);
    say_again();
    say(&stage, &session, "talk");
    eventually("what it says next", || stage.transcript(&session).contains("Just talking.").then_some(()));
    let said: Vec<Value> = prompts().iter().map(|prompt| prompt["parts"][0]["text"].clone()).collect();
    assert_eq!(said, ["SCENARIO:single go", "SCENARIO:talk go"]);
    assert_eq!(agent.model.tool_results().len(), 1, "it asked once");
}

fn subagent() {
    let (stage, agent) = (Stage::new(), opencode());
    let session = stage.start(&agent.request("subagent"));
    let question =
        eventually("the question of the subagent", || stage.questions("requested").into_iter().next());
    let child = question["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(child, session);
    assert_eq!(stage.session(&child)["parentId"], Value::from(session.as_str()));
    stage.answer(question["id"].as_str().unwrap(), &json!([["Green"]]));
    stage.confirmed(question["id"].as_str().unwrap());
    eventually("the end of the turn", || {
        stage.entries(&session).iter().any(|entry| entry["voice"] == "turn").then_some(())
    });
    assert!(stage.transcript(&child).contains("One question."));
    assert!(!stage.transcript(&session).contains("One question."), "each in its own transcript");
}

fn two_at_once() {
    let (stage, agent, other) = (Stage::new(), opencode(), opencode());
    let (first, second) = (stage.start(&agent.request("single")), stage.start(&other.request("single")));
    let (one, two) = (stage.open_question(&first), stage.open_question(&second));
    stage.answer(&two, &json!([["Green"]]));
    stage.confirmed(&two);
    assert_eq!(stage.question(&one)["status"], "requested");
    stage.answer(&one, &json!([["Red"]]));
    stage.confirmed(&one);
    received(&agent, "\"Red\"");
    received(&other, "\"Green\"");
}

//! Real Claude Code through the whole hub: askd starts it, a scripted model makes it ask, answers go in over HTTP, and what
//! counts is what the model received.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
mod live;

mod live_claude;

use std::process::ExitCode;

use askd_testkit::programs::live::Live;
use askd_testkit::programs::{AgentEnv as _, required};
use live::scenes::{self, Cast};
use live::{Stage, eventually};
use live_claude::Claude;
use serde_json::json;

fn play(scene: fn(&mut Stage, &dyn Cast)) {
    scene(&mut Stage::new(), &Claude::new("claude"));
}

/// Starts a session in a hub of its own, and gives the id of its question.
fn asked(claude: &Claude, scenario: &str) -> (Stage, String, String) {
    let stage = Stage::new();
    let session = stage.start(&claude.request(scenario));
    let id = stage.open_question(&session);
    (stage, session, id)
}

fn single() {
    let claude = Claude::new("claude");
    let (stage, session, id) = asked(&claude, "single");
    let question = stage.question(&id);
    assert_eq!(question["context"]["excerpt"], "One question.");
    assert_eq!(question["rejectModes"], json!(["decline", "interrupt"]));
    assert!(question["tool"]["callId"].as_str().unwrap().starts_with("toolu_"), "{question}");
    stage.answer(&id, &json!([["Session cookies"]]));
    stage.confirmed(&id);
    let wanted = "Your questions have been answered: \"Which auth?\"=\"Session cookies\". You can now continue with these \
                  answers in mind.";
    assert_eq!(claude.told(1), (wanted.to_owned(), false));
    // The session goes on: a message is a new turn in which it asks again.
    let say = json!({ "text": "SCENARIO:single again" });
    let said = stage.hub.http("POST", &format!("/v1/sessions/{session}/messages"), Some(&say)).unwrap();
    assert_eq!(said.0, 202, "{}", said.1);
    let again = stage.open_question(&session);
    assert_ne!(again, id);
    stage.answer(&again, &json!([["JWT"]]));
    stage.confirmed(&again);
    assert!(claude.told(2).0.contains("\"Which auth?\"=\"JWT\""));
}

fn several_picks() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "several-items");
    stage.answer(&id, &json!([["JWT"], ["Logging", "Metrics, traces", "say \"hi\"", "日本 🦀"], []]));
    stage.confirmed(&id);
    let wanted = "Your questions have been answered: \"Which auth?\"=\"JWT\", \"Which of these?\"=\"Logging, \"Metrics, traces\", \
                  \"say \\\"hi\\\"\", 日本 🦀\". You can now continue with these answers in mind.";
    assert_eq!(claude.told(1), (wanted.to_owned(), false));
}

fn own_words_and_notes() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "single");
    stage.answer(&id, &json!([["neither, \"really\"\nsecond line"]]));
    stage.confirmed(&id);
    let told = claude.told(1).0;
    assert!(
        told.starts_with("The user answered: \"Which auth?\"=\"neither, \"really\"\nsecond line\""),
        "{told}"
    );

    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "preview");
    assert_eq!(stage.question(&id)["questions"][0]["options"][0]["preview"], "+-+\n|A|\n+-+");
    stage.reply(&id, &json!({ "answers": [["Grid"]], "notes": ["make it wide"] }));
    stage.confirmed(&id);
    let told = claude.told(1).0;
    assert!(told.contains("\"Grid\" selected preview:\n+-+\n|A|\n+-+ notes: make it wide"), "{told}");
}

fn nothing_picked() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "single");
    stage.answer(&id, &json!([[]]));
    stage.confirmed(&id);
    assert_eq!(claude.told(1), ("The user did not answer the questions.".to_owned(), false));
}

fn plan_edited() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "plan");
    assert_eq!(stage.question(&id)["body"]["text"], "# Plan\n\n1. Do A\n");
    let reply =
        json!({ "answers": [["approve"]], "editedPlan": "# Plan\n\n1. Only B\n", "nextMode": "acceptEdits" });
    stage.reply(&id, &reply);
    stage.confirmed(&id);
    let (told, is_error) = claude.told(2);
    assert!(!is_error && told.contains("edited by user") && told.contains("1. Only B"), "{told}");
    assert!(!told.contains("Do A"), "{told}");
}

fn plan_sent_back() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "plan");
    stage.reject(&id, &json!({ "mode": "decline", "reason": "Please also add tests" }));
    stage.confirmed(&id);
    let wanted = "The user sent the plan back (from the askd inbox) and said:\nPlease also add tests";
    assert_eq!(claude.told(2), (wanted.to_owned(), true));
}

fn permission() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "permission");
    let question = stage.question(&id);
    assert_eq!(question["body"], json!({ "format": "command", "text": "touch made-by-claude" }));
    assert!(!claude.env.cwd().join("made-by-claude").exists());
    stage.reply(&id, &json!({ "answers": [["deny"]], "notes": ["not here"] }));
    stage.confirmed(&id);
    let wanted = "The user did not allow this (in the askd inbox) and said: not here";
    assert_eq!(claude.told(1), (wanted.to_owned(), true));
    assert!(!claude.env.cwd().join("made-by-claude").exists());

    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "permission");
    stage.reply(&id, &json!({ "answers": [["allow"]], "notes": ["and then stop"] }));
    stage.confirmed(&id);
    assert!(!claude.told(1).1);
    assert!(claude.env.cwd().join("made-by-claude").exists());
    eventually("the note at the model", || {
        claude
            .model
            .requests()
            .iter()
            .any(|request| {
                request.body.as_ref().is_some_and(|body| body.to_string().contains("and then stop"))
            })
            .then_some(())
    });
}

fn declined() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "single");
    stage.reject(&id, &json!({ "reason": "Ask Ada" }));
    stage.confirmed(&id);
    let (told, is_error) = claude.told(1);
    assert!(is_error && told.contains("declined") && told.contains("Ask Ada"), "{told}");
}

fn interrupted_with_another_open() {
    let claude = Claude::new("claude");
    let stage = Stage::new();
    let session = stage.start(&claude.request("two-open-at-once"));
    let ids = stage.open_questions(&session, 2);
    stage.reject(&ids[0], &json!({ "mode": "interrupt" }));
    stage.confirmed(&ids[0]);
    let other = eventually("the other question's end", || {
        let question = stage.question(&ids[1]);
        (question["status"] != "requested").then_some(question)
    });
    assert_eq!(other["status"], "cancelled", "{other}");
    assert_eq!(other["outcome"]["cause"]["type"], "turnAborted", "{other}");
    assert!(claude.model.tool_results().is_empty(), "the model was not called again");
    // The session is still usable.
    let say = json!({ "text": "SCENARIO:single again" });
    stage.hub.http("POST", &format!("/v1/sessions/{session}/messages"), Some(&say)).unwrap();
    let again = stage.open_question(&session);
    stage.answer(&again, &json!([["JWT"]]));
    stage.confirmed(&again);
}

/// A hook of the user's own answers while the question is open in the inbox.
fn hook_is_faster() {
    let claude = Claude::new("claude");
    let input =
        json!({ "questions": [live_claude::single()], "answers": { "Which auth?": "Session cookies" } });
    let decision = json!({ "behavior": "allow", "updatedInput": input });
    let output =
        json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
    let hook = claude.env.place().seed("hook", &format!("sleep 3\ncat <<'E'\n{output}\nE\n")).unwrap();
    let command = json!({ "type": "command", "command": format!("sh {}", hook.display()), "timeout": 60 });
    let hooks = json!([{ "matcher": "AskUserQuestion", "hooks": [command] }]);
    let settings = json!({ "hooks": { "PermissionRequest": hooks } });
    let mut request = claude.request("single");
    request["args"] = json!(["--settings", settings.to_string()]);
    let stage = Stage::new();
    let session = stage.start(&request);
    let id = stage.open_question(&session);
    let question = eventually("the answer of the hook", || {
        let question = stage.question(&id);
        (question["status"] != "requested").then_some(question)
    });
    assert_eq!(question["outcome"]["answers"], json!([["Session cookies"]]), "{question}");
    assert_eq!(question["outcome"]["by"]["surface"], "agent", "{question}");
    assert!(question["delivery"].is_null(), "{question}");
}

/// An MCP server, as small as it can be, that asks with a form and repeats what it was given.
const SERVER: &str = r#"
const say = m => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
let call;
require("readline").createInterface({ input: process.stdin }).on("line", line => {
  const m = JSON.parse(line);
  if (m.method === "initialize")
    say({ id: m.id, result: { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "elic", version: "1" } } });
  else if (m.method === "tools/list")
    say({ id: m.id, result: { tools: [{ name: "ask", description: "asks", inputSchema: { type: "object", properties: {} } }] } });
  else if (m.method === "tools/call") {
    call = m.id;
    const requestedSchema = { type: "object", properties: { color: { type: "string", enum: ["red", "blue"] }, count: { type: "integer" } }, required: ["color"] };
    say({ id: 1, method: "elicitation/create", params: { message: "Which color?", requestedSchema } });
  } else if (m.id === 1 && !m.method)
    say({ id: call, result: { content: [{ type: "text", text: "given: " + JSON.stringify(m.result) }] } });
  else if (m.id !== undefined && m.method) say({ id: m.id, result: {} });
});
"#;

fn elicitation() {
    let claude = Claude::new("claude");
    let server = claude.env.place().seed("server.js", SERVER).unwrap();
    let server = json!({ "command": required("node").unwrap(), "args": [server] });
    let config = json!({ "mcpServers": { "elic": server } });
    let mut request = claude.request("mcp");
    request["args"] = json!(["--mcp-config", config.to_string(), "--allowedTools", "mcp__elic__ask"]);
    let stage = Stage::new();
    let session = stage.start(&request);
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

/// As many questions and options as one call may have, with all that text can do.
fn four_by_four() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "four");
    let question = stage.question(&id);
    let items = question["questions"].as_array().unwrap();
    assert_eq!(items.len(), 4);
    for item in items {
        assert_eq!(item["options"].as_array().unwrap().len(), 4, "{item}");
        assert_eq!(item["header"].as_str().unwrap().len(), 60, "{item}");
    }
    let picks = |item: usize| -> Vec<String> {
        let options = items[item]["options"].as_array().unwrap();
        options.iter().map(|option| option["value"].as_str().unwrap().to_owned()).collect()
    };
    stage.answer(&id, &json!([picks(0), [picks(1)[3]], [], picks(3)[..2]]));
    stage.confirmed(&id);
    let told = claude.told(1).0;
    // Every pick is there as it is, or as the JSON text of itself; and the agent knew them all as its own labels.
    assert!(told.starts_with("Your questions have been answered: "), "{told}");
    for pick in picks(0).iter().chain(&picks(1)[3..]).chain(&picks(3)[..2]) {
        let quoted = serde_json::Value::from(pick.as_str()).to_string();
        assert!(told.contains(pick.as_str()) || told.contains(&quoted), "{pick:?} in {told}");
    }
    assert!(!told.contains("שאלה 3?"), "{told}");
}

/// Questions are asked in every permission mode but the one that forbids asking.
fn modes() {
    for (args, asks) in [
        (vec!["--dangerously-skip-permissions"], true),
        (vec!["--permission-mode", "acceptEdits"], true),
        (vec!["--permission-mode", "plan"], true),
        (vec!["--permission-mode", "dontAsk"], false),
    ] {
        let claude = Claude::new("claude");
        let mut request = claude.request("single");
        request["args"] = json!(args);
        let stage = Stage::new();
        let session = stage.start(&request);
        if asks {
            let id = stage.open_question(&session);
            stage.answer(&id, &json!([["JWT"]]));
            stage.confirmed(&id);
            assert!(claude.told(1).0.contains("\"Which auth?\"=\"JWT\""), "{args:?}");
        } else {
            let (told, is_error) = claude.told(1);
            assert!(is_error && told.contains("don't ask mode"), "{told}");
            assert!(stage.questions("requested").is_empty());
        }
    }
}

/// A killed session is gone with its question; its conversation goes on in a new process.
fn resumed() {
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

/// Says something to a session and gives the id of the question that comes of it.
fn say(stage: &Stage, session: &str, scenario: &str) -> String {
    let say = json!({ "text": format!("SCENARIO:{scenario} go") });
    let (status, problem) =
        stage.hub.http("POST", &format!("/v1/sessions/{session}/messages"), Some(&say)).unwrap();
    assert_eq!(status, 202, "{problem}");
    stage.open_question(session)
}

/// The portable road, on a version that is not the newest.
fn older(program: &str) {
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
    let id = say("single");
    stage.reject(&id, &json!({ "mode": "interrupt" }));
    stage.confirmed(&id);
}

fn older_plan(program: &str) {
    let claude = Claude::new(program);
    let (stage, _, id) = asked(&claude, "plan");
    assert_eq!(stage.question(&id)["body"]["text"], "# Plan\n\n1. Do A\n");
    stage.reply(&id, &json!({ "answers": [["approve"]], "editedPlan": "# Plan\n\n1. Only B\n" }));
    stage.confirmed(&id);
    let (told, is_error) = claude.told(2);
    // 2.0.76 says it as a message within the result, 2.1.120 as the approved plan itself.
    assert!(!is_error && told.contains("approved your plan") && told.contains("1. Only B"), "{told}");
}

fn main() -> ExitCode {
    let tests: [(&str, &'static [&'static str], fn()); 24] = [
        ("a_question_is_answered_and_the_session_goes_on", &["claude"], single),
        ("several_picks_and_items_with_commas_and_quotes", &["claude"], several_picks),
        ("own_words_previews_and_notes", &["claude"], own_words_and_notes),
        ("nothing_picked_is_said_as_such", &["claude"], nothing_picked),
        ("a_changed_plan_arrives_changed", &["claude"], plan_edited),
        ("a_plan_is_sent_back_with_feedback", &["claude"], plan_sent_back),
        ("a_permission_is_denied_and_given", &["claude"], permission),
        ("a_decline_says_why", &["claude"], declined),
        ("an_interrupt_ends_the_other_question_too", &["claude"], interrupted_with_another_open),
        ("a_hook_that_is_faster_is_told", &["claude"], hook_is_faster),
        ("an_elicitation_is_a_form", &["claude", "node"], elicitation),
        ("four_questions_of_four_options", &["claude"], four_by_four),
        ("questions_in_every_mode", &["claude"], modes),
        ("a_conversation_is_resumed", &["claude"], resumed),
        ("scene_plan", &["claude"], || play(scenes::plan)),
        ("scene_permission", &["claude"], || play(scenes::permission)),
        ("scene_interrupt", &["claude"], || play(scenes::interrupt)),
        ("scene_two_open_at_once", &["claude"], || play(scenes::two_open_at_once)),
        ("scene_hub_killed_live", &["claude"], || play(scenes::hub_killed_live)),
        ("scene_answer_after_exit", &["claude"], || play(scenes::answer_after_exit)),
        ("portable_2_1_120", &["claude-2.1.120"], || older("claude-2.1.120")),
        ("portable_2_0_76", &["claude-2.0.76"], || older("claude-2.0.76")),
        ("plan_2_1_120", &["claude-2.1.120"], || older_plan("claude-2.1.120")),
        ("plan_2_0_76", &["claude-2.0.76"], || older_plan("claude-2.0.76")),
    ];
    let mut live = Live::new();
    for (name, needs, body) in tests {
        live = live.test(name, needs, move || async move {
            body();
            Ok(())
        });
    }
    live.run()
}

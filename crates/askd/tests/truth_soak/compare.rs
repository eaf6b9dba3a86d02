//! What each model was told beside what the inbox says of the question: every sentence of the inbox must be
//! true.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, ensure};
use askd_testkit::model::ToolResult;
use serde_json::{Value, json};

use crate::world::World;

/// What Claude Code itself writes where a call has no result; no person's word, and nothing that the asking
/// process was told.
const CUT_OFF: &str = "[Tool call interrupted";

/// What Claude Code says to the model where its host was gone before it could be asked.
const NOT_ASKED: &str = "Tool permission request failed";

pub struct Compared {
    pub table: String,
    pub differences: Vec<String>,
}

pub fn compare(world: &World) -> Result<Compared> {
    let mut told: HashMap<String, Vec<ToolResult>> = HashMap::new();
    for result in world.model.tool_results() {
        if result.name.as_deref() == Some("AskUserQuestion") && !result.text.starts_with(CUT_OFF) {
            told.entry(result.call_id.clone()).or_default().push(result);
        }
    }
    let (_, sessions) = world.http("GET", "/v1/sessions?live=true", None)?;
    let live: Vec<Value> =
        sessions["sessions"].as_array().into_iter().flatten().map(|session| session["id"].clone()).collect();
    let mut differences = Vec::new();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let questions = world.questions("")?;
    for question in &questions {
        *count.entry(kind(question)).or_default() += 1;
        let call = question["tool"]["callId"].as_str().unwrap_or_default();
        let results = told.remove(call).unwrap_or_default();
        let may_be_unheard = world.is_unheard(question);
        let is_live = live.contains(&question["sessionId"]);
        if let Err(why) = agree(question, &results, may_be_unheard, is_live) {
            let message = &question["tool"]["messageId"];
            let is_of_turn = |other: &&Value| message.is_string() && other["tool"]["messageId"] == *message;
            let turn: Vec<&Value> =
                questions.iter().filter(is_of_turn).filter(|other| other["id"] != question["id"]).collect();
            differences.push(format!("{why}\ninbox: {question}\nmodel: {results:?}\nits turn: {turn:?}"));
        }
    }
    // Its session was ended before Claude Code could ask.
    told.retain(|_, results| {
        !results.iter().all(|result| result.is_error && result.text.starts_with(NOT_ASKED))
    });
    for (call, results) in told {
        differences.push(format!("the inbox has no question of call {call}\nmodel: {results:?}"));
    }
    let table = count.iter().map(|(kind, number)| format!("{number:5} {kind}\n")).collect();
    Ok(Compared { table, differences })
}

/// How a question ended, in a few words.
fn kind(question: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let (outcome, delivery) = (&question["outcome"], &question["delivery"]);
    let tries = question["failedTries"].as_array().map_or(0, Vec::len);
    let opened = if tries > 0 { ", was opened again" } else { "" };
    format!(
        "{} by {}: {} {} {}{opened}",
        word(&question["status"]),
        word(&outcome["by"]["surface"]),
        word(&delivery["state"]),
        word(&delivery["error"]["reason"]),
        word(&outcome["cause"]["type"]),
    )
}

/// Whether the result is the answer to these questions.
fn is_answer(result: &ToolResult, question: &Value, answers: &Value) -> bool {
    let given = askd_testkit::given(answers);
    let items = question["questions"].as_array().into_iter().flatten();
    let mut given = given.as_array().into_iter().flatten();
    !result.is_error
        && items.zip(given.by_ref()).all(|(item, given)| {
            let texts: Vec<&str> = given.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let asked = format!("\"{}\"=", item["question"].as_str().unwrap_or_default());
            match texts.is_empty() {
                true => !result.text.contains(&asked),
                false => result.text.contains(&format!("{asked}\"{}\"", texts.join(", "))),
            }
        })
}

fn agree(
    question: &Value,
    results: &[ToolResult],
    may_be_unheard: bool,
    is_live: bool,
) -> Result<(), String> {
    let must = |is_so: bool, why: &str| if is_so { Ok(()) } else { Err(why.to_owned()) };
    let all = |fits: &dyn Fn(&ToolResult) -> bool, why: &str| {
        must(!results.is_empty() || may_be_unheard, "the model was told nothing")?;
        must(results.iter().all(fits), why)
    };
    let none = |why: &str| must(results.is_empty(), why);
    let (outcome, delivery) = (&question["outcome"], &question["delivery"]);
    let status = question["status"].as_str().unwrap_or_default();
    let is_rejection = status == "rejected";
    // What the inbox says that the model was told.
    let same = |result: &ToolResult| match is_rejection {
        true => result.is_error,
        false => is_answer(result, question, &outcome["answers"]),
    };
    match status {
        "requested" => {
            none("it is open, and the model was told something")?;
            must(is_live, "it is open, and its session is over")
        }
        "answered" | "rejected"
            if outcome["by"]["surface"] == "agent" || delivery["state"] == "confirmed" =>
        {
            // A turn that was stopped tells its model nothing.
            match results.is_empty() && is_rejection {
                true => Ok(()),
                false => all(&same, "the model was told something else"),
            }
        }
        "answered" | "rejected" => match delivery["error"]["reason"].as_str() {
            Some("overtaken") => {
                let received = &outcome["agentReceived"]["answers"];
                let is_refusal = received.as_array().is_none_or(Vec::is_empty);
                match results.is_empty() && is_refusal {
                    true => Ok(()),
                    false => all(
                        &|result| {
                            if is_refusal { result.is_error } else { is_answer(result, question, received) }
                        },
                        "the model was told something else than `agentReceived`",
                    ),
                }
            }
            Some(_) if delivery["state"] == "failed" => {
                // What Claude Code says itself of a turn that is stopped is no answer.
                let is_stopped = |result: &ToolResult| {
                    result.is_error && !is_answer(result, question, &outcome["answers"])
                };
                let why =
                    "it is said not to have arrived, or not to be known, and the model was told an answer";
                must(results.iter().all(is_stopped), why)
            }
            _ => Err("its answer is still on its way".to_owned()),
        },
        "cancelled" if outcome["cause"]["type"] == "agentTimedOut" => all(
            &|result| result.text.starts_with("No response after"),
            "the model was not told of a time-out",
        ),
        // What Claude Code says itself of a turn that is stopped with its session.
        "cancelled" if outcome["cause"]["type"] == "sessionEnded" => must(
            results.iter().all(|result| result.is_error),
            "its session was ended, and the model was told an answer",
        ),
        // What Claude Code says itself of a call whose connection to its host was closed is no answer.
        "cancelled" if outcome["cause"]["type"] == "turnAborted" => must(
            results.iter().all(|result| result.is_error && result.text.starts_with(NOT_ASKED)),
            "its turn was aborted, and the model was told something else",
        ),
        _ => none("it ended without a word to the model, and the model was told something"),
    }
}

/// A comparison that cannot fail would show nothing.
pub fn finds_differences() -> Result<()> {
    let result = |text: &str, is_error: bool| ToolResult {
        call_id: "toolu_1".to_owned(),
        name: None,
        text: text.to_owned(),
        is_error,
        scenario: None,
    };
    let red = || vec![result("Your questions have been answered: \"Q?\"=\"Red\".", false)];
    let answers = |label: &str| json!([{ "picks": [label], "labels": [label] }]);
    let question = |status: &str, outcome: Value, delivery: Value| json!({ "status": status, "questions": [{ "question": "Q?" }], "outcome": outcome, "delivery": delivery });
    let by = |surface: &str, label: &str| json!({ "by": { "surface": surface }, "answers": answers(label) });
    let confirmed = json!({ "state": "confirmed" });
    let failed = |reason: &str| json!({ "state": "failed", "error": { "reason": reason } });
    let mut overtaken = by("web", "Blue");
    overtaken["agentReceived"] = json!({ "answers": answers("Red") });
    let agrees = [
        (question("answered", by("web", "Red"), confirmed.clone()), red()),
        (question("answered", by("agent", "Red"), Value::Null), red()),
        (question("answered", overtaken.clone(), failed("overtaken")), red()),
        (question("answered", by("web", "Red"), failed("unknown")), vec![]),
        (
            question("rejected", json!({ "by": { "surface": "web" } }), confirmed.clone()),
            vec![result("no", true)],
        ),
        (question("cancelled", json!({ "cause": { "type": "agentExited" } }), Value::Null), vec![]),
        (
            question("cancelled", json!({ "cause": { "type": "turnAborted" } }), Value::Null),
            vec![result("Tool permission request failed: AbortError: closed", true)],
        ),
        (
            question("cancelled", json!({ "cause": { "type": "agentTimedOut" } }), Value::Null),
            vec![result("No response after 5s", false)],
        ),
    ];
    for (question, results) in agrees {
        let said = agree(&question, &results, false, true);
        ensure!(said.is_ok(), "{said:?}: {question} {results:?}");
    }
    let differs = [
        (question("answered", by("web", "Blue"), confirmed.clone()), red()),
        (question("answered", by("web", "Blue"), confirmed.clone()), vec![]),
        (question("answered", by("agent", "Blue"), Value::Null), red()),
        (question("answered", by("web", "Red"), failed("unknown")), red()),
        (question("answered", by("web", "Red"), json!({ "state": "sent" })), red()),
        (question("answered", overtaken, failed("overtaken")), vec![result("\"Q?\"=\"Green\"", false)]),
        (question("rejected", json!({ "by": { "surface": "agent" } }), Value::Null), red()),
        (question("cancelled", json!({ "cause": { "type": "agentExited" } }), Value::Null), red()),
        (question("cancelled", json!({ "cause": { "type": "agentTimedOut" } }), Value::Null), red()),
        (question("cancelled", json!({ "cause": { "type": "sessionEnded" } }), Value::Null), red()),
        (question("cancelled", json!({ "cause": { "type": "turnAborted" } }), Value::Null), red()),
        (
            question("cancelled", json!({ "cause": { "type": "turnAborted" } }), Value::Null),
            vec![result("The user doesn't want to proceed", true)],
        ),
        (question("requested", Value::Null, Value::Null), red()),
    ];
    for (question, results) in differs {
        ensure!(agree(&question, &results, false, true).is_err(), "no difference: {question} {results:?}");
    }
    ensure!(agree(&question("requested", Value::Null, Value::Null), &[], false, false).is_err(), "a ghost");
    Ok(())
}

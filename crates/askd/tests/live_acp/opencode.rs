//! `opencode acp`: it asks by its server, and is answered there, while its clients see requests in their
//! stream and respond to them.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::acp::{EXTENSION, Event, assert_no_hole, eventually, result};
use crate::agents::{Asked, Stage};
use crate::ask_and_cancel_the_turn;

/// In `late` the model asks after a second and a half; OpenCode then takes a moment.
const ASKED_WITHIN: Duration = Duration::from_secs(3);

fn answered(answers: &Value) -> Value {
    json!({ "status": "answered", "answers": answers })
}

/// Answers the request with a response of the client, which settles the question.
fn respond(stage: &Stage, asked: &Asked, result: &Value) {
    let (status, body) = stage.place.respond(&asked.request, result);
    assert_eq!(status, 202, "{body}");
}

/// The same by a route of sandbox-agent, by the agent's own names.
fn respond_v1(stage: &Stage, asked: &Asked, verb: &str, body: &Value) {
    let question = asked.request["params"]["questionId"].as_str().unwrap();
    let path = format!("/v1/sessions/{}/questions/{question}/{verb}", stage.session);
    let (status, problem) = stage.hub.http("POST", &path, Some(body)).unwrap();
    assert_eq!(status, 204, "{problem}");
}

fn is_request(event: &Event) -> bool {
    event.name == "message" && event.json()["method"] == EXTENSION
}

/// By the inbox, by the client's response, by sandbox-agent's route; one and several picks, several items,
/// own words; a permission, which is asked on the lines alone; a subagent; two sessions at once.
pub fn answers(stage: &mut Stage) -> Result<()> {
    let asked = stage.ask("one");
    let params = &asked.request["params"];
    assert_eq!((&params["sessionId"], &params["questionId"]), (&json!(stage.session), &asked.request["id"]));
    assert_eq!(params["prompt"], "Which auth method?");
    assert_eq!(params["options"][1], json!(["Cookies", "Cookies"]));
    assert_eq!(params["questions"][0]["options"][1]["description"], "Cookies, described");
    let item = &asked.question["questions"][0];
    assert_eq!((&item["question"], &item["custom"]), (&json!("Which auth method?"), &json!(true)));
    assert_eq!(item["options"].as_array().unwrap().len(), 3);
    // The call that the lines tell of is the one that asks.
    let call = params["toolCallId"].clone();
    assert_eq!(asked.question["tool"]["callId"], call);
    let told = |event: &Event| event.json()["params"]["update"]["toolCallId"] == call;
    if !stage.stream.seen.iter().any(told) {
        stage.stream.until(told);
    }
    // A client that does not know the extension refuses for nobody but itself.
    let refusal = json!({ "jsonrpc": "2.0", "id": asked.request["id"],
        "error": { "code": -32601, "message": "Method not found" } });
    assert_eq!(stage.place.post("", &refusal.to_string()).0, 202);
    stage.reply(&asked.id, &json!([["Cookies"]]));
    stage.done(asked, &["\"Which auth method?\"=\"Cookies\""]);

    let asked = stage.ask("multi");
    assert_eq!(asked.question["questions"][0]["multiple"], true);
    let refused = stage.place.respond(&asked.request, &answered(&json!([["JWT"], ["too many"]])));
    assert_eq!(refused.0, 400, "{refused:?}");
    respond(stage, &asked, &answered(&json!([["JWT", "OAuth"]])));
    respond(stage, &asked, &answered(&json!([["JWT", "OAuth"]])));
    assert_eq!(stage.place.respond(&asked.request, &answered(&json!([["JWT"]]))).0, 409);
    stage.done(asked, &["=\"JWT, OAuth\""]);

    let asked = stage.ask("two");
    assert_eq!(asked.question["questions"].as_array().unwrap().len(), 2);
    respond_v1(stage, &asked, "reply", &answered(&json!([["OAuth"], ["SQLite"]])));
    stage.done(asked, &["=\"OAuth\"", "=\"SQLite\""]);

    let asked = stage.ask("one");
    stage.reply(&asked.id, &json!([["something else, \"quoted\"\nand more"]]));
    stage.done(asked, &["something else, \"quoted\"\nand more"]);

    let asked = stage.ask_by("session/request_permission", "permission");
    assert_eq!(asked.question["kind"], "permission");
    assert_eq!(stage.questions("requested").len(), 1, "asked on the lines, and not by the server too");
    let once = json!({ "outcome": { "outcome": "selected", "optionId": "once" } });
    respond(stage, &asked, &once);
    stage.done(asked, &["hello"]);

    let asked = stage.ask("subagent");
    assert_eq!(asked.request["params"]["sessionId"], stage.session, "the session that clients know");
    stage.reply(&asked.id, &json!([["JWT"]]));
    stage.done(asked, &["Thank you."]);

    two_sessions_at_once(stage);
    assert_eq!(stage.questions("answered").len(), 8, "every question once");
    assert_eq!(stage.stream.seen.iter().filter(|event| is_request(event)).count(), 7);
    assert_no_hole(&stage.stream.seen);
    Ok(())
}

/// Each is asked about its own session, and the answer that is given last goes to the one that asked first.
fn two_sessions_at_once(stage: &mut Stage) {
    let other = stage.open_another();
    let first = stage.ask("one");
    let id = stage.next_id();
    let prompted = stage.place.prompt(id, &other, "SCENARIO:one go");
    let request = stage.stream.request(EXTENSION);
    assert_eq!(request["params"]["sessionId"], other);
    let is_second = |question: &Value| question["id"] != first.id.as_str();
    let question = eventually("the second", || stage.questions("requested").into_iter().find(is_second));
    let path = format!("/v1/sessions/{}", question["sessionId"].as_str().unwrap());
    assert_eq!(stage.hub.http("GET", &path, None).unwrap().1["nativeId"], other);
    let second = Asked { prompted, request, id: question["id"].as_str().unwrap().to_owned(), question };
    respond(stage, &second, &answered(&json!([["OAuth"]])));
    stage.done(second, &["=\"OAuth\""]);
    assert_eq!(stage.question(&first.id)["status"], "requested");
    stage.reply(&first.id, &json!([["JWT"]]));
    stage.done(first, &["=\"JWT\""]);
}

/// A rejection ends the turn, whichever way it comes; a turn that is cancelled ends its question.
pub fn ends(stage: &mut Stage) -> Result<()> {
    let over = |stage: &Stage, asked: Asked| {
        assert_eq!(result(&asked.prompted.join().unwrap())["stopReason"], "end_turn");
        stage.confirmed(&asked.id);
        let question = stage.question(&asked.id);
        assert_eq!(
            (&question["status"], &question["outcome"]["mode"]),
            (&json!("rejected"), &json!("interrupt"))
        );
    };
    let asked = stage.ask("one");
    let path = format!("/v1/questions/{}/reject", asked.id);
    for mode in ["decline", "cancel"] {
        let (status, body) = stage.hub.http("POST", &path, Some(&json!({ "mode": mode })))?;
        assert_eq!(status, 400, "OpenCode has no {mode}: {body}");
    }
    assert_eq!(stage.hub.http("POST", &path, Some(&json!({})))?.0, 200);
    over(stage, asked);
    let asked = stage.ask("one");
    respond(stage, &asked, &json!({ "status": "rejected" }));
    over(stage, asked);
    let asked = stage.ask("one");
    respond_v1(stage, &asked, "reject", &json!({}));
    over(stage, asked);
    assert_eq!(
        stage.model.tool_results().len(),
        2,
        "a rejection is told to the model with the next prompt only"
    );

    let request = ask_and_cancel_the_turn(stage);
    let late = stage.place.respond(&request, &answered(&json!([["JWT"]])));
    assert_eq!(late.0, 409, "{late:?}");
    // The agent goes on with the next turn.
    let asked = stage.ask("one");
    stage.reply(&asked.id, &json!([["JWT"]]));
    stage.done(asked, &["JWT"]);
    // Its end while it asks is the end of the question.
    let asked = stage.ask("one");
    assert_eq!(stage.place.delete(), 204);
    assert_eq!(stage.question(&asked.id)["status"], "cancelled");
    Ok(())
}

/// The hub is killed while a question is open, and again before one is asked: both are answered through the
/// next hub.
pub fn hub_killed(stage: &mut Stage) -> Result<()> {
    let asked = stage.ask("one");
    let before = restart(stage, Duration::ZERO)?;
    assert_eq!(asked.prompted.join().unwrap().0, 0, "the connection broke");
    let open = stage.questions("requested");
    assert_eq!((open.len(), open[0]["id"].as_str()), (1, Some(asked.id.as_str())));
    let (status, body) = stage.place.respond(&asked.request, &answered(&json!([["Cookies"]])));
    assert_eq!(status, 202, "{body}");
    let ended = |event: &Event| event.name == "message" && event.data.contains("stopReason");
    assert_eq!(stage.stream.until(ended).json()["result"]["stopReason"], "end_turn");
    stage.confirmed(&asked.id);
    assert!(stage.saw().contains("=\"Cookies\""), "the model saw {}", stage.saw());
    assert_eq!(stage.model.tool_results().len(), 1, "the answer arrived once");

    // Asked while no hub is there: found in the server's list. On a slow machine it may be asked before or
    // after, and is heard.
    let so_far = stage.model.requests().len();
    let prompted = stage.prompt("late");
    eventually("the prompt at the model", || (stage.model.requests().len() > so_far).then_some(()));
    let killed = restart(stage, ASKED_WITHIN)?;
    assert_eq!(prompted.join().unwrap().0, 0, "the connection broke");
    let heard = killed.iter().find(|event| is_request(event)).map(Event::json);
    let request = heard.unwrap_or_else(|| stage.stream.request(EXTENSION));
    let mut all = before;
    all.extend(killed);
    let question = eventually("the open question", || stage.questions("requested").pop());
    let (status, body) = stage.place.respond(&request, &answered(&json!([["OAuth"]])));
    assert_eq!(status, 202, "{body}");
    stage.stream.until(ended);
    stage.confirmed(question["id"].as_str().unwrap());
    assert!(stage.saw().contains("=\"OAuth\""), "the model saw {}", stage.saw());
    all.extend(stage.stream.seen.clone());
    assert_no_hole(&all);
    assert_eq!(all.iter().filter(|event| is_request(event)).count(), 2, "each is shown once");
    assert_eq!(stage.questions("answered").len(), 2);
    Ok(())
}

/// Kills the hub and starts it again after a pause; gives what was in the stream until then, and reads on
/// after it.
fn restart(stage: &mut Stage, pause: Duration) -> Result<Vec<Event>> {
    stage.hub.kill()?;
    let before = stage.stream.rest();
    std::thread::sleep(pause);
    stage.hub.restart()?;
    stage.stream = stage.place.stream(before.last().map(|event| event.id));
    Ok(before)
}

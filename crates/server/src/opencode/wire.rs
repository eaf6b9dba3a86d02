//! A question of askd in OpenCode's words: the request, its events, its tool part, and the bodies of errors.

use serde_json::{Value, json};

use askd_core::delivery::{Delivery, DeliveryState};
use askd_core::{Question, ShownAnswer, Status};

/// The session id of a question from the API.
const NO_SESSION: &str = "ses_askd";
const DISMISSED: &str = "The user dismissed this question";
const ABORTED: &str = "Tool execution aborted";
const UNSAID: &str = "The answer did not reach the agent";

pub fn session_of(question: &Question) -> String {
    question.ask.session_id.as_ref().map_or_else(|| NO_SESSION.to_owned(), ToString::to_string)
}

/// The asking message and call. For an agent without them, the question's id serves as both.
fn link(question: &Question) -> (String, String) {
    let tool = question.ask.tool.as_ref();
    let own = question.id.as_str().trim_start_matches("que_");
    let message = tool.and_then(|tool| tool.message_id.clone()).unwrap_or_else(|| format!("msg_{own}"));
    let call = tool.and_then(|tool| tool.call_id.clone()).unwrap_or_else(|| format!("call_{own}"));
    (message, call)
}

fn infos(question: &Question) -> Value {
    let info = |item: &askd_core::Item| {
        let options: Vec<Value> = item
            .options
            .iter()
            .map(|option| {
                json!({ "label": option.label, "description": option.description.as_deref().unwrap_or("") })
            })
            .collect();
        let header = item.header.as_deref().unwrap_or("");
        let mut info = json!({ "question": item.question, "header": header, "options": options });
        if item.multiple {
            info["multiple"] = true.into();
        }
        if !item.custom {
            info["custom"] = false.into();
        }
        info
    };
    question.ask.questions.iter().map(info).collect()
}

/// `QuestionRequest`: an entry of `GET /question` and the content of `question.asked`.
pub fn request(question: &Question) -> Value {
    let (message, call) = link(question);
    json!({
        "id": question.id, "sessionID": session_of(question), "questions": infos(question),
        "tool": { "messageID": message, "callID": call },
    })
}

/// `question.replied` or `question.rejected`. An end without an answer is a rejection for these clients.
pub fn settled(question: &Question) -> (&'static str, Value) {
    let mut properties = json!({ "sessionID": session_of(question), "requestID": question.id });
    match (question.status, question.outcome.as_ref().and_then(|outcome| outcome.answers.as_ref())) {
        (Status::Answered, answers) => {
            properties["answers"] = json!(labels(answers.map(Vec::as_slice).unwrap_or_default()));
            ("question.replied", properties)
        }
        _ => ("question.rejected", properties),
    }
}

/// Clients know options by their labels alone.
fn labels(answers: &[ShownAnswer]) -> Vec<Vec<String>> {
    answers.iter().map(ShownAnswer::to_texts).collect()
}

/// True until the agent has the answer.
pub fn is_running(question: &Question) -> bool {
    let on_its_way = |delivery: &Delivery| delivery.state == DeliveryState::Queued;
    question.is_open() || question.delivery.as_ref().is_some_and(on_its_way)
}

/// The tool part: running while the question is open, then completed with what the agent was given, or in
/// error.
pub fn part(question: &Question) -> Value {
    let (message, call) = link(question);
    let start = question.created_at.millis();
    let input = json!({ "questions": infos(question) });
    let outcome = question.outcome.as_ref();
    let end = outcome.map_or(start, |outcome| outcome.at.millis());
    let time = json!({ "start": start, "end": end });
    let unsaid = question.delivery.as_ref().filter(|delivery| delivery.is_unsaid());
    let state = match question.status {
        _ if is_running(question) => {
            json!({ "status": "running", "input": input, "time": { "start": start } })
        }
        Status::Answered | Status::Rejected if let Some(delivery) = unsaid => {
            let why = delivery.error.as_ref().and_then(|error| error.detail.as_deref()).unwrap_or_default();
            json!({ "status": "error", "input": input, "error": format!("{UNSAID}: {why}"), "time": time })
        }
        Status::Answered => {
            let received = outcome.and_then(|outcome| outcome.agent_received.as_ref());
            let given = match received {
                Some(received) => received.answers.as_slice(),
                None => outcome.and_then(|outcome| outcome.answers.as_deref()).unwrap_or_default(),
            };
            let answers = labels(given);
            let count = question.ask.questions.len();
            let title = format!("Asked {count} question{}", if count == 1 { "" } else { "s" });
            json!({
                "status": "completed", "input": input, "output": output(question, &answers), "title": title,
                "metadata": { "answers": answers, "truncated": false }, "time": time,
            })
        }
        Status::Rejected => json!({ "status": "error", "input": input, "error": DISMISSED, "time": time }),
        Status::Requested | Status::Cancelled | Status::Expired => json!({
            "status": "error", "input": input, "error": ABORTED, "metadata": { "interrupted": true }, "time": time,
        }),
    };
    let id = format!("prt_{}", question.id.as_str().trim_start_matches("que_"));
    let session = session_of(question);
    json!({
        "sessionID": session, "time": end,
        "part": { "id": id, "sessionID": session, "messageID": message, "type": "tool", "tool": "question",
                  "callID": call, "state": state },
    })
}

/// The asking message, and its part.
pub fn message(question: &Question) -> (Value, Value) {
    let mut told = part(question);
    let part = told["part"].take();
    let cwd = question.ask.context.cwd.as_deref().unwrap_or("/");
    let mut time = json!({ "created": question.created_at.millis() });
    if part["state"]["status"] != "running" {
        time["completed"] = part["state"]["time"]["end"].clone();
    }
    let nothing = json!({ "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } });
    let info = json!({
        "id": part["messageID"], "sessionID": part["sessionID"], "role": "assistant", "time": time,
        // Members that clients need and askd does not know.
        "parentID": "", "modelID": "", "providerID": question.ask.agent, "mode": "build", "agent": question.ask.agent,
        "path": { "cwd": cwd, "root": "/" }, "cost": 0, "tokens": nothing,
    });
    (info, part)
}

fn output(question: &Question, answers: &[Vec<String>]) -> String {
    let one = |(item, picks): (&askd_core::Item, &Vec<String>)| {
        let said = if picks.is_empty() { "Unanswered".to_owned() } else { picks.join(", ") };
        format!("\"{}\"=\"{said}\"", item.question)
    };
    let all: Vec<String> = question.ask.questions.iter().zip(answers).map(one).collect();
    let all = all.join(", ");
    format!("User has answered your questions: {all}. You can now continue with the user's answers in mind.")
}

pub fn not_found(id: &str) -> Value {
    json!({ "_tag": "QuestionNotFoundError", "requestID": id, "message": format!("Question request not found: {id}") })
}

pub fn missing(noun: &str, id: &str) -> Value {
    json!({ "name": "NotFoundError", "data": { "message": format!("{noun} not found: {id}") } })
}

pub fn bad_request(message: &str, kind: &str) -> Value {
    json!({ "name": "BadRequest", "data": { "message": message, "kind": kind } })
}

pub fn unknown_error(reference: &str) -> Value {
    let message = "Unexpected server error. Check server logs for details.";
    json!({ "name": "UnknownError", "data": { "message": message, "ref": reference } })
}

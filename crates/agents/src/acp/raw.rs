//! Requests that ask and that no form can show: a field too many, an option of an unknown shape, no text at
//! all. They are questions all the same, shown as they are and answered with the very result that the agent
//! waits for.
//!
//! In: the parameters of such a request, and why they cannot be shown. Out: an [`Ask`] with one item that
//! takes JSON, and the response.

use askd_core::ask::RAW_RESULT;
use askd_core::question::{Body, BodyFormat};
use askd_core::{Ask, ItemAnswer, Kind, RejectMode, Reply};
use serde_json::Value;
use serde_json::value::RawValue;

use super::open::Way;
use super::replying::{self, FormResult, PickResult, QuestionResult};
use super::wire::{self, Message};
use super::{draft, elicitation, permission, question};
use crate::codec::{ClientSays, Settlement, Unspeakable};
use askd_wire::json_edit;

/// Bytes of the parameters that are shown: as much as a person reads.
const BODY_BYTES: usize = 64 << 10;
/// Characters of the reason: a person reads this much about a form with errors in each field.
const REASON_CHARS: usize = 400;

pub(super) fn ask(agent: &str, way: Way, params: Option<&RawValue>, why: &str) -> Ask {
    let why: String = why.chars().take(REASON_CHARS).collect();
    let example = match way {
        Way::Question => r#"{"status":"answered","answers":[["..."]]}"#,
        Way::Elicitation => r#"{"action":"accept","content":{...}}"#,
        Way::Permission => r#"{"outcome":{"outcome":"selected","optionId":"..."}}"#,
    };
    let text = format!(
        "The agent asks in a way that askd cannot show ({why}). Answer with its result as JSON: {example}"
    );
    let mut item = draft::item(text);
    item.custom = true;
    item.required = true;
    item.secret =
        params.is_some_and(|params| serde_json::from_str(params.get()).is_ok_and(|value| is_secret(&value)));
    item.key = Some(RAW_RESULT.to_owned());
    let modes = [RejectMode::Decline, RejectMode::Cancel, RejectMode::Interrupt];
    // An option of the agent declines a permission, and the parameters do not show which one.
    let modes = if way == Way::Permission { &modes[1..] } else { &modes[..] };
    let mut ask = draft::ask(agent, Kind::Form, vec![item], modes);
    let params = params.map_or("(no parameters)", RawValue::get);
    ask.body = Some(Body { format: BodyFormat::Text, text: draft::beginning(params, BODY_BYTES).to_owned() });
    ask
}

/// True if a question is shown as it came.
pub fn is_raw(ask: &Ask) -> bool {
    matches!(ask.questions.as_slice(), [item] if item.key.as_deref() == Some(RAW_RESULT))
}

/// The meaning of a client's own result, by its form alone: only the agent knows whether it fits.
pub(super) fn understand(way: Way, params: Option<&RawValue>, result: &str) -> Result<ClientSays, String> {
    let rejected = match way {
        Way::Question => match replying::read_question(result)? {
            QuestionResult::Answered { .. } => None,
            QuestionResult::Rejected(rejected) => Some(rejected),
        },
        Way::Elicitation => match replying::read_form(result)? {
            FormResult::Accepted { .. } => None,
            FormResult::Rejected(rejected) => Some(rejected),
        },
        Way::Permission => match replying::read_pick(result)? {
            PickResult::Selected { option_id, .. } => {
                permission::check_offered(params, &option_id)?;
                None
            }
            PickResult::Cancelled(rejected) => Some(rejected),
        },
    };
    let reply = || ClientSays::Reply(Reply::of([ItemAnswer::words([result])]));
    Ok(rejected.map_or_else(reply, ClientSays::from))
}

/// Checks that `outcome` is a valid JSON-RPC result for `native`. Other requests always pass. The error is
/// for a person.
pub fn carries_raw(native: &RawValue, settled: &Settlement) -> Result<(), Unspeakable> {
    let Ok(Message::Request { method, params, .. }) = Message::read(native.get()) else { return Ok(()) };
    match (Way::of(&method), wire::stored_id(native)) {
        (Some(way), Ok(id)) => response(id, way, params, settled).map(drop),
        _ => Ok(()),
    }
}

/// The response for an outcome.
pub(super) fn response(
    id: &RawValue,
    way: Way,
    params: Option<&RawValue>,
    settled: &Settlement,
) -> Result<Vec<u8>, Unspeakable> {
    let answer = match settled {
        Settlement::Answered(answer) => answer,
        Settlement::Rejected { mode, reason } => {
            let reason = reason.as_deref();
            return Ok(match way {
                Way::Question => wire::response(id, question::outcome(settled)),
                Way::Elicitation => wire::response(id, elicitation::rejected(*mode, reason)),
                Way::Permission => wire::response(id, draft::with_reason(permission::cancelled(), reason)),
            });
        }
    };
    let cannot = |what| Err(Unspeakable::CannotCarry(what));
    let no_result = "an answer that is not the JSON of a result";
    let Some(text) = answer.answers.first().and_then(|answer| answer.words.first()) else {
        return cannot(no_result);
    };
    // A line feed would make the rest a message of its own for the agent.
    match (understand(way, params, text), RawValue::from_string(json_edit::one_line(text).into_owned())) {
        (Ok(ClientSays::Reply(_)), Ok(result)) => Ok(wire::response(id, result)),
        (Ok(_), Ok(_)) => cannot("a result that rejects as an answer: reject the question instead"),
        _ => cannot(no_result),
    }
}

/// True if the parameters mention a secret.
fn is_secret(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(is_secret),
        // A field itself may have one of these names, so the members below them count too.
        Value::Object(members) => members.iter().any(|(key, value)| match (key.as_str(), value) {
            ("secret" | "isSecret", Value::Bool(said)) => *said,
            ("format", Value::String(format)) => format == "password",
            _ => is_secret(value),
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use askd_core::Answer;
    use serde_json::json;

    use super::*;

    fn answered(text: &str) -> Settlement {
        let answers = vec![ItemAnswer::words([text])];
        Settlement::Answered(Answer { answers, notes: vec![None], edited_plan: None, next_mode: None })
    }

    fn said(way: Way, settled: &Settlement) -> Result<Value, Unspeakable> {
        let id = RawValue::from_string("7".to_owned()).unwrap();
        response(&id, way, None, settled)
            .map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap()["result"].clone())
    }

    #[test]
    fn every_way_has_its_question_and_its_result() {
        for (way, result, other) in [
            (Way::Question, r#"{"status":"answered","answers":[["x"]]}"#, r#"{"status":"rejected"}"#),
            (Way::Elicitation, r#"{"action":"accept","content":{"f":1}}"#, r#"{"action":"decline"}"#),
            (
                Way::Permission,
                r#"{"outcome":{"outcome":"selected","optionId":"a"}}"#,
                r#"{"outcome":"selected"}"#,
            ),
        ] {
            let ask = ask("a", way, None, &"why ".repeat(1000));
            assert!(ask.check().is_ok() && is_raw(&ask), "{way:?}");
            assert!(matches!(understand(way, None, result), Ok(ClientSays::Reply(_))), "{way:?}");
            assert_eq!(said(way, &answered(result)).unwrap(), serde_json::from_str::<Value>(result).unwrap());
            for wrong in [other, "yes", "[]", "{}", ""] {
                assert!(said(way, &answered(wrong)).is_err(), "{way:?} {wrong}");
            }
            for mode in ask.reject_modes {
                assert!(said(way, &Settlement::Rejected { mode, reason: None }).is_ok(), "{way:?} {mode:?}");
            }
        }
        assert!(matches!(
            understand(Way::Elicitation, None, r#"{"action":"cancel"}"#),
            Ok(ClientSays::Reject(_))
        ));
    }

    #[test]
    fn only_requests_of_the_three_ways_are_judged() {
        let carries = |native: Value| {
            let native = RawValue::from_string(native.to_string()).unwrap();
            carries_raw(&native, &answered("no result")).is_ok()
        };
        assert!(!carries(json!({ "jsonrpc": "2.0", "id": 1, "method": question::METHOD, "params": {} })));
        assert!(carries(json!({ "jsonrpc": "2.0", "id": 1, "method": "other" })));
        assert!(carries(json!({ "type": "control_request", "request": {} })));
    }

    #[test]
    fn a_result_on_several_lines_is_one_line_to_the_agent() {
        let id = RawValue::from_string("7".to_owned()).unwrap();
        let text = "{\"action\":\"accept\",\n\"content\":\r\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n}\n";
        let bytes = response(&id, Way::Elicitation, None, &answered(text)).unwrap();
        assert_eq!(bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count(), 1, "its end");
    }
}

//! Requests that ask and that no form can show: a field too many, an option of an unknown shape, no text at all. They are questions
//! all the same, shown as they are and answered with the very result that the agent waits for.
//!
//! In: the parameters of such a request, and why they cannot be shown. Out: an [`Ask`] with one item that takes JSON, and the response.

use askd_core::ask::RAW_RESULT;
use askd_core::question::{Body, BodyFormat};
use askd_core::{Ask, Kind, RejectMode, Reply};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::open::Way;
use super::{draft, permission, question, replying, wire};
use crate::codec::{ClientSays, Settlement, Unspeakable};
use crate::splice;

/// What is shown of the parameters: as much as a person reads.
const BODY_BYTES: usize = 64 << 10;
/// Characters of the reason: what a person reads of a form that is wrong in each of its fields.
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
    item.key = Some(RAW_RESULT.to_owned());
    let modes = [RejectMode::Decline, RejectMode::Cancel, RejectMode::Interrupt];
    // A permission is declined by an option of the agent, and which of them that is cannot be known.
    let modes = if way == Way::Permission { &modes[1..] } else { &modes[..] };
    let mut ask = draft::ask(agent, Kind::Form, vec![item], modes);
    let params = params.map_or("(no parameters)", RawValue::get);
    ask.body = Some(Body { format: BodyFormat::Text, text: beginning(params, BODY_BYTES).to_owned() });
    ask
}

pub(super) fn is_raw(ask: &Ask) -> bool {
    matches!(ask.questions.as_slice(), [item] if item.key.as_deref() == Some(RAW_RESULT))
}

/// What a client means by its own result.
pub(super) fn understand(way: Way, result: &str) -> Result<ClientSays, String> {
    let given: Map<String, Value> = wire::object(result).map_err(|error| error.to_string())?;
    let word = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let reason = || given.get("reason").and_then(Value::as_str).map(str::to_owned);
    let (word, rejected) = match way {
        Way::Question => (word(given.get("status")), [("rejected", RejectMode::Decline); 2]),
        Way::Elicitation => {
            (word(given.get("action")), [("decline", RejectMode::Decline), ("cancel", RejectMode::Cancel)])
        }
        Way::Permission => {
            let outcome = given.get("outcome").and_then(|outcome| outcome.get("outcome"));
            (word(outcome), [("cancelled", RejectMode::Cancel); 2])
        }
    };
    if let Some((_, mode)) = rejected.iter().find(|(name, _)| *name == word) {
        return Ok(replying::reject(*mode, reason()));
    }
    let accepted = match way {
        Way::Question => "answered",
        Way::Elicitation => "accept",
        Way::Permission => "selected",
    };
    if word != accepted {
        return Err(format!("{word:?} is neither {accepted:?} nor {:?}", rejected.map(|(name, _)| name)));
    }
    let answers = vec![vec![result.to_owned()]];
    Ok(ClientSays::Reply(Reply { answers, notes: None, edited_plan: None, next_mode: None }))
}

/// The response that carries an outcome.
pub(super) fn response(id: &RawValue, way: Way, settled: &Settlement) -> Result<Vec<u8>, Unspeakable> {
    let answer = match (settled, way) {
        (Settlement::Answered(answer), _) => answer,
        (Settlement::Rejected { .. }, Way::Question) => {
            return Ok(wire::response(id, question::outcome(settled)));
        }
        (Settlement::Rejected { .. }, Way::Permission) => {
            return Ok(wire::response(id, permission::cancelled()));
        }
        (Settlement::Rejected { mode, .. }, Way::Elicitation) => {
            let action = if *mode == RejectMode::Decline { "decline" } else { "cancel" };
            return Ok(wire::response(id, json!({ "action": action })));
        }
    };
    let no_result = Unspeakable::CannotCarry("an answer that is not the JSON of a result");
    let text = answer.answers.first().and_then(|picks| picks.first()).ok_or(no_result.clone())?;
    // What stands on a line of its own would be a message of its own to the agent.
    match (understand(way, text), RawValue::from_string(splice::one_line(text))) {
        (Ok(ClientSays::Reply(_)), Ok(result)) => Ok(wire::response(id, result)),
        _ => Err(no_result),
    }
}

/// The beginning of a text, of so many bytes at most.
fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use askd_core::Answer;

    use super::*;

    fn answered(text: &str) -> Settlement {
        let answers = vec![vec![text.to_owned()]];
        Settlement::Answered(Answer { answers, notes: vec![None], edited_plan: None, next_mode: None })
    }

    fn said(way: Way, settled: &Settlement) -> Result<Value, Unspeakable> {
        let id = RawValue::from_string("7".to_owned()).unwrap();
        response(&id, way, settled)
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
            assert!(matches!(understand(way, result), Ok(ClientSays::Reply(_))), "{way:?}");
            assert_eq!(said(way, &answered(result)).unwrap(), serde_json::from_str::<Value>(result).unwrap());
            for wrong in [other, "yes", "[]", "{}", ""] {
                assert!(said(way, &answered(wrong)).is_err(), "{way:?} {wrong}");
            }
            for mode in ask.reject_modes {
                assert!(said(way, &Settlement::Rejected { mode, reason: None }).is_ok(), "{way:?} {mode:?}");
            }
        }
        assert!(matches!(understand(Way::Elicitation, r#"{"action":"cancel"}"#), Ok(ClientSays::Reject(_))));
    }

    #[test]
    fn a_result_on_several_lines_is_one_line_to_the_agent() {
        let id = RawValue::from_string("7".to_owned()).unwrap();
        let text = "{\"action\":\"accept\",\n\"content\":\r\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n}\n";
        let bytes = response(&id, Way::Elicitation, &answered(text)).unwrap();
        assert_eq!(bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count(), 1, "its end");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(
            (beginning("a\u{f6}b", 2), beginning("a\u{f6}b", 3), beginning("ab", 9)),
            ("a", "a\u{f6}", "ab")
        );
    }
}

//! What a client's own JSON-RPC response to a question means: the way back of `question`, `elicitation` and `permission`.
//!
//! In: the stored request and the client's result. Out: a [`ClientSays`] that goes through the same validation as every other
//! answer. A result of another form is an error that says what is wrong with it; nothing is guessed.

use askd_core::answer::Rejection;
use askd_core::{Ask, RejectMode, Reply};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::open::Way;
use super::wire::{self, Message};
use super::{elicitation, permission};
use crate::codec::{ClientSays, Unspeakable};

/// Understands a client's response to the request that `native` is.
pub(super) fn understand(native: &RawValue, ask: &Ask, response: &str) -> Result<ClientSays, Unspeakable> {
    let unreadable = |why: String| Unspeakable::Unreadable(why);
    let misfit = |why: String| Unspeakable::Misfit(why);
    let Message::Request { method, params, .. } = Message::read(native.get()).map_err(unreadable)? else {
        return Err(Unspeakable::Unreadable("it is not a request".to_owned()));
    };
    let result = match Message::read(response).map_err(misfit)? {
        Message::Response { result: Ok(result), .. } => result,
        Message::Response { result: Err(error), .. } => return Ok(ClientSays::Failed(error.to_string())),
        _ => return Err(Unspeakable::Misfit("it is not a response".to_owned())),
    };
    match Way::of(&method) {
        Some(Way::Question) => question(result).map_err(misfit),
        Some(Way::Elicitation) => {
            let params: elicitation::Params = wire::params(params).map_err(unreadable)?;
            form(&params, result).map_err(misfit)
        }
        Some(Way::Permission) => {
            let params: permission::Params = wire::params(params).map_err(unreadable)?;
            pick(&params, ask, result).map_err(misfit)
        }
        None => Err(Unspeakable::Unreadable(format!("{method} is not a question"))),
    }
}

fn reject(mode: RejectMode, reason: Option<String>) -> ClientSays {
    ClientSays::Reject(Rejection { mode: Some(mode), reason })
}

fn question(result: &RawValue) -> Result<ClientSays, String> {
    #[derive(Deserialize)]
    #[serde(tag = "status", rename_all = "lowercase")]
    enum Given {
        Answered {
            answers: Vec<Vec<String>>,
            #[serde(default)]
            notes: Option<Vec<Option<String>>>,
        },
        Rejected {
            #[serde(default)]
            mode: Option<RejectMode>,
            #[serde(default)]
            reason: Option<String>,
        },
    }
    let given = serde_json::from_str(result.get()).map_err(|error| {
        format!(
            "{error}; give {{\"status\":\"answered\",\"answers\":[[...]]}} or {{\"status\":\"rejected\"}}"
        )
    })?;
    Ok(match given {
        Given::Answered { answers, notes } => {
            ClientSays::Reply(Reply { answers, notes, edited_plan: None, next_mode: None })
        }
        // Without a mode it is a decline, or the only thing that the agent understands.
        Given::Rejected { mode, reason } => ClientSays::Reject(Rejection { mode, reason }),
    })
}

/// What a client may say besides the outcome, under `_meta.askd`.
#[derive(Deserialize, Default)]
struct Meta {
    #[serde(default)]
    askd: Beside,
}

#[derive(Deserialize, Default)]
struct Beside {
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    notes: Option<Vec<Option<String>>>,
}

fn form(params: &elicitation::Params, result: &RawValue) -> Result<ClientSays, String> {
    #[derive(Deserialize)]
    struct Given {
        action: String,
        #[serde(default)]
        content: Option<serde_json::Map<String, Value>>,
        #[serde(default, rename = "_meta")]
        meta: Option<Meta>,
    }
    let given: Given = serde_json::from_str(result.get())
        .map_err(|error| format!("{error}; give an action (accept, decline or cancel), and content"))?;
    let beside = given.meta.unwrap_or_default().askd;
    match given.action.as_str() {
        "accept" => {
            let (answers, notes) = elicitation::answers(params, given.content.unwrap_or_default())?;
            let notes = notes.or(beside.notes);
            Ok(ClientSays::Reply(Reply { answers, notes, edited_plan: None, next_mode: None }))
        }
        "decline" => Ok(reject(RejectMode::Decline, beside.reason)),
        "cancel" => Ok(reject(RejectMode::Cancel, beside.reason)),
        other => Err(format!("the action {other:?} is none of accept, decline, cancel")),
    }
}

fn pick(params: &permission::Params, ask: &Ask, result: &RawValue) -> Result<ClientSays, String> {
    #[derive(Deserialize)]
    struct Given {
        outcome: Picked,
        #[serde(default, rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    #[serde(tag = "outcome", rename_all = "lowercase")]
    enum Picked {
        Selected {
            #[serde(rename = "optionId")]
            option_id: String,
        },
        Cancelled,
    }
    let given: Given = serde_json::from_str(result.get()).map_err(|error| {
        format!(
            "{error}; give {{\"outcome\":{{\"outcome\":\"selected\",\"optionId\":...}}}} or \"cancelled\""
        )
    })?;
    let beside = given.meta.unwrap_or_default().askd;
    match given.outcome {
        Picked::Cancelled => Ok(reject(RejectMode::Cancel, beside.reason)),
        Picked::Selected { option_id } => match permission::picked(params, ask, &option_id) {
            Some(value) => {
                let answers = vec![vec![value]];
                Ok(ClientSays::Reply(Reply {
                    answers,
                    notes: beside.notes,
                    edited_plan: None,
                    next_mode: None,
                }))
            }
            None => Ok(reject(RejectMode::Decline, beside.reason)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::acp::AcpCodec;
    use crate::codec::{Begin, Codec, Settlement};
    use crate::heard::{Heard, Speech};
    use serde_json::json;

    fn asked(method: &str, params: &Value) -> (Box<RawValue>, Ask) {
        let line = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string();
        let mut codec = AcpCodec::new("a");
        codec.begin(Begin::default());
        let asked = codec.hear(line.as_bytes()).into_iter().find_map(|heard| match heard {
            Heard::Asked(asked) => Some(asked),
            _ => None,
        });
        let asked = asked.unwrap();
        (asked.native, asked.ask)
    }

    /// A client's result, understood, checked and spoken again.
    fn round_trip(method: &str, params: &Value, result: &Value) -> Result<Value, String> {
        let (native, ask) = asked(method, params);
        let response = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
        let says = understand(&native, &ask, &response).map_err(|error| error.to_string())?;
        let settled = match says {
            ClientSays::Reply(reply) => {
                Settlement::Answered(reply.check(&ask).map_err(|error| error.to_string())?)
            }
            ClientSays::Reject(rejection) => {
                let (mode, reason) = rejection.check(&ask).map_err(|error| error.to_string())?;
                Settlement::Rejected { mode, reason }
            }
            ClientSays::Failed(why) => return Err(why),
        };
        let Ok(Speech::Bytes(bytes)) = AcpCodec::new("a").speak(&native, &ask, &settled) else {
            return Err("unspeakable".to_owned());
        };
        Ok(serde_json::from_slice::<Value>(&bytes).unwrap()["result"].clone())
    }

    fn same(method: &str, params: &Value, results: &[Value]) {
        for result in results {
            assert_eq!(round_trip(method, params, result).as_ref(), Ok(result));
        }
    }

    fn refused(method: &str, params: &Value, results: &[Value]) {
        for result in results {
            assert!(round_trip(method, params, result).is_err(), "{result}");
        }
    }

    #[test]
    fn what_a_client_says_to_the_extension_is_what_the_agent_hears() {
        let params = json!({ "sessionId": "s", "prompt": "Which?", "options": [["a", "A"], ["b", "B"]], "custom": false });
        let method = "_sandboxagent/session/request_question";
        same(
            method,
            &params,
            &[
                json!({ "status": "answered", "answers": [["a"]] }),
                json!({ "status": "answered", "answers": [[]], "notes": ["why"] }),
                json!({ "status": "rejected" }),
                json!({ "status": "rejected", "mode": "cancel", "reason": "no" }),
            ],
        );
        refused(
            method,
            &params,
            &[
                json!({ "status": "answered", "answers": [["c"]] }),
                json!({ "status": "answered", "answers": ["a"] }),
                json!({ "status": "answered" }),
                json!({ "status": "maybe" }),
                json!({}),
                json!(null),
            ],
        );
    }

    #[test]
    fn forms_are_read_back_with_their_companion_fields() {
        let option = |value: &str| json!({ "const": value, "title": value });
        let schema = json!({ "type": "object", "required": ["n"], "properties": {
            "question_0": { "type": "string", "title": "H", "oneOf": [option("x"), option("y")] },
            "question_0_custom": { "type": "string", "title": "Other" },
            "question_1": { "type": "array", "items": { "anyOf": [option("p"), option("q")] } },
            "question_1_custom": { "type": "string", "title": "Other" },
            "db": { "type": "string", "title": "Which?", "_meta": { "codex": { "isOther": true } },
                "oneOf": [option("pg"), option("None of the above")] },
            "db_note": { "type": "string", "_meta": { "codex": { "questionId": "db", "role": "user_note" } } },
            "n": { "type": "integer", "minimum": 1, "maximum": 5 },
            "ok": { "type": "boolean" },
        } });
        let params = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
        let accept = |content: Value| json!({ "action": "accept", "content": content });
        same(
            "elicitation/create",
            &params,
            &[
                accept(
                    json!({ "question_0": "x", "question_1": ["p", "q"], "db": "pg", "n": 3, "ok": false }),
                ),
                accept(json!({ "question_0": "x", "question_0_custom": "a note", "n": 1 })),
                accept(
                    json!({ "question_0_custom": "own words", "db": "None of the above", "db_note": "mysql", "n": 1 }),
                ),
                accept(json!({ "question_1": ["p"], "question_1_custom": "and r", "n": 1 })),
                accept(json!({ "db": "None of the above", "n": 1 })),
                json!({ "action": "decline" }),
                json!({ "action": "cancel" }),
                json!({ "action": "decline", "_meta": { "askd": { "reason": "later" } } }),
            ],
        );
        refused(
            "elicitation/create",
            &params,
            &[
                accept(json!({ "question_0": "x" })),
                accept(json!({ "question_0": "z", "n": 1 })),
                accept(json!({ "question_0": ["x"], "n": 1 })),
                accept(json!({ "question_1": "p", "n": 1 })),
                accept(json!({ "question_1": [1], "n": 1 })),
                accept(json!({ "n": 9 })),
                accept(json!({ "n": "3" })),
                accept(json!({ "n": 1, "ok": "yes" })),
                json!({ "action": "later" }),
                json!({ "content": {} }),
            ],
        );
    }

    #[test]
    fn links_and_forms_without_fields_are_accepted_or_not() {
        let link = json!({ "mode": "url", "sessionId": "s", "message": "m", "elicitationId": "e", "url": "https://x.example" });
        let empty = json!({ "mode": "form", "sessionId": "s", "message": "m",
            "requestedSchema": { "type": "object", "properties": {} } });
        same("elicitation/create", &link, &[json!({ "action": "accept" }), json!({ "action": "cancel" })]);
        same(
            "elicitation/create",
            &empty,
            &[json!({ "action": "accept", "content": {} }), json!({ "action": "decline" })],
        );
    }

    #[test]
    fn a_permission_takes_the_agents_own_options_and_a_plan_is_approved_or_sent_back() {
        let options = json!([
            { "optionId": "once", "name": "Yes", "kind": "allow_once" },
            { "optionId": "always", "name": "Always", "kind": "allow_always" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let selected = |id: &str| json!({ "outcome": { "outcome": "selected", "optionId": id } });
        let all = [
            selected("once"),
            selected("always"),
            selected("no"),
            json!({ "outcome": { "outcome": "cancelled" } }),
        ];
        let permission =
            json!({ "sessionId": "s", "toolCall": { "toolCallId": "t", "title": "rm" }, "options": options });
        let plan = json!({ "sessionId": "s", "options": options,
            "toolCall": { "toolCallId": "t", "kind": "switch_mode", "rawInput": { "plan": "1. Do it" } } });
        for params in [permission, plan] {
            same("session/request_permission", &params, &all);
            refused(
                "session/request_permission",
                &params,
                &[selected("other"), json!({ "outcome": "yes" }), json!(7)],
            );
        }
    }

    #[test]
    fn an_error_of_a_client_is_no_answer() {
        let (native, ask) =
            asked("_sandboxagent/session/request_question", &json!({ "sessionId": "s", "prompt": "?" }));
        let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}"#;
        let says = understand(&native, &ask, error).unwrap();
        assert_eq!(says, ClientSays::Failed("Method not found (-32601)".to_owned()));
    }
}

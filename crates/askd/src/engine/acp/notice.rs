//! What askd itself says in the stream of an ACP server: extension notifications, which clients that do not know them ignore.

use serde_json::json;

use askd_core::{Cause, QuestionId};

pub(super) const ENDED: &str = "_askd/agent_ended";
pub(super) const ANSWERED: &str = "_askd/request_answered";

/// A question is over; whoever has it on a screen can take it away. `end` is what the store tells of it.
pub(super) fn resolved(end: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"_askd/question_resolved","params":{end}}}"#)
}

/// A client said that it cannot show a question; it is open for everybody else. `request` is the JSON text of the agent's id.
pub(super) fn not_shown(request: &str, question: Option<&QuestionId>, why: &str, client: &str) -> String {
    let params = json!({
        "requestId": serde_json::from_str::<serde_json::Value>(request).unwrap_or_default(),
        "questionId": question,
        "client": client,
        "error": why,
    });
    json!({ "jsonrpc": "2.0", "method": "_askd/question_not_shown", "params": params }).to_string()
}

/// A client has answered a request of the agent that is no question.
pub(super) fn answered(response: &str) -> Option<String> {
    let id: serde_json::Value = serde_json::from_str(&super::id_of(response)?).ok()?;
    let params = json!({ "requestId": id });
    Some(json!({ "jsonrpc": "2.0", "method": ANSWERED, "params": params }).to_string())
}

/// The agent is gone.
pub(super) fn ended(cause: &Cause) -> String {
    json!({ "jsonrpc": "2.0", "method": ENDED, "params": { "cause": cause } }).to_string()
}

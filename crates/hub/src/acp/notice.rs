//! What askd itself says in the stream of an ACP server: extension notifications, which clients that do not know them ignore.

use serde_json::json;

use askd_core::{Cause, QuestionId};
use askd_wire::json_edit;
use askd_wire::jsonrpc::Id;

pub(super) const ENDED: &str = "_askd/agent_ended";
pub(super) const ANSWERED: &str = "_askd/request_answered";
/// Characters of a reason: what a person reads of a form that is wrong in each of its fields.
const MAX_REASON: usize = 1000;

/// A question is over; whoever has it on a screen can take it away. `end` is what the store tells of it.
pub(super) fn resolved(end: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"_askd/question_resolved","params":{end}}}"#)
}

/// A request that asks and that the inbox cannot take: only a client can answer it.
pub(super) fn not_taken(request: &Id, why: &str) -> String {
    let reason: String = why.chars().take(MAX_REASON).collect();
    about(request, "_askd/question_not_taken", &json!({ "reason": reason }).to_string())
}

/// A client said that it cannot show a question; it is open for everybody else.
pub(super) fn not_shown(request: &Id, question: Option<&QuestionId>, why: &str, client: &str) -> String {
    let params = json!({ "questionId": question, "client": client, "error": why });
    about(request, "_askd/question_not_shown", &params.to_string())
}

/// A client has answered a request of the agent that is no question.
pub(super) fn answered(request: &Id) -> String {
    about(request, ANSWERED, "{}")
}

/// A notification about a request; its id is spelled as the agent spells it.
fn about(request: &Id, method: &str, params: &str) -> String {
    let params = json_edit::set(params, &["requestId"], request.as_str());
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// The agent is gone.
pub(super) fn ended(cause: &Cause) -> String {
    json!({ "jsonrpc": "2.0", "method": ENDED, "params": { "cause": cause } }).to_string()
}

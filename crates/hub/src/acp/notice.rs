//! askd's own notifications in the stream of an ACP server: extensions that other clients ignore.

use serde_json::json;

use askd_core::{Cause, QuestionId};
use askd_wire::json_edit;
use askd_wire::jsonrpc::Id;

pub(super) const ENDED: &str = "_askd/agent_ended";
pub(super) const ANSWERED: &str = "_askd/request_answered";
/// Characters of a reason: a person reads this much about a form with errors in each field.
const MAX_REASON: usize = 1000;

/// Reports that a question ended, so that surfaces remove it. `end` is the store's text.
pub(super) fn resolved(end: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"_askd/question_resolved","params":{end}}}"#)
}

/// Reports a request that asks and that the inbox refused: only a client can answer it.
pub(super) fn not_taken(request: &Id, why: &str) -> String {
    let reason: String = why.chars().take(MAX_REASON).collect();
    about(request, "_askd/question_not_taken", &json!({ "reason": reason }).to_string())
}

/// Reports that one client cannot show a question; it stays open for all others.
pub(super) fn not_shown(request: &Id, question: Option<&QuestionId>, why: &str, client: &str) -> String {
    let params = json!({ "questionId": question, "client": client, "error": why });
    about(request, "_askd/question_not_shown", &params.to_string())
}

/// Reports that a client answered a request that is no question.
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

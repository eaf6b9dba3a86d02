//! What askd itself says in the stream of an ACP server: extension notifications, which clients that do not know them ignore.

use serde_json::json;

use askd_core::{Cause, Question};

/// A question is over. `request` is the JSON text of the agent's id.
pub(super) fn resolved(request: &str, question: &Question) -> String {
    let params = json!({
        "requestId": serde_json::from_str::<serde_json::Value>(request).unwrap_or_default(),
        "questionId": question.id,
        "status": question.status,
        "outcome": question.outcome,
    });
    json!({ "jsonrpc": "2.0", "method": "_askd/question_resolved", "params": params }).to_string()
}

/// A client said that it cannot show a question; it is open for everybody else.
pub(super) fn not_shown(request: &str, question: &Question, why: &str, client: &str) -> String {
    let params = json!({
        "requestId": serde_json::from_str::<serde_json::Value>(request).unwrap_or_default(),
        "questionId": question.id,
        "client": client,
        "error": why,
    });
    json!({ "jsonrpc": "2.0", "method": "_askd/question_not_shown", "params": params }).to_string()
}

/// The agent is gone.
pub(super) fn ended(cause: &Cause) -> String {
    json!({ "jsonrpc": "2.0", "method": "_askd/agent_ended", "params": { "cause": cause } }).to_string()
}

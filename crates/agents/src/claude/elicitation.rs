//! MCP elicitations, which Claude Code passes on: forms and links, by the same translation as ACP's.
//!
//! In: the request. Out: an [`Ask`], and `{action, content}`. What the reply has no place for is said in a
//! message before it.

use askd_core::Ask;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::wire::Request;
use crate::acp::elicitation::{self, Params};
use crate::codec::{Settlement, Unspeakable};

pub(super) const SUBTYPE: &str = "elicitation";

fn params(request: &Request<'_>) -> Result<Params, String> {
    let params = json!({
        "mode": request.mode,
        "message": request.message,
        "requestedSchema": request.requested_schema,
        "elicitationId": request.elicitation_id,
        "url": request.url,
    });
    serde_json::from_value(params).map_err(|error| error.to_string())
}

pub(super) fn ask(agent: &str, request: &Request<'_>, raw: &RawValue) -> Result<Ask, String> {
    let params = params(request)?;
    params.check()?;
    params.check_offers()?;
    let mut ask = elicitation::ask(agent, &params, raw);
    if let (Some(server), Some(item)) = (&request.mcp_server_name, ask.questions.first_mut()) {
        item.header.get_or_insert_with(|| server.clone());
    }
    Ok(ask)
}

pub(super) fn outcome(request: &Request<'_>, settled: &Settlement) -> Result<Value, Unspeakable> {
    let params = params(request).map_err(Unspeakable::Unreadable)?;
    let mut result = elicitation::outcome(&params, settled)?;
    if let Some(result) = result.as_object_mut() {
        result.remove("_meta");
    }
    Ok(result)
}

/// How Claude Code names the tools of an MCP server.
pub(super) fn tool_prefix(server: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    format!("mcp__{}__", server.chars().map(plain).collect::<String>())
}

//! Anthropic Messages: `POST /v1/messages`, as Claude Code speaks it.
//!
//! In: the JSON of a request. Out: its conversation; and a reply as one message or as the event stream.
//!
//! A user message may hold tool results and text at once, text may be a string or blocks, `system` may be a
//! message in the middle, and reminders of the agent come as user text: those pick no scenario.

use serde_json::{Value, json};

use super::conversation::{Conversation, text_of};
use super::dialect::{Dialect, Said, head, items, string};

/// How Claude Code opens text that is not the user's.
const REMINDER: &str = "<system-reminder>";

pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn read(&self, body: &Value) -> Conversation {
        let mut talk = head(body);
        talk.tools = items(body, "tools").map(|tool| string(tool, "name").to_owned()).collect();
        if let Some(system) = body.get("system") {
            talk.other_text(&text_of(system));
        }
        for message in items(body, "messages") {
            let content = message.get("content").unwrap_or(&Value::Null);
            match string(message, "role") {
                "user" => read_user(&mut talk, content),
                "assistant" => read_assistant(&mut talk, content),
                _ => talk.other_text(&text_of(content)),
            }
        }
        talk
    }

    fn whole(&self, said: &Said<'_>) -> Value {
        let mut message = opening(said);
        message["content"] = blocks(said).collect();
        message["stop_reason"] = json!(stop_reason(said));
        message
    }

    fn stream(&self, said: &Said<'_>) -> String {
        let mut out = String::new();
        let mut send = |event: &str, mut data: Value| {
            data["type"] = json!(event);
            out.push_str(&format!("event: {event}\ndata: {data}\n\n"));
        };
        send("message_start", json!({ "message": opening(said) }));
        for (index, block) in blocks(said).enumerate() {
            let (start, delta) = if block["type"] == "text" {
                (
                    json!({ "type": "text", "text": "" }),
                    json!({ "type": "text_delta", "text": block["text"] }),
                )
            } else {
                let input = block["input"].to_string();
                let mut start = block;
                start["input"] = json!({});
                (start, json!({ "type": "input_json_delta", "partial_json": input }))
            };
            send("content_block_start", json!({ "index": index, "content_block": start }));
            send("content_block_delta", json!({ "index": index, "delta": delta }));
            send("content_block_stop", json!({ "index": index }));
        }
        send(
            "message_delta",
            json!({ "delta": { "stop_reason": stop_reason(said), "stop_sequence": null }, "usage": { "output_tokens": 5 } }),
        );
        send("message_stop", json!({}));
        out
    }

    fn error(&self, message: &str) -> Value {
        json!({ "type": "error", "error": { "type": "api_error", "message": message } })
    }
}

fn read_user(talk: &mut Conversation, content: &Value) {
    let text = |talk: &mut Conversation, text: &str| {
        if text.trim_start().starts_with(REMINDER) { talk.other_text(text) } else { talk.user_text(text) }
    };
    let Some(blocks) = content.as_array() else {
        return text(talk, &text_of(content));
    };
    for block in blocks {
        match string(block, "type") {
            "tool_result" => {
                let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
                let said = block.get("content").map(text_of).unwrap_or_default();
                talk.result(string(block, "tool_use_id"), said, is_error);
            }
            "text" => text(talk, string(block, "text")),
            _ => {}
        }
    }
}

fn read_assistant(talk: &mut Conversation, content: &Value) {
    talk.assistant();
    for block in content.as_array().into_iter().flatten() {
        if string(block, "type") == "tool_use" {
            talk.call(string(block, "id"), string(block, "name"));
        }
    }
}

fn opening(said: &Said<'_>) -> Value {
    json!({
        "id": format!("msg_{}", said.id), "type": "message", "role": "assistant", "model": said.model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0
        },
    })
}

fn blocks(said: &Said<'_>) -> impl Iterator<Item = Value> {
    let text = said.text.map(|text| json!({ "type": "text", "text": text }));
    let calls = said.calls.iter().enumerate().map(|(index, call)| {
        json!({ "type": "tool_use", "id": format!("toolu_{}_{index}", said.id), "name": call.name, "input": call.args })
    });
    text.into_iter().chain(calls)
}

fn stop_reason(said: &Said<'_>) -> &'static str {
    if said.calls.is_empty() { "end_turn" } else { "tool_use" }
}

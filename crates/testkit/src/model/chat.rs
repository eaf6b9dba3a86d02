//! OpenAI chat completions: `POST /v1/chat/completions`, as OpenCode and many others speak it.
//!
//! In: the JSON of a request. Out: its conversation; and a reply as one completion or as the chunk stream.
//!
//! The protocol has no mark for a failed tool: every result reads as a success.

use serde_json::{Value, json};

use super::conversation::{Conversation, text_of};
use super::dialect::{Dialect, Said, head, items, string};
use super::script::Call;

pub(super) struct Chat;

impl Dialect for Chat {
    fn read(&self, body: &Value) -> Conversation {
        let mut talk = head(body);
        let name = |tool: &Value| tool.get("function").map(|function| string(function, "name").to_owned());
        talk.tools = items(body, "tools").filter_map(name).collect();
        for message in items(body, "messages") {
            let text = message.get("content").map(text_of).unwrap_or_default();
            match string(message, "role") {
                "user" => talk.user_text(&text),
                "tool" => talk.result(string(message, "tool_call_id"), text, false),
                "assistant" => {
                    talk.assistant();
                    for call in items(message, "tool_calls") {
                        let name = call.get("function").map(|function| string(function, "name"));
                        talk.call(string(call, "id"), name.unwrap_or_default());
                    }
                }
                _ => talk.other_text(&text),
            }
        }
        talk
    }

    fn whole(&self, said: &Said<'_>) -> Value {
        let mut message = json!({ "role": "assistant", "content": said.text });
        if !said.calls.is_empty() {
            let call = |(index, call): (usize, &Call)| {
                let function = json!({ "name": call.name, "arguments": call.args.to_string() });
                json!({ "id": call_id(said, index), "type": "function", "function": function })
            };
            message["tool_calls"] = said.calls.iter().enumerate().map(call).collect();
        }
        let mut completion = opening(said, "chat.completion");
        completion["choices"] =
            json!([{ "index": 0, "message": message, "finish_reason": finish_reason(said) }]);
        completion["usage"] = usage();
        completion
    }

    fn stream(&self, said: &Said<'_>) -> String {
        let mut out = String::new();
        let mut send = |delta: Value, finish: Option<&str>| {
            let mut chunk = opening(said, "chat.completion.chunk");
            chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
            if finish.is_some() {
                chunk["usage"] = usage();
            }
            out.push_str(&format!("data: {chunk}\n\n"));
        };
        send(json!({ "role": "assistant", "content": "" }), None);
        if let Some(text) = said.text {
            send(json!({ "content": text }), None);
        }
        for (index, call) in said.calls.iter().enumerate() {
            let function = json!({ "name": call.name, "arguments": "" });
            let id = call_id(said, index);
            send(
                json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }),
                None,
            );
            // In two halves, because that is how real providers send it and where readers go wrong.
            let arguments = call.args.to_string();
            let (first, second) = halves(&arguments);
            for half in [first, second] {
                send(json!({ "tool_calls": [{ "index": index, "function": { "arguments": half } }] }), None);
            }
        }
        send(json!({}), Some(finish_reason(said)));
        out.push_str("data: [DONE]\n\n");
        out
    }

    fn error(&self, message: &str) -> Value {
        json!({ "error": { "message": message, "type": "server_error", "param": null, "code": null } })
    }
}

fn opening(said: &Said<'_>, object: &str) -> Value {
    json!({ "id": format!("chatcmpl-{}", said.id), "object": object, "created": 0, "model": said.model })
}

fn call_id(said: &Said<'_>, index: usize) -> String {
    format!("call_{}_{index}", said.id)
}

/// Cut at a character, not at a byte.
fn halves(text: &str) -> (String, String) {
    let half = text.chars().count() / 2;
    (text.chars().take(half).collect(), text.chars().skip(half).collect())
}

fn usage() -> Value {
    json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 })
}

fn finish_reason(said: &Said<'_>) -> &'static str {
    if said.calls.is_empty() { "stop" } else { "tool_calls" }
}

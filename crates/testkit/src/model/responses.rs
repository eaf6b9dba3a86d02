//! OpenAI responses: `POST /v1/responses`, as Codex speaks it.
//!
//! In: the JSON of a request. Out: its conversation; and a reply as one response or as the event stream.
//!
//! The protocol has no mark for a failed tool: every result reads as a success. Codex records all calls of a
//! turn before their outputs, so the outputs of one turn stand together.

use serde_json::{Value, json};

use super::conversation::{Conversation, text_of};
use super::dialect::{Dialect, Said, head, items, string};
use super::script::Call;

pub(super) struct Responses;

impl Dialect for Responses {
    fn read(&self, body: &Value) -> Conversation {
        let mut talk = head(body);
        talk.tools = items(body, "tools").flat_map(tool_names).collect();
        talk.other_text(string(body, "instructions"));
        if let Some(text) = body.get("input").and_then(Value::as_str) {
            talk.user_text(text);
        }
        for item in items(body, "input") {
            match (string(item, "type"), string(item, "role")) {
                ("function_call_output" | "custom_tool_call_output", _) => {
                    let text = item.get("output").map(text_of).unwrap_or_default();
                    talk.result(string(item, "call_id"), text, false);
                }
                ("function_call" | "custom_tool_call", _) => {
                    talk.call(string(item, "call_id"), string(item, "name"));
                }
                ("message" | "", "user") => talk.user_text(&content(item)),
                ("message" | "", "assistant") | ("reasoning", _) => talk.assistant(),
                ("message" | "", _) => talk.other_text(&content(item)),
                _ => {}
            }
        }
        talk
    }

    fn whole(&self, said: &Said<'_>) -> Value {
        let mut response = opening(said);
        response["status"] = json!("completed");
        response["output"] = output(said).collect();
        response["usage"] = json!({
            "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 15,
        });
        response
    }

    fn stream(&self, said: &Said<'_>) -> String {
        let mut out = String::new();
        let mut sequence = 0;
        let mut send = |event: &str, mut data: Value| {
            data["type"] = json!(event);
            data["sequence_number"] = json!(sequence);
            sequence += 1;
            out.push_str(&format!("event: {event}\ndata: {data}\n\n"));
        };
        send("response.created", json!({ "response": opening(said) }));
        for (index, item) in output(said).enumerate() {
            let id = item["id"].clone();
            send("response.output_item.added", json!({ "output_index": index, "item": begun(&item) }));
            if item["type"] == "message" {
                let place = json!({ "item_id": id, "output_index": index, "content_index": 0 });
                let part = &item["content"][0];
                send(
                    "response.content_part.added",
                    with(&place, "part", json!({ "type": "output_text", "text": "", "annotations": [] })),
                );
                send("response.output_text.delta", with(&place, "delta", part["text"].clone()));
                send("response.output_text.done", with(&place, "text", part["text"].clone()));
                send("response.content_part.done", with(&place, "part", part.clone()));
            } else {
                let place = json!({ "item_id": id, "output_index": index });
                let (event, field) = match string(&item, "type") {
                    "function_call" => ("response.function_call_arguments", "arguments"),
                    _ => ("response.custom_tool_call_input", "input"),
                };
                send(&format!("{event}.delta"), with(&place, "delta", item[field].clone()));
                send(&format!("{event}.done"), with(&place, field, item[field].clone()));
            }
            send("response.output_item.done", json!({ "output_index": index, "item": item }));
        }
        send("response.completed", json!({ "response": self.whole(said) }));
        out
    }

    fn error(&self, message: &str) -> Value {
        json!({ "error": { "message": message, "type": "server_error", "param": null, "code": null } })
    }
}

/// A tool's name; the tools inside a namespace are listed as `namespace/name`.
fn tool_names(tool: &Value) -> Vec<String> {
    let name = match string(tool, "name") {
        "" => string(tool, "type"),
        name => name,
    };
    let inner: Vec<_> = items(tool, "tools").map(|tool| format!("{name}/{}", string(tool, "name"))).collect();
    if inner.is_empty() { vec![name.to_owned()] } else { inner }
}

fn content(item: &Value) -> String {
    item.get("content").map(text_of).unwrap_or_default()
}

fn opening(said: &Said<'_>) -> Value {
    json!({
        "id": format!("resp_{}", said.id), "object": "response", "created_at": 0, "status": "in_progress",
        "model": said.model, "output": [], "error": null, "incomplete_details": null, "usage": null,
    })
}

fn output(said: &Said<'_>) -> impl Iterator<Item = Value> {
    let text = said.text.map(|text| {
        let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
        let id = format!("msg_{}", said.id);
        json!({ "type": "message", "id": id, "role": "assistant", "status": "completed", "content": content })
    });
    text.into_iter().chain(said.calls.iter().enumerate().map(|(index, call)| call_item(said, index, call)))
}

fn call_item(said: &Said<'_>, index: usize, call: &Call) -> Value {
    let mut item =
        json!({ "call_id": format!("call_{}_{index}", said.id), "name": call.name, "status": "completed" });
    let (kind, prefix, field, value) = match &call.args {
        Value::String(input) => ("custom_tool_call", "ctc", "input", input.clone()),
        args => ("function_call", "fc", "arguments", args.to_string()),
    };
    item["type"] = json!(kind);
    item["id"] = json!(format!("{prefix}_{}_{index}", said.id));
    item[field] = json!(value);
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

/// An item as it is announced, before its content has come.
fn begun(item: &Value) -> Value {
    let mut item = item.clone();
    item["status"] = json!("in_progress");
    for (field, empty) in [("content", json!([])), ("arguments", json!("")), ("input", json!(""))] {
        if item.get(field).is_some() {
            item[field] = empty;
        }
    }
    item
}

fn with(place: &Value, field: &str, value: Value) -> Value {
    let mut event = place.clone();
    event[field] = value;
    event
}

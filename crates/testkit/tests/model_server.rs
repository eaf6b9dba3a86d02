//! The scripted model over plain HTTP: one script, played by a hand-made agent in each of the three
//! protocols.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise, its helpers too")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use askd_testkit::model::{Protocol, Reply, Script, ScriptedModel, ToolResult};
use reqwest::{Client, Response};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);

fn script() -> Script {
    Script::from_value(json!({
        "scenarios": {
            "ask": [
                { "text": "First, é.", "calls": [{ "name": "ask", "args": { "q": "Größe?" } }, { "name": "look" }] },
                { "calls": [{ "name": "ask", "args": { "q": "again" } }] },
            ],
            "talk": [{ "text": "Hello." }],
            "slow": [{ "text": "Late.", "delay_ms": 300 }],
            "down": [{ "error": { "status": 529, "headers": { "x-should-retry": "false" } } }],
            "down-own": [{ "error": { "status": 401, "body": { "own": true } } }],
        },
        "plain": "A title",
    }))
    .unwrap()
}

/// What an agent understood of one answer.
#[derive(Debug, PartialEq)]
struct Heard {
    text: String,
    /// id, name, arguments
    calls: Vec<(String, String, Value)>,
}

/// An agent's half of a protocol, in the fewest words.
struct Agent {
    protocol: Protocol,
    base: String,
    stream: bool,
    tools: bool,
    history: Vec<Value>,
}

impl Agent {
    fn new(protocol: Protocol, model: &ScriptedModel, stream: bool) -> Self {
        Self { protocol, base: model.base_url(), stream, tools: true, history: Vec::new() }
    }

    async fn post(&self) -> Response {
        let (path, field, tool) = match self.protocol {
            Protocol::Messages => ("/v1/messages?beta=true", "messages", json!({ "name": "ask" })),
            Protocol::Chat => (
                "/v1/chat/completions",
                "messages",
                json!({ "type": "function", "function": { "name": "ask" } }),
            ),
            _ => ("/v1/responses", "input", json!({ "type": "function", "name": "ask" })),
        };
        let mut body = json!({ "model": "m-1", "stream": self.stream, field: self.history });
        if self.tools {
            body["tools"] = json!([tool]);
        }
        Client::new().post(format!("{}{path}", self.base)).timeout(LIMIT).json(&body).send().await.unwrap()
    }

    async fn say(&mut self, text: &str) -> Heard {
        self.history.push(json!({ "role": "user", "content": text }));
        self.hear().await
    }

    async fn hear(&mut self) -> Heard {
        let response = self.post().await;
        assert_eq!(response.status(), 200);
        let text = response.text().await.unwrap();
        let heard = match self.protocol {
            Protocol::Messages => hear_messages(self.stream, &text),
            Protocol::Chat => hear_chat(self.stream, &text),
            _ => hear_responses(self.stream, &text),
        };
        self.remember(&heard);
        heard
    }

    fn remember(&mut self, heard: &Heard) {
        let calls = heard.calls.iter();
        match self.protocol {
            Protocol::Messages => {
                let uses = calls.map(
                    |(id, name, args)| json!({ "type": "tool_use", "id": id, "name": name, "input": args }),
                );
                self.history.push(json!({ "role": "assistant", "content": uses.collect::<Value>() }));
            }
            Protocol::Chat => {
                let calls = calls.map(|(id, name, args)| {
                    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": args.to_string() } })
                });
                self.history.push(json!({ "role": "assistant", "tool_calls": calls.collect::<Value>() }));
            }
            _ => {
                let item = |(id, name, args): &(String, String, Value)| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": args.to_string() });
                self.history.extend(calls.map(item));
            }
        }
    }

    async fn give(&mut self, results: &[(&str, &str, bool)]) -> Heard {
        match self.protocol {
            Protocol::Messages => {
                let blocks = results.iter().map(|(id, text, is_error)| {
                    let content = json!([{ "type": "text", "text": text }]);
                    json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error })
                });
                self.history.push(json!({ "role": "user", "content": blocks.collect::<Value>() }));
            }
            Protocol::Chat => self.history.extend(
                results
                    .iter()
                    .map(|(id, text, _)| json!({ "role": "tool", "tool_call_id": id, "content": text })),
            ),
            _ => self.history.extend(results.iter().map(
                |(id, text, _)| json!({ "type": "function_call_output", "call_id": id, "output": text }),
            )),
        }
        self.hear().await
    }
}

fn events(text: &str) -> Vec<Value> {
    let data =
        text.split("\n\n").filter_map(|record| record.lines().find_map(|line| line.strip_prefix("data: ")));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn args(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn hear_messages(stream: bool, text: &str) -> Heard {
    let mut heard = Heard { text: String::new(), calls: Vec::new() };
    let block = |heard: &mut Heard, block: &Value| match block["type"].as_str().unwrap() {
        "text" => heard.text.push_str(block["text"].as_str().unwrap()),
        _ => heard.calls.push((string(&block["id"]), string(&block["name"]), block["input"].clone())),
    };
    if !stream {
        let message: Value = serde_json::from_str(text).unwrap();
        message["content"].as_array().unwrap().iter().for_each(|part| block(&mut heard, part));
        return heard;
    }
    let events = events(text);
    let names: Vec<_> = events.iter().map(|event| string(&event["type"])).collect();
    assert_eq!(
        (names.first().unwrap().as_str(), names.last().unwrap().as_str()),
        ("message_start", "message_stop")
    );
    for event in &events {
        match (event["type"].as_str().unwrap(), event["delta"]["type"].as_str()) {
            ("content_block_start", _) => block(&mut heard, &event["content_block"]),
            (_, Some("text_delta")) => heard.text.push_str(event["delta"]["text"].as_str().unwrap()),
            (_, Some("input_json_delta")) => {
                heard.calls.last_mut().unwrap().2 = args(event["delta"]["partial_json"].as_str().unwrap());
            }
            _ => {}
        }
    }
    let stop = if heard.calls.is_empty() { "end_turn" } else { "tool_use" };
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], stop);
    heard
}

fn hear_chat(stream: bool, text: &str) -> Heard {
    let mut said = String::new();
    let mut calls = BTreeMap::<u64, (String, String, String)>::new();
    let choices: Vec<Value> = if stream {
        assert!(text.ends_with("data: [DONE]\n\n"));
        events(text).into_iter().map(|chunk| chunk["choices"][0]["delta"].clone()).collect()
    } else {
        vec![serde_json::from_str::<Value>(text).unwrap()["choices"][0]["message"].clone()]
    };
    for delta in choices {
        said.push_str(delta["content"].as_str().unwrap_or_default());
        for (place, call) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let entry = calls.entry(call["index"].as_u64().unwrap_or(place as u64)).or_default();
            entry.0.push_str(call["id"].as_str().unwrap_or_default());
            entry.1.push_str(call["function"]["name"].as_str().unwrap_or_default());
            entry.2.push_str(call["function"]["arguments"].as_str().unwrap());
        }
    }
    Heard { text: said, calls: calls.into_values().map(|(id, name, text)| (id, name, args(&text))).collect() }
}

fn hear_responses(stream: bool, text: &str) -> Heard {
    let response = if stream {
        let events = events(text);
        let done: Vec<_> = events
            .iter()
            .filter(|e| e["type"] == "response.output_item.done")
            .map(|e| e["item"].clone())
            .collect();
        let last = events.last().unwrap()["response"].clone();
        assert_eq!(last["output"], Value::from(done), "the items of the stream are those of the whole");
        last
    } else {
        serde_json::from_str(text).unwrap()
    };
    assert_eq!(response["status"], "completed");
    let mut heard = Heard { text: String::new(), calls: Vec::new() };
    for item in response["output"].as_array().unwrap() {
        match item["type"].as_str().unwrap() {
            "message" => heard.text.push_str(item["content"][0]["text"].as_str().unwrap()),
            _ => heard.calls.push((
                string(&item["call_id"]),
                string(&item["name"]),
                args(item["arguments"].as_str().unwrap()),
            )),
        }
    }
    heard
}

const ALL: [Protocol; 3] = [Protocol::Messages, Protocol::Chat, Protocol::Responses];

#[tokio::test]
async fn one_script_drives_all_three_protocols_streamed_or_not() {
    for (protocol, stream) in ALL.into_iter().flat_map(|protocol| [(protocol, true), (protocol, false)]) {
        let model = ScriptedModel::start(script()).await.unwrap();
        let mut agent = Agent::new(protocol, &model, stream);
        let heard = agent.say("Please SCENARIO:ask go").await;
        assert_eq!(heard.text, "First, é.", "{protocol:?}");
        let [(one, ask, question), (two, look, empty)] = heard.calls.as_slice() else { panic!("{heard:?}") };
        assert_eq!((ask.as_str(), question), ("ask", &json!({ "q": "Größe?" })));
        assert_eq!((look.as_str(), empty), ("look", &json!({})));
        assert_ne!(one, two);

        let heard = agent.give(&[(one, "large", false), (two, "broken", true)]).await;
        assert_eq!(heard.text, "");
        let [(three, _, question)] = heard.calls.as_slice() else { panic!("{heard:?}") };
        assert_eq!(question, &json!({ "q": "again" }));

        // Past the end, what the tools said is said back.
        let heard = agent.give(&[(three, "very large", false)]).await;
        assert_eq!(heard, Heard { text: "ask said: very large".into(), calls: Vec::new() });

        let seen = |id: &str, name: &str, text: &str, is_error| ToolResult {
            call_id: id.to_owned(),
            name: Some(name.to_owned()),
            text: text.to_owned(),
            is_error,
            scenario: Some("ask".to_owned()),
        };
        let is_error = protocol == Protocol::Messages;
        assert_eq!(
            model.tool_results(),
            [
                seen(one, "ask", "large", false),
                seen(two, "look", "broken", is_error),
                seen(three, "ask", "very large", false)
            ]
        );
        let requests = model.requests();
        let steps: Vec<_> = requests.iter().map(|request| (request.seq, request.step)).collect();
        assert_eq!(steps, [(1, 0), (2, 1), (3, 2)]);
        assert!(requests.iter().all(|request| request.protocol == protocol && request.tools == ["ask"]));
    }
}

#[tokio::test]
async fn many_sessions_are_served_at_once_and_a_new_marker_starts_anew() {
    let model = ScriptedModel::start(script()).await.unwrap();
    let mut agents: Vec<_> = ALL.into_iter().cycle().take(30).map(|p| Agent::new(p, &model, true)).collect();
    let mut calls = Vec::new();
    for agent in &mut agents {
        calls.push(agent.say("SCENARIO:ask").await.calls);
    }
    for (index, agent) in agents.iter_mut().enumerate() {
        let (one, two) = (&calls[index][0].0, &calls[index][1].0);
        assert_eq!(agent.give(&[(one, "a", false), (two, "b", false)]).await.calls.len(), 1);
        assert_eq!(agent.say("now SCENARIO:talk").await.text, "Hello.");
        assert_eq!(agent.say("SCENARIO:ask").await.calls.len(), 2);
    }
    assert_eq!(model.tool_results().len(), 60);
    assert_eq!(model.requests().len(), 120);
}

#[tokio::test]
async fn a_request_without_tools_gets_the_plain_text() {
    let model = ScriptedModel::start(script()).await.unwrap();
    for protocol in ALL {
        let mut agent = Agent::new(protocol, &model, true);
        agent.tools = false;
        assert_eq!(agent.say("Make a title for: SCENARIO:ask").await.text, "A title");
    }
}

#[tokio::test]
async fn an_unknown_scenario_is_named_in_the_answer() {
    let model = ScriptedModel::start(script()).await.unwrap();
    let heard = Agent::new(Protocol::Chat, &model, false).say("SCENARIO:nowhere").await;
    assert_eq!(heard.text, "scripted-model: the script has no scenario `nowhere`");
}

#[tokio::test]
async fn an_error_turn_is_an_http_error_in_the_protocols_own_words() {
    let model = ScriptedModel::start(script()).await.unwrap();
    for protocol in ALL {
        let mut agent = Agent::new(protocol, &model, true);
        agent.history = vec![json!({ "role": "user", "content": "SCENARIO:down" })];
        let response = agent.post().await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["x-should-retry"]),
            (529, &"false".parse().unwrap())
        );
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["error"]["message"], "an error of the script");
        agent.history = vec![json!({ "role": "user", "content": "SCENARIO:down-own" })];
        let response = agent.post().await;
        assert_eq!(response.status(), 401);
        assert_eq!(response.json::<Value>().await.unwrap(), json!({ "own": true }));
    }
    assert!(matches!(model.requests()[0].reply, Some(Reply::Fail(_))));
}

#[tokio::test]
async fn a_delayed_turn_is_said_late() {
    let model = ScriptedModel::start(script()).await.unwrap();
    let mut agent = Agent::new(Protocol::Messages, &model, true);
    let start = Instant::now();
    assert_eq!(agent.say("SCENARIO:slow").await.text, "Late.");
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
}

#[tokio::test]
async fn the_log_is_served_without_bodies_unless_asked() {
    let model = ScriptedModel::start(script()).await.unwrap();
    Agent::new(Protocol::Responses, &model, true).say("SCENARIO:talk").await;
    let log = |query: &'static str| {
        let url = format!("{}/__log{query}", model.base_url());
        async move { Client::new().get(url).timeout(LIMIT).send().await.unwrap().json::<Value>().await.unwrap() }
    };
    let page = log("").await;
    assert_eq!(page["requests"][0]["scenario"], "talk");
    assert_eq!(page["requests"][0]["protocol"], "responses");
    assert_eq!(page["requests"][0].get("body"), None);
    assert_eq!(page["requests_dropped"], 0);
    assert_eq!(log("?bodies=true").await["requests"][0]["body"]["input"][0]["content"], "SCENARIO:talk");
}

#[tokio::test]
async fn other_requests_are_refused_and_logged() {
    let model = ScriptedModel::start(script()).await.unwrap();
    let client = Client::new();
    let get = client.get(format!("{}/v1/models", model.base_url())).timeout(LIMIT).send().await.unwrap();
    assert_eq!(get.status(), 404);
    let bad = client
        .post(format!("{}/v1/messages", model.base_url()))
        .timeout(LIMIT)
        .body("{")
        .send()
        .await
        .unwrap();
    assert_eq!(bad.status(), 400);
    let count = format!("{}/v1/messages/count_tokens", model.base_url());
    assert_eq!(client.post(count).timeout(LIMIT).send().await.unwrap().status(), 200);
    let logged: Vec<_> = model.requests().into_iter().map(|r| (r.method, r.path, r.protocol)).collect();
    assert_eq!(
        logged,
        [
            ("GET".into(), "/v1/models".into(), Protocol::Other),
            ("POST".into(), "/v1/messages".into(), Protocol::Messages),
            ("POST".into(), "/v1/messages/count_tokens".into(), Protocol::Other),
        ]
    );
}

#[tokio::test]
async fn a_delayed_turn_is_logged_at_once_and_a_dropped_model_is_gone_even_while_it_delays() {
    let model = ScriptedModel::start(
        Script::from_value(json!({ "scenarios": { "s": [{ "text": "a", "delay_ms": 600_000 }] } })).unwrap(),
    )
    .await
    .unwrap();
    let address = model.address();
    let mut agent = Agent::new(Protocol::Chat, &model, true);
    agent.history = vec![json!({ "role": "user", "content": "SCENARIO:s" })];
    let url = format!("{}/v1/chat/completions", agent.base);
    let body =
        json!({ "tools": [{ "type": "function", "function": { "name": "x" } }], "messages": agent.history });
    let waiting = tokio::spawn(Client::new().post(url).timeout(2 * LIMIT).json(&body).send());
    model.until("the request", LIMIT, |model| model.requests().pop()).await.unwrap();
    drop(model);
    let ended = tokio::time::timeout(LIMIT, waiting).await.unwrap().unwrap();
    assert!(ended.is_err_and(|error| !error.is_timeout()));
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn waiting_for_what_never_comes_ends_and_says_what_was_seen() {
    let model = ScriptedModel::start(script()).await.unwrap();
    let error = model.tool_results_seen(1, Duration::from_millis(50)).await.unwrap_err();
    assert!(error.to_string().starts_with("see 1 tool results within 50ms; the model saw 0 requests"));
}

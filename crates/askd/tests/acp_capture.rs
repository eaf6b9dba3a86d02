//! The exchange that was recorded with sandbox-agent 0.4.2, played again: an agent that says the very same
//! lines, a client that sends the very same messages. What a client sees must be the same, except where askd
//! says more.

mod acp;

use std::os::unix::fs::PermissionsExt;

use acp::Place;
use serde_json::Value;

/// The recorded agent; `%s` is the id of the client's request.
const AGENT: &str = r#"#!/bin/sh
id() { printf '%s' "$1" | sed 's/.*"id" *: *\("acp:[^]]*\]"\).*/\1/'; }
end() { printf '{"id":%s,"jsonrpc":"2.0","result":{"stopReason":"end_turn"}}\n' "$prompt"; }
while IFS= read -r line; do
  case "$line" in
    *'"initialize"'*) printf '{"id":%s,"jsonrpc":"2.0","result":{"agentCapabilities":{"loadSession":false},"agentInfo":{"name":"asker","version":"0"},"authMethods":[],"protocolVersion":1}}\n' "$(id "$line")" ;;
    *'"session/new"'*) printf '{"id":%s,"jsonrpc":"2.0","result":{"sessionId":"asker-16025-1"}}\n' "$(id "$line")" ;;
    *'"text":"question"'*) prompt=$(id "$line"); printf '%s\n' '{"id":"q-1","jsonrpc":"2.0","method":"_sandboxagent/session/request_question","params":{"options":[["option-a","Option A"],["option-b","Option B"]],"prompt":"Which option?","questionId":"quid-1","sessionId":"asker-16025-1"}}' ;;
    *'"text":"permission"'*) prompt=$(id "$line"); printf '%s\n' '{"id":"p-2","jsonrpc":"2.0","method":"session/request_permission","params":{"options":[{"kind":"allow_once","name":"Allow","optionId":"allow-once"},{"kind":"reject_once","name":"Reject","optionId":"reject-once"}],"sessionId":"asker-16025-1","toolCall":{"kind":"edit","status":"pending","title":"Write file","toolCallId":"call-2"}}}' ;;
    *'"text":"elicit"'*) prompt=$(id "$line"); printf '%s\n' '{"id":"e-3","jsonrpc":"2.0","method":"elicitation/create","params":{"message":"Which option?","mode":"form","requestedSchema":{"properties":{"choice":{"enum":["a","b"],"type":"string"}},"required":["choice"],"type":"object"},"sessionId":"asker-16025-1"}}' ;;
    *'"id":"q-1"'*) printf '%s\n' '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"asker-16025-1","update":{"content":{"text":"answer {\"answers\":[[\"option-a\"]],\"status\":\"answered\"}","type":"text"},"sessionUpdate":"agent_message_chunk"}}}'; end ;;
    *'"id":"p-2"'*|*'"id":"e-3"'*) end ;;
  esac
done
"#;

fn prompt(id: u64, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":"asker-16025-1","prompt":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

#[test]
fn the_exchange_recorded_with_sandbox_agent_is_the_same_here() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("asker.sh");
    std::fs::write(&path, AGENT).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let hub = acp::start(acp::builder().arg(format!("--agent=asker={}", path.display())));
    let place = Place::new(&hub, "wire");

    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
    let (status, body) = place.post("?agent=asker", hello);
    let mut body: Value = serde_json::from_str(&body).unwrap();
    let capabilities = body["result"]["agentCapabilities"].as_object_mut().unwrap();
    assert!(capabilities.remove("_meta").is_some(), "askd says that it understands questions");
    let recorded = r#"{"id":1,"jsonrpc":"2.0","result":{"agentCapabilities":{"loadSession":false},"agentInfo":{"name":"asker","version":"0"},"authMethods":[],"protocolVersion":1}}"#;
    assert_eq!((status, body.to_string().as_str()), (200, recorded));
    let mut stream = place.stream(None);
    let new = r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}}"#;
    let made = (200, r#"{"id":2,"jsonrpc":"2.0","result":{"sessionId":"asker-16025-1"}}"#.to_owned());
    assert_eq!(place.post("", new), made);

    for (id, text, shown, answer, said) in [
        (
            3,
            "question",
            r#"{"id":"q-1","jsonrpc":"2.0","method":"_sandboxagent/session/request_question","params":{"options":[["option-a","Option A"],["option-b","Option B"]],"prompt":"Which option?","questionId":"quid-1","sessionId":"asker-16025-1"}}"#,
            r#"{"jsonrpc":"2.0","id":"q-1","result":{"status":"answered","answers":[["option-a"]]}}"#,
            Some(
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"asker-16025-1","update":{"content":{"text":"answer {\"answers\":[[\"option-a\"]],\"status\":\"answered\"}","type":"text"},"sessionUpdate":"agent_message_chunk"}}}"#,
            ),
        ),
        (
            4,
            "permission",
            r#"{"id":"p-2","jsonrpc":"2.0","method":"session/request_permission","params":{"options":[{"kind":"allow_once","name":"Allow","optionId":"allow-once"},{"kind":"reject_once","name":"Reject","optionId":"reject-once"}],"sessionId":"asker-16025-1","toolCall":{"kind":"edit","status":"pending","title":"Write file","toolCallId":"call-2"}}}"#,
            r#"{"jsonrpc":"2.0","id":"p-2","result":{"outcome":{"outcome":"selected","optionId":"allow-once"}}}"#,
            None,
        ),
        (
            5,
            "elicit",
            r#"{"id":"e-3","jsonrpc":"2.0","method":"elicitation/create","params":{"message":"Which option?","mode":"form","requestedSchema":{"properties":{"choice":{"enum":["a","b"],"type":"string"}},"required":["choice"],"type":"object"},"sessionId":"asker-16025-1"}}"#,
            r#"{"jsonrpc":"2.0","id":"e-3","result":{"action":"accept","content":{"choice":"a"}}}"#,
            None,
        ),
    ] {
        let prompted = place.post_later(&prompt(id, text));
        let request = stream.until(|event| event.data == shown);
        assert_eq!(request.name, "message");
        assert_eq!(place.post("", answer), (202, String::new()));
        let ended = format!(r#"{{"id":{id},"jsonrpc":"2.0","result":{{"stopReason":"end_turn"}}}}"#);
        assert_eq!(prompted.join().unwrap(), (200, ended.clone()));
        if let Some(said) = said {
            assert_eq!(stream.until(|event| event.data == said).name, "message");
        }
        // It is in the stream as well, where it was recorded, but as what it is: somebody's response.
        assert_eq!(stream.until(|event| event.data == ended).name, "response");
    }
    acp::assert_no_hole(&stream.seen);
}

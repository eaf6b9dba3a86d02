//! A request gets exactly one response: what an agent is owed for questions that end without an answer, when
//! the hub is killed between storing such an end and saying it.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::path::Path;
use std::time::UNIX_EPOCH;

use acp::{EXTENSION, Place, eventually, questions};
use askd_core::lifecycle::Elsewhere;
use askd_core::{By, Cause, DeliveryId, QuestionId, RejectMode, Resolution, Timestamp};
use askd_holder::Folder;
use askd_store::sqlite::SqliteStore;
use askd_store::{Questions, Resolve};
use askd_testkit::hub::Hub;
use serde_json::{Value, json};

/// Asks everything when it is greeted, and keeps the responses and a last word.
const ASKING: &str = r#"while IFS= read -r line; do
  case "$line" in
    *'"initialize"'*) cat "$ASKS" ;;
    *'"result"'* | *'"error"'* | *'"_last"'*) printf '%s\n' "$line" >> "$HEARD" ;;
  esac
done"#;

fn requests() -> [Value; 7] {
    let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    let call = json!({ "toolCallId": "c" });
    let form =
        json!({ "type": "object", "properties": { "why": { "type": "string" } }, "required": ["why"] });
    let link = |id: &str, url: &str| json!({ "mode": "url", "sessionId": "s", "elicitationId": id, "url": url, "message": "m" });
    let request = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    [
        request(1, EXTENSION, json!({ "sessionId": "s", "prompt": "Which?" })),
        request(
            2,
            "elicitation/create",
            json!({ "mode": "form", "sessionId": "s", "message": "Why?", "requestedSchema": form }),
        ),
        request(
            3,
            "session/request_permission",
            json!({ "sessionId": "s", "toolCall": call, "options": options }),
        ),
        request(4, "elicitation/create", link("e", "https://a.example")),
        request(5, EXTENSION, json!({ "sessionId": "s", "prompt": "Taken back?" })),
        request(6, EXTENSION, json!({ "sessionId": "s", "prompt": "Open?" })),
        request(8, "elicitation/create", link("g", "https://c.example")),
    ]
}

/// A link that has been followed before anybody could store that it was to be.
fn followed_at_once() -> String {
    let link = json!({ "mode": "url", "sessionId": "s", "elicitationId": "f", "url": "https://b.example", "message": "m" });
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": link });
    let complete =
        json!({ "jsonrpc": "2.0", "method": "elicitation/complete", "params": { "elicitationId": "f" } });
    format!("{request}\n{complete}\n")
}

/// Ends questions as a hub does that is killed before it does anything else.
fn end_in_store(hub: &Hub, ends: Vec<(QuestionId, Resolution)>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(&hub.data.join("askd.db"), &[0; 32]).unwrap();
        for (id, resolution) in ends {
            let now = UNIX_EPOCH.elapsed().unwrap().as_millis();
            let at = Timestamp::from_millis(i64::try_from(now).unwrap());
            let ended = Resolve { id, resolution, by: By::agent(), at, idempotency: None, claim: None };
            store.resolve(ended).await.unwrap();
        }
        store.close().await;
    });
}

/// The names of what the agent was given once and for all.
fn journaled(hub: &Hub) -> Vec<String> {
    let mut holders = std::fs::read_dir(Folder::all_in(&hub.data)).unwrap();
    let journal = holders.next().unwrap().unwrap().path().join("journal");
    let lines = std::fs::read_to_string(journal).unwrap();
    lines.lines().filter_map(|line| line.strip_prefix("done ")).map(str::to_owned).collect()
}

fn heard(path: &Path) -> Vec<Value> {
    let lines = std::fs::read_to_string(path).unwrap_or_default();
    let mut responses: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    responses.sort_by_key(|response| response["id"].as_u64());
    responses
}

#[test]
fn what_ends_a_question_is_said_to_its_agent_once_by_whichever_hub() {
    let folder = tempfile::tempdir().unwrap();
    let [asks, told, script] = ["asks", "heard", "agent.sh"].map(|name| folder.path().join(name));
    std::fs::write(&script, ASKING).unwrap();
    let lines = requests().map(|request| format!("{request}\n")).concat() + &followed_at_once();
    std::fs::write(&asks, lines).unwrap();
    let agent = format!("--agent=asking=sh {}", script.display());
    let mut hub = acp::start(acp::builder().arg(agent).env("ASKS", &asks).env("HEARD", &told));
    let place = Place::new(&hub, "owed");
    place.at("/v1/acp/owed?agent=asking").post_later(acp::HELLO);
    let accepted = eventually("the end of the link", || heard(&told).pop());
    assert_eq!((&accepted["id"], &accepted["result"]), (&json!(7), &json!({ "action": "accept" })));
    let open = eventually("all questions", || {
        Some(questions(&hub, "requested")).filter(|open| open.len() == requests().len())
    });
    let of = |text: &str| {
        let asks = |question: &&Value| question.to_string().contains(text);
        let question = open.iter().find(asks).unwrap();
        question["id"].as_str().unwrap().parse::<QuestionId>().unwrap()
    };
    let aborted = || Resolution::Cancel(Cause::TurnAborted { detail: None });
    let followed = || {
        let answers = vec![vec![askd_core::ask::OPENED.to_owned()]];
        Resolution::Elsewhere(Elsewhere::Answered { answers, notes: vec![None], via: "link".to_owned() })
    };
    hub.kill().unwrap();
    end_in_store(
        &hub,
        vec![
            (of("Which?"), aborted()),
            (of("Why?"), aborted()),
            (of("\"Yes\""), aborted()),
            (of("a.example"), followed()),
            // Somebody declined it, and it was followed before the agent could be told.
            (of("c.example"), Resolution::Reject { mode: RejectMode::Decline, reason: None }),
            (of("c.example"), followed()),
            // An agent that took it back waits for nothing, and may use the id for something else.
            (of("Taken back?"), Resolution::Cancel(Cause::AgentWithdrew { detail: None })),
        ],
    );
    hub.restart().unwrap();
    let owed = eventually("what is owed", || Some(heard(&told)).filter(|heard| heard.len() == 6));
    assert_eq!(owed[0]["error"]["code"], -32800, "{owed:?}");
    assert_eq!(owed[1]["result"], json!({ "action": "cancel" }));
    assert_eq!(owed[2]["result"], json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(owed[3]["result"], json!({ "action": "accept" }));
    assert_eq!((&owed[5]["id"], &owed[5]["result"]), (&json!(8), &json!({ "action": "accept" })));
    let said = eventually("the journal", || Some(journaled(&hub)).filter(|said| said.len() == 6));
    for text in ["Which?", "Why?", "\"Yes\"", "a.example", "c.example"] {
        let answer = DeliveryId::from_bits(of(text).bits()).to_string();
        assert!(said.contains(&answer), "an answer that is on its way would be a second response: {text}");
    }

    // The last one ends while a hub is there: that hub says it, and no later one.
    let cancel = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
    assert_eq!(place.post("", cancel).0, 202);
    eventually("the last end", || heard(&told).into_iter().find(|response| response["id"] == 6));
    for _ in 0..2 {
        hub.kill().unwrap();
        hub.restart().unwrap();
    }
    assert_eq!(place.post("", r#"{"jsonrpc":"2.0","method":"_last"}"#).0, 202);
    let all = eventually("the last word", || {
        Some(heard(&told)).filter(|heard| heard.iter().any(|message| message["method"] == "_last"))
    });
    let ids: Vec<u64> = all.iter().filter_map(|message| message["id"].as_u64()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 6, 7, 8], "{all:?}");
}

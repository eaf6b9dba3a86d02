//! `/v1/acp` with the mock agent: the question flow of sandbox-agent's extension, elicitations and
//! permissions, and who may settle them.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::time::Duration;

use acp::{EXTENSION, Guarded, Place, assert_no_hole, eventually, hub, questions, result};
use askd_testkit::hub::Hub;
use serde_json::{Value, json};

/// A hub, its mock server, a session.
fn mock() -> (Guarded, Place, String) {
    let hub = hub();
    let place = Place::new(&hub, "wire");
    let session = place.open("mock", "/tmp");
    (hub, place, session)
}

fn question(hub: &Hub, id: &str) -> Value {
    hub.http("GET", &format!("/v1/questions/{id}"), None).unwrap().1
}

#[test]
fn a_question_goes_to_the_stream_and_the_clients_response_to_the_agent() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "question");
    let request = stream.request(EXTENSION);
    assert_eq!(request["params"]["options"][0], json!(["option-a", "Option A"]));
    // It is durable and open for every other surface when a client sees it.
    let open = questions(&hub, "requested");
    assert_eq!(open.len(), 1);
    assert_eq!(open[0]["questions"][0]["options"][0]["value"], "option-a");
    let (status, body) = place.respond(&request, &json!({ "status": "answered", "answers": [["option-a"]] }));
    assert_eq!((status, body), (202, Value::Null));
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    let settled = question(&hub, open[0]["id"].as_str().unwrap());
    assert_eq!(askd_testkit::given(&settled["outcome"]["answers"]), json!([["option-a"]]));
    eventually("the evidence", || {
        (question(&hub, open[0]["id"].as_str().unwrap())["delivery"]["state"] == "confirmed").then_some(())
    });
    let said = stream.until(|event| event.data.contains("received: "));
    assert!(said.data.contains("option-a"), "{said:?}");
    let resolved = place.stream(None).until(|event| event.data.contains("_askd/question_resolved")).json();
    assert_eq!(resolved["params"]["requestId"], request["id"]);
    assert_eq!(askd_testkit::given(&resolved["params"]["outcome"]["answers"]), json!([["option-a"]]));
    assert_no_hole(&stream.seen);
}

#[test]
fn all_three_ways_to_ask_are_answered_by_a_client_in_their_own_form() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    for (word, method, answer, wanted) in [
        (
            "permission",
            "session/request_permission",
            json!({ "outcome": { "outcome": "selected", "optionId": "allow-once" } }),
            json!([["allow-once"]]),
        ),
        ("form", "elicitation/create", Value::Null, Value::Null),
        ("multi", EXTENSION, Value::Null, Value::Null),
    ] {
        let prompted = place.prompt(7, &session, word);
        let request = stream.request(method);
        let open = questions(&hub, "requested");
        let id = open[0]["id"].as_str().unwrap();
        let answer = match (word, answer) {
            ("form", _) => json!({ "action": "decline" }),
            ("multi", _) => {
                let options = request["params"]["options"].as_array().unwrap();
                json!({ "status": "answered", "answers": [[options[0][0], options[1][0]]] })
            }
            (_, answer) => answer,
        };
        let (status, body) = place.respond(&request, &answer);
        assert_eq!(status, 202, "{body}");
        assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
        let outcome = question(&hub, id)["outcome"].clone();
        match word {
            "form" => {
                assert_eq!((&outcome["status"], &outcome["mode"]), (&json!("rejected"), &json!("decline")))
            }
            "multi" => assert_eq!(outcome["answers"][0]["picks"].as_array().unwrap().len(), 2),
            _ => assert_eq!(askd_testkit::given(&outcome["answers"]), wanted),
        }
    }
}

#[test]
fn an_answer_of_another_surface_reaches_the_agent_and_the_clients_late_one_is_refused() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "question");
    let request = stream.request(EXTENSION);
    let id = questions(&hub, "requested")[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/questions/{id}/reply");
    let (status, _) = hub.http("POST", &path, Some(&json!({ "answers": [["option-b"]] }))).unwrap();
    assert_eq!(status, 200);
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    assert!(stream.until(|event| event.data.contains("received: ")).data.contains("option-b"));
    // The same answer again is the same success, another is a conflict that names the winner.
    let same = place.respond(&request, &json!({ "status": "answered", "answers": [["option-b"]] }));
    assert_eq!(same.0, 202, "{same:?}");
    let (status, problem) =
        place.respond(&request, &json!({ "status": "answered", "answers": [["option-a"]] }));
    assert_eq!((status, problem["code"].as_str()), (409, Some("already_settled")));
    assert_eq!(askd_testkit::given(&problem["question"]["outcome"]["answers"]), json!([["option-b"]]));
}

#[test]
fn responses_that_do_not_fit_are_refused_and_never_reach_the_agent() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "permission");
    let request = stream.request("session/request_permission");
    for (bad, code) in [
        (json!({ "outcome": { "outcome": "selected", "optionId": "nothing" } }), "invalid_request"),
        (json!({ "outcome": "yes" }), "invalid_request"),
        (json!("yes"), "invalid_request"),
        (Value::Null, "invalid_request"),
    ] {
        let (status, problem) = place.respond(&request, &bad);
        assert_eq!((status, problem["code"].as_str()), (400, Some(code)), "{bad}: {problem}");
    }
    for unheard in [json!("unheard"), json!(1.5), json!(u64::MAX)] {
        let (status, problem) = place.respond(&json!({ "id": unheard }), &json!({}));
        assert_eq!((status, problem["code"].as_str()), (404, Some("not_found")), "{unheard}");
    }
    let cancelled = r#""result":{"outcome":{"outcome":"cancelled"}}"#;
    let both = r#""error":{"code":1,"message":"no"}"#;
    let id = &request["id"];
    for bad in [
        "",
        "[]",
        "{",
        "7",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
        // What the agent could not read, or could read in two ways.
        &format!(r#"{{"id":{id},{cancelled}}}"#),
        &format!(r#"{{"jsonrpc":"2.0","id":{id},{cancelled},{both}}}"#),
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"id":{id},{cancelled}}}"#),
        &format!(r#"{{"jsonrpc":"2.0","id":[{id}],{cancelled}}}"#),
        &format!(r#"{{"jsonrpc":"2.0","id":true,{cancelled}}}"#),
        &format!(r#"[{{"jsonrpc":"2.0","id":{id},{cancelled}}}]"#),
    ] {
        assert_eq!(place.post("", bad).0, 400, "{bad}");
    }
    // A client that does not know the method does not answer for the others; it is recorded.
    let unknown = json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": -32601, "message": "Method not found" } });
    assert_eq!(place.post("", &unknown.to_string()).0, 202);
    assert!(stream.until(|event| event.data.contains("_askd/question_not_shown")).data.contains("-32601"));
    assert_eq!(questions(&hub, "requested").len(), 1);
    assert!(!prompted.is_finished());
    let answer = json!({ "outcome": { "outcome": "cancelled" } });
    assert_eq!(place.respond(&request, &answer).0, 202);
    prompted.join().unwrap();
    assert_eq!(stream.seen.iter().filter(|event| event.data.contains("received: ")).count(), 0);
    let received = stream.until(|event| event.data.contains("received: "));
    assert!(received.data.contains("cancelled"), "{received:?}");
    assert_eq!(questions(&hub, "rejected")[0]["outcome"]["mode"], "cancel");
}

#[test]
fn an_edited_plan_that_the_protocol_has_no_place_for_is_refused_before_anything_is_stored() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "plan");
    let request = stream.request("session/request_permission");
    let open = questions(&hub, "requested");
    let path = format!("/v1/questions/{}/reply", open[0]["id"].as_str().unwrap());
    let edited = json!({ "answers": [["approve"]], "editedPlan": "1. Something else" });
    let (status, problem) = hub.http("POST", &path, Some(&edited)).unwrap();
    assert_eq!((status, &problem["code"]), (409, &json!("channel_cannot_carry")), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("an edited plan"), "{problem}");
    assert_eq!(questions(&hub, "requested"), open, "it is still open, and nothing was stored");
    assert_eq!(hub.http("POST", &path, Some(&json!({ "answers": [["approve"]] }))).unwrap().0, 200);
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    assert_eq!(request["params"]["toolCall"]["kind"], "switch_mode");
}

#[test]
fn a_human_may_think_longer_than_any_request_is_silent() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "question");
    let request = stream.request(EXTENSION);
    // Longer than the hub waits with the header of a response; after that it keeps the connection alive.
    std::thread::sleep(Duration::from_secs(12));
    assert!(!prompted.is_finished());
    assert_eq!(place.respond(&request, &json!({ "status": "rejected" })).0, 202);
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    assert_eq!(questions(&hub, "rejected").len(), 1);
}

#[test]
fn rights_are_asked_for() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "question");
    let request = stream.request(EXTENSION);
    let asker = place.with_token(&hub.ask_token().unwrap());
    let answer = json!({ "status": "answered", "answers": [["option-a"]] });
    assert_eq!(asker.respond(&request, &answer).0, 403);
    assert_eq!(asker.post("", r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}"#).0, 403);
    assert_eq!(asker.delete(), 403);
    assert_eq!(place.with_token("nobody").post("", "{}").0, 401);
    assert_eq!(place.respond(&request, &answer).0, 202);
    prompted.join().unwrap();
}

/// Rounds of eight answers at once.
const CONTESTS: usize = 40;
/// Rounds in which the turn is cancelled while an answer is given.
const CANCELS: usize = 100;
const OPTIONS: [&str; 2] = ["option-a", "option-b"];

/// What the agent said that it received, in the events since the last request.
fn received(stream: &acp::Stream, from: usize) -> Vec<String> {
    let told = stream.seen[from..].iter().filter(|event| event.data.contains("received: "));
    told.map(|event| event.data.clone()).collect()
}

fn only_open(hub: &Hub) -> String {
    questions(hub, "requested")[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn of_answers_by_inbox_and_clients_at_once_one_wins_and_the_agent_receives_that_one() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    for round in 0..CONTESTS {
        let prompted = place.prompt(7, &session, "question");
        let request = stream.request(EXTENSION);
        let (id, from) = (only_open(&hub), stream.seen.len());
        let inbox = place.at(&format!("/v1/questions/{id}/reply"));
        let won: Vec<&str> = std::thread::scope(|scope| {
            let give = |i: usize| {
                let (place, inbox, request) = (&place, &inbox, &request);
                scope.spawn(move || {
                    let pick = OPTIONS[(i + round) % 2];
                    let (status, said) = if i < 4 {
                        inbox.post("", &json!({ "answers": [[pick]] }).to_string())
                    } else {
                        let answer = json!({ "status": "answered", "answers": [[pick]] });
                        let (status, said) = place.respond(request, &answer);
                        (status, said.to_string())
                    };
                    assert!(matches!(status, 200 | 202 | 409), "{status}: {said}");
                    (status < 300).then_some(pick)
                })
            };
            let given: Vec<_> = (0..8).map(give).collect();
            given.into_iter().filter_map(|given| given.join().unwrap()).collect()
        });
        assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
        let settled = question(&hub, &id);
        let pick = settled["outcome"]["answers"][0]["picks"][0].as_str().unwrap();
        // The same answer again is the same success.
        assert!(!won.is_empty() && won.iter().all(|won| *won == pick), "{won:?}: {settled}");
        stream.until(|event| event.data.contains("received: "));
        let told = received(&stream, from);
        assert!(told.len() == 1 && told[0].contains(pick), "{pick}: {told:?}");
    }
    place.prompt(8, &session, "hello").join().unwrap();
    let said = stream.until(|event| event.data.contains("you said")).id;
    let all = stream.seen.iter().filter(|event| event.id <= said && event.data.contains("received: "));
    assert_eq!(all.count(), CONTESTS, "no answer came twice");
    assert_no_hole(&stream.seen);
}

#[test]
fn a_cancel_against_an_answer_leaves_one_outcome_and_the_agent_hears_nothing_else() {
    let (hub, place, session) = mock();
    let mut stream = place.stream(None);
    let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    let mut rounds = Vec::new();
    for round in 0..CANCELS {
        let prompted = place.prompt(7, &session, "question");
        stream.request(EXTENSION);
        let (id, from) = (only_open(&hub), stream.seen.len());
        let pick = OPTIONS[round % 2];
        let inbox = place.at(&format!("/v1/questions/{id}/reply"));
        let (cancelled, answered) = std::thread::scope(|scope| {
            let cancelled = scope.spawn(|| place.post("", &cancel.to_string()).0);
            let answered = scope.spawn(|| inbox.post("", &json!({ "answers": [[pick]] }).to_string()).0);
            (cancelled.join().unwrap(), answered.join().unwrap())
        });
        assert_eq!(cancelled, 202);
        assert!(matches!(answered, 200 | 409), "{answered}");
        prompted.join().unwrap();
        rounds.push((id, pick, answered == 200, from));
    }
    place.prompt(8, &session, "hello").join().unwrap();
    stream.until(|event| event.data.contains("you said"));
    assert_eq!(questions(&hub, "requested"), Vec::<Value>::new());
    for (i, (id, pick, was_answered, from)) in rounds.iter().enumerate() {
        let settled = eventually("the end of the delivery", || {
            let settled = question(&hub, id);
            let state = &settled["delivery"]["state"];
            (state.is_null() || state == "confirmed" || state == "failed").then_some(settled)
        });
        let to = rounds.get(i + 1).map_or(stream.seen.len(), |next| next.3);
        let told: Vec<&str> = stream.seen[*from..to]
            .iter()
            .filter(|event| event.data.contains("received: "))
            .map(|event| event.data.as_str())
            .collect();
        if *was_answered {
            assert_eq!(settled["status"], "answered");
            assert_eq!(settled["outcome"]["answers"][0]["picks"], json!([pick]));
            assert!(told.len() < 2 && told.iter().all(|told| told.contains(pick)), "{told:?}: {settled}");
            let confirmed = settled["delivery"]["state"] == "confirmed";
            assert_eq!(confirmed, told.len() == 1, "{told:?}: {settled}");
        } else {
            assert_eq!((&settled["status"], told.len()), (&json!("cancelled"), 0), "{told:?}: {settled}");
        }
    }
    assert_no_hole(&stream.seen);
}

//! The question routes of sandbox-agent v1 beside `/v1/acp`: whichever way the answer comes, it is settled
//! once.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use acp::{EXTENSION, PATIENCE, Place, result};
use askd_testkit::hub::Hub;
use serde_json::{Value, json};

/// The first events of a session.
fn events(hub: &Hub, session: &str, count: usize, after: Option<u64>) -> Vec<Value> {
    let host = hub.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let token = hub.token().unwrap();
    let last = after.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
    let head = format!(
        "GET /v1/sessions/{session}/events/sse HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{last}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let data = lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
    data.take(count).collect()
}

#[test]
fn a_client_of_sandbox_agent_v1_sees_and_answers_questions() {
    let hub = acp::start(acp::builder());
    let place = Place::new(&hub, "v1");
    let session = place.open("mock", "/tmp");
    let mut stream = place.stream(None);
    let post = |session: &str, question: &str, what: &str, body: Option<&Value>| {
        hub.http("POST", &format!("/v1/sessions/{session}/questions/{question}/{what}"), body).unwrap()
    };

    let prompted = place.prompt(3, &session, "question");
    let request = stream.request(EXTENSION);
    let native = request["params"]["questionId"].as_str().unwrap().to_owned();
    let asked = events(&hub, &session, 1, None).remove(0);
    assert_eq!(asked["type"], "question.requested");
    assert_eq!((&asked["source"], &asked["synthetic"]), (&json!("agent"), &json!(false)));
    assert_eq!(asked["native_session_id"], session.as_str());
    let data = &asked["data"];
    assert_eq!(data["prompt"], request["params"]["prompt"]);
    assert_eq!(data["options"], json!(["Option A", "Option B"]));
    assert_eq!((&data["status"], &data["response"]), (&json!("requested"), &Value::Null));
    let askd_session = asked["session_id"].as_str().unwrap();
    let id = data["question_id"].as_str().unwrap();

    assert_eq!(post("nowhere", id, "reply", Some(&json!({ "answers": [["option-a"]] }))).0, 404);
    assert_eq!(post(&session, "nothing", "reply", Some(&json!({ "answers": [["option-a"]] }))).0, 404);
    assert_eq!(post(&session, id, "reply", Some(&json!({ "answers": [[], []] }))).0, 400);
    let answers = json!({ "answers": [["option-b"]] });
    assert_eq!(post(&session, &native, "reply", Some(&answers)), (204, Value::Null));
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    assert_eq!(post(askd_session, id, "reply", Some(&answers)).0, 204, "the same again");
    let (status, problem) = post(askd_session, id, "reject", None);
    assert_eq!((status, problem["code"].as_str()), (409, Some("already_settled")));
    let late = place.respond(&request, &json!({ "status": "rejected" }));
    assert_eq!(late.0, 409, "{late:?}");
    let resolved = events(&hub, askd_session, 1, asked["sequence"].as_u64()).remove(0);
    assert_eq!(resolved["type"], "question.resolved");
    assert_eq!(
        (&resolved["data"]["status"], &resolved["data"]["response"]),
        (&json!("answered"), &json!("Option B"))
    );
    assert_eq!(resolved["data"]["answers"], json!([["Option B"]]));
    assert_eq!(resolved["source"], "daemon");

    let prompted = place.prompt(4, &session, "question");
    let request = stream.request(EXTENSION);
    let native = request["params"]["questionId"].as_str().unwrap();
    assert_eq!(post(askd_session, native, "reject", None).0, 204);
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    let beyond = format!("/v1/sessions/{session}/events/sse?offset=100000");
    let (status, problem) = hub.http("GET", &beyond, None).unwrap();
    assert_eq!(
        (status, &problem["errors"][0]["code"]),
        (400, &json!("beyond_newest")),
        "a cursor of another store"
    );
    let all = events(&hub, &session, 4, None);
    assert_eq!(all[3]["data"]["status"], "rejected");
    assert_eq!(
        all.iter().map(|event| event["type"].as_str().unwrap()).collect::<Vec<_>>(),
        ["question.requested", "question.resolved", "question.requested", "question.resolved"]
    );
}

#[test]
fn two_agents_that_name_their_questions_alike_are_not_mistaken_for_each_other() {
    let hub = acp::start(acp::builder());
    let places = [Place::new(&hub, "one"), Place::new(&hub, "two")];
    let mut asked = Vec::new();
    for place in &places {
        let session = place.open("mock", "/tmp");
        let mut stream = place.stream(None);
        let prompted = place.prompt(3, &session, "question");
        let name = stream.request(EXTENSION)["params"]["questionId"].as_str().unwrap().to_owned();
        asked.push((session, name, prompted));
    }
    let reply = |session: &str, question: &str, pick: &str| {
        let path = format!("/v1/sessions/{session}/questions/{question}/reply");
        hub.http("POST", &path, Some(&json!({ "answers": [[pick]] }))).unwrap()
    };
    let [(session, name, _), (same_session, same_name, _)] = &asked[..] else { unreachable!() };
    assert_eq!((session, name), (same_session, same_name), "the mock numbers both");
    let (status, problem) = reply(session, name, "option-a");
    assert_eq!((status, &problem["code"]), (409, &json!("ambiguous_answer")), "{problem}");
    let (status, _) = hub.http("GET", &format!("/v1/sessions/{session}/events/sse"), None).unwrap();
    assert_eq!(status, 409);
    let (_, list) = hub.http("GET", "/v1/questions?status=requested&order=asc", None).unwrap();
    for (question, pick) in list["questions"].as_array().unwrap().iter().zip(["option-a", "option-b"]) {
        assert_eq!(reply(session, question["id"].as_str().unwrap(), pick).0, 204);
    }
    for (_, _, prompted) in asked {
        assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    }
    for (place, pick) in places.iter().zip(["option-a", "option-b"]) {
        place.stream(None).until(|event| event.data.contains("received: ") && event.data.contains(pick));
    }
}

#[test]
fn a_late_answer_learns_how_it_ended_although_another_agent_has_the_same_session_name() {
    let hub = acp::start(acp::builder());
    let places = [Place::new(&hub, "ends"), Place::new(&hub, "lives")];
    let [session, _] = places.each_ref().map(|place| place.open("mock", "/tmp"));
    let mut stream = places[0].stream(None);
    let prompted = places[0].prompt(3, &session, "question");
    let name = stream.request(EXTENSION)["params"]["questionId"].as_str().unwrap().to_owned();
    assert_eq!(places[0].delete(), 204);
    drop(prompted.join().unwrap());
    let path = format!("/v1/sessions/{session}/questions/{name}/reply");
    let (status, problem) = hub.http("POST", &path, Some(&json!({ "answers": [["option-a"]] }))).unwrap();
    assert_eq!((status, &problem["code"]), (409, &json!("already_settled")), "{problem}");
}

//! Lists that cross with answers, and those that are asked for again.

use super::*;
use crate::codec::{Begin, Codec as _, Start};
use crate::heard::Speech;
use askd_core::Settlement;
use askd_core::answer::Answer;

const ASKED: &str = r#"{"directory":"/w","payload":{"type":"question.asked","properties":{"id":"que_1","sessionID":"ses_1",
    "questions":[{"question":"?","header":"h","options":[{"label":"A","description":"d"}]}],"tool":{"messageID":"msg_1","callID":"call_1"}}}}"#;
const RUNNING: &[u8] =
    br#"{"parts":[{"type":"tool","tool":"question","callID":"call_1","state":{"status":"running"}}]}"#;

const QUESTIONS: &[u8] = br#"[{"id":"que_1","sessionID":"ses_1","questions":[{"question":"?","header":"h",
    "options":[{"label":"A","description":"d"}]}],"tool":{"messageID":"msg_1","callID":"call_1"}}]"#;
const SESSIONS: &[u8] = br#"[{"id":"ses_1","directory":"/w","title":"t"}]"#;
const PART: &str = "/session/ses_1/message/msg_1";
const SAYS_CONNECTED: &[u8] = br#"{"payload":{"type":"server.connected","properties":{}}}"#;
const HEARTBEAT: &[u8] = br#"{"payload":{"type":"server.heartbeat","properties":{}}}"#;

/// Puts the calls to the others, and gives what else was heard.
fn sort_out(heard: Vec<Heard>, calls: &mut Vec<Call>) -> Vec<Heard> {
    let mut rest = Vec::new();
    for heard in heard {
        match heard {
            Heard::Write(Speech::Call(call)) => calls.push(call),
            heard => rest.push(heard),
        }
    }
    rest
}

/// Makes the codec hear a reply to the call with this path; what else it means.
fn reply(codec: &mut OpencodeCodec, calls: &mut Vec<Call>, path: &str, body: &[u8]) -> Vec<Heard> {
    let at = calls.iter().position(|call| call.path == path).unwrap();
    let heard = codec.replied(&calls.remove(at).tag, 200, body);
    sort_out(heard, calls)
}

/// What comes of a list without a question whose answer was sent, while the call with it is under way or has
/// been taken.
fn listed_no_more(taken: bool) -> Vec<Heard> {
    let mut codec = OpencodeCodec::new("opencode");
    codec.begin(Begin { start: Start::Observed, ..Begin::default() });
    codec.hear(ASKED.as_bytes());
    let (answers, notes) = (vec![askd_core::ItemAnswer::picks(["A"])], vec![None]);
    let answer = Answer { answers, notes, edited_plan: None, next_mode: None };
    codec.delivered("que_1", &Settlement::Answered(answer));
    if taken {
        codec.replied("spoke:que_1", 200, b"true");
    }
    let mut calls = Vec::new();
    let mut heard = sort_out(codec.connected(), &mut calls);
    for (path, body) in [("/experimental/session", &b"[]"[..]), ("/question", b"[]"), (PART, RUNNING)] {
        heard.extend(reply(&mut codec, &mut calls, path, body));
    }
    assert!(calls.iter().all(|call| call.path != PART), "it is looked at once");
    heard
}

#[test]
fn an_answer_that_is_just_being_taken_was_not_forgotten() {
    assert!(listed_no_more(false).is_empty());
    assert!(listed_no_more(true).is_empty());
}

/// A server with one folder that has said that it is connected, and in whose lists nothing was.
fn connected() -> OpencodeCodec {
    let (mut codec, mut calls) = (OpencodeCodec::new("opencode"), Vec::new());
    codec.begin(Begin { start: Start::Observed, ..Begin::default() });
    sort_out(codec.connected(), &mut calls);
    for (path, body) in [("/experimental/session", SESSIONS), ("/question", b"[]"), ("/permission", b"[]")] {
        assert!(reply(&mut codec, &mut calls, path, body).is_empty());
    }
    sort_out(codec.hear(SAYS_CONNECTED), &mut calls);
    assert!(calls.is_empty(), "{calls:?}");
    codec
}

fn calls(heard: Vec<Heard>) -> Vec<Call> {
    let mut calls = Vec::new();
    sort_out(heard, &mut calls);
    calls
}

fn paths(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|call| call.path.as_str()).collect()
}

fn asked(heard: &[Heard]) -> Vec<&str> {
    heard
        .iter()
        .filter_map(|heard| if let Heard::Asked(asked) = heard { Some(&*asked.native_id) } else { None })
        .collect()
}

const EVERYTHING: [&str; 3] = ["/question", "/permission", "/experimental/session"];

#[test]
fn what_was_asked_before_the_server_heard_itself_is_found_with_its_next_event() {
    let mut codec = connected();
    let mut calls = calls(codec.hear(HEARTBEAT));
    assert_eq!(paths(&calls), EVERYTHING);
    assert!(reply(&mut codec, &mut calls, "/question", QUESTIONS).is_empty());
    assert_eq!(asked(&reply(&mut codec, &mut calls, PART, RUNNING)), ["que_1"]);
    assert!(reply(&mut codec, &mut calls, "/experimental/session", SESSIONS).is_empty());
    assert_eq!(paths(&calls), ["/permission"], "no folder twice");
    sort_out(codec.hear(HEARTBEAT), &mut calls);
    sort_out(codec.still_connected(), &mut calls);
    assert_eq!(paths(&calls), ["/permission"], "it is sure now");
}

#[test]
fn until_the_next_event_it_is_asked_for_after_a_while_and_shown_once() {
    let mut codec = connected();
    let (mut first, mut second) = (calls(codec.still_connected()), calls(codec.still_connected()));
    assert_eq!((&paths(&first)[..], &paths(&second)[..]), (&EVERYTHING[..], &EVERYTHING[..]));
    reply(&mut codec, &mut first, "/question", QUESTIONS);
    reply(&mut codec, &mut second, "/question", QUESTIONS);
    assert_eq!(asked(&reply(&mut codec, &mut first, PART, RUNNING)), ["que_1"]);
    assert!(reply(&mut codec, &mut second, PART, RUNNING).is_empty());
    let mut third = calls(codec.hear(HEARTBEAT));
    reply(&mut codec, &mut third, "/question", QUESTIONS);
    assert!(reply(&mut codec, &mut third, PART, RUNNING).is_empty());
}

#[test]
fn a_request_that_is_listed_before_its_tool_part_is_stored_is_shown() {
    let mut codec = connected();
    let mut calls = calls(codec.hear(HEARTBEAT));
    reply(&mut codec, &mut calls, "/question", QUESTIONS);
    assert_eq!(asked(&reply(&mut codec, &mut calls, PART, br#"{"parts":[]}"#)), ["que_1"]);
    assert_eq!(paths(&calls), ["/permission", "/experimental/session"], "and not taken out of the list");
}

/// A question is known, and a list that is asked for again is without it.
fn absent_again(part: &[u8]) -> Vec<Heard> {
    let mut codec = connected();
    codec.unsure = false;
    codec.hear(ASKED.as_bytes());
    codec.hear(SAYS_CONNECTED);
    let mut calls = calls(codec.hear(HEARTBEAT));
    assert!(reply(&mut codec, &mut calls, "/question", b"[]").is_empty());
    reply(&mut codec, &mut calls, PART, part)
}

#[test]
fn a_list_that_is_asked_for_again_ends_nothing_that_its_tool_part_does_not() {
    assert!(absent_again(RUNNING).is_empty());
    assert!(absent_again(br#"{"parts":[]}"#).is_empty());
    let completed = br#"{"parts":[{"type":"tool","tool":"question","callID":"call_1",
        "state":{"status":"completed","metadata":{"answers":[["A"]]}}}]}"#;
    assert!(matches!(&absent_again(completed)[..], [Heard::AnsweredElsewhere { .. }]));
}

#[test]
fn a_list_that_was_wanted_before_a_question_was_asked_does_not_touch_it() {
    let mut codec = connected();
    let mut calls = calls(codec.still_connected());
    assert_eq!(asked(&sort_out(codec.hear(ASKED.as_bytes()), &mut calls)), ["que_1"]);
    assert!(reply(&mut codec, &mut calls, "/question", b"[]").is_empty());
    assert!(!paths(&calls).contains(&PART), "not even looked at");
}

#[test]
fn the_first_list_tells_what_a_restart_has_forgotten_however_soon_an_event_comes() {
    let mut codec = connected();
    codec.hear(ASKED.as_bytes());
    let mut calls = calls(codec.connected());
    for event in [SAYS_CONNECTED, HEARTBEAT] {
        sort_out(codec.hear(event), &mut calls);
    }
    assert!(reply(&mut codec, &mut calls, "/experimental/session", SESSIONS).is_empty());
    assert!(reply(&mut codec, &mut calls, "/question", b"[]").is_empty());
    let heard = reply(&mut codec, &mut calls, PART, RUNNING);
    assert!(matches!(&heard[..], [Heard::Withdrawn { cause: Cause::SourceLost { .. }, .. }]), "{heard:?}");
}

#[test]
fn a_server_of_askds_own_is_not_given_a_second_session() {
    let mut codec = OpencodeCodec::new("opencode");
    codec.begin(Begin { start: Start::Fresh, cwd: "/w".to_owned(), ..Begin::default() });
    let mut calls = calls(codec.connected());
    sort_out(codec.hear(SAYS_CONNECTED), &mut calls);
    sort_out(codec.still_connected(), &mut calls);
    assert_eq!(paths(&calls), ["/session"]);
    let made = br#"{"id":"ses_1","directory":"/w","title":"t"}"#;
    reply(&mut codec, &mut calls, "/session", made);
    sort_out(codec.hear(HEARTBEAT), &mut calls);
    assert_eq!(paths(&calls), ["/question", "/permission"], "where its session is");
}

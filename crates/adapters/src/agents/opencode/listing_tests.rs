//! Lists that cross with answers.

use super::*;
use crate::codec::{Begin, Codec as _, Start};
use crate::heard::Speech;
use askd_core::Settlement;
use askd_core::answer::Answer;

const ASKED: &str = r#"{"directory":"/w","payload":{"type":"question.asked","properties":{"id":"que_1","sessionID":"ses_1",
    "questions":[{"question":"?","header":"h","options":[{"label":"A","description":"d"}]}],"tool":{"messageID":"msg_1","callID":"call_1"}}}}"#;
const RUNNING: &[u8] =
    br#"{"parts":[{"type":"tool","tool":"question","callID":"call_1","state":{"status":"running"}}]}"#;

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

/// What comes of a list without a question whose answer was sent, while the call with it is under way or has been taken.
fn listed_no_more(taken: bool) -> Vec<Heard> {
    let mut codec = OpencodeCodec::new("opencode");
    codec.begin(Begin { start: Start::Observed, ..Begin::default() });
    codec.hear(ASKED.as_bytes());
    let (answers, notes) = (vec![vec!["A".to_owned()]], vec![None]);
    let answer = Answer { answers, notes, edited_plan: None, next_mode: None };
    codec.delivered("que_1", &Settlement::Answered(answer));
    if taken {
        codec.replied("spoke:que_1", 200, b"true");
    }
    let mut calls = Vec::new();
    let mut heard = sort_out(codec.connected(), &mut calls);
    let part = "/session/ses_1/message/msg_1";
    for (path, body) in [("/experimental/session", &b"[]"[..]), ("/question", b"[]"), (part, RUNNING)] {
        heard.extend(reply(&mut codec, &mut calls, path, body));
    }
    assert!(calls.iter().all(|call| call.path != part), "it is looked at once");
    heard
}

#[test]
fn an_answer_that_is_just_being_taken_was_not_forgotten() {
    assert!(listed_no_more(false).is_empty());
    assert!(listed_no_more(true).is_empty());
}

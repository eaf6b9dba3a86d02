//! Questions for the unit tests of the command line.

use askd_core::{AskInput, Question, QuestionId, Status, Timestamp};

/// A question as the hub shows it, from an asker's body.
pub(super) fn asked(json: &str) -> Question {
    let input: AskInput = serde_json::from_str(json).unwrap();
    Question {
        id: QuestionId::from_bits(7),
        ask: input.complete().unwrap().into(),
        status: Status::Requested,
        outcome: None,
        delivery: None,
        created_at: Timestamp::from_millis(0),
        seq: 1,
        failed_tries: Vec::new(),
        road: None,
        agent_times_out_at: None,
    }
}

pub(super) fn one(item: &str) -> Question {
    asked(&format!(r#"{{"questions":[{item}]}}"#))
}

/// A single choice with everything and a hostile option, and a multi-select.
pub(super) fn two_items() -> Question {
    asked(
        r#"{"agent":"claude","context":{"cwd":"/home/me/app","title":"Auth work","excerpt":"I looked at the code."},
        "questions":[
          {"question":"Which auth method?","header":"Auth method","options":[
            {"label":"JWT","description":"Stateless tokens","preview":"let token = sign();"},
            {"label":"\u001b[31mSession\u001b[0m","value":"session-cookie"}]},
          {"question":"Which extras?","header":"Extras","multiple":true,"options":["Logging","Metrics","Tracing"]}]}"#,
    )
}

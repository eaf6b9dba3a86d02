//! An answer that shows nothing is no answer.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use askd_core::{Ask, AskInput, Reply};
use serde_json::{Value, json};

fn ask(input: Value) -> Ask {
    serde_json::from_value::<AskInput>(input).unwrap().complete().unwrap()
}

fn code(ask: &Ask, reply: Value) -> Option<String> {
    let reply: Reply = serde_json::from_value(reply).unwrap();
    reply.check(ask).err().map(|errors| errors.0[0].code.clone())
}

#[test]
fn own_words_and_an_edited_plan_that_show_nothing_are_refused() {
    let choice = ask(json!({ "questions": [{ "question": "Which?", "options": ["A"] }] }));
    let plan = ask(
        json!({ "kind": "plan", "questions": [{ "question": "Plan?" }], "body": { "format": "markdown", "text": "# p" } }),
    );
    for unseen in ["\u{200b}", " \n\u{2060}", "\u{202e}", "\u{2800}\u{3164}"] {
        assert_eq!(code(&choice, json!({ "answers": [{ "words": [unseen] }] })), Some("empty".to_owned()));
        assert_eq!(code(&choice, json!({ "answers": [[unseen]] })), Some("empty".to_owned()));
        assert_eq!(
            code(&plan, json!({ "answers": [["approve"]], "editedPlan": unseen })),
            Some("empty".to_owned())
        );
    }
    assert_eq!(code(&choice, json!({ "answers": [{ "words": ["A\u{200b}"] }] })), None);
    assert_eq!(code(&plan, json!({ "answers": [["approve"]], "editedPlan": "\u{200b}x" })), None);
}

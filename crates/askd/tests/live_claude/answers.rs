//! What a person can answer, and what the model then received.

use askd_testkit::programs::AgentEnv as _;
use serde_json::json;

use super::{Claude, asked, say};
use crate::live::{Stage, eventually};

pub fn single() {
    let claude = Claude::new("claude");
    let (stage, session, id) = asked(&claude, "single");
    let question = stage.question(&id);
    assert_eq!(question["context"]["excerpt"], "One question.");
    assert_eq!(question["rejectModes"], json!(["decline", "interrupt"]));
    assert!(question["tool"]["callId"].as_str().unwrap().starts_with("toolu_"), "{question}");
    stage.answer(&id, &json!([["Session cookies"]]));
    stage.confirmed(&id);
    let wanted = "Your questions have been answered: \"Which auth?\"=\"Session cookies\". You can now continue with these \
                  answers in mind.";
    assert_eq!(claude.told(1), (wanted.to_owned(), false));
    // The session goes on: a message is a new turn in which it asks again.
    let again = say(&stage, &session, "single");
    assert_ne!(again, id);
    stage.answer(&again, &json!([["JWT"]]));
    stage.confirmed(&again);
    assert!(claude.told(2).0.contains("\"Which auth?\"=\"JWT\""));
}

pub fn several_picks() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "several-items");
    stage.answer(&id, &json!([["JWT"], ["Logging", "Metrics, traces", "say \"hi\"", "日本 🦀"], []]));
    stage.confirmed(&id);
    let wanted = "Your questions have been answered: \"Which auth?\"=\"JWT\", \"Which of these?\"=\"Logging, \"Metrics, traces\", \
                  \"say \\\"hi\\\"\", 日本 🦀\". You can now continue with these answers in mind.";
    assert_eq!(claude.told(1), (wanted.to_owned(), false));
}

pub fn own_words_and_notes() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "single");
    stage.answer(&id, &json!([["neither, \"really\"\nsecond line"]]));
    stage.confirmed(&id);
    let told = claude.told(1).0;
    assert!(
        told.starts_with("The user answered: \"Which auth?\"=\"neither, \"really\"\nsecond line\""),
        "{told}"
    );

    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "preview");
    assert_eq!(stage.question(&id)["questions"][0]["options"][0]["preview"], "+-+\n|A|\n+-+");
    stage.reply(&id, &json!({ "answers": [["Grid"]], "notes": ["make it wide"] }));
    stage.confirmed(&id);
    let told = claude.told(1).0;
    assert!(told.contains("\"Grid\" selected preview:\n+-+\n|A|\n+-+ notes: make it wide"), "{told}");
}

/// Own words that read like labels, and one label that reads like several.
pub fn own_words_like_labels() {
    let claude = Claude::new("claude");
    let (stage, session, id) = asked(&claude, "multi-select");
    let words = json!([["Logging, 日本 🦀"]]);
    stage.answer(&id, &words);
    assert_eq!(askd_testkit::given(&stage.confirmed(&id)["outcome"]["answers"]), words);
    assert!(claude.told(1).0.contains("\"Which of these?\"=\"Logging, 日本 🦀\""), "{:?}", claude.told(1));
    for (count, label) in [(2, "Metrics, traces"), (3, "say \"hi\"")] {
        let id = say(&stage, &session, "multi-select");
        stage.answer(&id, &json!([[label]]));
        stage.confirmed(&id);
        let told = claude.told(count).0;
        let wanted = format!("Your questions have been answered: \"Which of these?\"=\"{label}\".");
        assert!(told.starts_with(&wanted), "{told}");
    }
}

pub fn nothing_picked() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "single");
    stage.answer(&id, &json!([[]]));
    stage.confirmed(&id);
    assert_eq!(claude.told(1), ("The user did not answer the questions.".to_owned(), false));
}

/// As many questions and options as one call may have, with all that text can do.
pub fn four_by_four() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "four");
    let question = stage.question(&id);
    let items = question["questions"].as_array().unwrap();
    assert_eq!(items.len(), 4);
    for item in items {
        assert_eq!(item["options"].as_array().unwrap().len(), 4, "{item}");
        assert_eq!(item["header"].as_str().unwrap().len(), 60, "{item}");
    }
    let picks = |item: usize| -> Vec<String> {
        let options = items[item]["options"].as_array().unwrap();
        options.iter().map(|option| option["value"].as_str().unwrap().to_owned()).collect()
    };
    stage.answer(&id, &json!([picks(0), [picks(1)[3]], [], picks(3)[..2]]));
    stage.confirmed(&id);
    let told = claude.told(1).0;
    // Every pick is there as it is, or as the JSON text of itself; and the agent knew them all as its own
    // labels.
    assert!(told.starts_with("Your questions have been answered: "), "{told}");
    for pick in picks(0).iter().chain(&picks(1)[3..]).chain(&picks(3)[..2]) {
        let quoted = serde_json::Value::from(pick.as_str()).to_string();
        assert!(told.contains(pick.as_str()) || told.contains(&quoted), "{pick:?} in {told}");
    }
    assert!(!told.contains("שאלה 3?"), "{told}");
}

pub fn plan_edited() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "plan");
    assert_eq!(stage.question(&id)["body"]["text"], "# Plan\n\n1. Do A\n");
    let reply =
        json!({ "answers": [["approve"]], "editedPlan": "# Plan\n\n1. Only B\n", "nextMode": "acceptEdits" });
    stage.reply(&id, &reply);
    stage.confirmed(&id);
    let (told, is_error) = claude.told(2);
    assert!(!is_error && told.contains("edited by user") && told.contains("1. Only B"), "{told}");
    assert!(!told.contains("Do A"), "{told}");
}

/// The mode that is chosen with a plan is the one that its edits are made in.
pub fn plan_modes() {
    let made = |claude: &Claude| claude.env.cwd().join("made-by-claude").exists();
    let claude = Claude::new("claude");
    let (stage, session, id) = asked(&claude, "plan-then-write");
    stage.reply(&id, &json!({ "answers": [["approve"]], "nextMode": "default" }));
    stage.confirmed(&id);
    let edit = stage.open_question(&session);
    assert_eq!(stage.question(&edit)["kind"], "permission");
    assert!(!made(&claude), "it was written without asking");
    stage.answer(&edit, &json!([["allow"]]));
    claude.results(3);
    assert!(made(&claude));

    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "plan-then-write");
    stage.reply(&id, &json!({ "answers": [["approve"]], "nextMode": "acceptEdits" }));
    stage.confirmed(&id);
    claude.results(3);
    assert!(made(&claude) && stage.questions("requested").is_empty());
}

pub fn plan_sent_back() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "plan");
    stage.reject(&id, &json!({ "mode": "decline", "reason": "Please also add tests" }));
    stage.confirmed(&id);
    let wanted = "The user sent the plan back (from the askd inbox) and said:\nPlease also add tests";
    assert_eq!(claude.told(2), (wanted.to_owned(), true));
}

pub fn permission() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "permission");
    let question = stage.question(&id);
    assert_eq!(question["body"], json!({ "format": "command", "text": "touch made-by-claude" }));
    assert!(!claude.env.cwd().join("made-by-claude").exists());
    stage.reply(&id, &json!({ "answers": [["deny"]], "notes": ["not here"] }));
    stage.confirmed(&id);
    let wanted = "The user did not allow this (in the askd inbox) and said: not here";
    assert_eq!(claude.told(1), (wanted.to_owned(), true));
    assert!(!claude.env.cwd().join("made-by-claude").exists());

    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "permission");
    stage.reply(&id, &json!({ "answers": [["allow"]], "notes": ["and then stop"] }));
    stage.confirmed(&id);
    assert!(!claude.told(1).1);
    assert!(claude.env.cwd().join("made-by-claude").exists());
    eventually("the note at the model", || {
        claude
            .model
            .requests()
            .iter()
            .any(|request| {
                request.body.as_ref().is_some_and(|body| body.to_string().contains("and then stop"))
            })
            .then_some(())
    });
}

pub fn declined() {
    let claude = Claude::new("claude");
    let (stage, _, id) = asked(&claude, "single");
    stage.reject(&id, &json!({ "reason": "Ask Ada" }));
    stage.confirmed(&id);
    let (told, is_error) = claude.told(1);
    assert!(is_error && told.contains("declined") && told.contains("Ask Ada"), "{told}");
}

pub fn interrupted_with_another_open() {
    let claude = Claude::new("claude");
    let stage = Stage::new();
    let session = stage.start(&claude.request("two-open-at-once"));
    let ids = stage.open_questions(&session, 2);
    stage.reject(&ids[0], &json!({ "mode": "interrupt" }));
    stage.confirmed(&ids[0]);
    let other = eventually("the other question's end", || {
        let question = stage.question(&ids[1]);
        (question["status"] != "requested").then_some(question)
    });
    assert_eq!(other["status"], "cancelled", "{other}");
    assert_eq!(other["outcome"]["cause"]["type"], "turnAborted", "{other}");
    assert!(claude.model.tool_results().is_empty(), "the model was not called again");
    // The session is still usable.
    let again = say(&stage, &session, "single");
    stage.answer(&again, &json!([["JWT"]]));
    stage.confirmed(&again);
}

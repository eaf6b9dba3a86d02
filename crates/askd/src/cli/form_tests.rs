//! What happens line by line when a person answers by hand.

use super::super::samples;
use super::*;

fn reply(answers: &[&[&str]]) -> Step {
    let owned = |picks: &&[&str]| picks.iter().map(|pick| (*pick).to_owned()).collect();
    Step::Send(Decided::Reply(Reply { answers: answers.iter().map(owned).collect(), ..Reply::default() }))
}

fn type_in(question: &Question, lines: &[&str]) -> Step {
    let mut form = Form::new(question, None);
    let mut last = Step::Quit;
    for (n, line) in lines.iter().enumerate() {
        last = form.line(line);
        let asks = matches!(last, Step::Ask(_));
        assert!(asks || n + 1 == lines.len(), "{:?} ended it at {line:?}", last);
    }
    last
}

fn said(step: Step) -> String {
    match step {
        Step::Ask(text) => text,
        other => panic!("{other:?}"),
    }
}

fn single() -> Question {
    samples::one(r#"{"question":"Which?","options":["JWT",{"label":"Session","value":"s"}]}"#)
}

#[test]
fn a_number_a_label_or_own_words_answer_a_single_question() {
    assert_eq!(type_in(&single(), &["2"]), reply(&[&["s"]]));
    assert_eq!(type_in(&single(), &["jwt"]), reply(&[&["JWT"]]));
    assert_eq!(
        type_in(&single(), &["something else, with a comma"]),
        reply(&[&["something else, with a comma"]])
    );
    assert_eq!(type_in(&single(), &["=2"]), reply(&[&["2"]]));
    assert_eq!(type_in(&single(), &["first \\", "second"]), reply(&[&["first \nsecond"]]));
}

#[test]
fn what_is_not_possible_is_asked_again() {
    assert!(said(type_in(&single(), &["7"])).contains("There is no option 7"));
    assert!(said(type_in(&single(), &["1,2"])).contains("takes one answer"));
    let fixed = samples::one(r#"{"question":"Which?","custom":false,"options":["A","B"]}"#);
    assert!(said(type_in(&fixed, &["own"])).contains("a number from 1 to 2"));
    let required = samples::one(r#"{"question":"Why?","required":true}"#);
    assert!(said(type_in(&required, &[""])).contains("must be answered"));
    let count = samples::one(r#"{"question":"How many?","input":"integer","bounds":{"maximum":5}}"#);
    assert!(said(type_in(&count, &["x"])).contains("not an integer"));
    assert_eq!(type_in(&count, &[" 3 "]), reply(&[&["3"]]));
    let port = samples::one(r#"{"question":"Port?","input":"integer","default":["8080"]}"#);
    assert_eq!(type_in(&port, &["/default"]), reply(&[&["8080"]]));
    assert!(Form::new(&port, None).prompt().contains("/default"));
    let mut odd = port.clone();
    std::sync::Arc::make_mut(&mut odd.ask).questions[0].default = Some(vec!["many".to_owned()]);
    assert!(said(type_in(&odd, &["/default"])).contains("Not possible"), "a default is checked like words");
    let agree = samples::one(r#"{"question":"Agree?","input":"boolean"}"#);
    assert_eq!(type_in(&agree, &["y"]), reply(&[&["true"]]));
}

#[test]
fn labels_that_are_numbers_are_never_guessed() {
    let numbers = samples::one(r#"{"question":"How many?","options":["3","5","7","9"]}"#);
    let text = said(type_in(&numbers, &["3"]));
    assert!(text.contains("#3") && text.contains("#1"), "{text}");
    assert_eq!(type_in(&numbers, &["#3"]), reply(&[&["7"]]));
    assert_eq!(type_in(&numbers, &["9"]), reply(&[&["9"]]));
    assert_eq!(type_in(&numbers, &["2"]), reply(&[&["5"]]));
}

#[test]
fn several_picks_and_own_words_go_together() {
    let multiple = samples::one(r#"{"question":"Which?","multiple":true,"options":["A","B","C"]}"#);
    assert_eq!(type_in(&multiple, &["1,3"]), reply(&[&["A", "C"]]));
    assert_eq!(type_in(&multiple, &["1 2 + D, E"]), reply(&[&["A", "B", "D, E"]]));
    assert_eq!(type_in(&multiple, &["only mine"]), reply(&[&["only mine"]]));
    assert!(said(type_in(&multiple, &["1,1"])).contains("picked twice"));
}

#[test]
fn a_list_without_options_takes_a_value_a_line() {
    let list = samples::asked(
        r#"{"questions":[{"question":"Why?"},{"question":"Files?","multiple":true,"bounds":{"maxItems":2}}]}"#,
    );
    let review = said(type_in(&list, &["x", "a.txt, b.txt", "c.txt", ""]));
    assert!(review.contains("2. Files?: \"a.txt, b.txt\", c.txt"), "{review}");
    assert_eq!(type_in(&list, &["x", "a \\", "b", "c", "", ""]), reply(&[&["x"], &["a \nb", "c"]]));
    assert!(said(type_in(&list, &["x", "a", "b", "c"])).contains("at most 2"));
    assert_eq!(type_in(&list, &["x", "a", "b", "c", "", ""]), reply(&[&["x"], &["a", "b"]]));
    assert_eq!(type_in(&list, &["x", "a", "/back", "y", "b", "", ""]), reply(&[&["y"], &["b"]]));
    assert_eq!(type_in(&list, &["x", "", ""]), reply(&[&["x"], &[]]));
}

#[test]
fn what_could_not_be_sent_is_asked_again_and_kept_where_it_may_pass() {
    let two = samples::two_items();
    let mut form = Form::new(&two, None);
    for line in ["1", "1", ""] {
        form.line(line);
    }
    assert!(form.ask_again(false).contains("1. Auth method: JWT"));
    assert_eq!(form.line(""), reply(&[&["JWT"], &["Logging"]]));
    let single = single();
    let mut form = Form::new(&single, None);
    assert_eq!(form.line("1"), reply(&[&["JWT"]]));
    assert_eq!(form.ask_again(false), "", "another answer is needed");
    assert_eq!(form.line("2"), reply(&[&["s"]]));
    assert!(form.ask_again(true).contains("Which?: s"));
    assert_eq!(form.line(""), reply(&[&["s"]]));
}

#[test]
fn several_questions_are_reviewed_before_they_are_sent() {
    let two = samples::two_items();
    let review = said(type_in(&two, &["1", "1,2"]));
    assert!(review.contains("1. Auth method: JWT\n  2. Extras: Logging, Metrics"), "{review}");
    assert_eq!(type_in(&two, &["1", "1,2", ""]), reply(&[&["JWT"], &["Logging", "Metrics"]]));
    assert_eq!(type_in(&two, &["1", "", "2", "3", ""]), reply(&[&["JWT"], &["Tracing"]]));
    assert_eq!(type_in(&two, &["1", "/back", "own", "1", ""]), reply(&[&["own"], &["Logging"]]));
    assert_eq!(type_in(&two, &["1", "1", "q"]), Step::Quit);
    let Step::Send(Decided::Reply(noted)) = type_in(&two, &["/note as before", "1", "", ""]) else {
        panic!("not sent");
    };
    assert_eq!(noted.notes, Some(vec![Some("as before".into()), None]));
}

#[test]
fn an_empty_answer_is_never_sent_by_an_enter_too_many() {
    assert!(said(type_in(&single(), &[""])).contains("(skipped)"));
    assert!(said(type_in(&single(), &["", ""])).contains("Type yes to send that"));
    assert_eq!(type_in(&single(), &["", "", "yes"]), reply(&[&[]]));
    assert_eq!(type_in(&single(), &["", "1", "2"]), reply(&[&["s"]]));
}

#[test]
fn a_plan_is_approved_or_sent_back_with_what_was_typed() {
    let plan = samples::asked(r#"{"kind":"plan","questions":[{"question":"Right?"}]}"#);
    assert_eq!(type_in(&plan, &["1"]), reply(&[&["approve"]]));
    let back = Rejection { mode: Some(RejectMode::Decline), reason: Some("use less code".into()) };
    assert_eq!(type_in(&plan, &["use less code", "y"]), Step::Send(Decided::Reject(back)));
    assert_eq!(type_in(&plan, &["use less code", "", "1"]), reply(&[&["approve"]]));
}

#[test]
fn a_secret_is_taken_as_it_is_and_not_shown() {
    let secret = samples::asked(r#"{"questions":[{"question":"Key?","secret":true},{"question":"Why?"}]}"#);
    let review = said(type_in(&secret, &["/back\\", "x"]));
    assert!(review.contains("1. Key?: (secret)") && !review.contains("back"), "{review}");
    assert_eq!(type_in(&secret, &["/back\\", "x", ""]), reply(&[&["/back\\"], &["x"]]));
}

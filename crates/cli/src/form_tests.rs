//! What happens line by line when a person answers by hand.

use super::super::samples;
use super::*;

/// Picks by value, then own words: where it does not matter which they are.
fn flat(step: Step) -> Step {
    let Step::Send(Decided::Reply(mut reply)) = step else { return step };
    for given in &mut reply.answers {
        if let askd_core::GivenAnswer::Apart(answer) = given {
            *given = answer.to_texts().into();
        }
    }
    Step::Send(Decided::Reply(reply))
}

fn sent<const N: usize>(answers: [ItemAnswer; N]) -> Step {
    Step::Send(Decided::Reply(Reply::of(answers)))
}

fn reply(answers: &[&[&str]]) -> Step {
    let owned = |picks: &&[&str]| picks.iter().map(|pick| (*pick).to_owned()).collect::<Vec<String>>();
    Step::Send(Decided::Reply(Reply::of(answers.iter().map(owned))))
}

fn type_in(question: &Question, lines: &[&str]) -> Step {
    flat(type_lines(question, lines))
}

fn type_lines(question: &Question, lines: &[&str]) -> Step {
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
    assert!(said(type_in(&required, &["/skip"])).contains("must be answered"));
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
fn picks_are_sent_as_picks_and_words_as_words() {
    assert_eq!(type_lines(&single(), &["2"]), sent([ItemAnswer::picks(["s"])]));
    assert_eq!(type_lines(&single(), &["session"]), sent([ItemAnswer::picks(["s"])]));
    assert_eq!(type_lines(&single(), &["mine"]), sent([ItemAnswer::words(["mine"])]));
    let multiple = samples::one(r#"{"question":"Which?","multiple":true,"options":["A","B"]}"#);
    let both = ItemAnswer { picks: vec!["B".into()], words: vec!["mine".into()] };
    assert_eq!(type_lines(&multiple, &["2 + mine"]), sent([both]));
    let free = samples::one(r#"{"question":"Why?"}"#);
    assert_eq!(type_lines(&free, &["2"]), sent([ItemAnswer::words(["2"])]));
    let proposed = samples::one(r#"{"question":"Which?","options":["A","B"],"default":["B"]}"#);
    assert_eq!(type_lines(&proposed, &["/default"]), sent([ItemAnswer::picks(["B"])]));
}

#[test]
fn own_words_never_become_an_option_that_was_not_read() {
    let replicas = samples::one(
        r#"{"question":"How many?","options":[{"label":"2 replicas","value":"0"},{"label":"4 replicas","value":"1"},
            {"label":"8 replicas","value":"2"}]}"#,
    );
    let refused = said(type_in(&replicas, &["=2"]));
    assert!(refused.contains("Not possible") && refused.contains("8 replicas"), "{refused}");
    let asked = said(type_in(&replicas, &["2"]));
    assert!(asked.contains("#2 for 4 replicas or #3 for 8 replicas"), "{asked}");
    assert_eq!(type_lines(&replicas, &["#3"]), sent([ItemAnswer::picks(["2"])]));
    assert_eq!(type_lines(&replicas, &["=3"]), sent([ItemAnswer::words(["3"])]));
    assert_eq!(type_lines(&replicas, &["=8 replicas"]), sent([ItemAnswer::picks(["2"])]));
    // One option is called as another's value is, and both as numbers.
    let shifted = samples::one(
        r#"{"question":"How many?","options":[{"label":"1","value":"0"},{"label":"2","value":"1"},{"label":"3","value":"2"}]}"#,
    );
    assert!(said(type_in(&shifted, &["1"])).contains("#1 for 1 [0] or #2 for 2 [1]"));
    assert_eq!(type_lines(&shifted, &["0"]), sent([ItemAnswer::picks(["0"])]));
    let crossed = samples::one(
        r#"{"question":"May I?","custom":false,"options":[{"label":"Allow","value":"Reject"},{"label":"Reject","value":"Allow"}]}"#,
    );
    let mut form = Form::new(&crossed, None);
    form.line("Reject");
    let prompt = form.prompt();
    assert!(prompt.contains("`1` sends Allow [Reject], `2` sends Reject [Allow]"), "{prompt}");
    assert_eq!(form.line("2"), sent([ItemAnswer::picks(["Allow"])]));
}

#[test]
fn a_shared_beginning_is_asked_about_and_the_review_shows_labels() {
    let deploy = samples::one(
        r#"{"question":"When?","options":[{"label":"Deploy now","value":"n"},{"label":"Deploy later","value":"l"},"Stop"]}"#,
    );
    let mut form = Form::new(&deploy, None);
    assert_eq!(form.line("Deploy"), Step::Ask(String::new()));
    let prompt = form.prompt();
    assert!(
        prompt.starts_with("Did you mean Deploy now or Deploy later? `1` sends Deploy now, `2`"),
        "{prompt}"
    );
    assert!(said(form.line("y")).contains("Nothing was sent"));
    assert_eq!(type_lines(&deploy, &["Deploy", "2"]), sent([ItemAnswer::picks(["l"])]));
    assert_eq!(type_lines(&deploy, &["Deploy", "o"]), sent([ItemAnswer::words(["Deploy"])]));
    let mut form = Form::new(&deploy, None);
    form.line("2");
    assert!(form.ask_again(true).contains("When?: Deploy later"));
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
    assert_eq!(type_in(&list, &["x", "/skip", "y", ""]), reply(&[&["x"], &[]]));
}

#[test]
fn what_could_not_be_sent_is_asked_again_and_kept_where_it_may_pass() {
    let two = samples::two_items();
    let mut form = Form::new(&two, None);
    for line in ["1", "1", ""] {
        form.line(line);
    }
    assert!(form.ask_again(false).contains("1. Auth method: JWT"));
    assert_eq!(flat(form.line("")), reply(&[&["JWT"], &["Logging"]]));
    let single = single();
    let mut form = Form::new(&single, None);
    assert_eq!(flat(form.line("1")), reply(&[&["JWT"]]));
    assert_eq!(form.ask_again(false), "", "another answer is needed");
    assert_eq!(flat(form.line("2")), reply(&[&["s"]]));
    assert!(form.ask_again(true).contains("Which?: Session"));
    assert_eq!(flat(form.line("")), reply(&[&["s"]]));
}

#[test]
fn several_questions_are_reviewed_before_they_are_sent() {
    let two = samples::two_items();
    let review = said(type_in(&two, &["1", "1,2"]));
    assert!(review.contains("1. Auth method: JWT\n  2. Extras: Logging, Metrics"), "{review}");
    assert_eq!(type_in(&two, &["1", "1,2", ""]), reply(&[&["JWT"], &["Logging", "Metrics"]]));
    assert_eq!(type_in(&two, &["1", "s", "y", "2", "3", ""]), reply(&[&["JWT"], &["Tracing"]]));
    assert_eq!(type_in(&two, &["1", "/back", "own", "1", ""]), reply(&[&["own"], &["Logging"]]));
    assert_eq!(type_in(&two, &["1", "1", "q"]), Step::Quit);
    let Step::Send(Decided::Reply(noted)) = type_in(&two, &["/note as before", "1", "s", "y", ""]) else {
        panic!("not sent");
    };
    assert_eq!(noted.notes, Some(vec![Some("as before".into()), None]));
}

#[test]
fn a_lone_enter_sends_nothing_and_skipping_is_said_twice() {
    assert!(said(type_in(&single(), &[""])).contains("Nothing was sent"));
    assert!(said(type_in(&single(), &["", "  ", ""])).contains("Nothing was sent"));
    assert_eq!(type_in(&single(), &["s", "y"]), reply(&[&[]]));
    assert_eq!(said(type_in(&single(), &["s", ""])), "");
    assert_eq!(type_in(&single(), &["s", "n", "2"]), reply(&[&["s"]]));
    let free = samples::one(r#"{"question":"Why?"}"#);
    assert!(said(type_in(&free, &[""])).contains("/help"));
    assert_eq!(type_in(&free, &["/skip", "y"]), reply(&[&[]]));
    let two = samples::two_items();
    let skipped = &["s", "y", "s", "y", ""];
    assert!(said(type_in(&two, skipped)).contains("Type yes to send that"));
    assert_eq!(type_in(&two, &[skipped, &["yes"][..]].concat()), reply(&[&[], &[]]));
}

#[test]
fn commands_send_nothing_also_where_an_option_is_called_like_one() {
    for line in ["q", "Q", "/quit"] {
        assert_eq!(type_in(&single(), &[line]), Step::Quit);
    }
    let auth = samples::one(r#"{"question":"Which?","options":["JWT","Sessions"]}"#);
    let help = said(type_in(&auth, &["?"]));
    assert!(help.contains("leave the question open") && !help.contains("is called as a command"), "{help}");
    let letters = samples::one(r#"{"question":"Which?","options":["q","s","?"]}"#);
    assert_eq!(type_in(&letters, &["q"]), Step::Quit);
    assert_eq!(said(type_in(&letters, &["s", ""])), "");
    assert!(said(type_in(&letters, &["?"])).contains("is picked by its number"));
    assert_eq!(type_in(&letters, &["1"]), reply(&[&["q"]]));
    assert_eq!(type_in(&single(), &["=q"]), reply(&[&["q"]]));
    // Without options a letter may be the answer.
    let free = samples::one(r#"{"question":"Which drive?"}"#);
    assert_eq!(type_in(&free, &["s"]), reply(&[&["s"]]));
    assert_eq!(type_in(&free, &["/quit"]), Step::Quit);
    assert!(said(type_in(&free, &["/help"])).contains("/skip"));
    let secret = samples::one(r#"{"question":"Key?","secret":true}"#);
    assert_eq!(type_in(&secret, &["/quit"]), Step::Quit);
}

#[test]
fn a_near_miss_is_asked_about() {
    let auth = samples::one(r#"{"question":"Which?","options":["JWT","Sessions"]}"#);
    let mut form = Form::new(&auth, None);
    assert_eq!(form.line("Sesions"), Step::Ask(String::new()));
    assert_eq!(
        form.prompt(),
        "Did you mean Sessions? `y` sends Sessions, `o` sends your own words, Enter asks again: "
    );
    assert_eq!(type_in(&auth, &["Sesions", "y"]), reply(&[&["Sessions"]]));
    assert_eq!(type_in(&auth, &["Sesions", "o"]), reply(&[&["Sesions"]]));
    assert_eq!(type_in(&auth, &["Sesions", "", "1"]), reply(&[&["JWT"]]));
    assert_eq!(type_in(&auth, &["Sesions", "1"]), reply(&[&["JWT"]]));
    assert_eq!(type_in(&auth, &["Sesions", "q"]), Step::Quit);
    let fixed = samples::one(r#"{"question":"Which?","custom":false,"options":["Allow","Deny"]}"#);
    let mut form = Form::new(&fixed, None);
    form.line("alow");
    assert!(!form.prompt().contains("own words"), "{}", form.prompt());
    assert!(said(form.line("o")).contains("Own words are not possible"));
    let two = samples::two_items();
    assert_eq!(type_in(&two, &["jw", "y", "1", ""]), reply(&[&["JWT"], &["Logging"]]));
}

#[test]
fn pasted_lines_are_own_words_only_where_there_are_no_options() {
    assert!(said(type_in(&single(), &["Session\nyes"])).contains("several lines were pasted"));
    let free = samples::one(r#"{"question":"Why?"}"#);
    assert_eq!(type_in(&free, &["one\ntwo"]), reply(&[&["one\ntwo"]]));
    let list = samples::one(r#"{"question":"Files?","multiple":true}"#);
    assert_eq!(type_in(&list, &["a.txt\nb.txt", "c.txt", ""]), reply(&[&["a.txt", "b.txt", "c.txt"]]));
    let plan = samples::asked(r#"{"kind":"plan","questions":[{"question":"Right?"}]}"#);
    assert!(said(type_in(&plan, &["approve\nyes"])).contains("Nothing was sent"));
}

#[test]
fn a_plan_is_approved_or_sent_back_with_what_was_typed() {
    let plan = samples::asked(r#"{"kind":"plan","questions":[{"question":"Right?"}]}"#);
    assert_eq!(type_in(&plan, &["1"]), reply(&[&["approve"]]));
    let back = Rejection { mode: Some(RejectMode::Decline), reason: Some("use less code".into()) };
    assert_eq!(type_in(&plan, &["use less code", "y"]), Step::Send(Decided::Reject(back)));
    assert_eq!(type_in(&plan, &["use less code", "", "1"]), reply(&[&["approve"]]));
    assert_eq!(type_in(&plan, &["Approve"]), reply(&[&["approve"]]));
}

#[test]
fn only_a_pick_of_its_own_approves_a_plan() {
    let plan = samples::asked(
        r#"{"kind":"plan","questions":[{"question":"Right?","options":[{"label":"Approve","value":"approve"}],
            "custom":false,"default":["approve"]}]}"#,
    );
    assert!(said(type_in(&plan, &["", ""])).contains("Nothing was sent"));
    assert!(!Form::new(&plan, None).prompt().contains("/default"));
    // Neither a guess nor what the asker proposes: both are feedback that is asked about.
    let mut form = Form::new(&plan, None);
    form.line("aprove");
    assert!(
        !form.prompt().contains("`y`") && form.prompt().contains("`1` sends Approve"),
        "{}",
        form.prompt()
    );
    assert!(said(form.line("y")).contains("Nothing was sent"));
    assert_eq!(*form.place(), At::Item(0));
    assert_eq!(type_in(&plan, &["aprove", "1"]), reply(&[&["approve"]]));
    // It could not be sent: Enter alone does not send it again.
    let mut form = Form::new(&plan, None);
    assert_eq!(flat(form.line("1")), reply(&[&["approve"]]));
    assert!(form.ask_again(true).contains("Right?: Approve"));
    assert!(said(form.line("")).contains("Enter alone approves no plan"));
    assert_eq!(flat(form.line("yes")), reply(&[&["approve"]]));
}

#[test]
fn a_secret_is_taken_as_it_is_and_not_shown() {
    let secret = samples::asked(r#"{"questions":[{"question":"Key?","secret":true},{"question":"Why?"}]}"#);
    let review = said(type_in(&secret, &["/back\\", "x"]));
    assert!(review.contains("1. Key?: (secret)") && !review.contains("back"), "{review}");
    assert_eq!(type_in(&secret, &["/back\\", "x", ""]), reply(&[&["/back\\"], &["x"]]));
}

#[test]
fn words_against_a_near_miss_are_no_answer() {
    let auth = samples::one(r#"{"question":"Which?","options":["JWT","Sessions"]}"#);
    for words in ["n", "N", "no", "No", "neither of them", "ｎ", "no\\"] {
        assert!(said(type_in(&auth, &["Sesions", words])).contains("Nothing was sent"), "{words}");
        assert_eq!(type_in(&auth, &["Sesions", words, "neither"]), reply(&[&["neither"]]));
    }
    assert_eq!(type_in(&auth, &["Sesions", "YES"]), reply(&[&["Sessions"]]));
    assert_eq!(type_in(&auth, &["Sesions", "Sessions"]), reply(&[&["Sessions"]]));
    assert_eq!(type_in(&auth, &["Sesions", "=none"]), reply(&[&["none"]]));
    // Here it is a "no" to what stands here, and not the option.
    let sure = samples::one(r#"{"question":"Sure?","options":["yes","no"]}"#);
    assert!(said(type_in(&sure, &["ye", "no"])).contains("Nothing was sent"));
    let plan = samples::asked(r#"{"kind":"plan","questions":[{"question":"Right?"}]}"#);
    assert!(said(type_in(&plan, &["aprove", "n"])).contains("Nothing was sent"));
}

#[test]
fn what_cannot_be_seen_is_no_answer() {
    let free = samples::one(r#"{"question":"Why?"}"#);
    let list = samples::one(r#"{"question":"Files?","multiple":true}"#);
    for question in [&single(), &free, &list] {
        for lines in [&["\\", ""][..], &["  \\", " "], &["\\", "\\", ""], &["\u{feff}"], &["\u{200b}"]] {
            assert!(said(type_in(question, lines)).contains("Nothing was sent"), "{lines:?}");
        }
    }
    assert_eq!(type_in(&list, &["a", "\\", ""]), reply(&[&["a"]]));
    let letters = samples::one(r#"{"question":"Which?","options":["A","B"]}"#);
    let mut form = Form::new(&letters, None);
    form.line("A\u{200b}");
    assert!(form.prompt().starts_with("Did you mean A?"), "{}", form.prompt());
}

#[test]
fn an_option_is_picked_by_its_number_as_it_is_shown() {
    for line in ["2)", "2.", "(2)", "２", "2 )", "#2)", "２）"] {
        assert_eq!(type_in(&single(), &[line]), reply(&[&["s"]]), "{line}");
    }
    let multiple = samples::one(r#"{"question":"Which?","multiple":true,"options":["A","B","C"]}"#);
    assert_eq!(type_in(&multiple, &["1) 3)"]), reply(&[&["A", "C"]]));
    assert_eq!(type_in(&multiple, &["１、３"]), reply(&[&["A", "C"]]));
    // A label wins, and what is no number is own words.
    let dots = samples::one(r#"{"question":"Which?","options":["2.","1."]}"#);
    assert_eq!(type_in(&dots, &["1."]), reply(&[&["1."]]));
    assert!(said(type_in(&dots, &["7."])).contains("no option 7"));
    for words in ["1.5", "2 weeks", "(maybe)"] {
        assert_eq!(type_in(&single(), &[words]), reply(&[&[words]]));
    }
    let mut form = Form::new(&dots, None);
    assert!(said(form.line("？")).contains("leave the question open"));
    assert_eq!(form.line("ｑ"), Step::Quit);
    let wide = samples::one(r#"{"question":"Which?","options":["JWT","Sessions"]}"#);
    let mut form = Form::new(&wide, None);
    form.line("ＪＷＴ");
    assert!(form.prompt().starts_with("Did you mean JWT?"), "{}", form.prompt());
}

#[test]
fn a_secret_is_not_shown_at_a_near_miss_either() {
    let secret = samples::one(r#"{"question":"Key?","secret":true,"options":["hunter2"]}"#);
    let mut form = Form::new(&secret, None);
    form.line("huntr2");
    assert!(form.prompt().starts_with("Did you mean") && form.is_secret());
}

#[test]
fn words_that_look_like_a_key_or_a_command_are_sent_after_a_question() {
    let features = samples::one(r#"{"question":"Which?","options":["Logging","Metrics"]}"#);
    for words in ["j", "x", "]", "quit", "Exit", ":q", ":wq!", "/qiut", "/q", "/note", "/default", "/QUIT"] {
        let mut form = Form::new(&features, None);
        assert_eq!(form.line(words), Step::Ask(String::new()), "{words}");
        assert!(form.prompt().contains("in your own words? [y/N]"), "{words}: {}", form.prompt());
        assert_eq!(form.line(""), Step::Ask(String::new()));
        form.line(words);
        assert_eq!(flat(form.line("y")), reply(&[&[words]]));
    }
    assert_eq!(type_in(&features, &["=j"]), reply(&[&["j"]]));
    // Without options a letter, a path or a sentence is an answer as it is.
    let free = samples::one(r#"{"question":"Where?"}"#);
    for words in ["j", "quit", "/etc/hosts", "/tmp is full", "s"] {
        assert_eq!(type_in(&free, &[words]), reply(&[&[words]]));
    }
    assert_eq!(type_in(&free, &["/hlep", "", "/hlep", "y"]), reply(&[&["/hlep"]]));
    let list = samples::one(r#"{"question":"Files?","multiple":true}"#);
    assert_eq!(type_in(&list, &["a", "/qiut", "n", "/tmp", "y", ""]), reply(&[&["a", "/tmp"]]));
    let letters = samples::one(r#"{"question":"Size?","options":["X","M"]}"#);
    assert_eq!(type_in(&letters, &["x"]), reply(&[&["X"]]));
}

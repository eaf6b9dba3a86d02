//! Recorded dialogs, played back: before each recorded key the planner must want that very key, and what it
//! would decide must be on the screen. The files have the screen before the first key, then every key with
//! the screen after it.

use askd_core::{Answer, ItemAnswer, RejectMode, Settlement};
use serde_json::{Value, json};

use super::{Goal, Key, Screen, Steering, Step, Stop, Untypable};
use crate::claude_hook::{Seen, Tool, ask};

macro_rules! captures {
    ($($name:literal),* $(,)?) => {
        fn capture(name: &str) -> &'static str {
            match name {
                $($name => include_str!(concat!("captures/", $name, ".txt")),)*
                _ => panic!("no capture {name}"),
            }
        }

        const CAPTURES: &[&str] = &[$($name),*];
    };
}

captures!(
    "2.0.76-own-words",
    "2.0.76-picks-and-words",
    "2.0.76-plan-feedback",
    "2.0.76-three",
    "2.1.120-own-words",
    "2.1.120-picks-and-words",
    "2.1.120-plan-approved",
    "2.1.120-preview",
    "2.1.120-three",
    "2.1.325-escape",
    "2.1.325-long",
    "2.1.325-long-narrow",
    "2.1.325-own-lines",
    "2.1.325-own-words",
    "2.1.325-permission",
    "2.1.325-picks-and-words",
    "2.1.325-plan-escape",
    "2.1.325-plan-feedback",
    "2.1.325-preview",
    "2.1.325-skipped",
    "2.1.325-three",
    "2.1.328-escape",
    "2.1.328-long",
    "2.1.328-long-narrow",
    "2.1.328-own-words",
    "2.1.328-picks-and-words",
    "2.1.328-plan-feedback",
    "2.1.328-preview",
    "2.1.328-skipped",
    "2.1.328-three",
);

/// The screen before the first key, and every key with the screen after it.
fn played(name: &str) -> (Screen, Vec<(String, Screen)>) {
    let mut parts = capture(name).split("===== ").skip(1).map(|part| {
        let (key, screen) = part.split_once('\n').unwrap();
        (key.to_owned(), Screen::read(screen))
    });
    (parts.next().unwrap().1, parts.collect())
}

fn asked(scene: &str) -> askd_core::Ask {
    let (tool, input) = match scene {
        "plan" => (Tool::ExitPlanMode, json!({ "plan": "# Plan\n\n1. Do A\n2. Do B\n" })),
        scene => {
            let all: Value = serde_json::from_str(include_str!("captures/questions.json")).unwrap();
            (Tool::AskUserQuestion, all[scene].clone())
        }
    };
    ask(tool, &input, Seen::default()).unwrap()
}

fn answered(answers: Value) -> Settlement {
    let answers: Vec<Vec<String>> = serde_json::from_value(answers).unwrap();
    // Whatever a scene offers is picked, all else is own words.
    let all: Value = serde_json::from_str(include_str!("captures/questions.json")).unwrap();
    let scenes = all.as_object().unwrap().keys().map(String::as_str).chain(["plan"]);
    let items: Vec<_> = scenes.flat_map(|scene| asked(scene).questions).collect();
    let is_option =
        |text: &String| items.iter().flat_map(|item| &item.options).any(|option| option.value == *text);
    let read = |texts: Vec<String>| {
        let (picks, words) = texts.into_iter().partition(is_option);
        ItemAnswer { picks, words }
    };
    let answers: Vec<ItemAnswer> = answers.into_iter().map(read).collect();
    let notes = vec![None; answers.len()];
    Settlement::Answered(Answer { answers, notes, edited_plan: None, next_mode: None })
}

fn rejected(mode: RejectMode, reason: Option<&str>) -> Settlement {
    Settlement::Rejected { mode, reason: reason.map(str::to_owned) }
}

fn goal(scene: &str, settlement: &Settlement) -> Goal {
    Goal::of(&asked(scene), settlement).unwrap()
}

fn written(step: &Step) -> String {
    match step {
        Step::Press(Key::Digit(digit)) | Step::Decide(Key::Digit(digit)) => digit.to_string(),
        Step::Press(key) | Step::Decide(key) => format!("{key:?}"),
        Step::Type(text) => format!("type {}", json!(text)),
        Step::Stop(stop) => format!("{stop:?}"),
    }
}

/// The steps wanted before each recorded key, and on the last screen.
fn steps(name: &str, goal: Goal) -> Vec<Step> {
    let (first, keys) = played(name);
    let mut steering = Steering::new(goal);
    let mut steps = Vec::new();
    let mut screen = first;
    for (key, after) in keys {
        let step = steering.next(&screen);
        assert_eq!(written(&step), key, "{name} after {steps:?}: {screen:?}");
        steps.push(step);
        screen = after;
    }
    steps.push(steering.next(&screen));
    steps
}

#[test]
fn recorded_dialogs_are_answered_by_the_recorded_keys() {
    let three = json!([["OAuth2"], ["Alerts", "Logging"], ["SQLite"]]);
    let interrupt = rejected(RejectMode::Interrupt, None);
    let feedback = rejected(RejectMode::Decline, Some("also add tests"));
    for (name, scene, settlement) in [
        ("2.1.328-three", "three", answered(three.clone())),
        ("2.1.325-three", "three", answered(three.clone())),
        ("2.1.120-three", "three", answered(three.clone())),
        ("2.0.76-three", "three", answered(three)),
        ("2.1.325-own-words", "single", answered(json!([["@app and /help #x"]]))),
        ("2.1.328-own-words", "single", answered(json!([["@app and /help #x"]]))),
        ("2.1.325-own-lines", "single", answered(json!([["line one\nline \"two\""]]))),
        ("2.1.120-own-words", "single", answered(json!([["own words"]]))),
        ("2.0.76-own-words", "single", answered(json!([["own words"]]))),
        ("2.1.325-picks-and-words", "multi", answered(json!([["own words", "Logging"]]))),
        ("2.1.328-picks-and-words", "multi", answered(json!([["own words", "Logging"]]))),
        ("2.1.325-skipped", "three", answered(json!([[], ["Metrics, traces"], []]))),
        ("2.1.328-skipped", "three", answered(json!([[], ["Metrics, traces"], []]))),
        ("2.1.325-preview", "preview", answered(json!([["List"]]))),
        ("2.1.328-preview", "preview", answered(json!([["List"]]))),
        ("2.1.120-preview", "preview", answered(json!([["List"]]))),
        ("2.1.325-long", "long", answered(json!([["日本 🦀"]]))),
        ("2.1.328-long", "long", answered(json!([["日本 🦀"]]))),
        ("2.1.325-long-narrow", "long", answered(json!([["עברית, \"ציטוט\""]]))),
        ("2.1.328-long-narrow", "long", answered(json!([["עברית, \"ציטוט\""]]))),
        ("2.1.325-escape", "single", interrupt.clone()),
        ("2.1.328-escape", "single", interrupt.clone()),
        ("2.1.325-plan-escape", "plan", interrupt),
        ("2.1.325-plan-feedback", "plan", feedback.clone()),
        ("2.1.328-plan-feedback", "plan", feedback.clone()),
        ("2.0.76-plan-feedback", "plan", feedback),
        ("2.1.120-plan-approved", "plan", answered(json!([["approve"]]))),
    ] {
        let steps = steps(name, goal(scene, &settlement));
        let decisions = steps.iter().filter(|step| matches!(step, Step::Decide(_))).count();
        assert_eq!(decisions, 1, "{name}: {steps:?}");
        assert!(
            matches!(steps[steps.len() - 2], Step::Decide(_)),
            "{name}: the last key is the one that decides"
        );
        assert_eq!(
            steps.last(),
            Some(&Step::Stop(Stop::NotShown)),
            "{name}: nothing is pressed once it is gone"
        );
    }
}

/// Before 2.1.235 or so the dialog forgets own words beside ticks; its last page shows it.
#[test]
fn what_an_old_dialog_forgot_is_not_submitted() {
    for name in ["2.1.120-picks-and-words", "2.0.76-picks-and-words"] {
        let (first, mut keys) = played(name);
        let (submitted, _) = keys.pop().unwrap();
        assert_eq!(submitted, "Enter");
        let mut steering = Steering::new(goal("multi", &answered(json!([["Logging", "own words"]]))));
        let mut screen = first;
        for (key, after) in keys {
            assert_eq!(written(&steering.next(&screen)), key, "{name}");
            screen = after;
        }
        assert_eq!(steering.next(&screen), Step::Stop(Stop::Differs), "{name}");
        assert_eq!(steering.back(&screen), Some(Key::Left), "{name}");
    }
}

/// A later version may change the page that submits: it is no page to press Enter on, and the way back leads
/// to the first question with nothing ticked.
#[test]
fn an_unknown_last_page_is_left_for_the_first_question() {
    let page = |text: &str| Screen::read(text);
    let changed = capture("2.1.328-three").replace("Review your answers", "Here is what you said");
    let pages: Vec<Screen> =
        changed.split("===== ").skip(1).map(|part| page(part.split_once('\n').unwrap().1)).collect();
    let goal = || goal("three", &answered(json!([["OAuth2"], ["Alerts", "Logging"], ["SQLite"]])));
    let mut steering = Steering::new(goal());
    let unknown = pages.iter().position(|screen| *screen == Screen::UnknownPage).unwrap();
    for screen in &pages[..unknown] {
        assert!(matches!(steering.next(screen), Step::Press(_)), "{screen:?}");
    }
    assert_eq!(steering.next(&pages[unknown]), Step::Stop(Stop::NotShown));
    // The last question, the second one with its ticks, the same without them, the first one.
    assert_eq!(steering.back(&pages[unknown]), Some(Key::Left));
    assert_eq!(steering.back(&pages[unknown - 1]), Some(Key::Left));
    let second = pages.iter().rposition(|screen| matches!(screen, Screen::Question(dialog) if dialog.rows.iter().any(|row| row.is_ticked == Some(true))));
    assert_eq!(steering.back(&pages[second.unwrap()]), Some(Key::Digit(1)));
    assert_eq!(steering.back(&pages[0]), None);
    // A page that somebody else has opened is left alone, and so is any other screen.
    assert_eq!(Steering::new(goal()).back(&pages[unknown]), None);
    assert_eq!(steering.back(&Screen::Other), None);
}

/// Own words that look like the page's rows are part of the answers.
#[test]
fn own_words_that_look_like_rows_are_no_rows_of_the_last_page() {
    let (_, keys) = played("2.1.328-picks-and-words");
    let Some((_, Screen::Review(page))) = keys.iter().find(|(_, screen)| matches!(screen, Screen::Review(_)))
    else {
        panic!("no last page");
    };
    assert_eq!(page.rows.len(), 2);
    let text = capture("2.1.328-picks-and-words").replace("own words", "x\n1. Submit answers\n2. Cancel\ny");
    let faked = text.split("===== ").map(Screen::read).find(|screen| matches!(screen, Screen::Review(_)));
    let Some(Screen::Review(faked)) = faked else { panic!("no last page") };
    assert_eq!(faked.rows, page.rows);
    assert!(faked.answers.contains("1.Submitanswers2.Cancely"), "{}", faked.answers);
}

/// Every recorded screen, with every question but its own: no key at all.
#[test]
fn a_screen_that_shows_something_else_gets_no_key() {
    let answers = [
        ("single", json!([["JWT"]])),
        ("multi", json!([["Logging"]])),
        ("preview", json!([["List"]])),
        ("long", json!([["日本 🦀"]])),
        ("plan", json!([["approve"]])),
    ];
    let scene_of = |name: &str| match name.split_once('-').unwrap().1 {
        "three" | "skipped" => "three",
        "own-words" | "own-lines" | "escape" => "single",
        "picks-and-words" => "multi",
        "long-narrow" => "long",
        name if name.starts_with("plan") => "plan",
        name => Box::leak(name.to_owned().into_boxed_str()),
    };
    for name in CAPTURES {
        let (first, keys) = played(name);
        for screen in std::iter::once(first).chain(keys.into_iter().map(|(_, screen)| screen)) {
            for (scene, answer) in answers.iter().filter(|(scene, _)| *scene != scene_of(name)) {
                for settlement in [answered(answer.clone()), rejected(RejectMode::Interrupt, None)] {
                    let step = Steering::new(goal(scene, &settlement)).next(&screen);
                    let is_left_alone = matches!(step, Step::Stop(_));
                    // Two scenes have the very same question among theirs; only the beginning tells them
                    // apart.
                    let is_twin = scene_of(name) == "three";
                    assert!(is_left_alone || is_twin, "{name}, {scene}: {step:?} for {screen:?}");
                }
            }
        }
    }
}

#[test]
fn a_dialog_that_somebody_has_moved_on_is_left_alone() {
    let (_, keys) = played("2.1.325-three");
    let wanted = || goal("three", &answered(json!([["OAuth2"], ["Alerts", "Logging"], ["SQLite"]])));
    let second = &keys[2].1;
    assert!(matches!(second, Screen::Question(_)));
    assert_eq!(Steering::new(wanted()).next(second), Step::Stop(Stop::NotAtTheBeginning));
    let review = &keys[7].1;
    assert!(matches!(review, Screen::Review(_)), "{review:?}");
    assert_eq!(Steering::new(wanted()).next(review), Step::Stop(Stop::NotAtTheBeginning));
    // Somebody ticked something else in the meantime: it is unticked before going on.
    let mut steering = Steering::new(goal("three", &answered(json!([["OAuth2"], ["Logging"], []]))));
    for screen in [&keys[0].1, &keys[1].1] {
        steering.next(screen);
    }
    assert_eq!(steering.next(&keys[4].1), Step::Press(Key::Digit(3)));
    // Somebody typed something else.
    let (_, words) = played("2.1.325-own-words");
    let mut steering = Steering::new(goal("single", &answered(json!([["other words"]]))));
    assert_eq!(steering.next(&words[3].1), Step::Stop(Stop::OtherWords));
}

#[test]
fn what_the_recipes_do_not_carry_is_refused_before_any_key() {
    let refused = |scene: &str, settlement: Settlement| Goal::of(&asked(scene), &settlement).unwrap_err();
    let with = |change: fn(&mut Answer), answers: Value| {
        let Settlement::Answered(mut answer) = answered(answers) else { panic!() };
        change(&mut answer);
        Settlement::Answered(answer)
    };
    let note = |answer: &mut Answer| answer.notes[0] = Some("soon".to_owned());
    let edit = |answer: &mut Answer| answer.edited_plan = Some("# B".to_owned());
    let mode = |answer: &mut Answer| answer.next_mode = Some("acceptEdits".to_owned());
    let long = "x".repeat(super::goal::MAX_TYPED_CHARS + 1);
    for (scene, settlement, why) in [
        ("single", with(note, json!([["JWT"]])), Untypable::Note),
        ("single", answered(json!([[]])), Untypable::Nothing),
        ("three", answered(json!([[], [], []])), Untypable::Nothing),
        ("multi", answered(json!([["one", "two"]])), Untypable::SeveralWords),
        ("preview", answered(json!([["neither"]])), Untypable::WordsBesidePreviews),
        ("single", answered(json!([[long]])), Untypable::Words),
        ("single", answered(json!([["a\u{1b}[A"]])), Untypable::Words),
        ("single", answered(json!([["a\rb"]])), Untypable::Words),
        ("single", answered(json!([["a\n\nb"]])), Untypable::Words),
        ("single", answered(json!([["a\\"]])), Untypable::Words),
        ("single", answered(json!([[" a"]])), Untypable::Words),
        ("single", rejected(RejectMode::Decline, Some("no")), Untypable::Decline),
        ("single", rejected(RejectMode::Cancel, None), Untypable::Cancel),
        ("plan", rejected(RejectMode::Decline, None), Untypable::NoFeedback),
        ("plan", with(edit, json!([["approve"]])), Untypable::ChangedPlan),
        ("plan", with(mode, json!([["approve"]])), Untypable::NextMode),
    ] {
        assert_eq!(refused(scene, settlement), why);
    }
    let without_plan = ask(Tool::ExitPlanMode, &json!({}), Seen::default()).unwrap();
    assert_eq!(Goal::of(&without_plan, &answered(json!([["approve"]]))), Err(Untypable::NoPlan));
}

proptest::proptest! {
    /// Any text is a screen, and only one with a dialog can lead to a key.
    #[test]
    fn any_text_is_read(text in "(?s).{0,400}", cut in 0_usize..4000) {
        let mut steering = Steering::new(goal("single", &answered(json!([["JWT"]]))));
        proptest::prop_assert!(matches!(steering.next(&Screen::read(&text)), Step::Stop(_)));
        // A dialog that is cut off anywhere is one that is whole, or none.
        let whole = capture("2.1.325-own-words").split("===== ").nth(1).unwrap();
        let start = whole.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(0);
        if !whole[start..].contains("Which auth method should we use?") {
            let step = Steering::new(goal("single", &answered(json!([["JWT"]])))).next(&Screen::read(&whole[start..]));
            proptest::prop_assert!(matches!(step, Step::Stop(_)), "{:?}", step);
        }
    }
}

/// A dialog of 2.1.325 with one of two questions, as it is drawn.
fn one_of_two(question: &str, rows: &str) -> Screen {
    Screen::read(&format!(
        "←  ☒ H  ☐ H  ✔ Submit  →\n\n{question}\n\n{rows}\n{}\n  4. Chat about this\n\n\
         Enter to select · Tab/Arrow keys to navigate · Esc to cancel\n",
        "─".repeat(60)
    ))
}

fn second_of_two(rows: &str) -> Screen {
    one_of_two("And?", rows)
}

/// At the second question; in the first one the words were there already.
fn at_the_second() -> Steering {
    let mut steering = Steering::new(two());
    let first = one_of_two("Which?", "  1. A\n     a\n  2. B\n     b\n❯ 3. own words");
    assert_eq!(steering.next(&first), Step::Press(Key::Enter));
    steering
}

fn two() -> Goal {
    let item = |text: &str| {
        json!({ "question": text, "header": "H", "multiSelect": false,
            "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }] })
    };
    let input = json!({ "questions": [item("Which?"), item("And?")] });
    let ask = ask(Tool::AskUserQuestion, &input, Seen::default()).unwrap();
    Goal::of(&ask, &answered(json!([["own words"], ["own words"]]))).unwrap()
}

#[test]
fn own_words_are_taken_back_only_where_they_were_typed_by_us() {
    let fresh = second_of_two("❯ 1. A\n     a\n  2. B\n     b\n  3. Type something.");
    let focused = second_of_two("  1. A\n     a\n  2. B\n     b\n❯ 3. Type something.");
    let typed = second_of_two("  1. A\n     a\n  2. B\n     b\n❯ 3. own words\n     of two lines");
    let left = second_of_two("❯ 1. A\n     a\n  2. B\n     b\n  3. own words ✔");
    let untouched = Steering::new(two());
    assert_eq!(untouched.back(&typed), None, "nothing was pressed, so nothing is taken back");
    let mut steering = at_the_second();
    assert_eq!(steering.next(&fresh), Step::Press(Key::Down));
    assert_eq!(steering.back(&left), Some(Key::Left), "words that somebody else has typed stay");
    assert_eq!(steering.next(&focused), Step::Type("own words".to_owned()));
    assert_eq!(steering.back(&typed), Some(Key::ClearLine));
    assert_eq!(steering.back(&left), Some(Key::Down));
    assert_eq!(steering.back(&focused), Some(Key::Up));
    assert_eq!(steering.back(&fresh), Some(Key::Left));
}

#[test]
fn a_question_that_was_gone_back_to_is_known_by_its_rows_without_their_marks() {
    let chosen = second_of_two("❯ 1. A\n     a\n  2. B ✔\n     b\n  3. Type something. ✔");
    assert!(Steering::new(two()).is_about(&chosen));
    assert_eq!(at_the_second().next(&chosen), Step::Press(Key::Down));
}

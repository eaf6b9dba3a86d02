//! What a person does at the command line, for every question of two options whose labels and values are
//! these texts: the option that arrives is the one that was meant, or it is refused.

use askd_core::{Ask, AskInput, ItemAnswer, Reply};
use serde_json::json;

use super::given::Given;
use super::picks::read_picks;
use super::text::one_line;

/// Numbers, texts that differ in case, in what is not seen, in wide letters, and by one slip.
const TEXTS: [&str; 9] = ["1", "2", "Allow", "allow", "No", "N\u{200b}o", "\u{ff11}", "2)", "Now"];

fn asked(options: &[(&str, &str)], custom: bool) -> Ask {
    let options: Vec<_> =
        options.iter().map(|(label, value)| json!({ "label": label, "value": value })).collect();
    let input = json!({ "questions": [{ "question": "?", "options": options, "custom": custom }] });
    serde_json::from_value::<AskInput>(input).unwrap().complete().unwrap()
}

/// Each question, with whether own words are allowed.
fn each(mut judge: impl FnMut(&Ask)) {
    let pairs = || TEXTS.iter().flat_map(|label| TEXTS.iter().map(move |value| (*label, *value)));
    for custom in [false, true] {
        for one in pairs() {
            judge(&asked(&[one], custom));
            for other in pairs().filter(|other| other.1 != one.1) {
                judge(&asked(&[one, other], custom));
            }
        }
    }
}

/// What the hub makes of what was sent, if anything was.
fn arrives(ask: &Ask, sent: Option<Reply>) -> Option<ItemAnswer> {
    sent?.check(ask).ok().map(|mut answer| answer.answers.remove(0))
}

fn given(ask: &Ask, given: Given) -> Option<ItemAnswer> {
    arrives(ask, given.reply(ask).ok())
}

fn typed(ask: &Ask, line: &str) -> Option<ItemAnswer> {
    let answer = read_picks(&ask.questions[0], line).ok()?;
    arrives(ask, Some(Reply::of([answer])))
}

fn one(text: impl Into<String>) -> Vec<String> {
    vec![text.into()]
}

#[test]
fn an_option_that_was_named_arrives_or_is_refused() {
    let (mut arrived, mut refused) = (0_u32, 0_u32);
    each(|ask| {
        for (i, option) in ask.questions[0].options.iter().enumerate() {
            let meant = Some(ItemAnswer::picks([&option.value]));
            let number = (i + 1).to_string();
            let certain = [
                ("--pick", given(ask, Given { picks: one(&number), ..Given::default() })),
                ("--value", given(ask, Given { values: one(&option.value), ..Given::default() })),
                ("#N", typed(ask, &format!("#{number}"))),
            ];
            for (how, got) in certain {
                assert_eq!(got, meant, "{how} {number} of {:?}", ask.questions[0]);
            }
            // As the person reads it, and as a script has it.
            for text in [number, one_line(&option.label), option.label.clone()] {
                let ways = [
                    ("argument", given(ask, Given { words: one(&text), ..Given::default() })),
                    ("stdin", given(ask, Given { stdin: Some(text.clone()), ..Given::default() })),
                    ("prompt", typed(ask, &text)),
                ];
                for (how, got) in ways {
                    match got {
                        None => refused += 1,
                        got => {
                            assert_eq!(got, meant, "{how} {text:?} of {:?}", ask.questions[0]);
                            arrived += 1;
                        }
                    }
                }
            }
        }
    });
    assert!(arrived > 10_000 && refused > 10_000, "{arrived} arrived, {refused} were refused");
}

#[test]
fn own_words_arrive_as_they_are_or_as_the_option_that_reads_so() {
    each(|ask| {
        for text in TEXTS {
            let ways = [
                ("--own-words", given(ask, Given { words: one(text), own_words: true, ..Given::default() })),
                ("=", typed(ask, &format!("={text}"))),
            ];
            for (how, got) in ways {
                let Some(got) = got else { continue };
                let labels = got.shown(ask.questions.first()).labels;
                let as_typed = got == ItemAnswer::words([text]) || labels == [text];
                assert!(as_typed, "{how} {text:?} became {got:?} of {:?}", ask.questions[0]);
            }
        }
    });
}

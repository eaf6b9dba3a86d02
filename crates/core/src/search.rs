//! The search of the history: the visible words of a question and its outcome.
//!
//! In: a [`Wanted`], a question and its outcome. Out: true if one of the texts contains the words. It does
//! not search names of fields, agents and tokens, ids, or the hidden values of options. Outcomes hold no
//! secret answers.

use crate::question::Item;
use crate::{Ask, Cause, Outcome};

/// The words to find, without regard to case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted(String);

/// The same text for upper and lower case, including pairs of different length (`ß` and `SS`).
fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

impl Wanted {
    /// The words of a search; `None` if there are none.
    pub fn new(words: &str) -> Self {
        Self(fold(words))
    }

    /// True if a text of the question or its outcome contains the words.
    pub fn is_in(&self, ask: &Ask, outcome: Option<&Outcome>) -> bool {
        let ended = outcome.map(ended).unwrap_or_default();
        asked(ask).into_iter().chain(ended).any(|text| fold(text).contains(&self.0))
    }
}

fn asked(ask: &Ask) -> Vec<&str> {
    let mut texts = Vec::new();
    for item in &ask.questions {
        texts.push(item.question.as_str());
        texts.extend([&item.header, &item.url].into_iter().filter_map(|text| text.as_deref()));
        texts.extend(item.default.iter().flatten().map(|value| seen(item, value)));
        for option in &item.options {
            texts.push(&option.label);
            texts.extend(
                [&option.description, &option.preview].into_iter().filter_map(|text| text.as_deref()),
            );
        }
    }
    texts.extend(ask.body.as_ref().map(|body| body.text.as_str()));
    texts.extend(ask.next_modes.iter().map(String::as_str));
    let context = &ask.context;
    let around = [&context.cwd, &context.title, &context.excerpt, &context.host];
    texts.extend(around.into_iter().filter_map(|text| text.as_deref()));
    texts
}

fn ended(outcome: &Outcome) -> Vec<&str> {
    let received = outcome.agent_received.as_ref().map(|received| &received.answers);
    let mut texts = Vec::new();
    for answers in [outcome.answers.as_ref(), received].into_iter().flatten() {
        texts.extend(
            answers.iter().flat_map(|answer| answer.labels.iter().chain(&answer.words)).map(String::as_str),
        );
    }
    texts.extend(outcome.notes.iter().flatten().filter_map(|note| note.as_deref()));
    let words = [&outcome.edited_plan, &outcome.next_mode, &outcome.reason];
    texts.extend(words.into_iter().filter_map(|text| text.as_deref()));
    match &outcome.cause {
        Some(Cause::AgentExited { stderr, resume, .. }) => {
            texts.extend(stderr.iter().chain(resume).map(String::as_str));
        }
        Some(
            Cause::AgentWithdrew { detail: text }
            | Cause::AgentTimedOut { detail: text }
            | Cause::TurnAborted { detail: text }
            | Cause::SessionEnded { detail: text }
            | Cause::SourceLost { detail: text }
            | Cause::AskerWithdrew { reason: text },
        ) => texts.extend(text.as_deref()),
        Some(Cause::DeadlinePassed) | None => {}
    }
    texts
}

/// The label of an option's value, as people see it.
fn seen<'a>(item: &'a Item, value: &'a str) -> &'a str {
    let option = item.options.iter().find(|option| option.value == value);
    option.map_or(value, |option| &option.label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AskInput, By, ItemAnswer, Surface, Timestamp};

    fn ask(json: &str) -> Ask {
        serde_json::from_str::<AskInput>(json).unwrap().complete().unwrap()
    }

    #[test]
    fn words_are_found_in_capitals_and_small_letters_and_behind_a_nul() {
        let ask = ask(
            r#"{"questions": [{"question": "Größe ÄNDERN? ИМЯ", "options": ["naïve", "x\u0000after"]}]}"#,
        );
        for words in ["größe", "GRÖSSE", "ändern", "имя", "NAÏVE", "after", "\0"] {
            assert!(Wanted::new(words).is_in(&ask, None), "{words:?}");
        }
        assert!(!Wanted::new("grosse").is_in(&ask, None));
    }

    #[test]
    fn only_what_people_see_is_found() {
        let ask = ask(r#"{"agent": "robo", "questions": [{"question": "How many?", "key": "count",
                "options": [{"label": "Two replicas", "value": "hidden-1"}]}]}"#);
        let by = By { surface: Surface::Api, actor: Some("owner".to_owned()) };
        let answer = crate::Answer {
            answers: vec![ItemAnswer::picks(["hidden-1"])],
            notes: vec![Some("a note".to_owned())],
            edited_plan: None,
            next_mode: None,
        };
        let outcome = Outcome::answered(&answer, &ask.questions, by, Timestamp::from_millis(1));
        for words in ["two REPLICAS", "a note"] {
            assert!(Wanted::new(words).is_in(&ask, Some(&outcome)), "{words:?}");
        }
        for words in ["robo", "owner", "api", "hidden", "count", "decline", "answered", "questions"] {
            assert!(!Wanted::new(words).is_in(&ask, Some(&outcome)), "{words:?}");
        }
    }
}

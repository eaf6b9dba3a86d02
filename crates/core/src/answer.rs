//! Checks that an answer fits its question.
//!
//! In: a question's items and a [`Reply`]. Out: an [`Answer`] in its canonical form (picks in the order of
//! the options, own words apart), or errors that name the item. Two answers are the same if their canonical
//! forms are equal.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::field::{Collector, FieldErrors};
use crate::limits::{MAX_NOTE_BYTES, MAX_PICKS, MAX_TEXT_BYTES};
use crate::question::{Bounds, Input, Item, Kind, is_less};
use crate::reading::{GivenAnswer, ItemAnswer, Reading, Unread, not_one_of, read, shown};
use crate::unseen::is_blank;
use crate::{Ask, RejectMode};

/// A client's answer to a question, as it sends it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reply {
    /// One for each item, in order; an empty one is "skipped".
    pub answers: Vec<GivenAnswer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<Option<String>>>,
    /// The plan as the person changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_plan: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_mode: Option<String>,
    /// How the texts of a shorthand are read; each HTTP surface sets it by what it shows.
    #[serde(skip)]
    pub reading: Reading,
}

/// A client's rejection of a question, as it sends it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rejection {
    /// `decline` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RejectMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A valid answer in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub answers: Vec<ItemAnswer>,
    /// One for each item.
    pub notes: Vec<Option<String>>,
    pub edited_plan: Option<String>,
    pub next_mode: Option<String>,
}

impl Reply {
    /// A reply with answers of any form, and nothing else.
    pub fn of<T: Into<GivenAnswer>>(answers: impl IntoIterator<Item = T>) -> Self {
        Self { answers: answers.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Checks the reply against its question, and returns the answer in canonical form.
    ///
    /// Errors name the field and the item, all of them at once. Nothing is guessed:
    ///
    /// ```
    /// use askd_core::{AskInput, Reply};
    ///
    /// let asked: AskInput = serde_json::from_str(
    ///     r#"{"questions":[{"question":"Which?","options":["JWT","Sessions"],"custom":false}]}"#,
    /// )?;
    /// let ask = asked.complete()?;
    ///
    /// // A label is a pick; the answer has its value.
    /// let reply: Reply = serde_json::from_str(r#"{"answers":[["JWT"]]}"#)?;
    /// assert_eq!(reply.check(&ask)?.answers[0].picks, ["JWT"]);
    ///
    /// // Own words are refused where only options count.
    /// let reply: Reply = serde_json::from_str(r#"{"answers":[["Cookies"]]}"#)?;
    /// let errors = reply.check(&ask).unwrap_err();
    /// assert_eq!(errors.0[0].field, "answers[0][0]");
    /// assert_eq!(errors.0[0].code, "unknown_option");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(self, ask: &Ask) -> Result<Answer, FieldErrors> {
        let mut errors = Collector::default();
        let wanted = ask.questions.len();
        let given = self.answers.len();
        if given != wanted {
            let code = if given < wanted { "too_few" } else { "too_many" };
            errors.add(
                "answers",
                code,
                format!("has {given} answers for {wanted} questions; give one for each question"),
            );
            return Err(errors.into_errors());
        }
        let answers = self.answers.into_iter().zip(&ask.questions).enumerate();
        let reading = self.reading;
        let read = |(i, (given, item))| check_item(i, given, item, ask, reading, &mut errors);
        let answers: Vec<ItemAnswer> = answers.map(read).collect();
        let notes = check_notes(self.notes, wanted, &mut errors);
        if let Some(plan) = &self.edited_plan {
            errors.bounded("editedPlan", plan, MAX_TEXT_BYTES);
            if ask.kind != Kind::Plan {
                errors.add("editedPlan", "not_a_plan", "only a plan can be edited");
            } else if is_blank(plan) {
                errors.add(
                    "editedPlan",
                    "empty",
                    "the edited plan is empty; leave it out, or reject the plan",
                );
            }
        }
        if let Some(mode) = &self.next_mode
            && !ask.next_modes.contains(mode)
        {
            let known = ask.next_modes.join(", ");
            errors.add("nextMode", "unknown_mode", format!("{mode:?} is not one of: {known}"));
        }
        if let Some(mode) = &self.next_mode
            && let Some(picked) = answers
                .iter()
                .flat_map(|answer| &answer.picks)
                .find(|pick| ask.next_modes.contains(pick) && *pick != mode)
        {
            let message =
                format!("the pick goes on in {picked:?} and nextMode says {mode:?}; give one of them");
            errors.add("nextMode", "contradiction", message);
        }
        errors.finish(Answer { answers, notes, edited_plan: self.edited_plan, next_mode: self.next_mode })
    }
}

impl Rejection {
    /// Checks the mode and the reason; `decline` is the default.
    pub fn check(self, ask: &Ask) -> Result<(RejectMode, Option<String>), FieldErrors> {
        let mut errors = Collector::default();
        let mode = self.mode.unwrap_or_else(|| default_mode(&ask.reject_modes));
        if !ask.reject_modes.contains(&mode) {
            let known: Vec<&str> = ask.reject_modes.iter().map(|mode| mode.as_str()).collect();
            let message = match known.is_empty() {
                true => "this question cannot be rejected; answer it".to_owned(),
                false => {
                    let (mode, known) = (mode.as_str(), known.join(", "));
                    format!("{mode} is not a way to reject this question; use {known}")
                }
            };
            errors.add("mode", "unsupported_mode", message);
        }
        errors.bounded("reason", self.reason.as_deref().unwrap_or(""), MAX_NOTE_BYTES);
        errors.finish((mode, self.reason.filter(|reason| !reason.is_empty())))
    }
}

/// `decline` where the agent has it, else the first mode that the agent has.
fn default_mode(modes: &[RejectMode]) -> RejectMode {
    if modes.contains(&RejectMode::Decline) {
        RejectMode::Decline
    } else {
        modes.first().copied().unwrap_or(RejectMode::Decline)
    }
}

fn check_notes(
    notes: Option<Vec<Option<String>>>,
    items: usize,
    errors: &mut Collector,
) -> Vec<Option<String>> {
    let mut notes = notes.unwrap_or_default();
    if notes.len() > items {
        errors.add("notes", "too_many", format!("has {} notes for {items} questions", notes.len()));
    }
    for (i, note) in notes.iter_mut().enumerate() {
        errors.bounded(format_args!("notes[{i}]"), note.as_deref().unwrap_or(""), MAX_NOTE_BYTES);
        if note.as_deref().is_some_and(|text| text.trim().is_empty()) {
            *note = None;
        }
    }
    notes.resize(items, None);
    notes
}

fn check_item(
    i: usize,
    given: GivenAnswer,
    item: &Item,
    ask: &Ask,
    reading: Reading,
    errors: &mut Collector,
) -> ItemAnswer {
    let field = format!("answers[{i}]");
    let count = match &given {
        GivenAnswer::Apart(answer) => answer.len(),
        GivenAnswer::Texts(texts) => texts.len(),
    };
    if count == 0 {
        if ask.must_answer(i) {
            errors.add_item(i, field, "required", "this question must be answered");
        }
        return ItemAnswer::default();
    }
    if count > 1 && !item.multiple {
        errors.add_item(i, field, "single_choice", format!("takes one answer, {count} were given"));
        return ItemAnswer::default();
    }
    if count > MAX_PICKS {
        errors.add_item(i, field, "too_many", format!("at most {MAX_PICKS} picks are allowed"));
        return ItemAnswer::default();
    }
    check_count(i, count, &item.bounds, errors);
    let (answer, places) = match read(given, item, reading) {
        Ok(read) => read,
        Err(unread) => {
            for Unread { place, code, message } in unread {
                errors.add_item(i, format!("{field}{place}"), code, message);
            }
            return ItemAnswer::default();
        }
    };
    for (words, place) in answer.words.iter().zip(places) {
        check_words(i, &format!("{field}{place}"), words, item, errors);
    }
    answer
}

fn check_count(i: usize, count: usize, bounds: &Bounds, errors: &mut Collector) {
    let field = format!("answers[{i}]");
    if let Some(min) = bounds.min_items.filter(|min| count < *min) {
        errors.add_item(i, field, "too_few", format!("at least {min} must be picked"));
    } else if let Some(max) = bounds.max_items.filter(|max| count > *max) {
        errors.add_item(i, field, "too_many", format!("at most {max} may be picked"));
    }
}

fn check_words(i: usize, field: &str, words: &str, item: &Item, errors: &mut Collector) {
    if !item.custom {
        errors.add_item(i, field, "unknown_option", not_one_of(words, item));
        return;
    }
    if is_blank(words) {
        errors.add_item(i, field, "empty", "an own answer must not be empty; send [] to skip");
    }
    errors.bounded(field, words, MAX_TEXT_BYTES);
    if let Err((code, message)) = check_text(words, item) {
        errors.add_item(i, field, code, message);
    }
}

pub(crate) fn check_text(text: &str, item: &Item) -> Result<(), (&'static str, String)> {
    let (input, bounds) = (item.input.unwrap_or(Input::Text), &item.bounds);
    let not = |what: &str| Err(("wrong_type", format!("{} is not {what}", shown(text, item))));
    let number = match input {
        Input::Integer => match integer(text) {
            Some(n) => Some(n),
            None => return not("an integer"),
        },
        Input::Number => match text.parse::<f64>().ok().and_then(Number::from_f64) {
            Some(n) => Some(integer(text).unwrap_or(n)),
            None => return not("a number"),
        },
        Input::Boolean if text != "true" && text != "false" => return not("true or false"),
        Input::Date if text.parse::<jiff::civil::Date>().is_err() || text.len() != 10 => {
            return not("a date such as 2026-11-15");
        }
        Input::Datetime if !is_time(text) => {
            return not("a time such as 2026-11-15T07:00:00Z");
        }
        Input::Email if !is_email(text) => return not("an e-mail address"),
        Input::Uri if !is_uri(text) => return not("an address such as https://example.org"),
        _ => None,
    };
    if let Some(n) = number {
        let below = bounds.minimum.as_ref().is_some_and(|min| is_less(&n, min));
        if below || bounds.maximum.as_ref().is_some_and(|max| is_less(max, &n)) {
            let wanted = match (&bounds.minimum, &bounds.maximum) {
                (Some(low), Some(high)) => format!("between {low} and {high}"),
                (Some(low), None) => format!("{low} or more"),
                (_, high) => high.as_ref().map(|high| format!("{high} or less")).unwrap_or_default(),
            };
            let message = format!("{} is not {wanted}", shown(text, item));
            return Err(("out_of_range", message));
        }
        return Ok(());
    }
    let length = text.chars().count();
    if let Some(min) = bounds.min_length.filter(|min| length < *min) {
        return Err(("too_short", format!("has {length} characters, at least {min} are wanted")));
    }
    if let Some(max) = bounds.max_length.filter(|max| length > *max) {
        return Err(("too_long", format!("has {length} characters, at most {max} are allowed")));
    }
    if let Some(regex) = bounds.regex().filter(|regex| !regex.is_match(text)) {
        return Err(("pattern", format!("does not match {}", regex.as_str())));
    }
    Ok(())
}

fn integer(text: &str) -> Option<Number> {
    text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok()
}

/// True for the form of RFC 3339 only: agents do not understand the other forms of ISO 8601.
fn is_time(text: &str) -> bool {
    let separated = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    separated.iter().all(|(at, separator)| text.as_bytes().get(*at) == Some(separator))
        && !text.contains('[')
        && text.parse::<crate::Timestamp>().is_ok()
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, host)| {
        let plain = !text.contains(|c: char| c.is_whitespace() || c == ',');
        !name.is_empty() && host.contains('.') && !host.contains('@') && plain
    })
}

fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        !rest.is_empty()
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
            && !text.contains(char::is_whitespace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AskInput;
    use crate::limits::MAX_PATTERN_BYTES;

    fn ask(json: &str) -> Ask {
        serde_json::from_str::<AskInput>(json).unwrap().complete().unwrap()
    }

    fn reply(json: &str) -> Reply {
        serde_json::from_str(json).unwrap()
    }

    fn codes(ask: &Ask, json: &str) -> Vec<(String, String)> {
        let errors = reply(json).check(ask).unwrap_err();
        errors.0.into_iter().map(|error| (error.field, error.code)).collect()
    }

    fn one(field: &str, code: &str) -> Vec<(String, String)> {
        vec![(field.to_owned(), code.to_owned())]
    }

    const TWO: &str = r#"{"questions":[
        {"question":"Which?","options":[{"label":"A","value":"a"},{"label":"B","value":"b"},{"label":"C","value":"c"}],"custom":false},
        {"question":"More?","options":["X","Y"],"multiple":true,"required":true}]}"#;

    #[test]
    fn picks_are_in_the_order_of_the_options_and_own_words_apart() {
        let answer = reply(r#"{"answers":[["a"],["own, \"words\"\n","Y","X"]],"notes":["because"]}"#)
            .check(&ask(TWO))
            .unwrap();
        let both = ItemAnswer { picks: vec!["X".into(), "Y".into()], words: vec!["own, \"words\"\n".into()] };
        assert_eq!(answer.answers, [ItemAnswer::picks(["a"]), both.clone()]);
        assert_eq!(answer.notes, vec![Some("because".to_owned()), None]);
        let apart =
            reply(r#"{"answers":[{"picks":["b"]},{"words":["own, \"words\"\n"],"picks":["Y","X"]}]}"#);
        let apart = apart.check(&ask(TWO)).unwrap();
        assert_eq!(apart.answers, [ItemAnswer::picks(["b"]), both]);
        let by_label = reply(r#"{"answers":[["B"],["X"]]}"#).check(&ask(TWO)).unwrap();
        assert_eq!(by_label.answers[0], ItemAnswer::picks(["b"]));
    }

    #[test]
    fn every_misfit_names_its_item() {
        let ask = ask(TWO);
        assert_eq!(codes(&ask, r#"{"answers":[["a"]]}"#), one("answers", "too_few"));
        assert_eq!(codes(&ask, r#"{"answers":[["a"],["X"],[]]}"#), one("answers", "too_many"));
        assert_eq!(codes(&ask, r#"{"answers":[["a","b"],["X"]]}"#), one("answers[0]", "single_choice"));
        assert_eq!(codes(&ask, r#"{"answers":[["Z"],["X"]]}"#), one("answers[0][0]", "unknown_option"));
        assert_eq!(codes(&ask, r#"{"answers":[[],[]]}"#), one("answers[1]", "required"));
        assert_eq!(codes(&ask, r#"{"answers":[[],["X","X"]]}"#), one("answers[1][1]", "duplicate"));
        assert_eq!(codes(&ask, r#"{"answers":[[],["  "]]}"#), one("answers[1][0]", "empty"));
        assert_eq!(
            codes(&ask, r#"{"answers":[[],["X"]],"editedPlan":"x"}"#),
            one("editedPlan", "not_a_plan")
        );
        assert_eq!(codes(&ask, r#"{"answers":[[],["X"]],"nextMode":"x"}"#), one("nextMode", "unknown_mode"));
        assert_eq!(codes(&ask, r#"{"answers":[[],["X"]],"notes":["a","b","c"]}"#), one("notes", "too_many"));
    }

    #[test]
    fn a_label_shared_by_two_options_is_ambiguous() {
        let ask = ask(
            r#"{"questions":[{"question":"?","options":[{"label":"S","value":"1"},{"label":"S","value":"2"}]}]}"#,
        );
        assert_eq!(codes(&ask, r#"{"answers":[["S"]]}"#), one("answers[0][0]", "ambiguous"));
        assert!(reply(r#"{"answers":[["2"]]}"#).check(&ask).is_ok());
    }

    #[test]
    fn an_answer_of_another_form_is_refused_with_its_place() {
        let wrong = |json: &str| serde_json::from_str::<Reply>(json).unwrap_err().to_string();
        assert!(
            wrong(r#"{"answers":["a"]}"#).contains("an array of texts, or an object with picks and words")
        );
        assert!(wrong(r#"{"answers":[{"labels":["a"]}]}"#).contains("unknown field `labels`"));
        assert_eq!(
            codes(&ask(TWO), r#"{"answers":[{"picks":["B"]},{"words":[" "]}]}"#),
            [one("answers[0].picks[0]", "unknown_option"), one("answers[1].words[0]", "empty")].concat()
        );
    }

    #[test]
    fn typed_fields_are_checked_by_their_type_and_bounds() {
        let field = |input: &str, bounds: &str| {
            ask(&format!(
                r#"{{"kind":"form","questions":[{{"question":"?","input":"{input}","bounds":{bounds}}}]}}"#
            ))
        };
        let fits = |ask: &Ask, text: &str| Reply::of([ItemAnswer::words([text])]).check(ask).is_ok();
        for (input, bounds, good, bad) in [
            ("integer", r#"{"minimum":0,"maximum":10}"#, "7", "11"),
            ("integer", "{}", "-3", "1.5"),
            ("integer", r#"{"minimum":9007199254740993}"#, "9007199254740993", "9007199254740992"),
            ("integer", r#"{"maximum":2.5}"#, "2", "3"),
            ("integer", "{}", "18446744073709551615", "18446744073709551616"),
            ("number", r#"{"maximum":9007199254740992}"#, "9007199254740991.5", "9007199254740993"),
            ("number", "{}", "1.5e3", "NaN"),
            ("boolean", "{}", "true", "yes"),
            ("date", "{}", "2026-02-28", "2026-02-30"),
            ("datetime", "{}", "2026-02-28T00:00:00Z", "2026-02-28"),
            ("datetime", "{}", "2026-02-28T00:00:00.25+01:00", "2026-02-28T00:00:00+01:00[Europe/Berlin]"),
            ("datetime", "{}", "2026-02-28t00:00:00z", "20260228T00Z"),
            ("email", "{}", "a@b.org", "a@b"),
            ("email", "{}", "a+b@c.d.org", "a@b.c,d@@e"),
            ("uri", "{}", "https://a", "a b"),
            ("text", r#"{"minLength":2,"maxLength":3}"#, "åß", "å"),
            ("text", r#"{"pattern":"^[a-z]+$"}"#, "abc", "ABC"),
            ("text", r#"{"pattern":"(?=lookahead)"}"#, "not enforced", " "),
        ] {
            let ask = field(input, bounds);
            assert!(fits(&ask, good), "{input} {bounds} {good}");
            assert!(!fits(&ask, bad), "{input} {bounds} {bad}");
        }
    }

    #[test]
    fn own_words_may_be_the_same_twice_and_options_not() {
        let own = ask(r#"{"questions":[{"question":"?","multiple":true}]}"#);
        assert!(reply(r#"{"answers":[["x","x"]]}"#).check(&own).is_ok());
        assert_eq!(codes(&ask(TWO), r#"{"answers":[[],["X","X"]]}"#), one("answers[1][1]", "duplicate"));
    }

    #[test]
    fn a_pattern_longer_than_anybody_writes_is_not_compiled() {
        for (length, checked) in [(MAX_PATTERN_BYTES, true), (MAX_PATTERN_BYTES + 1, false)] {
            let bounds = Bounds { pattern: Some("x".repeat(length)), ..Bounds::default() };
            assert_eq!(bounds.checks_pattern(), checked);
        }
    }

    #[test]
    fn what_consents_must_be_chosen_whoever_asks() {
        for json in [
            r#"{"kind":"plan","questions":[{"question":"Right?"}]}"#,
            r#"{"kind":"plan","questions":[{"question":"Right?","options":["Proceed"],"required":false}]}"#,
            r#"{"kind":"permission","questions":[{"question":"May I?","options":["Yes","No"]}]}"#,
        ] {
            let mut ask = ask(json);
            assert!(ask.questions[0].required, "{json}");
            // Also where an earlier askd stored it as one that may be skipped.
            ask.questions[0].required = false;
            assert_eq!(codes(&ask, r#"{"answers":[[]],"notes":["no"]}"#), one("answers[0]", "required"));
        }
        let ask = ask(r#"{"kind":"plan","questions":[{"question":"Right?"},{"question":"Remarks?"}]}"#);
        assert!(reply(r#"{"answers":[["approve"],[]]}"#).check(&ask).is_ok());
    }

    #[test]
    fn a_plan_with_an_option_of_its_own_is_not_approved_by_another_word() {
        let ask = ask(r#"{"kind":"plan","questions":[{"question":"Right?","options":["Proceed"]}]}"#);
        assert_eq!(codes(&ask, r#"{"answers":[["approve"]]}"#), one("answers[0][0]", "unknown_option"));
        assert!(reply(r#"{"answers":[["Proceed"]]}"#).check(&ask).is_ok());
    }

    #[test]
    fn a_plan_is_not_approved_empty_nor_in_two_modes() {
        let ask = ask(
            r#"{"kind":"plan","questions":[{"question":"Right?","options":[{"label":"Yes","value":"approve"},"always"]}],
                "nextModes":["yes","always"]}"#,
        );
        let empty = r#"{"answers":[["approve"]],"editedPlan":" \n"}"#;
        assert_eq!(codes(&ask, empty), one("editedPlan", "empty"));
        let two = r#"{"answers":[["always"]],"nextMode":"yes"}"#;
        assert_eq!(codes(&ask, two), one("nextMode", "contradiction"));
        assert!(reply(r#"{"answers":[["always"]],"nextMode":"always"}"#).check(&ask).is_ok());
        assert!(reply(r#"{"answers":[["approve"]],"nextMode":"always"}"#).check(&ask).is_ok());
    }

    #[test]
    fn a_question_that_cannot_be_rejected_says_so() {
        let mut ask = ask(TWO);
        ask.reject_modes.clear();
        let refused = Rejection::default().check(&ask).unwrap_err();
        assert_eq!(refused.0[0].message, "this question cannot be rejected; answer it");
    }

    #[test]
    fn a_rejection_must_be_one_that_the_agent_understands() {
        let mut ask = ask(TWO);
        assert_eq!(Rejection::default().check(&ask).unwrap().0, RejectMode::Decline);
        ask.reject_modes = vec![RejectMode::Interrupt];
        assert_eq!(Rejection::default().check(&ask).unwrap().0, RejectMode::Interrupt);
        let decline = Rejection { mode: Some(RejectMode::Decline), reason: None };
        assert_eq!(decline.check(&ask).unwrap_err().0[0].code, "unsupported_mode");
    }
}

//! From the arguments of `askd answer` to an answer.
//!
//! In: a question and what was typed after its id. Out: a [`Reply`], or a sentence that says how to type it.
//! A value is always one whole argument, so commas, spaces and line breaks in it are safe. Whether it fits is
//! for the hub to say.

use askd_core::answer::Reply;
use askd_core::ask::APPROVE;
use askd_core::near::Named;
use askd_core::question::Choice;
use askd_core::{Ask, GivenAnswer, Item, ItemAnswer, Kind};

use super::picks::{named, numbers_in};
use super::text::one_line;

/// The arguments of an answer.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Values without a number: all for the only item, or one per item.
    pub(super) words: Vec<String>,
    /// `N=VALUE`.
    pub(super) items: Vec<String>,
    /// `OPTION` or `ITEM.OPTION`.
    pub(super) picks: Vec<String>,
    /// `VALUE` of an option, or `N=VALUE`.
    pub(super) values: Vec<String>,
    /// The answers as JSON.
    pub(super) json: Option<String>,
    /// The text from `stdin`.
    pub(super) stdin: Option<String>,
    pub(super) notes: Vec<String>,
    pub(super) edited_plan: Option<String>,
    pub(super) next_mode: Option<String>,
    /// Words are own words, even if they look like an option.
    pub(super) own_words: bool,
}

impl Given {
    /// True if it contains an answer; otherwise a person is asked.
    pub(super) fn has_answer(&self) -> bool {
        !self.words.is_empty()
            || self.is_numbered()
            || self.json.is_some()
            || self.stdin.is_some()
            || self.edited_plan.is_some()
            || self.next_mode.is_some()
    }

    fn is_numbered(&self) -> bool {
        !self.items.is_empty() || !self.picks.is_empty() || !self.values.is_empty()
    }

    pub(super) fn reply(&self, ask: &Ask) -> Result<Reply, String> {
        let answers = match (&self.json, &self.stdin) {
            (Some(json), _) => from_json(json)?,
            (None, Some(text)) => explicit(self.one_text(text, ask)?),
            (None, None) if !self.words.is_empty() => explicit(self.arguments(ask)?),
            (None, None) if self.is_numbered() => explicit(self.numbered(ask)?),
            (None, None) => explicit(approval(ask)?),
        };
        let notes = self.notes(ask)?;
        let (edited_plan, next_mode) = (self.edited_plan.clone(), self.next_mode.clone());
        Ok(Reply { notes, edited_plan, next_mode, ..Reply::of(answers) })
    }

    fn numbered(&self, ask: &Ask) -> Result<Vec<ItemAnswer>, String> {
        let mut answers: Vec<Option<ItemAnswer>> = vec![None; ask.questions.len()];
        for text in &self.items {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| format!("-i {text:?} has no '='; write -i N=VALUE, such as -i 1=JWT"))?;
            let n = item_named(name, ask)?;
            self.add(answers[n].get_or_insert_default(), Place { ask, n }, value)?;
        }
        for text in &self.picks {
            let (n, option) = pick_named(text, ask)?;
            answers[n].get_or_insert_default().picks.push(option);
        }
        for text in &self.values {
            let (n, value) = value_named(text, ask)?;
            answers[n].get_or_insert_default().picks.push(value.to_owned());
        }
        let missing = answers.iter().position(Option::is_none);
        if let Some(n) = missing {
            let n = n + 1;
            return Err(format!("question {n} has no answer; add -i {n}=VALUE, or -i {n}= to skip it"));
        }
        Ok(answers.into_iter().flatten().collect())
    }

    pub(super) fn notes(&self, ask: &Ask) -> Result<Option<Vec<Option<String>>>, String> {
        if self.notes.is_empty() {
            return Ok(None);
        }
        let mut notes: Vec<Option<String>> = vec![None; ask.questions.len()];
        for text in &self.notes {
            let (n, note) = if ask.questions.len() == 1 {
                (0, text.as_str())
            } else {
                let (name, note) = text.split_once('=').ok_or_else(|| {
                    format!("there are {} questions; say which: --note N=TEXT", ask.questions.len())
                })?;
                (item_named(name, ask)?, note)
            };
            notes[n] = Some(note.to_owned());
        }
        Ok(Some(notes))
    }

    fn one_text(&self, text: &str, ask: &Ask) -> Result<Vec<ItemAnswer>, String> {
        if ask.questions.len() != 1 {
            return Err(format!(
                "--stdin answers one question, and there are {}; use --answers -",
                ask.questions.len()
            ));
        }
        // `echo` and editors end a text with a line break that is not part of it.
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let mut answer = ItemAnswer::default();
        self.add(&mut answer, Place { ask, n: 0 }, text)?;
        Ok(vec![answer])
    }

    fn arguments(&self, ask: &Ask) -> Result<Vec<ItemAnswer>, String> {
        let words = &self.words;
        match ask.questions.as_slice() {
            [item] if !item.multiple && words.len() > 1 => Err(format!(
                "this question takes one answer, {} were given; quote it if it has spaces",
                words.len()
            )),
            [_] => {
                let mut answer = ItemAnswer::default();
                for word in words {
                    self.add(&mut answer, Place { ask, n: 0 }, word)?;
                }
                Ok(vec![answer])
            }
            items if items.len() == words.len() => {
                let mut answers = vec![ItemAnswer::default(); items.len()];
                for (n, (answer, word)) in answers.iter_mut().zip(words).enumerate() {
                    self.add(answer, Place { ask, n }, word)?;
                }
                Ok(answers)
            }
            items => Err(format!(
                "there are {} questions and {} answers; give one argument for each ('' skips one), or use -i N=VALUE",
                items.len(),
                words.len()
            )),
        }
    }

    /// The named option, else own words. A text that may be several options, or nearly is one, is neither.
    fn add(&self, answer: &mut ItemAnswer, place: Place<'_>, text: &str) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        let item = place.item();
        // Core knows the label of an option also among own words.
        if self.own_words || item.options.is_empty() {
            answer.words.push(text.to_owned());
            return Ok(());
        }
        let numbers = numbers_in(text).unwrap_or_default();
        let named = named(item, text);
        let called = ways_to_call(item, text, &named, &numbers);
        let is_own_number = item.input.is_some() && item.custom;
        match named {
            _ if called.len() > 1 => return Err(place.several(text, &called)),
            Named::Option(i) => answer.picks.push(item.options[i].value.clone()),
            _ if !numbers.is_empty() && !is_own_number => return Err(place.number(text, &numbers)),
            Named::Near(near) => return Err(place.near(text, &near)),
            Named::Other => answer.words.push(text.to_owned()),
        }
        Ok(())
    }
}

fn explicit(answers: Vec<ItemAnswer>) -> Vec<GivenAnswer> {
    answers.into_iter().map(GivenAnswer::Apart).collect()
}

fn from_json(json: &str) -> Result<Vec<GivenAnswer>, String> {
    serde_json::from_str(json).map_err(|error| {
        format!(
            "--answers must be JSON with one answer per question, such as [[\"JWT\"],[]] or \
             [{{\"picks\":[\"JWT\"]}},{{\"words\":[]}}]: {error}"
        )
    })
}

/// The options with this text as number, label or value, each with which of these. An option is named by its
/// index.
fn ways_to_call(item: &Item, text: &str, named: &Named, numbers: &[usize]) -> Vec<(usize, &'static str)> {
    let number = match numbers {
        [only] => only.checked_sub(1),
        _ => None,
    };
    let way = |(i, option): (usize, &Choice)| match () {
        () if option.label == text => Some((i, "the label")),
        () if option.value == text => Some((i, "the value")),
        () if *named == Named::Option(i) => Some((i, "the label or value, in other letters,")),
        () if number == Some(i) => Some((i, "the number")),
        () => None,
    };
    item.options.iter().enumerate().filter_map(way).collect()
}

/// An item among those of its question.
#[derive(Clone, Copy)]
struct Place<'a> {
    ask: &'a Ask,
    n: usize,
}

/// Options in a message; beyond it the message has their number.
const NAMED_AT_MOST: usize = 5;

impl<'a> Place<'a> {
    fn item(self) -> &'a Item {
        &self.ask.questions[self.n]
    }

    /// How an option is picked on the command line, by its number from 1.
    fn pick(self, number: usize) -> String {
        if self.ask.questions.len() == 1 {
            format!("--pick {number}")
        } else {
            format!("--pick {}.{number}", self.n + 1)
        }
    }

    fn value(self, option: &Choice) -> String {
        let value = one_line(&option.value);
        if self.ask.questions.len() == 1 {
            format!("--value {value:?}")
        } else {
            format!("--value {:?}", format!("{}={value}", self.n + 1))
        }
    }

    /// A secret is not repeated.
    fn typed(self, text: &str) -> String {
        if self.item().secret { "this answer".to_owned() } else { format!("{text:?}") }
    }

    fn several(self, text: &str, called: &[(usize, &str)]) -> String {
        let item = self.item();
        let what = |(i, way): &(usize, &str)| format!("{way} of {}", options_named(item, &[*i]));
        let how = |(i, _): &(usize, &str)| {
            let pick = self.pick(i + 1);
            if item.secret { pick } else { format!("{pick} ({})", self.value(&item.options[*i])) }
        };
        format!(
            "{} is {}. Nothing was sent. Use {}",
            self.typed(text),
            and_more(called.iter().map(what), " and "),
            and_more(called.iter().map(how), " or "),
        )
    }

    fn near(self, text: &str, near: &[usize]) -> String {
        let item = self.item();
        let typed = self.typed(text);
        let own = if item.custom { format!("; --own-words sends {typed} as it is") } else { String::new() };
        format!(
            "{typed} names no option; did you mean {}? Nothing was sent. Write it in full, or use {}{own}",
            options_named(item, near),
            and_more(near.iter().map(|i| self.pick(i + 1)), " or "),
        )
    }

    /// `askd answer ID 2` would send the words "2": say so instead, because an option is meant.
    fn number(self, text: &str, numbers: &[usize]) -> String {
        let item = self.item();
        let of = |n: &usize| n.checked_sub(1).and_then(|i| item.options.get(i));
        let typed = self.typed(text);
        let own = if item.custom {
            format!("; to answer with the text {typed} add --own-words")
        } else {
            String::new()
        };
        if numbers.iter().any(|n| of(n).is_none()) {
            let most = item.options.len();
            return format!("{typed} is not the number of an option; they are numbered 1 to {most}{own}");
        }
        let picks: Vec<String> = numbers.iter().map(|n| self.pick(*n)).collect();
        let several = if let [n] = numbers { format!("option {n}") } else { "these options".to_owned() };
        format!("to pick {several} use {}{own}", picks.join(" "))
    }
}

/// Some things of a list in a sentence, and how many more there are.
fn and_more(things: impl ExactSizeIterator<Item = String>, between: &str) -> String {
    let more = things.len().saturating_sub(NAMED_AT_MOST);
    let mut named: Vec<String> = things.take(NAMED_AT_MOST).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    named.join(between)
}

/// An edited plan, or one with a next mode, is approved by that.
fn approval(ask: &Ask) -> Result<Vec<ItemAnswer>, String> {
    let approves = |item: &Item| item.options.iter().any(|option| option.value == APPROVE);
    match ask.questions.as_slice() {
        [item] if ask.kind == Kind::Plan && approves(item) => Ok(vec![ItemAnswer::picks([APPROVE])]),
        _ => {
            Err("give an answer too; only a plan is approved by --edited-plan or --next-mode alone"
                .to_owned())
        }
    }
}

/// A number from 1, or the name of an item: its key, its header, or its text as `askd show` has it.
fn item_named(name: &str, ask: &Ask) -> Result<usize, String> {
    if let Ok(n) = name.parse::<usize>() {
        return (1..=ask.questions.len()).contains(&n).then(|| n - 1).ok_or_else(|| {
            format!("there is no question {n}; they are numbered 1 to {}", ask.questions.len())
        });
    }
    let called = |item: &Item| {
        let names = [item.key.as_deref(), item.header.as_deref(), Some(item.question.as_str())];
        names.into_iter().flatten().any(|text| text == name || one_line(text) == one_line(name))
    };
    let mut found = ask.questions.iter().enumerate().filter(|(_, item)| called(item));
    match (found.next(), found.next()) {
        (Some((n, _)), None) => Ok(n),
        (Some(_), Some(_)) => Err(format!("several questions are called {name:?}; use a number")),
        (None, _) => {
            Err(format!("no question is called {name:?}; use a number from 1 to {}", ask.questions.len()))
        }
    }
}

/// `2` for an option of the only item, `1.2` for the second option of the first.
fn pick_named(text: &str, ask: &Ask) -> Result<(usize, String), String> {
    let (n, option) = match text.split_once('.') {
        Some((name, option)) => (item_named(name, ask)?, option),
        None if ask.questions.len() == 1 => (0, text),
        None => {
            return Err(format!("there are {} questions; say which: --pick 1.{text}", ask.questions.len()));
        }
    };
    let options = &ask.questions[n].options;
    if options.is_empty() {
        return Err(format!("question {} has no options to pick from; give the answer itself", n + 1));
    }
    let found =
        option.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).and_then(|i| options.get(i));
    found.map(|option| (n, option.value.clone())).ok_or_else(|| {
        format!("question {} has no option {option:?}; they are numbered 1 to {}", n + 1, options.len())
    })
}

/// `s` for an option of the only item, `1=s` for one of the first.
fn value_named<'a>(text: &'a str, ask: &Ask) -> Result<(usize, &'a str), String> {
    if ask.questions.len() == 1 {
        return Ok((0, text));
    }
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("there are {} questions; say which: --value N=VALUE", ask.questions.len()))?;
    Ok((item_named(name, ask)?, value))
}

/// Options in a sentence: by label, and by value too where labels do not tell them apart.
pub(super) fn options_named(item: &Item, which: &[usize]) -> String {
    let name = |i: &usize| {
        let Some(option) = item.options.get(*i) else { return String::new() };
        let is_unclear = |(j, other): (usize, &Choice)| {
            j != *i
                && (other.label == option.label || other.value == option.label || other.label == option.value)
        };
        let label = one_line(&option.label);
        if item.options.iter().enumerate().any(is_unclear) {
            format!("{label} [{}]", one_line(&option.value))
        } else {
            label
        }
    };
    and_more(which.iter().map(name), " or ")
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn words(words: &[&str]) -> Given {
        Given { words: words.iter().map(|word| (*word).to_owned()).collect(), ..Given::default() }
    }

    fn numbered(items: &[&str], picks: &[&str]) -> Given {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Given { items: owned(items), picks: owned(picks), ..Given::default() }
    }

    fn answers(given: &Given, question: &askd_core::Question) -> Result<Vec<Vec<String>>, String> {
        let texts = |answer| match answer {
            askd_core::GivenAnswer::Texts(texts) => texts,
            askd_core::GivenAnswer::Apart(answer) => answer.to_texts(),
        };
        given.reply(&question.ask).map(|reply| reply.answers.into_iter().map(texts).collect())
    }

    fn lists(lists: &[&[&str]]) -> Result<Vec<Vec<String>>, String> {
        Ok(lists.iter().map(|list| list.iter().map(|text| (*text).to_owned()).collect()).collect())
    }

    #[test]
    fn one_question_takes_its_arguments_as_they_are() {
        let single = samples::one(r#"{"question":"Which?","options":["JWT","Session"]}"#);
        assert_eq!(answers(&words(&["JWT"]), &single), lists(&[&["JWT"]]));
        assert_eq!(answers(&words(&["jwt"]), &single), lists(&[&["JWT"]]));
        assert_eq!(answers(&words(&["a, b\nc"]), &single), lists(&[&["a, b\nc"]]));
        assert_eq!(answers(&words(&[""]), &single), lists(&[&[]]));
        assert!(answers(&words(&["two", "words"]), &single).unwrap_err().contains("quote it"));
        let multiple = samples::one(r#"{"question":"Which?","multiple":true,"options":["A, B","C"]}"#);
        assert_eq!(answers(&words(&["A, B", "my own"]), &multiple), lists(&[&["A, B", "my own"]]));
    }

    #[test]
    fn several_questions_take_one_argument_each_or_numbered_ones() {
        let two = samples::two_items();
        assert_eq!(answers(&words(&["JWT", ""]), &two), lists(&[&["JWT"], &[]]));
        assert!(answers(&words(&["JWT"]), &two).unwrap_err().contains("2 questions and 1 answers"));
        let given = numbered(&["2=Logging", "1=JWT", "2=a=b, c"], &[]);
        assert_eq!(answers(&given, &two), lists(&[&["JWT"], &["Logging", "a=b, c"]]));
        assert_eq!(answers(&numbered(&["Extras=", "Auth method=JWT"], &[]), &two), lists(&[&["JWT"], &[]]));
        assert!(answers(&numbered(&["1=JWT"], &[]), &two).unwrap_err().contains("-i 2= to skip"));
        let shown = &["which auth method?=JWT", "Which extras?="];
        assert!(answers(&numbered(shown, &[]), &two).is_err());
        let shown = &["Which auth  method?=JWT", "Which extras?="];
        assert_eq!(answers(&numbered(shown, &[]), &two), lists(&[&["JWT"], &[]]));
        for (bad, wanted) in [
            ("JWT", "has no '='"),
            ("3=x", "no question 3"),
            ("0=x", "no question 0"),
            ("Foo=x", "is called"),
        ] {
            assert!(answers(&numbered(&[bad], &[]), &two).unwrap_err().contains(wanted), "{bad}");
        }
    }

    #[test]
    fn options_can_be_picked_by_number() {
        let two = samples::two_items();
        assert_eq!(
            answers(&numbered(&[], &["1.2", "2.1", "2.3"]), &two),
            lists(&[&["session-cookie"], &["Logging", "Tracing"]])
        );
        assert!(answers(&numbered(&[], &["2"]), &two).unwrap_err().contains("--pick 1.2"));
        assert!(answers(&numbered(&[], &["1.9"]), &two).unwrap_err().contains("numbered 1 to 2"));
        let single = samples::one(r#"{"question":"Which?","options":["JWT","Session"]}"#);
        assert_eq!(answers(&numbered(&[], &["2"]), &single), lists(&[&["Session"]]));
        let free = samples::one(r#"{"question":"Why?"}"#);
        assert!(answers(&numbered(&[], &["1"]), &free).unwrap_err().contains("has no options"));
    }

    #[test]
    fn a_number_is_not_sent_as_words_by_mistake() {
        let single = samples::one(r#"{"question":"Which?","options":["JWT","Session"]}"#);
        assert!(answers(&words(&["2"]), &single).unwrap_err().contains("--pick 2"));
        for number in ["2.", "2)", "#2", "２", "1,2"] {
            assert!(answers(&words(&[number]), &single).unwrap_err().contains("--pick 2"), "{number}");
        }
        let stdin = Given { stdin: Some("2\n".into()), ..Given::default() };
        for given in [numbered(&["1=2"], &[]), stdin] {
            let refused = answers(&given, &single).unwrap_err();
            assert!(refused.contains("--pick 2") && refused.contains("--own-words"), "{refused}");
            let own = Given { own_words: true, ..given };
            assert_eq!(own.reply(&single.ask).unwrap(), Reply::of([ItemAnswer::words(["2"])]));
        }
        assert!(answers(&words(&["3"]), &single).unwrap_err().contains("numbered 1 to 2"));
        let two = samples::two_items();
        let refused = answers(&words(&["1", "2"]), &two).unwrap_err();
        assert!(refused.contains("use --pick 1.1;"), "{refused}");
        let refused = answers(&numbered(&["1=JWT", "2=Loging"], &[]), &two).unwrap_err();
        assert!(refused.contains("use --pick 2.1;"), "{refused}");
        let numbers = samples::one(r#"{"question":"How many?","options":["4","2"]}"#);
        assert_eq!(answers(&words(&["2"]), &numbers), lists(&[&["2"]]));
        let typed = samples::one(r#"{"question":"How many?","input":"integer","options":["10","20"]}"#);
        assert_eq!(answers(&words(&["2"]), &typed), lists(&[&["2"]]));
        let free = samples::one(r#"{"question":"How many?"}"#);
        assert_eq!(answers(&words(&["2"]), &free), lists(&[&["2"]]));
    }

    #[test]
    fn a_text_that_could_be_several_options_is_refused_and_names_them() {
        let replicas = samples::one(
            r#"{"question":"How many?","options":[{"label":"2 replicas","value":"0"},{"label":"4 replicas","value":"1"},
                {"label":"8 replicas","value":"2"}]}"#,
        );
        let shifted = samples::one(
            r#"{"question":"How many?","options":[{"label":"1","value":"0"},{"label":"2","value":"1"},{"label":"3","value":"2"}]}"#,
        );
        let crossed = samples::one(
            r#"{"question":"May I?","options":[{"label":"Allow","value":"Reject"},{"label":"Reject","value":"Allow"}]}"#,
        );
        for (question, text, wanted) in [
            (
                &replicas,
                "2",
                &["the number of 4 replicas", "the value of 8 replicas", "--pick 2 (--value \"1\")"][..],
            ),
            (&shifted, "1", &["the label of 1 [0]", "the value of 2 [1]", "--pick 1", "--pick 2"]),
            (&crossed, "Reject", &["the value of Allow [Reject]", "the label of Reject [Allow]", "--pick 2"]),
        ] {
            let stdin = Given { stdin: Some(text.into()), ..Given::default() };
            for given in [words(&[text]), numbered(&[&format!("1={text}")], &[]), stdin] {
                let refused = answers(&given, question).unwrap_err();
                for wanted in wanted.iter().chain(&["Nothing was sent"]) {
                    assert!(refused.contains(wanted), "no {wanted:?} in {refused}");
                }
            }
        }
        let shifted = samples::one(r#"{"question":"How many?","options":["2","4"]}"#);
        assert!(answers(&words(&["2 "]), &shifted).unwrap_err().contains("the number of 4"));
        let by_value = Given { values: vec!["2".into()], ..Given::default() };
        assert_eq!(by_value.reply(&replicas.ask).unwrap(), Reply::of([ItemAnswer::picks(["2"])]));
        assert_eq!(
            numbered(&[], &["2"]).reply(&replicas.ask).unwrap(),
            Reply::of([ItemAnswer::picks(["1"])])
        );
        // For core to read: own words are never an option by accident.
        let own = Given { own_words: true, ..words(&["2"]) };
        assert_eq!(own.reply(&replicas.ask).unwrap(), Reply::of([ItemAnswer::words(["2"])]));
        let many: Vec<String> = (0..40).map(|n| format!("\"step {n}\"")).collect();
        let many = samples::one(&format!(r#"{{"question":"Which?","options":[{}]}}"#, many.join(",")));
        let refused = answers(&words(&["step"]), &many).unwrap_err();
        assert!(refused.contains("step 4 or 35 more") && refused.len() < 300, "{refused}");
    }

    #[test]
    fn picks_and_own_words_are_sent_apart() {
        let multiple = samples::one(
            r#"{"question":"Which?","multiple":true,"options":[{"label":"A","value":"a"},{"label":"B","value":"b"}]}"#,
        );
        let reply = words(&["B", "mine", "a"]).reply(&multiple.ask).unwrap();
        let sent = ItemAnswer { picks: vec!["b".into(), "a".into()], words: vec!["mine".into()] };
        assert_eq!(reply, Reply::of([sent]));
        let two = samples::two_items();
        let by_value =
            Given { values: vec!["1=session-cookie".into(), "Extras=Logging".into()], ..Given::default() };
        let sent = [ItemAnswer::picks(["session-cookie"]), ItemAnswer::picks(["Logging"])];
        assert_eq!(by_value.reply(&two.ask).unwrap(), Reply::of(sent));
        let unnamed = Given { values: vec!["session-cookie".into()], ..Given::default() };
        assert!(unnamed.reply(&two.ask).unwrap_err().contains("--value N=VALUE"));
        let json = r#"[{"picks":["session-cookie"]},["Logging","own"]]"#;
        let json = Given { json: Some(json.into()), ..Given::default() };
        let sent = vec![
            GivenAnswer::Apart(ItemAnswer::picks(["session-cookie"])),
            GivenAnswer::Texts(vec!["Logging".into(), "own".into()]),
        ];
        assert_eq!(json.reply(&two.ask).unwrap().answers, sent);
    }

    #[test]
    fn a_near_miss_is_refused_and_own_words_are_sent_as_they_are() {
        let single = samples::one(r#"{"question":"Which?","options":["JWT","Sessions"]}"#);
        let stdin = Given { stdin: Some("Sesions\n".into()), ..Given::default() };
        for given in [words(&["Sesions"]), numbered(&["1=Sesions"], &[]), stdin] {
            let refused = answers(&given, &single).unwrap_err();
            for wanted in ["did you mean Sessions?", "Nothing was sent", "--pick 2", "--own-words"] {
                assert!(refused.contains(wanted), "no {wanted:?} in {refused}");
            }
            let given = Given { own_words: true, ..given };
            assert_eq!(answers(&given, &single), lists(&[&["Sesions"]]));
        }
        assert_eq!(answers(&words(&["sessions"]), &single), lists(&[&["Sessions"]]));
        assert_eq!(answers(&words(&["neither"]), &single), lists(&[&["neither"]]));
        let own = |word: &str| Given { own_words: true, ..words(&[word]) };
        assert_eq!(answers(&own("2"), &single), lists(&[&["2"]]));
        let fixed = samples::one(r#"{"question":"Which?","custom":false,"options":["Allow","Deny"]}"#);
        let refused = answers(&words(&["Alow"]), &fixed).unwrap_err();
        assert!(refused.contains("did you mean Allow?") && !refused.contains("--own-words"), "{refused}");
        let secret = samples::one(r#"{"question":"Key?","secret":true,"options":["hunter2"]}"#);
        assert!(!answers(&words(&["huntr2"]), &secret).unwrap_err().contains("huntr2"));
    }

    #[test]
    fn plans_json_stdin_and_notes() {
        let plan = samples::asked(r#"{"kind":"plan","questions":[{"question":"Right?"}]}"#);
        let edited = Given { edited_plan: Some("new".into()), ..Given::default() };
        assert_eq!(answers(&edited, &plan), lists(&[&["approve"]]));
        let two = samples::two_items();
        assert!(answers(&edited, &two).is_err());
        let json = Given { json: Some(r#"[["x"],["a","b"]]"#.into()), ..Given::default() };
        assert_eq!(answers(&json, &two), lists(&[&["x"], &["a", "b"]]));
        let bad = Given { json: Some("{".into()), ..Given::default() };
        assert!(answers(&bad, &two).unwrap_err().contains("--answers must be JSON"));
        let free = samples::one(r#"{"question":"Why?"}"#);
        let stdin = Given { stdin: Some("a\nb\n".into()), ..Given::default() };
        assert_eq!(answers(&stdin, &free), lists(&[&["a\nb"]]));
        assert!(answers(&stdin, &two).is_err());
        let mut noted = words(&["JWT", ""]);
        noted.notes = vec!["2=why=so".into()];
        assert_eq!(noted.reply(&two.ask).unwrap().notes, Some(vec![None, Some("why=so".into())]));
        let mut noted = words(&["x"]);
        noted.notes = vec!["a=b".into()];
        assert_eq!(noted.reply(&free.ask).unwrap().notes, Some(vec![Some("a=b".into())]));
    }
}

//! From the arguments of `askd answer` to an answer.
//!
//! In: a question and what was typed after its id. Out: a [`Reply`], or a sentence that says how to type it. A value is always
//! one whole argument, so commas, spaces and line breaks in it are safe. Whether it fits is for the hub to say.

use askd_core::answer::Reply;
use askd_core::ask::APPROVE;
use askd_core::{Ask, Item, Kind};

use super::text::one_line;

/// What was typed.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Values without a number: all for the only item, or one per item.
    pub(super) words: Vec<String>,
    /// `N=VALUE`.
    pub(super) items: Vec<String>,
    /// `OPTION` or `ITEM.OPTION`.
    pub(super) picks: Vec<String>,
    /// The answers as JSON.
    pub(super) json: Option<String>,
    /// The text that came on stdin.
    pub(super) stdin: Option<String>,
    pub(super) notes: Vec<String>,
    pub(super) edited_plan: Option<String>,
    pub(super) next_mode: Option<String>,
}

impl Given {
    /// Whether there is an answer in it, or a person has to be asked.
    pub(super) fn has_answer(&self) -> bool {
        !self.words.is_empty()
            || !self.items.is_empty()
            || !self.picks.is_empty()
            || self.json.is_some()
            || self.stdin.is_some()
            || self.edited_plan.is_some()
            || self.next_mode.is_some()
    }

    pub(super) fn reply(&self, ask: &Ask) -> Result<Reply, String> {
        let answers = match (&self.json, &self.stdin) {
            (Some(json), _) => from_json(json)?,
            (None, Some(text)) => from_stdin(text, ask)?,
            (None, None) if !self.words.is_empty() => from_words(&self.words, ask)?,
            (None, None) if !self.items.is_empty() || !self.picks.is_empty() => self.numbered(ask)?,
            (None, None) => approval(ask)?,
        };
        let notes = self.notes(ask)?;
        Ok(Reply { answers, notes, edited_plan: self.edited_plan.clone(), next_mode: self.next_mode.clone() })
    }

    fn numbered(&self, ask: &Ask) -> Result<Vec<Vec<String>>, String> {
        let mut answers: Vec<Option<Vec<String>>> = vec![None; ask.questions.len()];
        for text in &self.items {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| format!("-i {text:?} has no '='; write -i N=VALUE, such as -i 1=JWT"))?;
            let n = item_named(name, ask)?;
            let picks = answers[n].get_or_insert_default();
            if !value.is_empty() {
                picks.push(option_or_own(&ask.questions[n], value));
            }
        }
        for text in &self.picks {
            let (n, option) = pick_named(text, ask)?;
            answers[n].get_or_insert_default().push(option);
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
}

fn from_json(json: &str) -> Result<Vec<Vec<String>>, String> {
    serde_json::from_str(json).map_err(|error| {
        format!(
            "--answers must be JSON with one array of texts per question, such as [[\"JWT\"],[]]: {error}"
        )
    })
}

fn from_stdin(text: &str, ask: &Ask) -> Result<Vec<Vec<String>>, String> {
    let [item] = ask.questions.as_slice() else {
        return Err(format!(
            "--stdin answers one question, and there are {}; use --answers -",
            ask.questions.len()
        ));
    };
    // `echo` and editors end a text with a line break that nobody means.
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Ok(vec![if text.is_empty() { Vec::new() } else { vec![option_or_own(item, text)] }])
}

fn from_words(words: &[String], ask: &Ask) -> Result<Vec<Vec<String>>, String> {
    let pick = |item: &Item, word: &String| -> Result<Vec<String>, String> {
        if word.is_empty() {
            return Ok(Vec::new());
        }
        not_a_number_by_mistake(item, word)?;
        Ok(vec![option_or_own(item, word)])
    };
    match ask.questions.as_slice() {
        [item] if item.multiple => {
            let picks: Result<Vec<Vec<String>>, String> = words.iter().map(|word| pick(item, word)).collect();
            Ok(vec![picks?.concat()])
        }
        [item] => match words {
            [word] => Ok(vec![pick(item, word)?]),
            _ => Err(format!(
                "this question takes one answer, {} were given; quote it if it has spaces",
                words.len()
            )),
        },
        items if items.len() == words.len() => {
            items.iter().zip(words).map(|(item, word)| pick(item, word)).collect()
        }
        items => Err(format!(
            "there are {} questions and {} answers; give one argument for each ('' skips one), or use -i N=VALUE",
            items.len(),
            words.len()
        )),
    }
}

/// A plan that was edited, or that goes on in a mode, is approved by that.
fn approval(ask: &Ask) -> Result<Vec<Vec<String>>, String> {
    let approves = |item: &Item| item.options.iter().any(|option| option.value == APPROVE);
    match ask.questions.as_slice() {
        [item] if ask.kind == Kind::Plan && approves(item) => Ok(vec![vec![APPROVE.to_owned()]]),
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

/// The option that a text means: by value, by label, by label in other letters; else it is own words.
pub(super) fn option_or_own(item: &Item, text: &str) -> String {
    let exact = item.options.iter().any(|option| option.value == text || option.label == text);
    if exact {
        return text.to_owned();
    }
    let same = |a: &str| a.trim().to_lowercase() == text.trim().to_lowercase();
    let mut loose = item.options.iter().filter(|option| same(&option.value) || same(&option.label));
    match (loose.next(), loose.next()) {
        (Some(only), None) => only.value.clone(),
        _ => text.to_owned(),
    }
}

/// `askd answer ID 2` would send the words "2": say so instead, because an option is meant.
fn not_a_number_by_mistake(item: &Item, word: &str) -> Result<(), String> {
    let Ok(n) = word.parse::<usize>() else { return Ok(()) };
    let known = item.options.iter().any(|option| option.value == word || option.label == word);
    if known || item.options.is_empty() || item.input.is_some() {
        return Ok(());
    }
    Err(format!("to pick option {n} use --pick {n}; to answer with the text {word:?} use -i N={word}"))
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
        given.reply(&question.ask).map(|reply| reply.answers)
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
        assert_eq!(answers(&numbered(&["1=2"], &[]), &single), lists(&[&["2"]]));
        let numbers = samples::one(r#"{"question":"How many?","options":["2","4"]}"#);
        assert_eq!(answers(&words(&["2"]), &numbers), lists(&[&["2"]]));
        let free = samples::one(r#"{"question":"How many?"}"#);
        assert_eq!(answers(&words(&["2"]), &free), lists(&[&["2"]]));
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

//! Answering by hand, without the terminal: lines in, prompts out, nothing sent before the person said so.
//!
//! In: a question and one typed line after another. Out: what to show, and in the end a decision or nothing.
//! A question with several items is shown once more before it is sent; a pick in a single one is sent at
//! once. A lone Enter sends nothing that was not picked before, a text that nearly names an option is asked
//! about, and nothing is skipped before it was said twice.

use std::time::Duration;

use askd_core::answer::{Rejection, Reply};
use askd_core::keys::{self, Effect, Key, Sight, State};
use askd_core::{Ask, Item, ItemAnswer, Kind, Question, RejectMode};

use super::ending::picks_text;
use super::given::options_named;
use super::picks::{Unclear, as_typed_plainly, is_list, read_picks, spoken};
use super::render::item_name;
use super::text::{is_invisible, one_line};

/// The next step after a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Ask for the next line, after showing this.
    Ask(String),
    Send(Decided),
    /// Nothing is to be sent.
    Quit,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decided {
    Reply(Reply),
    Reject(Rejection),
}

/// One for each item.
pub(super) type Notes = Vec<Option<String>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    Item(usize),
    /// The words for this item nearly name these options, by their index.
    Near {
        item: usize,
        words: String,
        options: Vec<usize>,
    },
    /// These words for this item were more likely meant for the prompt than for the agent.
    Own {
        item: usize,
        words: String,
    },
    /// This item is not to be answered.
    Skip(usize),
    Review,
    /// A plan goes back with this feedback.
    SendBack(String),
}

#[derive(Debug)]
pub(super) struct Form<'a> {
    ask: &'a Ask,
    answers: Vec<ItemAnswer>,
    notes: Notes,
    at: At,
    /// The lines so far of a continued text.
    begun: String,
    /// The values so far of a list.
    listed: Vec<String>,
    /// A change during the review comes back to it.
    reviewing: bool,
}

impl<'a> Form<'a> {
    pub(super) fn new(question: &'a Question, notes: Option<Notes>) -> Self {
        let items = question.ask.questions.len();
        Self {
            ask: &question.ask,
            answers: vec![ItemAnswer::default(); items],
            notes: notes.unwrap_or_else(|| vec![None; items]),
            at: At::Item(0),
            begun: String::new(),
            listed: Vec::new(),
            reviewing: false,
        }
    }

    /// The place of the person; a text typed at one place is not meant for another.
    pub(super) fn place(&self) -> &At {
        &self.at
    }

    /// Asks again after a failed send. If the failure can pass, the same answer waits; otherwise something
    /// has to be changed.
    pub(super) fn ask_again(&mut self, passes: bool) -> String {
        match self.at {
            At::SendBack(_) => String::new(),
            At::Item(_) | At::Near { .. } | At::Own { .. } | At::Skip(_) if !passes => String::new(),
            At::Item(_) | At::Near { .. } | At::Own { .. } | At::Skip(_) | At::Review => {
                self.at = At::Review;
                self.reviewing = true;
                self.summary()
            }
        }
    }

    /// The present item, for showing it.
    pub(super) fn item(&self) -> Option<(usize, &'a Item)> {
        match self.at {
            At::Item(i) => self.ask.questions.get(i).map(|item| (i, item)),
            _ => None,
        }
    }

    pub(super) fn is_secret(&self) -> bool {
        // At a near miss the person may type the secret once more.
        let (At::Item(i) | At::Near { item: i, .. }) = self.at else { return false };
        self.ask.questions.get(i).is_some_and(|item| item.secret)
    }

    pub(super) fn prompt(&self) -> String {
        if !self.begun.is_empty() {
            return "... ".to_owned();
        }
        if !self.listed.is_empty() {
            return format!("value {}; an empty line ends> ", self.listed.len() + 1);
        }
        match &self.at {
            At::Review if self.ask.kind == Kind::Plan => {
                "yes sends it, a number changes one, q leaves it open: ".to_owned()
            }
            At::Review => "Enter sends it, a number changes one, q leaves it open: ".to_owned(),
            At::SendBack(_) => "Send the plan back with this feedback? [y/N] ".to_owned(),
            At::Skip(_) => "Skip this question, so that the agent gets no answer to it? [y/N] ".to_owned(),
            At::Near { item, options, .. } => self.did_you_mean(*item, options),
            At::Own { words, .. } => {
                format!("Is \"{}\" your answer, in your own words? [y/N] ", one_line(words))
            }
            At::Item(i) => self.ask.questions.get(*i).map_or_else(String::new, |item| {
                let what = match (item.options.is_empty(), item.multiple, self.ask.kind) {
                    (_, _, Kind::Plan) => "number, or feedback to send it back",
                    (false, true, _) if item.custom => {
                        "numbers such as 1,3, or 1,3 + own words, or own words"
                    }
                    (false, true, _) => "numbers such as 1,3",
                    (false, false, _) if item.custom => "number or own words",
                    (false, false, _) => "number",
                    (true, true, _) => "several values, one a line, an empty line ends",
                    (true, false, _) => "answer",
                };
                let default = if self.default_of(*i).is_some() { "; /default" } else { "" };
                let help = if item.options.is_empty() { "/help" } else { "? helps" };
                format!("{what}{default}; {help}> ")
            }),
        }
    }

    fn did_you_mean(&self, i: usize, options: &[usize]) -> String {
        let Some(item) = self.ask.questions.get(i) else { return String::new() };
        let names = options_named(item, options);
        let verb = if self.ask.questions.len() == 1 { "sends" } else { "takes" };
        let mut ways = Vec::new();
        match options {
            [_] if self.ask.kind != Kind::Plan => ways.push(format!("`y` {verb} {names}")),
            _ => {
                ways.extend(options.iter().map(|i| {
                    format!("`{}` {verb} {}", number_that_picks(item, *i), options_named(item, &[*i]))
                }))
            }
        }
        if self.sends_back() {
            ways.push("`o` sends the plan back with your words".to_owned());
        } else if item.custom {
            ways.push(format!("`o` {verb} your own words"));
        }
        format!("Did you mean {names}? {}, Enter asks again: ", ways.join(", "))
    }

    /// True if own words are feedback to a plan.
    fn sends_back(&self) -> bool {
        matches!(self.ask.questions.as_slice(), [item] if self.ask.kind == Kind::Plan && !item.custom)
    }

    /// The answer of `/default`; a plan is approved by its own number or label only.
    fn default_of(&self, i: usize) -> Option<ItemAnswer> {
        let item = self.ask.questions.get(i)?;
        let default = item.default.as_ref();
        let default = default.filter(|texts| self.ask.kind != Kind::Plan && !texts.is_empty())?;
        Some(ItemAnswer::of_values(default.clone(), item))
    }

    /// The first hint, once.
    pub(super) fn hint(&self) -> &'static str {
        "Ctrl-C sends nothing. A line that ends with \\ goes on. /note TEXT adds a note, /back goes back."
    }

    /// The time for which the present screen ignores input; longer for a plan.
    pub(super) fn settles(&self) -> Duration {
        let is_new_plan = self.ask.kind == Kind::Plan && matches!(self.at, At::Item(_));
        if is_new_plan { keys::PLAN_SEEN } else { keys::APPEARED }
    }

    /// True if Enter alone sends the picks. A terminal does not know whether a plan was read.
    fn enter_sends(&self) -> bool {
        let plan = (self.ask.kind == Kind::Plan).then_some(Sight::Unread);
        let state = match self.at {
            At::Review if self.answers.iter().any(|answer| !answer.is_empty()) => State::Review,
            At::Review | At::Item(_) | At::Near { .. } | At::Own { .. } => State::Open,
            At::Skip(_) => State::Skipping,
            At::SendBack(_) => State::Refusing,
        };
        keys::effect(state, Key::Enter, plan, self.settles()) == Effect::Send
    }

    /// How to answer here, in one line.
    pub(super) fn how(&self) -> String {
        let Some((_, item)) = self.item() else { return String::new() };
        if item.options.is_empty() {
            return "Type your answer and Enter; /help says more.".to_owned();
        }
        let own = if self.sends_back() {
            ", or feedback to send the plan back"
        } else if item.custom {
            ", or own words"
        } else {
            ""
        };
        format!("Type an option's number or label{own}, and Enter; ? says more.")
    }

    fn help(&self, i: usize, item: &Item) -> String {
        let has_options = !item.options.is_empty();
        let mut lines: Vec<String> = Vec::new();
        let mut line = |typed: &str, means: &str| lines.push(format!("  {typed:<14}{means}"));
        if has_options {
            line("2, #2, LABEL", "the option with this number, value or label");
            if item.multiple {
                line("1,3", "several options");
            }
            if item.multiple && item.custom {
                line("1,3 + WORDS", "the same, and own words");
            }
            if self.sends_back() {
                line("anything else", "feedback: the plan goes back with it, after a question");
            } else if item.custom {
                line("anything else", "own words");
                line("=WORDS", "own words as they are, also such as =2 or =q");
            }
        } else if is_list(item) {
            line("one a line", "the values; an empty line ends");
        } else {
            line("anything else", "your answer");
        }
        if self.default_of(i).is_some() {
            line("/default", "the answer that the asker proposes");
        }
        let (skip, quit) = if has_options { ("s, /skip", "q, /quit") } else { ("/skip", "/quit") };
        if !item.required {
            line(skip, "no answer to this one, after a question");
        }
        line(quit, "leave the question open");
        if !item.secret {
            line("/note TEXT", "a note beside the answer");
            line("/back", "the question before");
            line("\\ at the end", "the text goes on in the next line");
        }
        line("Ctrl-C", "end, and send nothing");
        let taken = item.options.iter().flat_map(|option| [&option.value, &option.label]);
        if taken.into_iter().any(|name| Command::of(name, item).is_some()) {
            lines.push("An option that is called as a command (q, s, ?) is picked by its number.".to_owned());
        }
        lines.join("\n")
    }

    pub(super) fn line(&mut self, line: &str) -> Step {
        let line = line.trim_end_matches(['\n', '\r']);
        match self.at.clone() {
            At::Item(i) => self.item_line(i, line),
            At::Near { item, words, options } => self.near_line(item, words, &options, line),
            At::Own { item, words } => {
                self.at = At::Item(item);
                if is_yes(line) { self.take_words(item, words) } else { Step::Ask(String::new()) }
            }
            At::Skip(i) => {
                self.at = At::Item(i);
                if is_yes(line) { self.take(i, ItemAnswer::default()) } else { Step::Ask(String::new()) }
            }
            At::Review => self.review_line(line.trim()),
            At::SendBack(reason) => {
                if is_yes(line) {
                    let mode =
                        self.ask.reject_modes.contains(&RejectMode::Decline).then_some(RejectMode::Decline);
                    return Step::Send(Decided::Reject(Rejection { mode, reason: Some(reason) }));
                }
                self.at = At::Item(0);
                Step::Ask(String::new())
            }
        }
    }

    fn near_line(&mut self, i: usize, words: String, options: &[usize], line: &str) -> Step {
        let Some(item) = self.ask.questions.get(i) else { return Step::Quit };
        self.at = At::Item(i);
        match (line.trim(), options) {
            ("", _) => Step::Ask(String::new()),
            ("o" | "O", _) if self.sends_back() => {
                self.at = At::SendBack(words);
                Step::Ask(String::new())
            }
            ("o" | "O", _) if item.custom => self.take(i, ItemAnswer::words([words])),
            (_, [only]) if is_yes(line) && self.ask.kind != Kind::Plan => {
                self.take(i, ItemAnswer::picks([&item.options[*only].value]))
            }
            // "n", "no" and other words answer this confirmation, not the agent's question.
            (said, _) if is_no(said) || self.are_words(item, line) => {
                Step::Ask(format!("Nothing was sent. {}", self.how()))
            }
            _ => self.item_line(i, line),
        }
    }

    /// True if a line would go to the agent as own words, or as feedback to a plan.
    fn are_words(&self, item: &Item, line: &str) -> bool {
        if Command::of(line, item).is_some() || line.trim_start().starts_with(['/', '=']) {
            return false;
        }
        match read_picks(item, line) {
            Ok(answer) => are_own(&answer, line),
            Err(Unclear::NotAnOption(_)) => self.sends_back(),
            Err(_) => false,
        }
    }

    fn item_line(&mut self, i: usize, line: &str) -> Step {
        let Some(item) = self.ask.questions.get(i) else { return Step::Quit };
        if self.begun.is_empty() {
            match Command::of(line, item) {
                Some(Command::Help) => return Step::Ask(self.help(i, item)),
                Some(Command::Quit) => return Step::Quit,
                Some(Command::Skip) => return self.skip(i, item),
                None => {}
            }
            if is_blank(line) && self.listed.is_empty() {
                return Step::Ask(format!("Nothing was sent: Enter alone does not answer. {}", self.how()));
            }
            // Only a paste has line breaks in one line.
            if line.contains('\n') && !item.options.is_empty() {
                return Step::Ask(format!("Nothing was sent: several lines were pasted. {}", self.how()));
            }
        }
        if !item.secret {
            if let Some(part) = line.strip_suffix('\\') {
                self.begun.push_str(part);
                self.begun.push('\n');
                return Step::Ask(String::new());
            }
            if self.begun.is_empty()
                && let Some(step) = self.command(i, line)
            {
                return step;
            }
        }
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() && is_blank(&begun) && is_blank(line) && self.listed.is_empty() {
            return Step::Ask(format!("Nothing was sent: the lines are empty. {}", self.how()));
        }
        if is_list(item) {
            if begun.is_empty() && line.contains('\n') {
                return self.list_lines(i, item, line);
            }
            if begun.is_empty() && is_doubtful(item, line) {
                self.at = At::Own { item: i, words: line.to_owned() };
                return Step::Ask(String::new());
            }
            return self.list_line(i, item, &(begun + line));
        }
        let text = begun + line;
        let answer = match read_picks(item, &text) {
            Ok(answer) if are_own(&answer, &text) && is_doubtful(item, &text) => {
                self.at = At::Own { item: i, words: text };
                return Step::Ask(String::new());
            }
            Ok(answer) => answer,
            Err(Unclear::NotAnOption(words)) if self.sends_back() => {
                self.at = At::SendBack(words);
                return Step::Ask(String::new());
            }
            Err(Unclear::Near(options, words)) => {
                self.at = At::Near { item: i, words, options };
                return Step::Ask(String::new());
            }
            Err(unclear) => return Step::Ask(unclear.sentence(item)),
        };
        self.take(i, answer)
    }

    fn skip(&mut self, i: usize, item: &Item) -> Step {
        if item.required {
            return Step::Ask("This question must be answered. /quit leaves it open.".to_owned());
        }
        self.at = At::Skip(i);
        Step::Ask(String::new())
    }

    /// The values of a pasted list; the person ends it.
    fn list_lines(&mut self, i: usize, item: &Item, text: &str) -> Step {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Step::Ask(message) = self.list_line(i, item, line)
                && !message.is_empty()
            {
                return Step::Ask(message);
            }
        }
        Step::Ask(String::new())
    }

    /// One more value of a list, or its end.
    fn list_line(&mut self, i: usize, item: &Item, text: &str) -> Step {
        let Some(value) = spoken(item, text) else {
            return self.take(i, ItemAnswer::words(self.listed.clone()));
        };
        // The number of values is checked at the end.
        let mut begun = item.clone();
        begun.bounds.min_items = None;
        self.listed.push(value);
        match fits(self.ask, &begun, ItemAnswer::words(self.listed.clone())) {
            Ok(_) => Step::Ask(String::new()),
            Err(message) => {
                self.listed.pop();
                Step::Ask(message)
            }
        }
    }

    /// Own words as they are.
    fn take_words(&mut self, i: usize, words: String) -> Step {
        match self.ask.questions.get(i) {
            Some(item) if is_list(item) => self.list_line(i, item, &words),
            _ => self.take(i, ItemAnswer::words([words])),
        }
    }

    /// The answer to an item, if it fits.
    fn take(&mut self, i: usize, answer: ItemAnswer) -> Step {
        let answer = match fits(self.ask, &self.ask.questions[i], answer) {
            Ok(answer) => answer,
            Err(message) => return Step::Ask(message),
        };
        self.listed.clear();
        self.answers[i] = answer;
        if self.ask.questions.len() == 1 {
            return self.send();
        }
        if self.reviewing || i + 1 == self.ask.questions.len() {
            self.at = At::Review;
            self.reviewing = true;
            return Step::Ask(self.summary());
        }
        self.at = At::Item(i + 1);
        Step::Ask(String::new())
    }

    fn command(&mut self, i: usize, line: &str) -> Option<Step> {
        if let Some(note) = line.strip_prefix("/note ") {
            self.notes[i] = Some(note.trim().to_owned());
            return Some(Step::Ask("Noted; now the answer.".to_owned()));
        }
        match (line.trim(), self.default_of(i)) {
            ("/default", Some(default)) => Some(self.take(i, default)),
            ("/back", _) if i > 0 => {
                self.listed.clear();
                self.at = At::Item(i - 1);
                Some(Step::Ask(String::new()))
            }
            ("/back", _) => Some(Step::Ask("This is the first question.".to_owned())),
            _ => None,
        }
    }

    fn review_line(&mut self, line: &str) -> Step {
        let skipped = self.answers.iter().all(ItemAnswer::is_empty);
        match line {
            "q" | "Q" | "quit" | "/quit" => Step::Quit,
            // One Enter too many must not tell the agent that there is no answer.
            "" if skipped => {
                Step::Ask("Nothing is answered. Type yes to send that, or q to leave it open.".to_owned())
            }
            "" if self.enter_sends() => self.send(),
            "" => Step::Ask("Enter alone approves no plan.".to_owned()),
            yes if is_yes(yes) => self.send(),
            number => match number.parse::<usize>() {
                Ok(n) if (1..=self.answers.len()).contains(&n) => {
                    self.at = At::Item(n - 1);
                    Step::Ask(String::new())
                }
                _ => Step::Ask(self.summary()),
            },
        }
    }

    fn send(&self) -> Step {
        let notes = self.notes.iter().any(Option::is_some).then(|| self.notes.clone());
        let answers = self.answers.clone();
        Step::Send(Decided::Reply(Reply { notes, ..Reply::of(answers) }))
    }

    fn summary(&self) -> String {
        let mut out = String::from("Your answer:");
        for (i, (item, answer)) in self.ask.questions.iter().zip(&self.answers).enumerate() {
            let text = if item.secret && !answer.is_empty() {
                "(secret)".to_owned()
            } else {
                picks_text(item, &answer.shown(Some(item)).to_texts())
            };
            out.push_str(&format!("\n  {}. {}: {}", i + 1, item_name(item), text.replace('\n', "\n     ")));
            if let Some(note) = &self.notes[i] {
                out.push_str(&format!("\n     note: {note}"));
            }
        }
        out
    }
}

/// Commands at every item. A word that is both a command and an option is the command, because it sends
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Help,
    Quit,
    Skip,
}

impl Command {
    /// A single letter is a command only where the answers are options: elsewhere it may be the answer.
    fn of(line: &str, item: &Item) -> Option<Self> {
        // An input method for Chinese or Japanese writes the wide form of `?` and `q`.
        match as_typed_plainly(line).trim() {
            "/help" => Some(Self::Help),
            "/quit" => Some(Self::Quit),
            "/skip" => Some(Self::Skip),
            _ if item.options.is_empty() => None,
            "?" => Some(Self::Help),
            "q" | "Q" => Some(Self::Quit),
            "s" | "S" => Some(Self::Skip),
            _ => None,
        }
    }
}

fn is_yes(line: &str) -> bool {
    matches!(as_typed_plainly(line).trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn is_no(line: &str) -> bool {
    matches!(as_typed_plainly(line).trim().to_ascii_lowercase().as_str(), "n" | "no")
}

/// True if the answer is the line itself, and no option.
fn are_own(answer: &ItemAnswer, line: &str) -> bool {
    answer.picks.is_empty() && answer.words == [line]
}

/// The text for an option: its number, marked if the number alone could be another option.
fn number_that_picks(item: &Item, i: usize) -> String {
    let number = (i + 1).to_string();
    match read_picks(item, &number) {
        Ok(answer) if answer.only_pick() == Some(&item.options[i].value) => number,
        _ => format!("#{number}"),
    }
}

/// True if the line shows nothing.
fn is_blank(line: &str) -> bool {
    line.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// True if own words look like a key of a list, or like a mistyped or foreign command of a prompt.
fn is_doubtful(item: &Item, words: &str) -> bool {
    let words = words.trim();
    let looks_like_command = words
        .strip_prefix(['/', ':'])
        .is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '!'));
    let is_key = words.len() == 1;
    let is_habit = matches!(words.to_ascii_lowercase().as_str(), "quit" | "exit" | "help" | "skip" | "back");
    !item.secret && (looks_like_command || !item.options.is_empty() && (is_key || is_habit))
}

/// The answer as core reads it, by core's own rules for this item alone.
fn fits(ask: &Ask, item: &Item, answer: ItemAnswer) -> Result<ItemAnswer, String> {
    let alone = Ask { questions: vec![item.clone()], ..ask.clone() };
    match Reply::of([answer]).check(&alone) {
        Ok(read) => Ok(read.answers.into_iter().next().unwrap_or_default()),
        Err(errors) => {
            let messages: Vec<String> = errors.0.into_iter().map(|error| error.message).collect();
            Err(one_line(&format!("Not possible: {}.", messages.join("; "))))
        }
    }
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;

//! Answering by hand, without the terminal: lines in, prompts out, nothing sent before the person said so.
//!
//! In: a question and one typed line after another. Out: what to show, and in the end a decision or nothing. A question with
//! several items, or one that is skipped, is shown once more before it is sent; a pick in a single one is sent at once.

use askd_core::answer::{Rejection, Reply};
use askd_core::{Ask, Item, Kind, Question, RejectMode};

use super::ending::picks_text;
use super::picks::{Unclear, is_list, read_picks, spoken};
use super::render::item_name;
use super::text::one_line;

/// What to do after a line.
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

/// One per item.
pub(super) type Notes = Vec<Option<String>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    Item(usize),
    Review,
    /// A plan goes back with this feedback.
    SendBack(String),
}

#[derive(Debug)]
pub(super) struct Form<'a> {
    ask: &'a Ask,
    answers: Vec<Vec<String>>,
    notes: Notes,
    at: At,
    /// Lines of a text that goes on.
    begun: String,
    /// The values of a list that goes on.
    listed: Vec<String>,
    /// A change during the review comes back to it.
    reviewing: bool,
}

impl<'a> Form<'a> {
    pub(super) fn new(question: &'a Question, notes: Option<Notes>) -> Self {
        let items = question.ask.questions.len();
        Self {
            ask: &question.ask,
            answers: vec![Vec::new(); items],
            notes: notes.unwrap_or_else(|| vec![None; items]),
            at: At::Item(0),
            begun: String::new(),
            listed: Vec::new(),
            reviewing: false,
        }
    }

    /// Where the person is; what is typed at one place is not meant for another.
    pub(super) fn place(&self) -> &At {
        &self.at
    }

    /// What was decided could not be sent. If that passes, it waits to be sent as it is; otherwise something has to be changed.
    pub(super) fn ask_again(&mut self, passes: bool) -> String {
        match self.at {
            At::SendBack(_) => String::new(),
            At::Item(_) if !passes => String::new(),
            At::Item(_) | At::Review => {
                self.at = At::Review;
                self.reviewing = true;
                self.summary()
            }
        }
    }

    /// The item that is being asked, for showing it.
    pub(super) fn item(&self) -> Option<(usize, &'a Item)> {
        match self.at {
            At::Item(i) => self.ask.questions.get(i).map(|item| (i, item)),
            _ => None,
        }
    }

    pub(super) fn is_secret(&self) -> bool {
        self.item().is_some_and(|(_, item)| item.secret)
    }

    pub(super) fn prompt(&self) -> String {
        if !self.begun.is_empty() {
            return "... ".to_owned();
        }
        if !self.listed.is_empty() {
            return format!("value {}; an empty line ends> ", self.listed.len() + 1);
        }
        match &self.at {
            At::Review => "Enter sends it, a number changes one, q quits: ".to_owned(),
            At::SendBack(_) => "Send the plan back with this feedback? [y/N] ".to_owned(),
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
                let default = if item.default.is_some() { "; /default" } else { "" };
                let skip = if item.required { "" } else { "; empty skips" };
                format!("{what}{default}{skip}> ")
            }),
        }
    }

    /// The first hint, once.
    pub(super) fn hint(&self) -> &'static str {
        "Ctrl-C sends nothing. A line that ends with \\ goes on. /note TEXT adds a note, /back goes back."
    }

    pub(super) fn line(&mut self, line: &str) -> Step {
        let line = line.trim_end_matches(['\n', '\r']);
        match self.at.clone() {
            At::Item(i) => self.item_line(i, line),
            At::Review => self.review_line(line.trim()),
            At::SendBack(reason) => {
                if matches!(line.trim(), "y" | "Y" | "yes") {
                    let mode =
                        self.ask.reject_modes.contains(&RejectMode::Decline).then_some(RejectMode::Decline);
                    return Step::Send(Decided::Reject(Rejection { mode, reason: Some(reason) }));
                }
                self.at = At::Item(0);
                Step::Ask(String::new())
            }
        }
    }

    fn item_line(&mut self, i: usize, line: &str) -> Step {
        let Some(item) = self.ask.questions.get(i) else { return Step::Quit };
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
        let text = std::mem::take(&mut self.begun) + line;
        if is_list(item) {
            return self.list_line(i, item, &text);
        }
        let picks = match read_picks(item, &text) {
            Ok(picks) => picks,
            Err(Unclear::NotAnOption(words))
                if self.ask.kind == Kind::Plan && self.ask.questions.len() == 1 =>
            {
                self.at = At::SendBack(words);
                return Step::Ask(String::new());
            }
            Err(unclear) => return Step::Ask(unclear.sentence(item)),
        };
        self.take(i, picks)
    }

    /// One more value of a list, or its end.
    fn list_line(&mut self, i: usize, item: &Item, text: &str) -> Step {
        let Some(value) = spoken(item, text) else { return self.take(i, self.listed.clone()) };
        // Whether there are enough is known at the end.
        let mut begun = item.clone();
        begun.bounds.min_items = None;
        self.listed.push(value);
        match fits(self.ask, &begun, &self.listed) {
            Ok(()) => Step::Ask(String::new()),
            Err(message) => {
                self.listed.pop();
                Step::Ask(message)
            }
        }
    }

    /// The picks of an item, if they fit.
    fn take(&mut self, i: usize, picks: Vec<String>) -> Step {
        if let Err(message) = fits(self.ask, &self.ask.questions[i], &picks) {
            return Step::Ask(message);
        }
        self.listed.clear();
        self.answers[i] = picks;
        let single = self.ask.questions.len() == 1;
        if single && !self.answers[i].is_empty() {
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
        match (line.trim(), self.ask.questions.get(i)?.default.clone()) {
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
        let skipped = self.answers.iter().all(Vec::is_empty);
        match line {
            "q" | "Q" | "quit" => Step::Quit,
            // An Enter too many must not tell the agent that there is no answer.
            "" if skipped => {
                Step::Ask("Nothing is answered. Type yes to send that, or q to quit.".to_owned())
            }
            "" | "y" | "yes" => self.send(),
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
        Step::Send(Decided::Reply(Reply { answers, notes, edited_plan: None, next_mode: None }))
    }

    fn summary(&self) -> String {
        let mut out = String::from("Your answer:");
        for (i, (item, picks)) in self.ask.questions.iter().zip(&self.answers).enumerate() {
            let text = if item.secret && !picks.is_empty() {
                "(secret)".to_owned()
            } else {
                picks_text(item, picks)
            };
            out.push_str(&format!("\n  {}. {}: {}", i + 1, item_name(item), text.replace('\n', "\n     ")));
            if let Some(note) = &self.notes[i] {
                out.push_str(&format!("\n     note: {note}"));
            }
        }
        out
    }
}

/// Core's own rules, for this item alone.
fn fits(ask: &Ask, item: &Item, picks: &[String]) -> Result<(), String> {
    let alone = Ask { questions: vec![item.clone()], ..ask.clone() };
    let reply = Reply { answers: vec![picks.to_vec()], ..Reply::default() };
    reply.check(&alone).map(drop).map_err(|errors| {
        let messages: Vec<String> = errors.0.into_iter().map(|error| error.message).collect();
        one_line(&format!("Not possible: {}.", messages.join("; ")))
    })
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;

//! Answering by hand, without the terminal: lines in, prompts out, nothing sent before the person said so.
//!
//! In: a question and one typed line after another. Out: what to show, and in the end a decision or nothing. A question with
//! several items, or one that is skipped, is shown once more before it is sent; a pick in a single one is sent at once.

use askd_core::answer::{Rejection, Reply};
use askd_core::question::Input;
use askd_core::{Ask, Item, Kind, Question, RejectMode};

use super::given::option_or_own;
use super::render::picks_text;
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

#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    Item(usize),
    Review,
    /// A plan goes back with this feedback.
    SendBack(String),
}

#[derive(Debug)]
pub(super) struct Form<'a> {
    ask: &'a Ask,
    answers: Vec<Vec<String>>,
    notes: Vec<Option<String>>,
    at: At,
    /// Lines of a text that goes on.
    begun: String,
    /// A change during the review comes back to it.
    reviewing: bool,
}

impl<'a> Form<'a> {
    pub(super) fn new(question: &'a Question) -> Self {
        let items = question.ask.questions.len();
        Self {
            ask: &question.ask,
            answers: vec![Vec::new(); items],
            notes: vec![None; items],
            at: At::Item(0),
            begun: String::new(),
            reviewing: false,
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
                    (true, ..) => "answer",
                };
                let skip = if item.required { "" } else { "; empty skips" };
                format!("{what}{skip}> ")
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
        if let Err(message) = fits(self.ask, item, &picks) {
            return Step::Ask(message);
        }
        self.answers[i] = picks;
        self.after_item(i)
    }

    fn after_item(&mut self, i: usize) -> Step {
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
        match line.trim() {
            "/back" if i > 0 => {
                self.at = At::Item(i - 1);
                Some(Step::Ask(String::new()))
            }
            "/back" => Some(Step::Ask("This is the first question.".to_owned())),
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
            let name = item.header.as_deref().unwrap_or(&item.question);
            let text =
                if item.secret && !picks.is_empty() { "(secret)".to_owned() } else { picks_text(picks) };
            out.push_str(&format!("\n  {}. {}: {}", i + 1, one_line(name), text.replace('\n', "\n     ")));
            if let Some(note) = &self.notes[i] {
                out.push_str(&format!("\n     note: {note}"));
            }
        }
        out
    }
}

/// Why a line is not an answer.
#[derive(Debug, PartialEq, Eq)]
enum Unclear {
    NoSuchNumber(usize),
    /// The number of one option and the label of another.
    Both(usize, usize),
    NotAnOption(String),
}

impl Unclear {
    fn sentence(&self, item: &Item) -> String {
        let most = item.options.len();
        match self {
            Self::NoSuchNumber(n) if item.custom => {
                format!(
                    "There is no option {n}; they are numbered 1 to {most}. To answer with that number, type ={n}"
                )
            }
            Self::NoSuchNumber(n) => format!("There is no option {n}; they are numbered 1 to {most}."),
            Self::Both(number, label) => format!(
                "{number} is the number of one option and the label of another; type #{number} for the first or #{label} for the second."
            ),
            Self::NotAnOption(_) => {
                format!("Own words are not possible here; type a number from 1 to {most}.")
            }
        }
    }
}

fn read_picks(item: &Item, text: &str) -> Result<Vec<String>, Unclear> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    if item.options.is_empty() {
        return Ok(vec![spoken(item, text)]);
    }
    if let Some(own) = text.strip_prefix('=').filter(|_| item.custom) {
        return Ok(vec![own.to_owned()]);
    }
    if let Some(numbers) = numbers(text) {
        return numbers.into_iter().map(|number| number.option(item)).collect();
    }
    if let Some((before, own)) = text.split_once('+')
        && item.multiple
        && item.custom
        && let Some(numbers) = numbers(before)
    {
        let mut picks: Vec<String> =
            numbers.into_iter().map(|number| number.option(item)).collect::<Result<_, _>>()?;
        picks.push(own.trim().to_owned());
        return Ok(picks);
    }
    let meant = option_or_own(item, text);
    let is_option = item.options.iter().any(|option| option.value == meant || option.label == meant);
    if is_option || item.custom { Ok(vec![meant]) } else { Err(Unclear::NotAnOption(text.trim().to_owned())) }
}

/// Own words in the form that a typed field wants.
fn spoken(item: &Item, text: &str) -> String {
    match (item.input, text.trim().to_lowercase().as_str()) {
        (Some(Input::Boolean), "y" | "yes" | "true") => "true".to_owned(),
        (Some(Input::Boolean), "n" | "no" | "false") => "false".to_owned(),
        (None | Some(Input::Text | Input::Multiline), _) => text.to_owned(),
        _ => text.trim().to_owned(),
    }
}

#[derive(Clone, Copy)]
struct Number {
    n: usize,
    /// Written as `#n`: certainly not a label.
    marked: bool,
}

impl Number {
    fn option(self, item: &Item) -> Result<String, Unclear> {
        let text = self.n.to_string();
        let labelled = item.options.iter().position(|option| option.label == text || option.value == text);
        match (labelled, item.options.get(self.n.wrapping_sub(1))) {
            (Some(label), Some(_)) if label + 1 != self.n && !self.marked => {
                Err(Unclear::Both(self.n, label + 1))
            }
            (Some(label), None) if !self.marked => Ok(item.options[label].value.clone()),
            (_, Some(option)) => Ok(option.value.clone()),
            (_, None) => Err(Unclear::NoSuchNumber(self.n)),
        }
    }
}

/// `1`, `1,3`, `1 3`, `#2`; or `None` where it is not only numbers.
fn numbers(text: &str) -> Option<Vec<Number>> {
    let parts = text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty());
    let read = |part: &str| {
        let digits = part.strip_prefix('#').unwrap_or(part);
        let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        valid.then(|| digits.parse().ok()).flatten().map(|n| Number { n, marked: digits.len() < part.len() })
    };
    let numbers: Option<Vec<Number>> = parts.map(read).collect();
    numbers.filter(|numbers| !numbers.is_empty())
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

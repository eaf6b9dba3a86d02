//! The way through a dialog, one key at a time.
//!
//! In: a [`Goal`], and before every key the screen as it is. Out: the next key, the key that submits, or why
//! to stop. It remembers only how many questions it has left behind; everything else is read from the screen,
//! so a key that was lost or a hand at the keyboard makes it stop and never submit something else.

use super::goal::{Goal, ItemGoal, letters};
use super::screen::{Dialog, PlanDialog, Review, Row, Screen, bare};

/// The text of the empty row for own words.
const EMPTY_WORDS: [&str; 2] = ["Typesomething.", "Typesomething"];
/// The same in a plan's dialog, and the text that may stand below it.
const EMPTY_FEEDBACK: [&str; 2] = ["TellClaudewhattochange", "TypeheretotellClaudewhattochange"];
const BELOW_FEEDBACK: &str = "shift+tabtoapprovewiththisfeedback";
/// Approves a plan and leaves every edit to be approved; what else it says differs by version.
const MANUALLY: &str = "manuallyapproveedits";
const SUBMIT: &str = "Submitanswers";
/// The last page's warning of skipped questions; 2.1.328 has the second one.
const UNANSWERED: [&str; 2] = ["⚠Youhavenotansweredallquestions", "⚠Somequestionsareunanswered"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Up,
    Down,
    Left,
    Tab,
    Enter,
    Escape,
    /// Takes away the line of own words before the cursor (Ctrl-U).
    ClearLine,
    /// 1 to 9.
    Digit(u8),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Press(Key),
    /// Typed as it is, not as keys.
    Type(String),
    /// The deciding key: the screen shows exactly the goal.
    Decide(Key),
    Stop(Stop),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    #[error("the terminal does not show this question")]
    NotShown,
    #[error("the terminal shows another place of this dialog than its beginning")]
    NotAtTheBeginning,
    #[error("the dialog does not have the row that is needed")]
    NoSuchRow,
    #[error("the place for own words has other words in it")]
    OtherWords,
    #[error("the dialog would submit something else than the answer")]
    Differs,
}

#[derive(Debug, Clone)]
pub struct Steering {
    goal: Goal,
    /// Questions that are finished.
    done: usize,
    /// True once a key was needed that changes something.
    has_pressed: bool,
    /// True once own words were typed.
    has_typed: bool,
}

type Next = Result<Step, Stop>;

impl Steering {
    pub fn new(goal: Goal) -> Self {
        Self { goal, done: 0, has_pressed: false, has_typed: false }
    }

    /// The way back from a dialog that an earlier hub has led up to its deciding key.
    pub fn decided(goal: Goal) -> Self {
        Self { goal, done: 1, has_pressed: true, has_typed: true }
    }

    /// The next step from the screen as it is.
    pub fn next(&mut self, screen: &Screen) -> Step {
        let (next, done) = match (&self.goal, screen) {
            (Goal::Answer(items), Screen::Question(dialog)) => answer(items, self.done, dialog),
            (Goal::Answer(items), Screen::Review(page)) => (review(items, self.done, page), self.done),
            (Goal::StopQuestion(items), Screen::Question(dialog)) => {
                let is_it = items.iter().any(|item| is_shown(item, dialog));
                (if is_it { Ok(Step::Decide(Key::Escape)) } else { Err(Stop::NotShown) }, 0)
            }
            (Goal::Approve { ending }, Screen::Plan(dialog)) => (approve(ending, dialog), 0),
            (Goal::SendBack { ending, words }, Screen::Plan(dialog)) => (send_back(ending, words, dialog), 0),
            (Goal::StopPlan { ending }, Screen::Plan(dialog)) => {
                (about(ending, dialog).map(|()| Step::Decide(Key::Escape)), 0)
            }
            _ => (Err(Stop::NotShown), self.done),
        };
        self.done = done;
        let step = next.unwrap_or_else(Step::Stop);
        self.has_pressed |= !matches!(step, Step::Stop(_));
        self.has_typed |= matches!(step, Step::Type(_));
        step
    }

    /// True while the screen shows the dialog to answer, at any place in it.
    pub fn is_about(&self, screen: &Screen) -> bool {
        match (&self.goal, screen) {
            (Goal::Answer(items) | Goal::StopQuestion(items), Screen::Question(dialog)) => {
                items.iter().any(|item| is_shown(item, dialog))
            }
            (Goal::Answer(items), Screen::Review(page)) => {
                items.iter().any(|item| page.answers.contains(&item.question))
            }
            (
                Goal::Approve { ending } | Goal::SendBack { ending, .. } | Goal::StopPlan { ending },
                Screen::Plan(dialog),
            ) => about(ending, dialog).is_ok(),
            _ => false,
        }
    }

    /// A key that decides nothing and shows that the program reads keys: it moves the focus.
    pub fn probe(screen: &Screen) -> Option<Key> {
        let rows = match screen {
            Screen::Question(dialog) => &dialog.rows,
            Screen::Review(page) => &page.rows,
            Screen::Plan(dialog) => &dialog.rows,
            Screen::UnknownPage | Screen::Other => return None,
        };
        let focused = rows.iter().position(|row| row.is_focused)?;
        Some(if focused == 0 { Key::Down } else { Key::Up })
    }

    /// After a stop: the next key on the way back to the first question, with nothing ticked and no words
    /// left. `None` if that is shown, if no key of askd was pressed, and on any other screen. Escape, and the
    /// last page's "Cancel", would reject the call.
    pub fn back(&self, screen: &Screen) -> Option<Key> {
        if !self.has_pressed {
            return None;
        }
        let items = match (&self.goal, screen) {
            (Goal::Answer(items), _) => items,
            (Goal::SendBack { ending, words }, Screen::Plan(dialog)) => {
                return self.has_typed.then(|| clear_feedback(ending, words, dialog)).flatten();
            }
            _ => return None,
        };
        match screen {
            Screen::Review(_) | Screen::UnknownPage => (self.done > 0).then_some(Key::Left),
            Screen::Question(dialog) => {
                let at = items.iter().position(|item| is_shown(item, dialog))?;
                let place = items[at].options.len();
                let row = dialog.rows.get(place);
                let is_ours = self.has_typed && items[at].words.is_some();
                if let Some(row) = row.filter(|row| is_ours && !EMPTY_WORDS.contains(&row.text.as_str())) {
                    return match row.is_focused {
                        true => Some(Key::ClearLine),
                        false => towards(&dialog.rows, place),
                    };
                }
                // On the row of own words, Left moves within the words.
                let in_words = row.is_some_and(|row| row.is_focused).then_some(Key::Up);
                let ticked = dialog.rows.iter().find(|row| row.is_ticked == Some(true)).and_then(tick);
                in_words.or(ticked).or((at > 0).then_some(Key::Left))
            }
            Screen::Plan(_) | Screen::Other => None,
        }
    }
}

/// The key that ticks or unticks a row: there is one for each of the first nine.
fn tick(row: &Row) -> Option<Key> {
    row.number.and_then(|number| u8::try_from(number).ok()).filter(|digit| *digit <= 9).map(Key::Digit)
}

/// The key that moves the focus nearer to a row.
fn towards(rows: &[Row], wanted: usize) -> Option<Key> {
    match at_row(rows, wanted) {
        Ok(Some(Step::Press(key))) => Some(key),
        _ => None,
    }
}

/// Removes typed feedback from a plan's dialog.
fn clear_feedback(ending: &str, words: &str, dialog: &PlanDialog) -> Option<Key> {
    let last = dialog.rows.len().checked_sub(1)?;
    let text = feedback(dialog);
    if about(ending, dialog).is_err() || EMPTY_FEEDBACK.contains(&text) || !bare(words).starts_with(text) {
        return None;
    }
    if dialog.rows[last].is_focused { Some(Key::ClearLine) } else { towards(&dialog.rows, last) }
}

/// The text in the last row of a plan's dialog.
fn feedback(dialog: &PlanDialog) -> &str {
    let text = dialog.rows.last().map_or("", |row| row.text.as_str());
    text.strip_suffix(BELOW_FEEDBACK).unwrap_or(text)
}

fn is_shown(item: &ItemGoal, dialog: &Dialog) -> bool {
    let fits = |(i, row): (usize, &Row)| {
        let option = &item.options[i];
        let text = if dialog.has_previews { &option.label } else { &option.with_description };
        row.number == Some(i + 1) && row.text == *text && row.is_ticked.is_some() == item.is_multiple
    };
    let count = item.options.len();
    item.question == dialog.question
        && dialog.rows.len() >= count
        && dialog.rows[..count].iter().enumerate().all(fits)
}

/// The next step within the questions, and how many are left behind by it.
fn answer(items: &[ItemGoal], done: usize, dialog: &Dialog) -> (Next, usize) {
    let Some(at) = items.iter().position(|item| is_shown(item, dialog)) else {
        return (Err(Stop::NotShown), done);
    };
    if at != done {
        return (Err(if done == 0 { Stop::NotAtTheBeginning } else { Stop::NotShown }), done);
    }
    let item = &items[at];
    let step = if item.is_multiple { several(item, dialog) } else { one(item, dialog, items.len() == 1) };
    let leaves = matches!(step, Ok(Step::Press(Key::Enter | Key::Tab) | Step::Decide(_)));
    (step, done + usize::from(leaves))
}

/// Moves the focus to a row, or reports that it is there.
fn at_row(rows: &[Row], wanted: usize) -> Result<Option<Step>, Stop> {
    let focused = rows.iter().position(|row| row.is_focused).ok_or(Stop::NoSuchRow)?;
    Ok(match focused.cmp(&wanted) {
        std::cmp::Ordering::Less => Some(Step::Press(Key::Down)),
        std::cmp::Ordering::Greater => Some(Step::Press(Key::Up)),
        std::cmp::Ordering::Equal => None,
    })
}

/// A question with one pick.
fn one(item: &ItemGoal, dialog: &Dialog, is_only: bool) -> Next {
    let submit = if is_only { Step::Decide(Key::Enter) } else { Step::Press(Key::Enter) };
    match (&item.picks[..], &item.words) {
        ([pick], None) => Ok(at_row(&dialog.rows, *pick)?.unwrap_or(submit)),
        ([], Some(words)) => type_and(words, item, dialog, submit),
        // Without a page after it, a single question cannot be left out.
        ([], None) if !is_only => leave(item, dialog),
        _ => Err(Stop::NoSuchRow),
    }
}

/// A question with several picks: ticks first, then own words, then on.
fn several(item: &ItemGoal, dialog: &Dialog) -> Next {
    for (i, row) in dialog.rows.iter().take(item.options.len()).enumerate() {
        if row.is_ticked != Some(item.picks.contains(&i)) {
            return tick(row).map(Step::Press).ok_or(Stop::NoSuchRow);
        }
    }
    match &item.words {
        None => leave(item, dialog),
        Some(words) => {
            let on = dialog.rows.iter().position(|row| row.number.is_none()).ok_or(Stop::NoSuchRow)?;
            let go_on = at_row(&dialog.rows, on)?.unwrap_or(Step::Press(Key::Enter));
            type_and(words, item, dialog, go_on)
        }
    }
}

fn words_row<'a>(item: &ItemGoal, dialog: &'a Dialog) -> Result<&'a Row, Stop> {
    dialog.rows.get(item.options.len()).filter(|row| row.number.is_some()).ok_or(Stop::NoSuchRow)
}

/// Types own words unless they are there; then `then`.
fn type_and(words: &str, item: &ItemGoal, dialog: &Dialog, then: Step) -> Next {
    let row = words_row(item, dialog)?;
    if row.text == bare(words) && row.is_ticked != Some(false) {
        // In a question with one pick, Enter submits the focused row.
        return Ok(if item.is_multiple {
            then
        } else {
            at_row(&dialog.rows, item.options.len())?.unwrap_or(then)
        });
    }
    if !EMPTY_WORDS.contains(&row.text.as_str()) {
        return Err(Stop::OtherWords);
    }
    Ok(at_row(&dialog.rows, item.options.len())?.unwrap_or_else(|| Step::Type(words.to_owned())))
}

/// Goes on to the next question; Tab does not do that from the row of own words.
fn leave(item: &ItemGoal, dialog: &Dialog) -> Next {
    let row = words_row(item, dialog)?;
    if row.is_ticked == Some(true) || !EMPTY_WORDS.contains(&row.text.as_str()) {
        return Err(Stop::OtherWords);
    }
    Ok(Step::Press(if row.is_focused { Key::Up } else { Key::Tab }))
}

fn review(items: &[ItemGoal], done: usize, page: &Review) -> Next {
    if done != items.len() {
        return Err(if done == 0 { Stop::NotAtTheBeginning } else { Stop::NotShown });
    }
    let answers = UNANSWERED.iter().find_map(|said| page.answers.strip_prefix(said)).unwrap_or(&page.answers);
    if !is_reviewed(answers, items) || page.rows[0].text != SUBMIT {
        return Err(Stop::Differs);
    }
    Ok(at_row(&page.rows, 0)?.unwrap_or(Step::Decide(Key::Enter)))
}

/// True if the text is all questions with their answers, and nothing else.
fn is_reviewed(text: &str, items: &[ItemGoal]) -> bool {
    let Some((item, rest)) = items.split_first() else { return text.is_empty() };
    if item.reviewed[0].is_empty() {
        return is_reviewed(text, rest);
    }
    let asked = format!("●{}→", item.question);
    let Some(text) = text.strip_prefix(asked.as_str()) else { return false };
    item.reviewed
        .iter()
        .any(|said| text.strip_prefix(said.as_str()).is_some_and(|text| is_reviewed(text, rest)))
}

/// True if the dialog shows the plan with this ending.
fn about(ending: &str, dialog: &PlanDialog) -> Result<(), Stop> {
    let is_plan = dialog.rows.iter().any(|row| row.text.contains(MANUALLY));
    if is_plan && letters(&dialog.above).contains(ending) { Ok(()) } else { Err(Stop::NotShown) }
}

fn approve(ending: &str, dialog: &PlanDialog) -> Next {
    about(ending, dialog)?;
    let approves = |row: &Row| row.text.starts_with("Yes") && row.text.ends_with(MANUALLY);
    let row = dialog.rows.iter().position(approves).ok_or(Stop::NoSuchRow)?;
    Ok(at_row(&dialog.rows, row)?.unwrap_or(Step::Decide(Key::Enter)))
}

fn send_back(ending: &str, words: &str, dialog: &PlanDialog) -> Next {
    about(ending, dialog)?;
    let last = dialog.rows.len() - 1;
    let text = feedback(dialog);
    let next = if text == bare(words) {
        Step::Decide(Key::Enter)
    } else if EMPTY_FEEDBACK.contains(&text) {
        Step::Type(words.to_owned())
    } else {
        return Err(Stop::OtherWords);
    };
    Ok(at_row(&dialog.rows, last)?.unwrap_or(next))
}

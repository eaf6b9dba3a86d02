//! The goal in a dialog: a person's decision, in the words of the screen.
//!
//! In: the question as it was asked, and its settlement. Out: [`Goal`], or the reason why keys cannot carry
//! this decision. Everything that the recipes were not seen to do is refused here, before any key is pressed.

use askd_core::question::{Item, Kind};
use askd_core::{Answer, Ask, ItemAnswer, RejectMode, Settlement};

use super::screen::{bare, unmarked};
use crate::claude::answers::quoted;
use crate::claude::plan::needs_approval;

/// Characters that are typed: more do not fit on a screen, and askd checks everything on the screen.
pub const MAX_TYPED_CHARS: usize = 1_000;

/// Why a decision cannot be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Untypable {
    #[error("the dialog cannot decline and let Claude Code go on; it can be answered, or interrupted")]
    Decline,
    #[error("this dialog cannot be cancelled in any other way than by an interrupt")]
    Cancel,
    #[error("a plan is sent back with feedback; give a reason")]
    NoFeedback,
    #[error("a note cannot be typed: leaving its field rejects the question in some versions")]
    Note,
    #[error("a changed plan cannot be typed")]
    ChangedPlan,
    #[error("the mode to go on in cannot be chosen by keys")]
    NextMode,
    #[error("only the pick \"approve\" approves a plan")]
    NotApproved,
    #[error("what the plan says is not known, so the screen cannot be checked")]
    NoPlan,
    #[error("nothing is picked, and the dialog has no way to say so")]
    Nothing,
    #[error("a question with previews has no place for own words")]
    WordsBesidePreviews,
    #[error("the dialog itself changes a label that has a line feed or another control character")]
    Label,
    #[error("own words have one place in each question")]
    SeveralWords,
    #[error(
        "own words must be 1 to {MAX_TYPED_CHARS} characters without control characters and empty lines, begin and end with no blank, and not end with a backslash"
    )]
    Words,
    #[error("this is no dialog that askd knows the keys of")]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    Answer(Vec<ItemGoal>),
    /// Approve the plan with this ending; each edit is still to be approved.
    Approve {
        ending: String,
    },
    SendBack {
        ending: String,
        words: String,
    },
    /// Stop the turn, in the dialog of one of these questions.
    StopQuestion(Vec<ItemGoal>),
    StopPlan {
        ending: String,
    },
}

/// One question, all texts bare but the own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemGoal {
    pub question: String,
    pub options: Vec<OptionShown>,
    pub is_multiple: bool,
    pub picks: Vec<usize>,
    pub words: Option<String>,
    /// The forms in which the page before the end may show the answer: labels with commas are quoted since
    /// 2.1.235.
    pub reviewed: [String; 2],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionShown {
    pub label: String,
    pub with_description: String,
}

impl Goal {
    pub fn of(ask: &Ask, settlement: &Settlement) -> Result<Self, Untypable> {
        match (ask.kind, settlement) {
            (Kind::Choice, Settlement::Answered(answer)) => answers(ask, answer).map(Self::Answer),
            (Kind::Choice, Settlement::Rejected { mode, .. }) => match mode {
                RejectMode::Interrupt => {
                    Ok(Self::StopQuestion(ask.questions.iter().map(|item| shown(item, &[], None)).collect()))
                }
                RejectMode::Decline => Err(Untypable::Decline),
                RejectMode::Cancel => Err(Untypable::Cancel),
            },
            (Kind::Plan, settlement) => plan(ask, settlement),
            _ => Err(Untypable::Unknown),
        }
    }
}

fn plan(ask: &Ask, settlement: &Settlement) -> Result<Goal, Untypable> {
    let text = ask.body.as_ref().map(|body| body.text.as_str()).unwrap_or_default();
    let ending = text.lines().rev().map(letters).find(|line| !line.is_empty()).ok_or(Untypable::NoPlan)?;
    match settlement {
        Settlement::Answered(answer) if needs_approval(answer).is_err() => Err(Untypable::NotApproved),
        Settlement::Answered(answer) if answer.edited_plan.is_some() => Err(Untypable::ChangedPlan),
        Settlement::Answered(answer) if answer.next_mode.is_some() => Err(Untypable::NextMode),
        Settlement::Answered(answer) if answer.notes.iter().any(Option::is_some) => Err(Untypable::Note),
        Settlement::Answered(_) => Ok(Goal::Approve { ending }),
        Settlement::Rejected { mode: RejectMode::Interrupt, .. } => Ok(Goal::StopPlan { ending }),
        Settlement::Rejected { mode: RejectMode::Cancel, .. } => Err(Untypable::Cancel),
        Settlement::Rejected { mode: RejectMode::Decline, reason } => {
            let words = typed(reason.as_deref().ok_or(Untypable::NoFeedback)?)?;
            Ok(Goal::SendBack { ending, words })
        }
    }
}

/// Letters and digits of a line: markdown is rendered, and its marks are gone.
pub(super) fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

fn answers(ask: &Ask, answer: &Answer) -> Result<Vec<ItemGoal>, Untypable> {
    if answer.notes.iter().any(Option::is_some) {
        return Err(Untypable::Note);
    }
    let empty = ItemAnswer::default();
    let goals: Result<Vec<ItemGoal>, Untypable> = ask
        .questions
        .iter()
        .enumerate()
        .map(|(i, item)| item_goal(item, answer.answers.get(i).unwrap_or(&empty)))
        .collect();
    // Without any pick the last page has nothing to check.
    goals.and_then(|goals| {
        let says = |goal: &ItemGoal| !goal.picks.is_empty() || goal.words.is_some();
        if goals.iter().any(says) { Ok(goals) } else { Err(Untypable::Nothing) }
    })
}

fn item_goal(item: &Item, answer: &ItemAnswer) -> Result<ItemGoal, Untypable> {
    let words = match &answer.words[..] {
        [] => None,
        [one] => Some(typed(one)?),
        _ => return Err(Untypable::SeveralWords),
    };
    if answer.picks.iter().any(|pick| !item.options.iter().any(|option| option.value == *pick)) {
        return Err(Untypable::Unknown);
    }
    // Seen with 2.1.325: the model gets a replacement character in its place.
    if answer.picks.iter().any(|pick| pick.contains(char::is_control)) {
        return Err(Untypable::Label);
    }
    let has_previews = item.options.iter().any(|option| option.preview.is_some());
    if words.is_some() && has_previews {
        return Err(Untypable::WordsBesidePreviews);
    }
    Ok(shown(item, &answer.picks, words))
}

fn shown(item: &Item, picks: &[String], words: Option<String>) -> ItemGoal {
    let options = item.options.iter().map(|option| OptionShown {
        label: bare(unmarked(&option.label)),
        with_description: bare(&format!(
            "{}{}",
            unmarked(&option.label),
            option.description.as_deref().unwrap_or_default()
        )),
    });
    // The dialog lists picks in its own order, own words last.
    let chosen = |(_, option): &(usize, &askd_core::question::Choice)| picks.contains(&option.value);
    let (numbers, mut said): (Vec<usize>, Vec<String>) =
        item.options.iter().enumerate().filter(chosen).map(|(i, option)| (i, option.label.clone())).unzip();
    said.extend(words.clone());
    // Its last page quotes as it does for the model, also a single pick of several.
    let canonical = said.iter().map(|said| quoted(said)).collect::<Vec<_>>().join(", ");
    ItemGoal {
        question: bare(&item.question),
        options: options.collect(),
        is_multiple: item.multiple,
        picks: numbers,
        words,
        reviewed: [bare(&canonical), bare(&said.join(", "))],
    }
}

fn typed(words: &str) -> Result<String, Untypable> {
    let is_typable = |c: char| c == '\n' || !c.is_control();
    let fits = (1..=MAX_TYPED_CHARS).contains(&words.chars().count())
        && words.trim() == words
        && words.chars().all(is_typable)
        && words.lines().all(|line| !line.trim().is_empty() && !line.ends_with('\\'));
    if fits { Ok(words.to_owned()) } else { Err(Untypable::Words) }
}

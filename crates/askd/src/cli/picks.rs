//! What a typed line means for one item: numbers of options, a label, own words.
//!
//! In: an item and a line. Out: picks, or why it is unclear; nothing is guessed.

use askd_core::Item;
use askd_core::question::Input;

use super::given::option_or_own;

/// Why a line is not an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unclear {
    NoSuchNumber(usize),
    /// The number of one option and the label of another.
    Both(usize, usize),
    NotAnOption(String),
}

impl Unclear {
    pub(super) fn sentence(&self, item: &Item) -> String {
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

pub(super) fn read_picks(item: &Item, text: &str) -> Result<Vec<String>, Unclear> {
    let Some(spoken) = spoken(item, text) else { return Ok(Vec::new()) };
    if item.options.is_empty() {
        return Ok(vec![spoken]);
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

/// Whether it takes any number of own values.
pub(super) fn is_list(item: &Item) -> bool {
    item.multiple && item.options.is_empty()
}

/// Own words in the form that a typed field wants; `None` if there are none.
pub(super) fn spoken(item: &Item, text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return None;
    }
    Some(match (item.input, text.trim().to_lowercase().as_str()) {
        (Some(Input::Boolean), "y" | "yes" | "true") => "true".to_owned(),
        (Some(Input::Boolean), "n" | "no" | "false") => "false".to_owned(),
        (None | Some(Input::Text | Input::Multiline), _) => text.to_owned(),
        _ => text.trim().to_owned(),
    })
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

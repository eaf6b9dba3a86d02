//! The meaning of a typed line for one item: numbers of options, a label, own words.
//!
//! In: an item and a line. Out: picks and own words, or why it is unclear; nothing is guessed.

use askd_core::near::{self, Named};
use askd_core::question::Input;
use askd_core::{Item, ItemAnswer};

use super::given::options_named;
use super::text::{is_invisible, one_line};

/// Why a line is not an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unclear {
    NoSuchNumber(usize),
    /// A number that is number, label or value of these options, by their index.
    Several(usize, Vec<usize>),
    NotAnOption(String),
    /// These options may be meant, by their index.
    Near(Vec<usize>, String),
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
            Self::Several(number, options) => {
                let ways: Vec<String> = options
                    .iter()
                    .map(|i| format!("#{} for {}", i + 1, options_named(item, &[*i])))
                    .collect();
                format!("{number} is number, label or value of several options; type {}.", ways.join(" or "))
            }
            Self::NotAnOption(_) | Self::Near(..) => {
                format!("Own words are not possible here; type a number from 1 to {most}.")
            }
        }
    }
}

/// The options that a text names: as core reads it, or by a label as the terminal shows it. Two labels that the terminal
/// shows alike name neither.
pub(super) fn named(item: &Item, text: &str) -> Named {
    let shown = |i: &usize| one_line(&item.options[*i].label) == text.trim();
    let shown: Vec<usize> = (0..item.options.len()).filter(shown).collect();
    match (near::named(item, text), shown.as_slice()) {
        (Named::Other, [only]) => Named::Option(*only),
        (Named::Option(i), shown) if shown.iter().any(|other| *other != i) => Named::Near(
            (0..item.options.len()).filter(|other| *other == i || shown.contains(other)).collect(),
        ),
        (Named::Other, [_, ..]) => Named::Near(shown),
        (named, _) => named,
    }
}

/// The picks and the own words in a line.
pub(super) fn read_picks(item: &Item, text: &str) -> Result<ItemAnswer, Unclear> {
    let Some(spoken) = spoken(item, text) else { return Ok(ItemAnswer::default()) };
    if item.options.is_empty() {
        return Ok(ItemAnswer::words([spoken]));
    }
    if let Some(own) = text.strip_prefix('=').filter(|_| item.custom) {
        return Ok(ItemAnswer::words([own]));
    }
    if let Some(numbers) = numbers(text) {
        return picked(&numbers, item);
    }
    if let Some((before, own)) = text.split_once('+')
        && item.multiple
        && item.custom
        && let Some(numbers) = numbers(before)
    {
        return Ok(ItemAnswer { words: vec![own.trim().to_owned()], ..picked(&numbers, item)? });
    }
    match named(item, text) {
        Named::Option(i) => Ok(ItemAnswer::picks([&item.options[i].value])),
        Named::Near(near) => Err(Unclear::Near(near, text.trim().to_owned())),
        Named::Other if item.secret => own(item, text),
        Named::Other => not_quite_named(item, text).unwrap_or_else(|| own(item, text)),
    }
}

fn picked(numbers: &[Number], item: &Item) -> Result<ItemAnswer, Unclear> {
    let picks: Result<Vec<String>, Unclear> = numbers.iter().map(|number| number.option(item)).collect();
    picks.map(ItemAnswer::picks)
}

fn own(item: &Item, text: &str) -> Result<ItemAnswer, Unclear> {
    if item.custom {
        Ok(ItemAnswer::words([text]))
    } else {
        Err(Unclear::NotAnOption(text.trim().to_owned()))
    }
}

/// An option as the screen shows it (`2)`), in wide letters, or with invisible letters in it.
fn not_quite_named(item: &Item, text: &str) -> Option<Result<ItemAnswer, Unclear>> {
    if let Some(numbers) = shown_numbers(text) {
        return Some(picked(&numbers, item));
    }
    match named(item, &as_typed_plainly(text)) {
        Named::Option(i) => Some(Err(Unclear::Near(vec![i], text.trim().to_owned()))),
        Named::Near(near) => Some(Err(Unclear::Near(near, text.trim().to_owned()))),
        Named::Other => None,
    }
}

/// The numbers of options in a text, however they are written.
pub(super) fn numbers_in(text: &str) -> Option<Vec<usize>> {
    let numbers = numbers(text).or_else(|| shown_numbers(text))?;
    Some(numbers.into_iter().map(|number| number.n).collect())
}

/// `2)`, `2.`, `(2)`, `２`: a number as the prompt shows it, or in the wide digits of an input method.
fn shown_numbers(text: &str) -> Option<Vec<Number>> {
    let plain = as_typed_plainly(text);
    let bare = |part: &str| part.trim_start_matches('(').trim_end_matches([')', '.', ':']).to_owned();
    let parts: Vec<String> = plain.split([',', ' ']).map(bare).collect();
    numbers(&parts.join(" "))
}

/// ASCII letters in place of wide ones, without invisible ones.
pub(super) fn as_typed_plainly(text: &str) -> String {
    /// From a wide form to its letter.
    const WIDE: u32 = 0xfee0;
    let plain = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - WIDE).unwrap_or(c),
        '\u{3000}' => ' ',
        '\u{3001}' => ',',
        c => c,
    };
    text.chars().filter(|c| !is_invisible(*c)).map(plain).collect()
}

/// True if it takes any number of own values.
pub(super) fn is_list(item: &Item) -> bool {
    item.multiple && item.options.is_empty()
}

/// Own words in the form of a typed field; `None` if there are none.
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
        let is_it = |name: &str| as_typed_plainly(name) == text;
        let mut meant: Vec<usize> =
            self.n.checked_sub(1).filter(|i| *i < item.options.len()).into_iter().collect();
        if !self.marked {
            let called = (0..item.options.len())
                .filter(|i| is_it(&item.options[*i].label) || is_it(&item.options[*i].value));
            let others: Vec<usize> = called.filter(|i| !meant.contains(i)).collect();
            meant.extend(others);
        }
        match meant.as_slice() {
            [] => Err(Unclear::NoSuchNumber(self.n)),
            [only] => Ok(item.options[*only].value.clone()),
            _ => Err(Unclear::Several(self.n, meant)),
        }
    }
}

/// `1`, `1,3`, `1 3`, `#2`; `None` for anything but numbers.
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

//! Reads the answer to one item as picks and own words: the one place that decides the meaning of a text.
//!
//! In: an item and a [`GivenAnswer`], either picks and words apart or plain texts. Out: an [`ItemAnswer`], or
//! the reason why it is unclear. Nothing is guessed: a text that could be two options is refused.
//! `tests/answers.json` is the table for every implementation.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer, value::SeqAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::question::Item;

/// The answer to one item.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemAnswer {
    /// Values of options; after reading, in the order of the options.
    #[serde(default)]
    pub picks: Vec<String>,
    /// Own words. A text that equals an option's label is that option.
    #[serde(default)]
    pub words: Vec<String>,
}

/// The answer to one item, for every reader.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShownAnswer {
    /// Values of options, in the order of the options.
    pub picks: Vec<String>,
    /// The labels of these options, one for each pick.
    pub labels: Vec<String>,
    pub words: Vec<String>,
}

/// A client's answer to one item, as it sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum GivenAnswer {
    #[schema(title = "Apart")]
    Apart(ItemAnswer),
    /// Shorthand: each text is the value or label of one option, or own words. A text that could be two
    /// options is refused.
    #[schema(title = "Texts")]
    Texts(Vec<String>),
}

/// The reading of plain texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// For clients that show values and labels: a text that is the value of one option and the label of
    /// another is ambiguous.
    #[default]
    ValuesAndLabels,
    /// For clients that show labels alone: a label means its option, even if it is the value of another.
    LabelsFirst,
}

/// The reason why a given answer cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The position in the item's answer: `[0]`, `.picks[0]`, `.words[0]`.
    pub place: String,
    pub code: &'static str,
    pub message: String,
}

impl Default for GivenAnswer {
    fn default() -> Self {
        Self::Apart(ItemAnswer::default())
    }
}

impl From<ItemAnswer> for GivenAnswer {
    fn from(answer: ItemAnswer) -> Self {
        Self::Apart(answer)
    }
}

impl From<Vec<String>> for GivenAnswer {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl GivenAnswer {
    /// True for a skipped item.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Apart(answer) => answer.is_empty(),
            Self::Texts(texts) => texts.is_empty(),
        }
    }
}

impl<'de> Deserialize<'de> for GivenAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ApartOrTexts;

        impl<'de> Visitor<'de> for ApartOrTexts {
            type Value = GivenAnswer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of texts, or an object with picks and words")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<GivenAnswer, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(GivenAnswer::Texts)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GivenAnswer, A::Error> {
                ItemAnswer::deserialize(MapAccessDeserializer::new(map)).map(GivenAnswer::Apart)
            }
        }

        deserializer.deserialize_any(ApartOrTexts)
    }
}

impl ItemAnswer {
    pub fn picks<T: Into<String>>(picks: impl IntoIterator<Item = T>) -> Self {
        Self { picks: picks.into_iter().map(Into::into).collect(), words: Vec::new() }
    }

    pub fn words<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Self {
        Self { picks: Vec::new(), words: words.into_iter().map(Into::into).collect() }
    }

    /// True for a skipped item.
    pub fn is_empty(&self) -> bool {
        self.picks.is_empty() && self.words.is_empty()
    }

    /// The number of picks and own words.
    pub fn len(&self) -> usize {
        self.picks.len() + self.words.len()
    }

    /// The pick, if the answer is exactly one pick.
    pub fn only_pick(&self) -> Option<&str> {
        match (self.picks.as_slice(), self.words.as_slice()) {
            ([only], []) => Some(only),
            _ => None,
        }
    }

    /// The values of the picks, then the own words, for agents whose protocol does not separate them.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        self.picks.iter().chain(&self.words)
    }

    pub fn to_texts(&self) -> Vec<String> {
        self.texts().cloned().collect()
    }

    /// Reads texts from a reporter that uses values for options: an agent, or a client of its protocol.
    pub fn of_values(texts: impl IntoIterator<Item = String>, item: &Item) -> Self {
        let is_value = |text: &String| item.options.iter().any(|option| option.value == *text);
        let (picks, words) = texts.into_iter().partition(is_value);
        Self { picks, words }.in_order(item)
    }

    /// Sorts the picks by the order of the options: the order in which a person made them means nothing.
    fn in_order(mut self, item: &Item) -> Self {
        let place = |pick: &String| item.options.iter().position(|option| option.value == *pick);
        self.picks.sort_by_key(place);
        self
    }

    /// The answer with the labels of its picks in this item.
    pub fn shown(&self, item: Option<&Item>) -> ShownAnswer {
        let options = item.map(|item| item.options.as_slice()).unwrap_or_default();
        let label = |pick: &String| {
            let option = options.iter().find(|option| option.value == *pick);
            option.map_or_else(|| pick.clone(), |option| option.label.clone())
        };
        ShownAnswer {
            labels: self.picks.iter().map(label).collect(),
            picks: self.picks.clone(),
            words: self.words.clone(),
        }
    }
}

impl ShownAnswer {
    /// True for a skipped item.
    pub fn is_empty(&self) -> bool {
        self.picks.is_empty() && self.words.is_empty()
    }

    /// The labels of the picks, then the own words, for people.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        self.labels.iter().chain(&self.words)
    }

    pub fn to_texts(&self) -> Vec<String> {
        self.texts().cloned().collect()
    }

    pub fn answer(&self) -> ItemAnswer {
        ItemAnswer { picks: self.picks.clone(), words: self.words.clone() }
    }
}

/// Reads the answer to an item, with the position of each of the own words. `answer` checks whether the item
/// accepts it.
pub fn read(
    given: GivenAnswer,
    item: &Item,
    reading: Reading,
) -> Result<(ItemAnswer, Vec<String>), Vec<Unread>> {
    let (mut answer, mut places, mut unread) = (ItemAnswer::default(), Vec::new(), Vec::new());
    let mut take = |place: String, meant: Result<Meant, Refused>| match meant {
        Ok(Meant::Pick(value)) if answer.picks.contains(&value) => {
            unread.push(twice(place, &value, item, "picked"))
        }
        Ok(Meant::Pick(value)) => answer.picks.push(value),
        // A list of own words may contain the same text twice.
        Ok(Meant::Words(words)) if !item.options.is_empty() && answer.words.contains(&words) => {
            unread.push(twice(place, &words, item, "given"));
        }
        Ok(Meant::Words(words)) => {
            answer.words.push(words);
            places.push(place);
        }
        Err((code, message)) => unread.push(Unread { place, code, message }),
    };
    match given {
        GivenAnswer::Texts(texts) => {
            for (j, text) in texts.into_iter().enumerate() {
                take(format!("[{j}]"), of_text(text, item, reading));
            }
        }
        GivenAnswer::Apart(apart) => {
            for (j, pick) in apart.picks.into_iter().enumerate() {
                take(format!(".picks[{j}]"), of_pick(pick, item));
            }
            for (j, words) in apart.words.into_iter().enumerate() {
                take(format!(".words[{j}]"), of_words(words, item));
            }
        }
    }
    if unread.is_empty() { Ok((answer.in_order(item), places)) } else { Err(unread) }
}

enum Meant {
    Pick(String),
    Words(String),
}

fn twice(place: String, text: &str, item: &Item, how: &str) -> Unread {
    Unread { place, code: "duplicate", message: format!("{} is {how} twice", shown(text, item)) }
}

type Refused = (&'static str, String);

fn of_text(text: String, item: &Item, reading: Reading) -> Result<Meant, Refused> {
    let labelled = places(item, |i| item.options[i].label == text);
    let valued = places(item, |i| item.options[i].value == text);
    let meant = match reading {
        Reading::LabelsFirst if !labelled.is_empty() => labelled,
        Reading::LabelsFirst => valued,
        Reading::ValuesAndLabels => {
            places(item, |i| item.options[i].label == text || item.options[i].value == text)
        }
    };
    match meant.as_slice() {
        [] => Ok(Meant::Words(text)),
        [only] => Ok(Meant::Pick(item.options[*only].value.clone())),
        several => Err(ambiguous(&text, several, item)),
    }
}

fn of_pick(pick: String, item: &Item) -> Result<Meant, Refused> {
    if item.options.iter().any(|option| option.value == pick) {
        return Ok(Meant::Pick(pick));
    }
    Err(("unknown_option", not_one_of(&pick, item)))
}

/// A person who types an option's text has read its label. A value that the surface does not show cannot be
/// meant.
fn of_words(words: String, item: &Item) -> Result<Meant, Refused> {
    let labelled = places(item, |i| item.options[i].label == words);
    match labelled.as_slice() {
        [only] => return Ok(Meant::Pick(item.options[*only].value.clone())),
        [] => {}
        several => return Err(ambiguous(&words, several, item)),
    }
    let hidden = item.options.iter().find(|option| option.value == words);
    match hidden {
        None => Ok(Meant::Words(words)),
        Some(_) if item.secret => Err((
            "names_an_option",
            "these own words are the value of an option; pick that option, or use other words".to_owned(),
        )),
        Some(option) => {
            let label = &option.label;
            let message = format!(
                "the own words {words:?} are the value of the option {label:?}; pick that option, or use other words"
            );
            Err(("names_an_option", message))
        }
    }
}

fn places(item: &Item, is_it: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..item.options.len()).filter(|i| is_it(*i)).collect()
}

fn ambiguous(text: &str, several: &[usize], item: &Item) -> Refused {
    if item.secret {
        return ("ambiguous", "this answer could be several options; send picks or words".to_owned());
    }
    let named = |i: &usize| {
        let option = &item.options[*i];
        format!("{:?} (value {:?})", option.label, option.value)
    };
    let options: Vec<String> = several.iter().map(named).collect();
    let message = format!(
        "{text:?} could be {}; send {{\"picks\":[VALUE]}} or {{\"words\":[TEXT]}}",
        options.join(" or ")
    );
    ("ambiguous", message)
}

/// An answer for a message; a secret one is not repeated.
pub(crate) fn shown(text: &str, item: &Item) -> String {
    if item.secret { "this answer".to_owned() } else { format!("{text:?}") }
}

/// The message that a text names no option.
pub(crate) fn not_one_of(text: &str, item: &Item) -> String {
    let shown = shown(text, item);
    let known: Vec<&str> = item.options.iter().map(|option| option.value.as_str()).collect();
    match known.is_empty() {
        true => format!("{shown} is no option: this question has none; answer in own words"),
        false => format!("{shown} is not one of: {}", known.join(", ")),
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;

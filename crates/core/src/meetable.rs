//! Checks that some answer can satisfy an item: a question that no person can end is refused when it is
//! asked.
//!
//! In: a required item. Out: the reason why no answer fits, if none can. A pattern is tried only for few
//! possible texts.

use serde_json::Number;

use crate::answer::check_text;
use crate::limits::{MAX_PICKS, MAX_TEXT_BYTES};
use crate::question::{Bounds, Input, Item, is_less};

/// The reason why no answer can satisfy the item, if there is one.
pub(crate) fn unmeetable(item: &Item) -> Option<String> {
    let bounds = &item.bounds;
    let most = match (item.multiple, item.custom) {
        (false, _) => 1,
        (true, false) => item.options.len(),
        (true, true) => MAX_PICKS,
    };
    if let Some(min) = bounds.min_items.filter(|min| *min > most) {
        return Some(format!("asks for at least {min} picks, and at most {most} can be given"));
    }
    if bounds.max_items == Some(0) {
        return Some("must be answered, and allows no pick".to_owned());
    }
    // A pick is not measured.
    if item.options.is_empty() { unmeetable_text(item, bounds) } else { None }
}

fn unmeetable_text(item: &Item, bounds: &Bounds) -> Option<String> {
    match item.input.unwrap_or(Input::Text) {
        Input::Integer => unmeetable_integer(bounds),
        // Its range is looked at with the other crossed bounds.
        Input::Number => None,
        Input::Boolean => {
            let fits = ["true", "false"].iter().any(|text| check_text(text, item).is_ok());
            (!fits).then(|| "neither true nor false fits its bounds".to_owned())
        }
        Input::Date => unmeetable_length(bounds, 10, 10),
        Input::Datetime => unmeetable_length(bounds, "2026-11-15T07:00:00Z".len(), MAX_TEXT_BYTES),
        Input::Email => unmeetable_length(bounds, "a@b.c".len(), MAX_TEXT_BYTES),
        Input::Uri => unmeetable_length(bounds, "a:b".len(), MAX_TEXT_BYTES),
        Input::Text | Input::Multiline | Input::Url => unmeetable_length(bounds, 1, MAX_TEXT_BYTES),
    }
}

/// `shortest` and `longest` are the limits of a text of its type, in characters.
fn unmeetable_length(bounds: &Bounds, shortest: usize, longest: usize) -> Option<String> {
    if bounds.max_length == Some(0) {
        return Some("must be answered, and allows no character".to_owned());
    }
    if let Some(max) = bounds.max_length.filter(|max| *max < shortest) {
        return Some(format!("allows {max} characters, and its answers have at least {shortest}"));
    }
    let min = bounds.min_length.filter(|min| *min > longest)?;
    Some(format!("asks for at least {min} characters, and at most {longest} can be given"))
}

fn unmeetable_integer(bounds: &Bounds) -> Option<String> {
    let float = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
    if float(&bounds.minimum).zip(float(&bounds.maximum)).is_some_and(|(low, high)| low.ceil() > high.floor())
    {
        return Some("there is no whole number between minimum and maximum".to_owned());
    }
    // Whole numbers of answers have 64 bits.
    let too_high = bounds.minimum.as_ref().is_some_and(|low| is_less(&Number::from(u64::MAX), low));
    let too_low = bounds.maximum.as_ref().is_some_and(|high| is_less(high, &Number::from(i64::MIN)));
    (too_high || too_low).then(|| format!("whole numbers go from {} to {}", i64::MIN, u64::MAX))
}

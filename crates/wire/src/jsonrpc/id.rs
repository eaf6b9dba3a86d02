//! The id of a request. In: its JSON text. Out: the same text for the response, and a form for comparison.
//!
//! Null, every number and every string is an id. `7` is not `"7"`, but `"a"` is `"\u0061"` and `1e2` is
//! `100`: a program that reads an id and writes it again may spell it in another way.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;

/// Zeros that the form of a number writes out; a number with more has an exponent, so that `1e999999999` is
/// not a gigabyte.
const MAX_ZEROS: i64 = 32;

/// An id, equal to every other spelling of the same value.
#[derive(Debug, Clone)]
pub struct Id {
    text: Box<str>,
    /// The form for comparison, if it differs from the text.
    form: Option<Box<str>>,
}

impl Id {
    /// Objects, arrays and booleans are no ids.
    pub fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let form = match text.as_bytes().first()? {
            b'n' => None,
            b'"' => string_form(text),
            b'-' | b'0'..=b'9' => number_form(text),
            _ => return None,
        };
        let form = form.filter(|form| form != text).map(String::into_boxed_str);
        Some(Self { text: text.into(), form })
    }

    /// The JSON text as it came.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The JSON text that all spellings of this id share.
    pub fn form(&self) -> &str {
        self.form.as_deref().unwrap_or(&self.text)
    }
}

/// `None` if the text is its own form: nothing in it is escaped, or what is escaped is no text.
fn string_form(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return None;
    }
    let string: String = serde_json::from_str(text).ok()?;
    serde_json::to_string(&string).ok()
}

/// `None` if the text is its own form: a short integer, or an exponent beyond counting.
fn number_form(text: &str) -> Option<String> {
    let length = |text: &str| i64::try_from(text.len()).ok();
    if length(text)? <= MAX_ZEROS && text != "-0" && !text.contains(['.', 'e', 'E']) {
        return None;
    }
    let (sign, number) = text.strip_prefix('-').map_or(("", text), |number| ("-", number));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let all = all.trim_start_matches('0');
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let exponent = exponent.parse::<i64>().ok()?.checked_sub(length(fraction)?)?;
    let exponent = exponent.checked_add(length(all)? - length(digits)?)?;
    let point = exponent.checked_add(length(digits)?)?;
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    Some(match usize::try_from(point) {
        _ if (0..=MAX_ZEROS).contains(&exponent) => format!("{sign}{digits}{}", zeros(exponent)),
        Ok(point @ 1..) if exponent < 0 => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
        _ if (-MAX_ZEROS..=0).contains(&point) => format!("{sign}0.{}{digits}", zeros(-point)),
        _ => format!("{sign}{digits}e{exponent}"),
    })
}

impl From<i64> for Id {
    fn from(id: i64) -> Self {
        Self { text: id.to_string().into(), form: None }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.form() == other.form()
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.form().hash(state);
    }
}

/// Shows the form: a name made of an id is the same for every spelling.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.form())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.text).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Self::read(raw).ok_or_else(|| de::Error::custom("an id is null, a number or a string"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Id {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_spelling_of_a_value_is_the_same_id_and_keeps_its_text() {
        let long = format!("1{}", "0".repeat(40));
        let same: [&[&str]; 9] = [
            &["7", "7.0", "7e0", "0.7E+1", "70e-1"],
            &["0", "-0", "0.0", "-0e9", "0e99999999999999999999"],
            &["1.5", "1.50", "15e-1"],
            &["-0.005", "-5e-3", "-0.0050"],
            &["18446744073709551616", "18446744073709551616.0", "1844674407370955161.6e1"],
            &["1e40", &long, "10e39"],
            &["1e-40", "0.1e-39"],
            &["\"a\"", "\"\\u0061\""],
            &["null"],
        ];
        for (i, spellings) in same.iter().enumerate() {
            for spelling in *spellings {
                assert_eq!(id(spelling).form(), id(spellings[0]).form(), "{spelling}");
                assert_eq!(id(spelling).as_str(), *spelling);
                assert_eq!(serde_json::to_string(&id(spelling)).unwrap(), *spelling);
                assert_eq!(id(id(spelling).form()), id(spelling), "the form is a spelling too");
            }
            for other in same.iter().skip(i + 1).flat_map(|others| *others) {
                assert_ne!(id(spellings[0]), id(other));
            }
        }
    }

    #[test]
    fn what_looks_alike_is_not_the_same() {
        for (one, other) in [
            ("7", "\"7\""),
            ("null", "\"null\""),
            ("1", "-1"),
            ("9007199254740993", "9007199254740992"),
            ("1e99999999999999999999", "1e99999999999999999998"),
            ("\"\\ud800\"", "\"\\ud801\""),
        ] {
            assert_ne!(id(one), id(other), "{one}");
        }
        for text in ["{}", "[]", "true", "false"] {
            assert!(serde_json::from_str::<Id>(text).is_err(), "{text}");
        }
        assert!(id("1e999999999").form().len() < 20, "a number that would be long is not written out");
    }
}

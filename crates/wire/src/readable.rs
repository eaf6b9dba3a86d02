//! An agent's bytes as text for JSON readers.
//!
//! In: bytes, possibly cut inside a character. Out: text with U+FFFD for bytes that are no UTF-8 and for
//! halves of surrogate pairs: a text that was cut inside an emoji reads like any other.

use std::borrow::Cow;

use memchr::memmem;

/// The replacement for half of a surrogate pair, which has the same length.
const REPLACEMENT: &str = "\\ufffd";

/// The text that JSON readers accept for these bytes.
pub fn readable(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    let halves = halves(&text);
    if halves.is_empty() {
        return text;
    }
    let mut copy = text.into_owned();
    for at in halves {
        copy.replace_range(at..at + REPLACEMENT.len(), REPLACEMENT);
    }
    copy.into()
}

/// The positions of escapes that are one half of a surrogate pair without the other.
fn halves(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    if memmem::find(bytes, b"\\ud").is_none() && memmem::find(bytes, b"\\uD").is_none() {
        return found;
    }
    let escape = |at: usize| {
        let digits = text.get(at..at + REPLACEMENT.len())?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut at = 0;
    while let Some(step) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += step;
        let width = REPLACEMENT.len();
        at += match escape(at) {
            Some(0xD800..=0xDBFF) if matches!(escape(at + width), Some(0xDC00..=0xDFFF)) => 2 * width,
            Some(0xD800..=0xDFFF) => {
                found.push(at);
                width
            }
            Some(_) => width,
            // Another escape, of one character.
            None => 2,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_half_of_a_surrogate_pair_is_replaced() {
        for (text, wanted) in [
            (r#"{"a":"\ud83d"}"#, r#"{"a":"\ufffd"}"#),
            (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\uD83D\uD83D\uDE00x\uDE00"}"#, r#"{"a":"\ufffd\uD83D\uDE00x\ufffd"}"#),
            (r#"{"a":"\\ud83d","b":"\\\ud83d\n"}"#, r#"{"a":"\\ud83d","b":"\\\ufffd\n"}"#),
            (r#"{"a":"\ud83"}"#, r#"{"a":"\ud83"}"#),
            ("\\ud", "\\ud"),
            ("\\", "\\"),
        ] {
            assert_eq!(readable(text.as_bytes()), wanted, "{text}");
        }
        assert_eq!(readable(b"{\"a\":\"\xff\"}"), "{\"a\":\"\u{fffd}\"}");
    }
}

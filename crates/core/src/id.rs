//! Newtype ids: a three-letter prefix and 128 bits in Crockford's base 32, sortable by time when the bits are
//! a UUIDv7.
//!
//! In: 128 bits from a caller that has randomness, or text from outside. Out: ids that are valid by
//! construction.

use std::fmt;
use std::str::FromStr;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const DIGITS: usize = 26;

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id of the form {prefix}_ and 26 letters or digits")]
pub struct InvalidId {
    prefix: &'static str,
}

fn encode(prefix: &str, bits: u128) -> String {
    let mut text = String::with_capacity(prefix.len() + 1 + DIGITS);
    text.push_str(prefix);
    text.push('_');
    for place in (0..DIGITS).rev() {
        let digit = (bits >> (place * 5)) & 31;
        text.push(char::from(ALPHABET[digit as usize]));
    }
    text
}

fn decode(text: &str) -> u128 {
    let digits = text.bytes().rev().take(DIGITS).enumerate();
    digits.fold(0, |bits, (place, byte)| {
        let digit = ALPHABET.iter().position(|b| *b == byte).unwrap_or(0);
        bits | (digit as u128) << (place * 5)
    })
}

fn is_encoded(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')).is_some_and(|digits| {
        digits.len() == DIGITS && digits < "8" && digits.bytes().all(|b| ALPHABET.contains(&b))
    })
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, utoipa::ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String, pattern = $pattern)]
        pub struct $name(String);

        impl $name {
            /// The letters before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// The id of 128 bits.
            pub fn from_bits(bits: u128) -> Self {
                Self(encode($prefix, bits))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The 128 bits behind the text.
            pub fn bits(&self) -> u128 {
                decode(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if is_encoded($prefix, text) { Ok(Self(text.to_owned())) } else { Err(InvalidId { prefix: $prefix }) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// One request for human input.
    QuestionId, "que", "^que_[0-7][0-9A-HJKMNP-TV-Z]{25}$"
);
id!(
    /// One conversation of one agent.
    SessionId, "ses", "^ses_[0-7][0-9A-HJKMNP-TV-Z]{25}$"
);
id!(
    /// A place that questions come from.
    SourceId, "src", "^src_[0-7][0-9A-HJKMNP-TV-Z]{25}$"
);
id!(
    /// The way of one outcome back to its agent.
    DeliveryId, "dlv", "^dlv_[0-7][0-9A-HJKMNP-TV-Z]{25}$"
);
id!(
    /// A bearer token's record (not the token itself).
    TokenId, "tok", "^tok_[0-7][0-9A-HJKMNP-TV-Z]{25}$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_text_and_sorts_as_its_bits() {
        let low = QuestionId::from_bits(7);
        let high = QuestionId::from_bits(u128::MAX);
        assert_eq!(low.as_str(), "que_00000000000000000000000007");
        assert_eq!(high.as_str(), "que_7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert!(low < high);
        assert_eq!((low.bits(), high.bits()), (7, u128::MAX));
        assert_eq!(low.as_str().parse(), Ok(low));
    }

    #[test]
    fn odd_characters_and_other_prefixes_are_refused() {
        for text in [
            "",
            "que_",
            "ses_00000000000000000000000007",
            "que_0000000000000000000000000'",
            "que_0000000000000000000000000u",
        ] {
            assert!(text.parse::<QuestionId>().is_err(), "{text}");
        }
    }
}

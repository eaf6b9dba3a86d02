//! The rights of a bearer token.
//!
//! In: the rights that a token was created with. Out: yes or no. `ask` covers its own questions only;
//! `answer` includes reading.

use std::fmt;
use std::str::FromStr;

/// One right of a token.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Ask; read, wait on and withdraw its own questions.
    Ask,
    /// Answer and reject; includes reading.
    Answer,
    /// Read all questions, sessions and events.
    Read,
    /// Manage sources, sessions and tokens.
    Manage,
}

impl Right {
    /// Every right.
    pub const ALL: [Self; 4] = [Self::Ask, Self::Answer, Self::Read, Self::Manage];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Answer => "answer",
            Self::Read => "read",
            Self::Manage => "manage",
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Right {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|right| right.as_str() == text)
            .ok_or_else(|| format!("unknown right {text:?}; the rights are ask, answer, read and manage"))
    }
}

/// A set of rights, sorted and without repeats.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(transparent)]
pub struct Rights(Vec<Right>);

impl Rights {
    /// A set of these rights.
    pub fn new(rights: impl IntoIterator<Item = Right>) -> Self {
        let mut rights: Vec<Right> = rights.into_iter().collect();
        rights.sort_unstable();
        rights.dedup();
        Self(rights)
    }

    /// All rights.
    pub fn all() -> Self {
        Self::new(Right::ALL)
    }

    pub fn iter(&self) -> impl Iterator<Item = Right> + '_ {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if this set permits `right`.
    pub fn allows(&self, right: Right) -> bool {
        self.0.contains(&right) || (right == Right::Read && self.0.contains(&Right::Answer))
    }

    /// True if this set permits every right of `other`: a token can hand out only its own rights.
    pub fn covers(&self, other: &Self) -> bool {
        other.iter().all(|right| self.allows(right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answering_includes_reading_and_nothing_else_is_implied() {
        let answer = Rights::new([Right::Answer]);
        assert!(answer.allows(Right::Read));
        assert!(!answer.allows(Right::Ask) && !answer.allows(Right::Manage));
        assert!(!Rights::new([Right::Manage]).covers(&answer));
        assert!(Rights::all().covers(&answer));
    }
}

//! Names that were met lately. In: a name. Out: whether it was met before. The oldest are forgotten first.

use std::collections::VecDeque;

/// Names that are remembered: more than one agent has responses under way at once.
const MAX_NAMES: usize = 1024;

#[derive(Debug, Default)]
pub struct Recent(VecDeque<String>);

impl Recent {
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }

    /// Whether it was new.
    pub fn add(&mut self, name: &str) -> bool {
        if self.has(name) {
            return false;
        }
        if self.0.len() == MAX_NAMES {
            self.0.pop_front();
        }
        self.0.push_back(name.to_owned());
        true
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

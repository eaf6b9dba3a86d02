//! A bounded set of recent names. In: a name. Out: true if it was seen before. The oldest are forgotten
//! first.

use std::collections::VecDeque;

/// Remembered names: more than the open responses of one agent.
const MAX_NAMES: usize = 1024;

#[derive(Debug, Default)]
pub struct Recent(VecDeque<String>);

impl Recent {
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }

    /// Adds a name; true if it is new.
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

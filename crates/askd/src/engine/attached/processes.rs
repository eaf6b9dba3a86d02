//! Which processes of this machine are worth a look, again and again for next to nothing.
//!
//! In: the process ids of each look. Out: those to be judged now. A process is judged when it is first seen and at the next few looks,
//! because it may just be becoming another program or be opening its port; after that only at every thorough look.

use std::collections::HashMap;

/// Looks at which a process is young: a server on a busy machine may need most of a minute until it has its port.
const YOUNG: u64 = 10;
/// Every so many looks all processes are judged again: one may become another program late in its life.
const THOROUGH: u64 = 12;

#[derive(Debug, Default)]
pub(super) struct Processes {
    /// At which look each of them was first seen.
    seen: HashMap<i32, u64>,
    looks: u64,
}

impl Processes {
    /// Whether the next look is a thorough one.
    pub(super) fn is_thorough(&self) -> bool {
        self.looks.is_multiple_of(THOROUGH)
    }

    pub(super) fn look(&mut self, pids: &[i32]) -> Vec<i32> {
        let (now, thorough) = (self.looks, self.is_thorough());
        let known_before = std::mem::take(&mut self.seen);
        self.looks += 1;
        let first_seen = |pid: &i32| (*pid, known_before.get(pid).copied().unwrap_or(now));
        self.seen = pids.iter().map(first_seen).collect();
        let is_young = |pid: &i32| self.seen.get(pid).is_some_and(|first| now - first < YOUNG);
        pids.iter().copied().filter(|pid| thorough || is_young(pid)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_young_are_judged_again_and_the_old_only_at_a_thorough_look() {
        let mut processes = Processes::default();
        assert!(processes.is_thorough(), "the first one");
        for _ in 0..YOUNG {
            assert_eq!(processes.look(&[1, 2]), [1, 2]);
        }
        assert!(processes.look(&[1, 2]).is_empty());
        assert_eq!(processes.look(&[1, 2, 3]), [3]);
        assert!(processes.is_thorough());
        assert_eq!(processes.look(&[2, 3]), [2, 3]);
        assert_eq!(processes.look(&[2, 3]), [3]);
        assert_eq!(processes.look(&[1, 2, 3]), [1, 3], "another one with the number of one that has gone");
    }
}

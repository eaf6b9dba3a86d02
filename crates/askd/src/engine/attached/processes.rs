//! Which processes of this machine are worth a look, again and again for next to nothing.
//!
//! In: the process ids of each look. Out: those to be judged now, and whether one has gone. A process is judged when it is first seen
//! and at the next few looks, because it may just be becoming another program or be opening its port; after that only at every
//! thorough look.

use std::collections::HashMap;

/// Looks at which a process is young.
const YOUNG: u64 = 4;
/// Every so many looks all processes are judged again: one may become another program late in its life.
const THOROUGH: u64 = 12;

#[derive(Debug, Default)]
pub(super) struct Processes {
    /// At which look each of them was first seen.
    seen: HashMap<i32, u64>,
    looks: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) to_judge: Vec<i32>,
    /// Whether one has gone, or may have gone unseen.
    pub(super) gone: bool,
}

impl Processes {
    pub(super) fn look(&mut self, pids: &[i32]) -> Look {
        let (now, known_before) = (self.looks, std::mem::take(&mut self.seen));
        let thorough = now.is_multiple_of(THOROUGH);
        self.looks += 1;
        let first_seen = |pid: &i32| (*pid, known_before.get(pid).copied().unwrap_or(now));
        self.seen = pids.iter().map(first_seen).collect();
        let is_young = |pid: &&i32| self.seen.get(pid).is_some_and(|first| now - first < YOUNG);
        Look {
            to_judge: pids.iter().filter(|pid| thorough || is_young(pid)).copied().collect(),
            gone: thorough || known_before.keys().any(|pid| !self.seen.contains_key(pid)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_young_are_judged_again_and_the_old_only_at_a_thorough_look() {
        let mut processes = Processes::default();
        let mut judged = |pids: &[i32]| {
            let Look { to_judge, gone } = processes.look(pids);
            (to_judge, gone)
        };
        assert_eq!(judged(&[1, 2]), (vec![1, 2], true), "the first look is a thorough one");
        for _ in 1..YOUNG {
            assert_eq!(judged(&[1, 2]), (vec![1, 2], false));
        }
        assert_eq!(judged(&[1, 2]), (vec![], false));
        assert_eq!(judged(&[1, 2, 3]), (vec![3], false));
        assert_eq!(judged(&[2, 3]), (vec![3], true), "one has gone");
        for _ in YOUNG + 3..THOROUGH {
            assert!(!judged(&[2, 3]).1);
        }
        assert_eq!(judged(&[2, 3]), (vec![2, 3], true));
        assert_eq!(judged(&[2, 3]), (vec![], false));
    }
}

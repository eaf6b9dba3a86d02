//! Chooses the processes of this machine that deserve a look, again and again at almost no cost.
//!
//! In: the newest process id, and all ids if there are new ones. Out: the processes to judge now. A process
//! is judged when it is first seen and at the next few looks, because it may be about to become another
//! program or to open its port; after that only at every thorough look.

use std::collections::HashMap;

/// Looks at which a process is young: a server on a busy machine may need most of a minute until it has its
/// port.
const YOUNG: u64 = 10;
/// Every so many looks all processes are judged again: one may become another program late in its life.
const THOROUGH: u64 = 12;

#[derive(Debug, Default)]
pub(super) struct Processes {
    /// The look at which each was first seen.
    seen: HashMap<i32, u64>,
    looks: u64,
    /// The newest id at the last list, if it is known.
    newest: Option<i32>,
}

impl Processes {
    /// True if the next look is a thorough one.
    pub(super) fn is_thorough(&self) -> bool {
        self.looks.is_multiple_of(THOROUGH)
    }

    /// `newest`: the newest process id, if it can be known; `all`: lists all ids.
    pub(super) fn look(&mut self, newest: Option<i32>, all: impl FnOnce() -> Vec<i32>) -> Vec<i32> {
        let (now, thorough) = (self.looks, self.is_thorough());
        self.looks += 1;
        if thorough || newest.is_none() || newest != self.newest {
            let known_before = std::mem::take(&mut self.seen);
            let first_seen = |pid: i32| (pid, known_before.get(&pid).copied().unwrap_or(now));
            self.seen = all().into_iter().map(first_seen).collect();
            self.newest = newest;
        }
        let is_due = |first: u64| thorough || now - first < YOUNG;
        self.seen.iter().filter(|(_, first)| is_due(**first)).map(|(pid, _)| *pid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_young_are_judged_again_and_the_old_only_at_a_thorough_look() {
        let mut processes = Processes::default();
        let look = |processes: &mut Processes, newest: Option<i32>, pids: &[i32]| {
            let mut to_judge = processes.look(newest, || pids.to_vec());
            to_judge.sort_unstable();
            to_judge
        };
        assert!(processes.is_thorough(), "the first one");
        for _ in 0..YOUNG {
            assert_eq!(look(&mut processes, None, &[1, 2]), [1, 2]);
        }
        assert!(look(&mut processes, Some(2), &[1, 2]).is_empty());
        assert_eq!(look(&mut processes, Some(3), &[1, 2, 3]), [3]);
        assert!(processes.is_thorough());
        assert_eq!(look(&mut processes, Some(3), &[2, 3]), [2, 3]);
        assert_eq!(look(&mut processes, Some(3), &[]), [3], "nothing has begun, so nobody asks who there is");
        assert_eq!(look(&mut processes, None, &[2, 3]), [3]);
        assert_eq!(
            look(&mut processes, Some(1), &[1, 2, 3]),
            [1, 3],
            "another one with the number of one that has gone"
        );
    }
}

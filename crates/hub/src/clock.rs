//! The one place that reads the clock and the system's randomness.

use std::pin::Pin;
use std::time::{SystemTime, UNIX_EPOCH};

use askd_core::Timestamp;
use tokio::time::{Instant, Sleep};

pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// 128 bits for a new id, time first, so that ids sort by time.
pub fn new_bits() -> u128 {
    uuid::Uuid::now_v7().as_u128()
}

/// Comes at this time, or never.
pub async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// A timer for times that follow each other closely. It is set again only after it fired: to set the earliest
/// timer of all wakes the thread that waits for it.
pub struct Alarm {
    timer: Pin<Box<Sleep>>,
    is_set: bool,
}

impl Alarm {
    pub fn new() -> Self {
        Self { timer: Box::pin(tokio::time::sleep_until(Instant::now())), is_set: false }
    }

    /// Fires at `time`, which is not before an earlier `time`. Never fires for `None`.
    pub async fn at(&mut self, time: Option<Instant>) {
        let Some(time) = time else { return std::future::pending().await };
        loop {
            if !self.is_set {
                self.timer.as_mut().reset(time);
                self.is_set = true;
            }
            self.timer.as_mut().await;
            self.is_set = false;
            if self.timer.deadline() >= time {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_alarm_does_not_come_before_the_time_that_was_given_last() {
        let (mut alarm, began) = (Alarm::new(), Instant::now());
        for ms in [2, 3] {
            // Somebody else is faster.
            let time = Some(began + Duration::from_millis(ms));
            tokio::select! { biased; () = alarm.at(time) => (), () = std::future::ready(()) => () }
        }
        for ms in [20, 20, 30] {
            let time = began + Duration::from_millis(ms);
            alarm.at(Some(time)).await;
            assert!(Instant::now() >= time);
        }
    }
}

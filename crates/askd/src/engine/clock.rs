//! The one place that reads the clock and the system's randomness for ids.

use std::time::{SystemTime, UNIX_EPOCH};

use askd_core::Timestamp;
use tokio::time::Instant;

pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// 128 bits for a new id: time first, so that ids sort by it.
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

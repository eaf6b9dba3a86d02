//! A real hub in a process of its own, on a throw-away data folder, and clients that talk to it over
//! loopback.
//!
//! In: flags of `askd up`. Out: a [`Hub`] that ends with its value, answers as [`Answer`], streams as
//! [`Events`].

mod client;
mod hub;
mod raw;
mod sse;

pub use client::{Answer, Client};
pub use hub::{Hub, Starting, holders};
pub use raw::raw;
pub use sse::{Events, Frame};

use std::time::Duration;

/// The hard end of anything that a test waits for; reaching it is a failure, never a measurement.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Waits for `work`, but not for ever.
pub async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LIMIT, work).await {
        Ok(value) => value,
        Err(_) => panic!("waited {} s in vain for: {what}", LIMIT.as_secs()),
    }
}

/// Looks again and again until `look` finds something.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    within(what, async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

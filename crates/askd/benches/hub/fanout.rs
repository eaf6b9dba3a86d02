//! Many readers of one log: none loses an event and none gets one twice, also one that pauses and one that
//! reconnects.

use std::time::{Duration, Instant};

use crate::Result;
use crate::hub::{ASK, Hub};
use crate::table::{Table, bar};

/// Readers and the events that each gets.
const RUNS: [(usize, u64); 3] = [(1, 20_000), (200, 2_000), (1_000, 500)];
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn run(table: &mut Table) -> Result {
    eprintln!("fan-out");
    for (readers, events) in RUNS {
        let hub = Hub::start().await?;
        let mut tasks = Vec::new();
        for n in 0..readers {
            let (url, token) = (hub.url.clone(), hub.token.clone());
            tasks.push(tokio::spawn(async move { read(&url, &token, n, events).await }));
        }
        let began = Instant::now();
        let mut askers = Vec::new();
        for n in 0..8 {
            let mut wire = hub.wire().await?;
            let share = events / 8 + u64::from(n < events % 8);
            askers.push(tokio::spawn(async move {
                for _ in 0..share {
                    wire.call("POST", "/v1/questions", ASK).await?;
                }
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            }));
        }
        for asker in askers {
            asker.await??;
        }
        let mut wrong = 0;
        for task in tasks {
            wrong += task.await??;
        }
        let rate = (readers as u64 * events) as f64 / began.elapsed().as_secs_f64();
        let what = format!("{events} events to {readers} reader(s), one pausing, one reconnecting");
        table.row(
            &what,
            format!("{rate:.0} events/s"),
            format!("{wrong} lost or repeated"),
            &bar(wrong == 0, "0 lost, 0 repeated"),
        );
    }
    Ok(())
}

/// How many numbers were missing or came twice.
async fn read(url: &str, token: &str, n: usize, events: u64) -> Result<u64> {
    let mut wrong = 0;
    let mut last = 0;
    let mut stream = crate::wire::Wire::connect(url, token).await?.events(0).await?;
    while last < events {
        // The first reader pauses half-way, the second reconnects every 97 events.
        if n == 0 && last == events / 2 {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        if n == 1 && last % 97 == 96 {
            stream = crate::wire::Wire::connect(url, token).await?.events(last).await?;
        }
        let seq = stream.next_within(PATIENCE).await?;
        wrong += (last + 1).abs_diff(seq);
        last = seq;
    }
    Ok(wrong)
}

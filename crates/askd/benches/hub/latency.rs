//! Ask to stream and answer to asker, at a calm 100 a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::hub::{ASK, Hub, REPLY};
use crate::table::{Table, bar, percentile};
use crate::{Result, raw, wire};

const QUESTIONS: usize = 500;
const EVERY: Duration = Duration::from_millis(10);

pub async fn run(table: &mut Table) -> Result {
    eprintln!("latency at 100 asks/s");
    let fsync = raw::fsync_ms()?;
    let mut to_stream = ask_to_stream().await?;
    let mut to_asker = answer_to_asker().await?;
    let mut row = |what: &str, samples: &mut [f64], limit: Option<f64>| {
        let (p50, p99) = (percentile(samples, 0.5), percentile(samples, 0.99));
        let held = limit.map_or(String::new(), |limit| bar(p99 < limit, &format!("p99 < {limit:.0} ms")));
        table.row(
            what,
            format!("p50 {p50:.2} ms, p99 {p99:.2} ms"),
            format!("one fsync {fsync:.2} ms"),
            &held,
        );
    };
    row("ask sent -> event at an SSE reader", &mut to_stream, Some(10.0));
    row("answer sent -> outcome at the waiting asker", &mut to_asker, None);
    Ok(())
}

async fn ask_to_stream() -> Result<Vec<f64>> {
    let hub = Hub::start().await?;
    let mut events = hub.wire().await?.events(0).await?;
    let asked: Arc<Mutex<HashMap<u64, Instant>>> = Arc::default();
    let sent = Arc::clone(&asked);
    let mut wire = hub.wire().await?;
    let asker = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(EVERY);
        for n in 1..=QUESTIONS as u64 {
            ticks.tick().await;
            // One asker alone, so its n-th question is the n-th event.
            sent.lock().unwrap_or_else(PoisonError::into_inner).insert(n, Instant::now());
            wire.call("POST", "/v1/questions", ASK).await?;
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    });
    let mut samples = Vec::new();
    for _ in 0..QUESTIONS {
        let seq = events.next_within(Duration::from_secs(10)).await?;
        let at = asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&seq)
            .ok_or("an event that was not asked")?;
        samples.push(at.elapsed().as_secs_f64() * 1000.0);
    }
    asker.await??;
    Ok(samples)
}

async fn answer_to_asker() -> Result<Vec<f64>> {
    let hub = Hub::start().await?;
    let mut samples = Vec::new();
    let (mut asking, mut answering) = (hub.wire().await?, hub.wire().await?);
    for _ in 0..QUESTIONS {
        let (_, body) = answering.call("POST", "/v1/questions", ASK).await?;
        let id = wire::field(&body, "id")?;
        let path = format!("/v1/questions/{id}?wait=30");
        let waiting = tokio::spawn(async move {
            let (status, _) = asking.call("GET", &path, "").await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>((status, Instant::now(), asking))
        });
        tokio::time::sleep(EVERY / 2).await;
        let began = Instant::now();
        answering.call("POST", &format!("/v1/questions/{id}/reply"), REPLY).await?;
        let (status, at, wire) = waiting.await??;
        if status != 200 {
            return Err(format!("a wait answered {status}").into());
        }
        asking = wire;
        samples.push(at.duration_since(began).as_secs_f64() * 1000.0);
    }
    Ok(samples)
}

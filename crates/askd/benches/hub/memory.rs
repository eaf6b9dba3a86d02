//! Resident memory: idle, with many open questions, with many streams.

use crate::Result;
use crate::hub::{ASK, Hub};
use crate::table::{Table, bar, percentile};

const OPEN: usize = 10_000;
const STREAMS: usize = 1_000;

pub async fn run(table: &mut Table) -> Result {
    eprintln!("memory");
    let hub = Hub::start().await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let idle = hub.rss_mb()?;
    table.row("RSS, idle", format!("{idle:.1} MB"), String::new(), &bar(idle < 25.0, "< 25 MB"));
    let mut tasks = Vec::new();
    for _ in 0..16 {
        let mut wire = hub.wire().await?;
        tasks.push(tokio::spawn(async move {
            for _ in 0..OPEN / 16 {
                wire.call("POST", "/v1/questions", ASK).await?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    table.row(
        &format!("RSS, {OPEN} open questions"),
        format!("{:.1} MB", hub.rss_mb()?),
        format!("{:.1} MB idle", idle),
        "",
    );
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(hub.wire().await?.events(0).await?);
    }
    let full = hub.rss_mb()?;
    let what = format!("RSS, {OPEN} open questions and {STREAMS} streams");
    table.row(
        &what,
        format!("{full:.1} MB"),
        format!("{:.0} kB a stream", (full - idle) * 1024.0 / STREAMS as f64),
        &bar(full < 250.0, "< 250 MB"),
    );
    let mut wire = hub.wire().await?;
    let mut samples = Vec::new();
    for _ in 0..300 {
        let began = std::time::Instant::now();
        wire.call("GET", "/v1/questions?status=requested&limit=50", "").await?;
        samples.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    let p99 = percentile(&mut samples, 0.99);
    table.row("list of 50 of them, p99", format!("{p99:.2} ms"), String::new(), &bar(p99 < 20.0, "< 20 ms"));
    drop(streams);
    Ok(())
}

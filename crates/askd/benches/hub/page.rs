//! The inbox page in a real browser: cold load, size of the first view, scrolling a thousand open questions.
//!
//! In: node with the packages of `web/`, Debian's Chromium, a hub. Out: rows. `web/bench/page.mjs` takes the
//! samples.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::Result;
use crate::hub::{ASK, Hub};
use crate::table::{Table, bar, percentile};

const OPEN: usize = 1000;
/// A frame that takes longer than this is seen as a jerk.
const JERK_MS: f64 = 50.0;
/// What the browser draws in one frame at 60 Hz.
const FRAME_MS: f64 = 1000.0 / 60.0;
/// The bar of the first view, in gzipped bytes.
const FIRST_VIEW: f64 = 120_000.0;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    /// Milliseconds from the start of the navigation until the oldest question can be answered.
    cold: Vec<f64>,
    /// The same for a bare document of the hub.
    bare: Vec<f64>,
    /// Milliseconds of each frame, at rest and while scrolling.
    idle: Vec<f64>,
    scroll: Vec<f64>,
    first_view_bytes: f64,
}

/// Why the page cannot be measured here, if so.
pub fn missing() -> Option<&'static str> {
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    if !node.is_ok_and(|status| status.success()) {
        Some("needs node")
    } else if !Path::new(&chromium).exists() {
        Some("needs Debian's chromium")
    } else if !web().join("node_modules/playwright-core").exists() {
        Some("needs npm install in web/")
    } else {
        None
    }
}

fn web() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web"))
}

pub async fn run(table: &mut Table) -> Result {
    if let Some(why) = missing() {
        return Err(format!("the section page {why}").into());
    }
    eprintln!("page: {OPEN} open questions");
    let hub = Hub::start().await?;
    let mut wire = hub.wire().await?;
    for _ in 0..OPEN {
        wire.call("POST", "/v1/questions", ASK).await?;
    }
    let output = Command::new("node")
        .args(["bench/page.mjs", &hub.url])
        .env("ASKD_TOKEN", &hub.token)
        .current_dir(web())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("bench/page.mjs failed".into());
    }
    report(table, serde_json::from_slice(&output.stdout)?);
    Ok(())
}

fn report(table: &mut Table, mut samples: Samples) {
    let count = samples.cold.len();
    let (median, worst) = (percentile(&mut samples.cold, 0.5), percentile(&mut samples.cold, 0.99));
    table.row(
        &format!("page: cold load to usable, {OPEN} open, p50 / p99 of {count}"),
        format!("{median:.0} / {worst:.0} ms"),
        format!("a bare document of the hub {:.0} ms", percentile(&mut samples.bare, 0.5)),
        &bar(worst < 1000.0, "p99 < 1 s"),
    );
    table.row(
        "page: first view, gzipped",
        format!("{:.1} kB", samples.first_view_bytes / 1000.0),
        String::new(),
        &bar(samples.first_view_bytes < FIRST_VIEW, "< 120 kB"),
    );
    let jerks = samples.scroll.iter().filter(|frame| **frame > JERK_MS).count();
    table.row(
        &format!("page: scrolling {OPEN} open questions, frames over {JERK_MS:.0} ms / dropped"),
        format!("{jerks} / {} of {}", dropped(&samples.scroll), samples.scroll.len()),
        format!("at rest {} dropped of {}", dropped(&samples.idle), samples.idle.len()),
        &bar(jerks * 100 <= samples.scroll.len(), "at most 1 in 100 over 50 ms"),
    );
}

/// Frames that the browser should have drawn in the meantime and did not.
fn dropped(frames: &[f64]) -> usize {
    frames.iter().map(|frame| (frame / FRAME_MS).round().max(1.0) as usize - 1).sum()
}

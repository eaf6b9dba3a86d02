//! The holder alone, for the tests of this crate: `holder-for-tests holder SPEC`, as `askd holder SPEC` is;
//! and small hubs that can be killed: `read FOLDER AFTER` prints and acknowledges every line,
//! `write FOLDER DELIVERY TEXT` gives one delivery to the agent and then waits without looking at the answer,
//! `count FOLDER` tells the agent to begin and says how many lines came in how many microseconds until it
//! ended.

use std::{io::Write as _, path::Path, process::ExitCode, time::Duration};

use askd_holder::{Attached, Folder, HolderEvent, attach, run};

/// A test that fails must not leave us behind.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["holder", spec] => return hold(Path::new(spec)),
        ["read", folder, after] => with_hub(folder, after, read),
        ["write", folder, delivery, text] => {
            let (delivery, text) = ((*delivery).to_owned(), format!("{text}\n"));
            with_hub(folder, "0", async move |mut hub: Attached| {
                hub.connection.write(1, Some(&delivery), text.into()).await.is_ok() && say("sent").is_ok()
            })
        }
        ["count", folder] => {
            return if with(folder, "0", count) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        _ => false,
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn hold(spec: &Path) -> ExitCode {
    match run(spec) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("failed to {error}");
            ExitCode::FAILURE
        }
    }
}

/// Attaches, does `what`, and waits to be killed.
fn with_hub<F: Future<Output = bool>>(folder: &str, after: &str, what: impl FnOnce(Attached) -> F) -> bool {
    with(folder, after, async |attached| {
        let done = what(attached).await;
        tokio::time::sleep(PATIENCE).await;
        done
    })
}

fn with<F: Future<Output = bool>>(folder: &str, after: &str, what: impl FnOnce(Attached) -> F) -> bool {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return false;
    };
    let Ok(after) = after.parse() else { return false };
    runtime.block_on(async {
        let Ok(attached) = attach(&Folder::new(folder), after).await else { return false };
        tokio::time::timeout(PATIENCE, what(attached)).await.unwrap_or(false)
    })
}

async fn count(mut hub: Attached) -> bool {
    let begun = std::time::Instant::now();
    if hub.connection.write(1, None, "go\n".into()).await.is_err() {
        return false;
    }
    let mut lines = 0;
    while let Some(batch) = hub.events.next_batch().await {
        for event in batch {
            match event {
                HolderEvent::Line { n, .. } => lines = n,
                HolderEvent::Exited(_) => {
                    return say(&format!("{lines} {}", begun.elapsed().as_micros())).is_ok();
                }
                _ => {}
            }
        }
        hub.connection.ack(lines);
        if hub.connection.flush().await.is_err() {
            return false;
        }
    }
    false
}

async fn read(mut hub: Attached) -> bool {
    while let Some(event) = hub.events.next().await {
        let HolderEvent::Line { n, bytes } = event else { continue };
        hub.connection.ack(n);
        if say(&format!("{n} {}", String::from_utf8_lossy(&bytes))).is_err()
            || hub.connection.flush().await.is_err()
        {
            return false;
        }
    }
    true
}

fn say(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

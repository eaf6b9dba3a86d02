//! `./bench transcripts`: the first scan against a program that parses everything, and what follows it: quiet
//! watching, an appended question until it is on the stream, and the hook's way from its start to the inbox.
//!
//! Scans are measured in time of the processor, so that a busy machine tells the same.

mod made;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use askd_agents::claude_hook::TranscriptReader;
use askd_agents::tail::{Looked, Tail, TailEvent};
use serde_json::{Value, json};

use crate::Result;
use crate::hub::{Hub, ThreadTimes, processor_seconds};
use crate::table::{Table, bar, percentile};

const FILES: usize = 256;
const SCANNED: u64 = 1 << 30;
/// The longest line, as the hub has it.
const MAX_LINE: usize = 16 << 20;
/// The best of so many scans counts: the others were disturbed.
const SCANS: usize = 3;
/// Transcripts that a hub at rest watches, when it has come to rest (in its first 50 s it looks for servers
/// that are just starting), and how long that is measured.
const AT_REST: usize = 100;
const SETTLED: Duration = Duration::from_secs(60);
const REST: Duration = Duration::from_secs(60);
const WATCHED: usize = 1_000;
/// How long the quiet watching is measured.
const QUIET: Duration = Duration::from_secs(30);
const SAMPLES: usize = 200;
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn run(table: &mut Table) -> Result {
    eprintln!("transcripts");
    tokio::task::block_in_place(|| first_scan(table))?;
    at_rest(table).await?;
    watching(table).await?;
    hook(table).await
}

fn first_scan(table: &mut Table) -> Result {
    let folder = tempfile::tempdir()?;
    eprintln!("  making {} MiB of transcripts", SCANNED >> 20);
    let (paths, bytes) = made::projects(folder.path(), FILES, SCANNED / FILES as u64)?;
    let mut best = f64::INFINITY;
    for _ in 0..SCANS {
        let (began, mut open) = (own_seconds()?, 0);
        for path in &paths {
            open += scan(path)?;
        }
        best = best.min(own_seconds()? - began);
        if open != FILES.div_ceil(made::OPEN_EVERY) {
            return Err(format!("{open} open questions were found").into());
        }
    }
    let rate = bytes as f64 / best / 1e9;
    let node = parse_everything(folder.path())?;
    let against = format!(
        "{:.1} times node, which reads and parses everything at {:.2} GB/s",
        node / best,
        bytes as f64 / node / 1e9
    );
    let held = rate >= 1.5 && node / best >= 6.0;
    let what = format!("first scan of {:.2} GB of transcripts, one core", bytes as f64 / 1e9);
    table.row(&what, format!("{rate:.2} GB/s"), against, &bar(held, ">= 1.5 GB/s, >= 6 times"));
    Ok(())
}

/// Reads one file to its end as the hub does; gives the number of questions that are open in it.
fn scan(path: &Path) -> Result<usize> {
    let (mut tail, mut reader) = (Tail::new(path, None, MAX_LINE), TranscriptReader::default());
    let mut found = |event: TailEvent<'_>| {
        if let TailEvent::Lines { bytes, .. } = event {
            reader.lines(bytes);
        }
    };
    while tail.look(&mut found)? == Looked::More {}
    Ok(reader.open().count())
}

/// Seconds that this thread has had a processor.
fn own_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos: f64 = text.split(' ').next().ok_or("no time")?.parse()?;
    Ok(nanos / 1e9)
}

/// Seconds that node takes: of the clock or of the processor, whichever is less.
fn parse_everything(projects: &Path) -> Result<f64> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/hub/transcripts/read_and_parse.mjs");
    let output = Command::new("node").arg(program).arg(projects).stderr(Stdio::inherit()).output()?;
    let told: Value = serde_json::from_slice(&output.stdout)?;
    if told["open"] != FILES.div_ceil(made::OPEN_EVERY) {
        return Err(format!("node found {}", told["open"]).into());
    }
    let millis = |name: &str| told[name].as_f64().ok_or("no time");
    Ok(millis("wallMs")?.min(millis("processorMs")?) / 1e3)
}

fn append(path: &Path, line: &str) -> Result {
    let mut file = OpenOptions::new().append(true).open(path)?;
    Ok(file.write_all(format!("{line}\n").as_bytes())?)
}

/// Nothing happens at all.
async fn at_rest(table: &mut Table) -> Result {
    let config = tempfile::tempdir()?;
    made::projects(&config.path().join("projects"), AT_REST, 64 << 10)?;
    let hub = Hub::start_as_installed(&[], &[("CLAUDE_CONFIG_DIR", config.path())]).await?;
    tokio::time::sleep(SETTLED).await;
    let mut times = ThreadTimes::default();
    times.look(hub.pid())?;
    let (began, before) = (Instant::now(), times.seconds());
    while began.elapsed() < REST {
        // Threads that have nothing to do end.
        tokio::time::sleep(Duration::from_secs(1)).await;
        times.look(hub.pid())?;
    }
    let used = (times.seconds() - before) / began.elapsed().as_secs_f64() * 3600.0;
    let what = format!("processor of a hub at rest, {AT_REST} transcripts watched");
    table.row(&what, format!("{used:.2} s an hour"), String::new(), &bar(used < 1.0, "< 1 s"));
    Ok(())
}

async fn watching(table: &mut Table) -> Result {
    let config = tempfile::tempdir()?;
    let (paths, _) = made::projects(&config.path().join("projects"), WATCHED, 64 << 10)?;
    let hub = Hub::start_with(&[], &[("CLAUDE_CONFIG_DIR", config.path())]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    quiet(table, &hub, &paths).await?;
    appended(table, &hub, &paths[1], &made::session_name(1)).await
}

/// One ordinary line a second into one of a thousand files.
async fn quiet(table: &mut Table, hub: &Hub, paths: &[PathBuf]) -> Result {
    let line = json!({ "type": "user", "sessionId": "s", "message": { "role": "user", "content": "x".repeat(2_000) } }).to_string();
    let (began, before) = (Instant::now(), processor_seconds(hub.pid())?);
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    for path in paths.iter().step_by(7).cycle() {
        ticks.tick().await;
        if began.elapsed() > QUIET {
            break;
        }
        append(path, &line)?;
    }
    let used = (processor_seconds(hub.pid())? - before) / began.elapsed().as_secs_f64() * 100.0;
    let what = format!("{WATCHED} transcripts watched, one append a second");
    table.row(&what, format!("{used:.2} % of a core"), String::new(), &bar(used < 1.0, "< 1 %"));
    Ok(())
}

/// From the append of a question to its event.
async fn appended(table: &mut Table, hub: &Hub, path: &Path, session: &str) -> Result {
    let mut events = hub.wire().await?.events(0).await?;
    let mut samples = Vec::new();
    for n in 0..SAMPLES {
        let (id, question) = (format!("toolu_bench_{n}"), format!("Which auth, {n}?"));
        let line = made::asks(session, &id, &question);
        let began = Instant::now();
        append(path, &line)?;
        events.next_of("question.requested", PATIENCE).await?;
        samples.push(began.elapsed().as_secs_f64() * 1000.0);
        append(path, &made::answered(session, &id, &question))?;
        events.next_of("question.resolved", PATIENCE).await?;
    }
    row(table, "question appended to a transcript -> event at an SSE reader", &mut samples);
    Ok(())
}

/// From the start of the hook's process to the event of its question.
async fn hook(table: &mut Table) -> Result {
    let hub = Hub::start_with(&[], &[("CLAUDE_CONFIG_DIR", Path::new("/nowhere"))]).await?;
    let mut events = hub.wire().await?.events(0).await?;
    let mut wire = hub.wire().await?;
    let mut samples = Vec::new();
    for n in 0..SAMPLES {
        let option = json!({ "label": "JWT", "description": "Stateless tokens" });
        let item = json!({ "question": format!("Which auth, {n}?"), "header": "Auth", "multiSelect": false, "options": [option, { "label": "Cookies", "description": "d" }] });
        let mut input = json!({ "session_id": "s-1", "transcript_path": "/nowhere/s-1.jsonl", "cwd": "/home/dev/app",
            "hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": { "questions": [item] } });
        input["tool_use_id"] = json!(format!("toolu_{n}"));
        // Claude Code runs this hook first; from it the hub has the name of the call.
        let report = json!({ "hook": format!("{n:032x}"), "input": input });
        let (status, _) = wire.call("POST", "/v1/hooks/claude", &report.to_string()).await?;
        if status != 200 {
            return Err(format!("the hook before the call was answered {status}").into());
        }
        input["hook_event_name"] = json!("PermissionRequest");
        let began = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_askd"))
            .arg("--data")
            .arg(hub.data())
            .args(["hook", "claude"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        child.stdin.take().ok_or("no stdin")?.write_all(input.to_string().as_bytes())?;
        events.next_of("question.requested", PATIENCE).await?;
        samples.push(began.elapsed().as_secs_f64() * 1000.0);
        let (_, body) = wire.call("GET", "/v1/questions?status=requested", "").await?;
        let list: Value = serde_json::from_slice(&body)?;
        let id = list["questions"][0]["id"].as_str().ok_or("no open question")?;
        wire.call("POST", &format!("/v1/questions/{id}/reply"), crate::hub::REPLY).await?;
        tokio::task::spawn_blocking(move || child.wait()).await??;
    }
    row(table, "`askd hook claude` started -> event at an SSE reader", &mut samples);
    Ok(())
}

fn row(table: &mut Table, what: &str, samples: &mut [f64]) {
    let (p50, p99) = (percentile(samples, 0.5), percentile(samples, 0.99));
    table.row(
        what,
        format!("p50 {p50:.1} ms, p99 {p99:.1} ms"),
        String::new(),
        &bar(p99 < 50.0, "p99 < 50 ms"),
    );
}

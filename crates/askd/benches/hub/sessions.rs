//! `./bench sessions`: many managed mock agents at once, and lines through the holder against a bare pipe.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;
use crate::hub::{Hub, rss_mb};
use crate::table::{Table, percentile};

const SESSIONS: usize = 200;
const LINES: u64 = 200_000;

pub async fn run(table: &mut Table) -> Result {
    eprintln!("sessions");
    many(table).await?;
    lines(table).await
}

async fn many(table: &mut Table) -> Result {
    let hub = Hub::start().await?;
    let idle = hub.rss_mb()?;
    let mut wire = hub.wire().await?;
    let mut samples = Vec::new();
    let all = Instant::now();
    for _ in 0..SESSIONS {
        let began = Instant::now();
        let (status, body) =
            wire.call("POST", "/v1/sessions", r#"{"agent":"mock","prompt":"question","cwd":"/"}"#).await?;
        if status != 201 {
            return Err(format!("a session answered {status}: {}", String::from_utf8_lossy(&body)).into());
        }
        samples.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    loop {
        let (_, body) = wire.call("GET", "/v1/questions?status=requested&limit=500", "").await?;
        let list: Value = serde_json::from_slice(&body)?;
        if list["questions"].as_array().is_some_and(|open| open.len() == SESSIONS) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let total = all.elapsed().as_secs_f64();
    let (p50, p99) = (percentile(&mut samples, 0.5), percentile(&mut samples, 0.99));
    table.row(
        "start a managed session, until it runs",
        format!("p50 {p50:.1} ms, p99 {p99:.1} ms"),
        format!("{SESSIONS} started and asking in {total:.1} s"),
        "",
    );
    let per_session = (hub.rss_mb()? - idle) * 1024.0 / SESSIONS as f64;
    table.row(
        "RSS of the hub for each session",
        format!("{per_session:.0} kB"),
        format!("{idle:.1} MB idle"),
        "",
    );
    let holders = holders(&hub).await?;
    table.row(
        "RSS of a holder, median",
        format!("{:.1} MB", holders.rss_mb),
        format!("{:.2} MB of it its own, the rest shared program text", holders.own_mb),
        "",
    );
    Ok(())
}

/// The memory of the processes that hold agents.
pub struct Holders {
    /// Half of them have less.
    pub rss_mb: f64,
    /// The mean of what each has for itself.
    pub own_mb: f64,
}

pub async fn holders(hub: &Hub) -> Result<Holders> {
    let (_, body) = hub.wire().await?.call("GET", "/v1/holders", "").await?;
    let list: Value = serde_json::from_slice(&body)?;
    let pids: Vec<u32> = list["holders"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|holder| u32::try_from(holder["holderPid"].as_u64()?).ok())
        .collect();
    let mut memory: Vec<f64> = pids.iter().filter_map(|pid| rss_mb(*pid).ok()).collect();
    let own: Vec<f64> = pids.iter().filter_map(|pid| anonymous_mb(*pid).ok()).collect();
    let own_mb = own.iter().sum::<f64>() / own.len().max(1) as f64;
    Ok(Holders { rss_mb: percentile(&mut memory, 0.5), own_mb })
}

fn anonymous_mb(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}

/// The same agent, the same lines: once read from its pipe, once through holder, hub and store.
async fn lines(table: &mut Table) -> Result {
    let bare = tokio::task::spawn_blocking(bare_pipe).await??;
    let hub = Hub::start().await?;
    let mut wire = hub.wire().await?;
    let prompt = format!(r#"{{"agent":"mock","prompt":"flood={LINES} question","cwd":"/"}}"#);
    let began = Instant::now();
    wire.call("POST", "/v1/sessions", &prompt).await?;
    loop {
        let (_, body) = wire.call("GET", "/v1/questions?status=requested", "").await?;
        if serde_json::from_slice::<Value>(&body)?["questions"]
            .as_array()
            .is_some_and(|open| !open.is_empty())
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let rate = LINES as f64 / began.elapsed().as_secs_f64();
    let against = format!("{:.2} of the bare pipe's {bare:.0}/s", rate / bare);
    table.row("lines/s of an agent, durable in its transcript", format!("{rate:.0}"), against, "");
    Ok(())
}

fn bare_pipe() -> Result<f64> {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_askd"))
        .arg("mock-agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":1}}}}"#)?;
    writeln!(
        stdin,
        r#"{{"jsonrpc":"2.0","id":2,"method":"session/new","params":{{"cwd":"/","mcpServers":[]}}}}"#
    )?;
    lines.next().ok_or("no greeting")??;
    lines.next().ok_or("no session")??;
    let prompt = format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{{"sessionId":"mock-1","prompt":[{{"type":"text","text":"flood={LINES}"}}]}}}}"#
    );
    let began = Instant::now();
    writeln!(stdin, "{prompt}")?;
    for _ in 0..LINES {
        lines.next().ok_or("the flood ended early")??;
    }
    let rate = LINES as f64 / began.elapsed().as_secs_f64();
    drop(stdin);
    drop(child.kill());
    child.wait()?;
    Ok(rate)
}

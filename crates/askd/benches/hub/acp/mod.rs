//! `./bench acp`: askd against sandbox-agent 0.4.2, the program that a user would take instead. The same
//! asking agent, the same load program, one after the other in turns, and ratios of what was measured in one
//! run.

mod bare;
mod contest;
mod ears;
mod load;

use std::path::Path;
use std::time::Duration;

use tokio::sync::watch;

use crate::hub::processor_seconds;
use crate::table::{Table, bar, percentile};
use crate::{Result, raw};
use contest::{Program, install};
use ears::Ears;
use load::{Got, Server, read_flood, servers_at_once, sessions_at_once};

const STARTS: usize = 10;
/// Rounds of one turn of the contest, and turns.
const BLOCK: usize = 200;
const TURNS: usize = 6;
/// Before each turn, so that nobody's is disturbed by what the one before has left to do.
const SETTLE: Duration = Duration::from_millis(200);
/// Sessions that ask at once, and the rounds of each.
const AT_ONCE: [(usize, usize); 2] = [(64, 60), (256, 20)];
/// What the agent does in a turn: it only asks, or it talks before and after as codex-acp does (the captured
/// turn has as many lines).
const TURNS_AT_ONCE: [(&str, &str); 2] =
    [("asking at once", "question"), ("that talk and ask at once", "flood=4 question flood=6")];
const AT_ONCE_TURNS: usize = 3;
/// Servers, each with an agent of its own, that ask at once, and the rounds of each.
const SERVERS: (usize, usize) = (32, 20);
/// Events and readers.
const FLOODS: [(u64, usize); 2] = [(50_000, 1), (2_000, 200)];

pub async fn run(table: &mut Table) -> Result {
    eprintln!("ACP against sandbox-agent 0.4.2");
    let other = match tokio::task::spawn_blocking(install).await? {
        Ok(program) => program,
        Err(why) => {
            table.row("ACP against sandbox-agent", "not measured".to_owned(), why.to_string(), "");
            return Ok(());
        }
    };
    start_up(table, &other).await?;
    round_trip(table, &other).await?;
    for turn in TURNS_AT_ONCE {
        for (sessions, rounds) in AT_ONCE {
            at_once(table, &other, turn, sessions, rounds).await?;
        }
    }
    servers(table, &other).await?;
    for (events, readers) in FLOODS {
        flood(table, &other, events, readers, false).await?;
    }
    flood(table, &other, FLOODS[0].0, 1, true).await
}

/// A row of two numbers, askd's first.
fn against(table: &mut Table, what: &str, unit: &str, [ours, theirs]: [f64; 2], held: &str) {
    let digits = if ours.max(theirs) < 100.0 { 2 } else { 0 };
    let number = format!("{ours:.digits$} {unit}");
    table.row(what, number, format!("{theirs:.digits$} {unit}: {:.2} of it", ours / theirs), held);
}

async fn start_up(table: &mut Table, other: &Path) -> Result {
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (program, samples) in Program::both(other, [None, None]).await?.iter().zip(&mut samples) {
            samples.push(program.start_up_ms());
        }
    }
    let medians = samples.map(|mut samples| percentile(&mut samples, 0.5));
    against(table, "start to healthy, median of 10", "ms", medians, "");
    Ok(())
}

/// One question at a time: askd, sandbox-agent, and sandbox-agent with a client that stores question and
/// answer itself, with an fsync each.
async fn round_trip(table: &mut Table, other: &Path) -> Result {
    let mut bare = tokio::task::spawn_blocking(|| bare::rounds_ms(BLOCK * TURNS)).await??;
    let mut ears = [Ears::new()?, Ears::new()?];
    let programs = Program::both(other, ears.each_ref().map(|ears| Some(ears.path()))).await?;
    let mut places = Vec::new();
    for (program, ears) in programs.iter().zip(&mut ears) {
        let server = Server::open(program, "round").await?;
        places.push((server.session().await?, server.stream().await?, ears));
    }
    let mut disk = raw::Disk::open()?;
    let mut heard = [const { Vec::new() }; 3];
    let mut over = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        for (n, place, mut disk) in [(0, 0, None), (1, 1, None), (2, 1, Some(&mut disk))] {
            let (session, stream, ears) = &mut places[place];
            tokio::time::sleep(SETTLE).await;
            for _ in 0..BLOCK {
                let times = session.timed_round(stream, ears, disk.as_deref_mut()).await?;
                heard[n].push(times.0);
                over[n].push(times.1);
            }
        }
    }
    let mut fsyncs = raw::fsyncs_ms()?;
    for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        let [ours, theirs, stored] = heard.each_mut().map(|samples| percentile(samples, part));
        let fsync = percentile(&mut fsyncs, part);
        let held = bar(ours <= theirs + 2.0 * fsync, &format!("<= theirs + 2 fsyncs ({fsync:.2} ms each)"));
        against(
            table,
            &format!("prompt -> question -> answer -> agent, {name}"),
            "ms",
            [ours, theirs],
            &held,
        );
        let what = format!("the same where sandbox-agent's client stores question and answer, {name}");
        against(table, &what, "ms", [ours, stored], "");
        let [ours_over, theirs_over, _] = over.each_mut().map(|samples| percentile(samples, part));
        let what = format!("the same until the client has the end of the turn, {name}");
        against(table, &what, "ms", [ours_over, theirs_over], "");
        let limit = percentile(&mut bare, part);
        let factors = format!("askd {:.1} times, sandbox-agent {:.1} times it", ours / limit, theirs / limit);
        table.row(&format!("the same agent over bare stdio, {name}"), format!("{limit:.3} ms"), factors, "");
    }
    Ok(())
}

async fn at_once(
    table: &mut Table,
    other: &Path,
    (name, turn): (&str, &'static str),
    sessions: usize,
    rounds: usize,
) -> Result {
    let mut rates = [Vec::new(), Vec::new()];
    let (mut stuck, mut memory, mut spent) = ([0, 0], [0.0, 0.0], [0.0, 0.0]);
    // In turns, each on a fresh server of its own.
    for _ in 0..AT_ONCE_TURNS {
        let programs = Program::both(other, [None, None]).await?;
        for (n, program) in programs.iter().enumerate() {
            let (idle, before) = (program.rss_mb()?, processor_seconds(program.pid())?);
            let server = Server::open(program, "many").await?;
            let came = sessions_at_once(&server, turn, sessions, rounds).await?;
            rates[n].push(came.rate);
            stuck[n] += came.stuck;
            memory[n] = (program.rss_mb()? - idle) * 1024.0 / sessions as f64;
            spent[n] = (processor_seconds(program.pid())? - before) * 1e6 / (sessions * rounds) as f64;
        }
    }
    let what = format!("rounds/s, {sessions} sessions of one server {name}");
    let rates = rates.map(|mut rates| percentile(&mut rates, 0.5));
    against(table, &what, "/s", rates, &bar(rates[0] >= 5.0 * rates[1], ">= 5 times theirs"));
    let all = sessions * AT_ONCE_TURNS;
    table.row(
        "sessions that waited in vain for a question or the end of a turn",
        format!("{} of {all}", stuck[0]),
        format!("{} of {all}", stuck[1]),
        &bar(stuck[0] == 0, "none"),
    );
    against(table, "processor time of the program for each of those rounds", "us", spent, "");
    let limit = tokio::task::spawn_blocking(move || bare::rounds_a_second(turn, sessions, rounds)).await??;
    let parts = format!("askd {:.2}, sandbox-agent {:.2} of it", rates[0] / limit, rates[1] / limit);
    table.row("the same agent over bare stdio, answered without a hub", format!("{limit:.0} /s"), parts, "");
    let what = format!("RSS of the program for each of {sessions} sessions after that");
    against(table, &what, "kB", memory, "");
    Ok(())
}

async fn servers(table: &mut Table, other: &Path) -> Result {
    let (count, rounds) = SERVERS;
    let mut rates = [0.0, 0.0];
    let mut memory = [0.0, 0.0];
    let programs = Program::both(other, [None, None]).await?;
    let idle = [programs[0].rss_mb()?, programs[1].rss_mb()?];
    for (n, program) in programs.iter().enumerate() {
        let mut places = Vec::new();
        for server in 0..count {
            let server = Server::open(program, &format!("server-{server}")).await?;
            places.push((server.session().await?, server.stream().await?));
        }
        memory[n] = (program.rss_mb()? - idle[n]) * 1024.0 / count as f64;
        rates[n] = servers_at_once(places, rounds).await?;
    }
    against(table, &format!("rounds/s, {count} servers asking at once"), "/s", rates, "");
    against(table, "RSS of the program, idle", "MB", idle, "");
    against(table, &format!("RSS of the program for each of {count} servers"), "kB", memory, "");
    let holders = match &programs[0] {
        Program::Askd { hub, .. } => crate::sessions::holders(hub).await?,
        Program::SandboxAgent(_) => return Ok(()),
    };
    let own = format!("sandbox-agent has none; {:.2} MB of it its own, the rest shared", holders.own_mb);
    table.row("RSS of askd's holder of an agent", format!("{:.1} MB", holders.rss_mb), own, "");
    Ok(())
}

async fn flood(table: &mut Table, other: &Path, events: u64, readers: usize, pausing: bool) -> Result {
    let mut rates = [0.0, 0.0];
    let mut got = [Got::default(), Got::default()];
    let programs = Program::both(other, [None, None]).await?;
    for (n, program) in programs.iter().enumerate() {
        let server = Server::open(program, "flood").await?;
        let mut session = server.session().await?;
        let (over, turn) = watch::channel(false);
        let mut tasks = Vec::new();
        for _ in 0..readers {
            let (stream, turn) = (server.stream().await?, turn.clone());
            let mut wait = turn.clone();
            tasks.push(tokio::spawn(async move {
                if pausing {
                    drop(wait.wait_for(|over| *over).await);
                }
                read_flood(stream, events, turn).await
            }));
        }
        let began = std::time::Instant::now();
        session.flood(events).await?;
        over.send_replace(true);
        for task in tasks {
            let reader = task.await?;
            got[n].lost += reader.lost;
            got[n].repeated += reader.repeated;
        }
        rates[n] = (readers as u64 * events) as f64 / began.elapsed().as_secs_f64();
    }
    let [ours, theirs] = got;
    let pause = if pausing { " that pauses through it" } else { "" };
    let what = format!("{events} events to {readers} reader(s){pause}: lost, repeated");
    table.row(
        &what,
        format!("{} lost, {} repeated ({:.0} events/s)", ours.lost, ours.repeated, rates[0]),
        format!("{} lost, {} repeated ({:.0} events/s)", theirs.lost, theirs.repeated, rates[1]),
        &bar(ours.lost + ours.repeated == 0, "0 lost, 0 repeated"),
    );
    Ok(())
}

//! The store alone against the same disk without it, back to back in one run: `cargo bench -p askd-store`, or
//! `./bench store`.
//!
//! A machine's disk and its other load change from minute to minute, so each number is a ratio, and the two
//! sides alternate.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use askd_core::{AskInput, QuestionId, Timestamp, TokenId};
use askd_store::sqlite::SqliteStore;
use askd_store::{NewQuestion, Order, Origin, QuestionFilter, Questions};
use tokio::runtime::Runtime;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ROUNDS: usize = 5;
const LONE_ASKS: usize = 200;
const ASKERS: u128 = 64;
const BURST: Duration = Duration::from_secs(2);
/// As many bytes as a question and its event have.
const BODY: usize = 900;
const ASK: &str = r#"{"questions":[{"header":"Auth","question":"Which auth method?","options":[
    {"label":"JWT","description":"Stateless tokens"},{"label":"Sessions","description":"A cookie and a table"}]}],
    "context":{"title":"auth","cwd":"/home/me/project"}}"#;

fn question(n: u128) -> Result<NewQuestion> {
    let ask = serde_json::from_str::<AskInput>(ASK)?.complete()?;
    let origin = Origin::Api { asker: TokenId::from_bits(1) };
    Ok(NewQuestion {
        id: QuestionId::from_bits(n),
        ask,
        at: Timestamp::from_millis(0),
        origin,
        idempotency: None,
    })
}

fn percentile(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let index = (samples.len() as f64 * part) as usize;
    samples.get(index.min(samples.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

fn fsyncs(folder: &Path, samples: &mut Vec<f64>) -> Result<()> {
    let mut file = File::create(folder.join("fsyncs"))?;
    for _ in 0..LONE_ASKS {
        let began = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        samples.push(millis(began));
    }
    Ok(())
}

/// Durable one-row transactions a second with [`ASKERS`] threads at once, grouped into as few commits as they
/// allow.
fn group_commits(folder: &Path) -> Result<f64> {
    #[expect(clippy::disallowed_methods, reason = "the bare disk is measured without the store")]
    let conn = rusqlite::Connection::open(folder.join("raw.db"))?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body TEXT)",
    )?;
    let (jobs, queue) = mpsc::channel::<mpsc::SyncSender<()>>();
    let began = Instant::now();
    let until = began + BURST;
    let threads: Vec<_> = (0..ASKERS)
        .map(|_| {
            let jobs = jobs.clone();
            std::thread::spawn(move || {
                let mut done = 0u64;
                while Instant::now() < until {
                    let (reply, committed) = mpsc::sync_channel(1);
                    if jobs.send(reply).is_err() || committed.recv().is_err() {
                        break;
                    }
                    done += 1;
                }
                done
            })
        })
        .collect();
    drop(jobs);
    let body = "x".repeat(BODY);
    while let Ok(first) = queue.recv() {
        let mut batch = vec![first];
        batch.extend(queue.try_iter());
        conn.execute_batch("BEGIN IMMEDIATE")?;
        for _ in &batch {
            conn.prepare_cached("INSERT INTO t (body) VALUES (?1)")?.execute([&body])?;
        }
        conn.execute_batch("COMMIT")?;
        for reply in batch {
            // The submitter may have run out of time.
            let _ = reply.send(());
        }
    }
    let mut total = 0;
    for thread in threads {
        total += thread.join().map_err(|_| "a submitter panicked")?;
    }
    Ok(total as f64 / began.elapsed().as_secs_f64())
}

async fn lone_asks(
    store: &SqliteStore,
    first: u128,
    asks: &mut Vec<f64>,
    lists: &mut Vec<f64>,
) -> Result<()> {
    for n in 0..LONE_ASKS as u128 {
        let new = question(first + n)?;
        let began = Instant::now();
        store.ask(new).await?;
        asks.push(millis(began));
        let began = Instant::now();
        store.list(QuestionFilter::default(), Order::Desc, None, 50).await?;
        lists.push(millis(began));
    }
    Ok(())
}

async fn askers(store: &Arc<SqliteStore>, first: u128, samples: &mut Vec<f64>) -> Result<f64> {
    let began = Instant::now();
    let until = began + BURST;
    let tasks: Vec<_> = (0..ASKERS)
        .map(|asker| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let (mut took, mut n) = (Vec::new(), first + (asker << 40));
                while Instant::now() < until {
                    let began = Instant::now();
                    store.ask(question(n)?).await?;
                    took.push(millis(began));
                    n += 1;
                }
                Result::Ok(took)
            })
        })
        .collect();
    let mut asked = 0;
    for task in tasks {
        let took = task.await??;
        asked += took.len();
        samples.extend(took);
    }
    Ok(asked as f64 / began.elapsed().as_secs_f64())
}

fn bar(held: bool, text: &str) -> String {
    format!("{text}: {}", if held { "held" } else { "MISSED" })
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let runtime = Runtime::new()?;
    let (mut disk, mut asks, mut lists, mut bursts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut raw, mut rates) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // A store of its own for each round: no round pays for the questions of another.
        let path = folder.path().join(format!("{round}.db"));
        let store = Arc::new(SqliteStore::open(&path, &[7; 32])?);
        fsyncs(folder.path(), &mut disk)?;
        runtime.block_on(lone_asks(&store, 1, &mut asks, &mut lists))?;
        raw.push(group_commits(folder.path())?);
        rates.push(runtime.block_on(askers(&store, 1 << 64, &mut bursts))?);
        runtime.block_on(store.close());
    }
    let disk = percentile(&mut disk, 0.5);
    let ask = percentile(&mut asks, 0.5);
    let ratio =
        percentile(&mut raw.iter().zip(&rates).map(|(raw, rate)| rate / raw).collect::<Vec<_>>(), 0.5);
    let list = percentile(&mut lists, 0.5);
    let p99 = percentile(&mut bursts, 0.99);
    println!("write and fdatasync of 4 KiB, p50         {disk:.3} ms");
    println!(
        "lone durable ask, p50                     {ask:.3} ms, {:.2} of that  {}",
        ask / disk,
        bar(ask <= 3.0 * disk, "<= 3")
    );
    println!("lone durable ask, p99                     {:.3} ms", percentile(&mut asks, 0.99));
    println!("list of 50 right after an ask, p50        {list:.3} ms  {}", bar(list <= 0.4, "<= 0.4 ms"));
    println!(
        "64 askers, against the bare group commit  {:.0}/s, {ratio:.2} of {:.0}/s  {}",
        percentile(&mut rates, 0.5),
        percentile(&mut raw, 0.5),
        bar(ratio >= 0.4, ">= 0.4")
    );
    println!(
        "64 askers, ask p50 and p99                {:.2} and {p99:.2} ms  {}",
        percentile(&mut bursts, 0.5),
        bar(p99 <= 20.0, "p99 <= 20 ms")
    );
    Ok(())
}

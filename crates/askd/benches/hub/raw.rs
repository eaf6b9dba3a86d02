//! The physical limit: what the same disk gives a bare group commit with as many submitters, and one fsync
//! alone.

use std::fs::File;
use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Result;

/// Durable one-row transactions a second with `submitters` at once, grouped into as few commits as they
/// allow.
pub fn group_commits_a_second(submitters: usize, seconds: u64) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    #[expect(clippy::disallowed_methods, reason = "the bare disk is measured without the store")]
    let conn = rusqlite::Connection::open(folder.path().join("raw.db"))?;
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")?;
    let (jobs, queue) = mpsc::channel::<mpsc::SyncSender<()>>();
    let until = Instant::now() + Duration::from_secs(seconds);
    let began = Instant::now();
    let threads: Vec<_> = (0..submitters)
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
    // As many bytes as a question and its event have.
    let body = "x".repeat(900);
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

/// Milliseconds of one append with an fsync, half of them below and above.
pub fn fsync_ms() -> Result<f64> {
    Ok(crate::table::percentile(&mut fsyncs_ms()?, 0.5))
}

/// Milliseconds of many appends, each with an fsync.
pub fn fsyncs_ms() -> Result<Vec<f64>> {
    let mut disk = Disk::open()?;
    let mut samples = Vec::new();
    for _ in 0..500 {
        let began = Instant::now();
        disk.append()?;
        samples.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(samples)
}

/// A file that is appended to, each time with an fsync.
pub struct Disk {
    file: File,
    _folder: TempDir,
}

impl Disk {
    pub fn open() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Self { file: File::create(folder.path().join("f"))?, _folder: folder })
    }

    pub fn append(&mut self) -> Result {
        self.file.write_all(&[0; 4096])?;
        Ok(self.file.sync_data()?)
    }
}

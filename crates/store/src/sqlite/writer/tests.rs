use std::sync::mpsc::{Receiver, channel};

use askd_core::{SessionId, Timestamp};
use rusqlite::params;

use super::super::database::migrate;
use super::super::rows::rows;
use super::super::transcripts::{self, Ends};
use super::*;
use crate::transcripts::NewEntry;

fn start(conn: Connection) -> Arc<Writer> {
    let sealer = Arc::new(Sealer::new(&[7; 32]));
    Arc::new(Writer::start(conn, Arc::new(Tails::starting_after(0)), sealer, 0, |_| Ok(())).unwrap())
}

/// A writer over one table. The row 666 makes SQLite undo the whole transaction by itself, as a broken disk
/// does; a row without its parent is refused by COMMIT.
fn writer() -> Arc<Writer> {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(
        "PRAGMA foreign_keys = ON;
         CREATE TABLE x (n INTEGER PRIMARY KEY, parent INTEGER REFERENCES x (n) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER full BEFORE INSERT ON x WHEN new.n = 666 BEGIN SELECT RAISE(ROLLBACK, 'full'); END;",
    )
    .unwrap();
    start(conn)
}

type TestJob = Box<dyn FnOnce(&mut Tx<'_>) -> StoreResult<i64> + Send>;

fn insert(n: i64) -> TestJob {
    Box::new(move |tx| {
        tx.change("INSERT INTO x (n) VALUES (?1)", params![n])?;
        tx.open_questions += n;
        Ok(n)
    })
}

/// A job with which no commit succeeds.
fn fails_at_commit() -> TestJob {
    Box::new(move |tx| {
        tx.change("INSERT INTO x (n, parent) VALUES (404, 405)", params![])?;
        Ok(404)
    })
}

/// A job that fails, before or after it has written something.
fn fails(writes: bool) -> TestJob {
    Box::new(move |tx| {
        if writes {
            insert(7)(tx)?;
        }
        Err(StoreError::Corrupt("as told".to_owned()))
    })
}

/// Runs `jobs` in one commit: the writer is kept busy until all of them are waiting.
async fn in_one_batch(writer: &Arc<Writer>, jobs: &[i64]) -> Vec<StoreResult<i64>> {
    all_in_one_batch(writer, jobs.iter().map(|n| insert(*n)).collect()).await
}

async fn all_in_one_batch(writer: &Arc<Writer>, jobs: Vec<TestJob>) -> Vec<StoreResult<i64>> {
    let (release, held): (_, Receiver<()>) = channel();
    let (started, begun) = tokio::sync::oneshot::channel();
    let holder = {
        let writer = Arc::clone(writer);
        let hold = move |_: &mut Tx<'_>| {
            started.send(()).unwrap();
            held.recv().ok();
            Ok(())
        };
        tokio::spawn(async move { writer.run(hold).await })
    };
    begun.await.unwrap();
    let mut waiting = Vec::new();
    for (number, job) in jobs.into_iter().enumerate() {
        let writer = Arc::clone(writer);
        let queued = Arc::clone(&writer);
        waiting.push(tokio::spawn(async move { writer.run(job).await }));
        // One after the other, so that they are carried out in this order.
        while queued.jobs.max_capacity() - queued.jobs.capacity() <= number {
            tokio::task::yield_now().await;
        }
    }
    drop(release);
    holder.await.unwrap().unwrap();
    let mut results = Vec::new();
    for job in waiting {
        results.push(job.await.unwrap());
    }
    results
}

/// What is stored, and what the writer believes of it.
async fn kept(writer: &Writer) -> (Vec<i64>, i64) {
    let read = |tx: &mut Tx<'_>| {
        let numbers = rows(tx.conn, "SELECT n FROM x ORDER BY n", &[], |row| Ok(row.get(0)?))?;
        Ok((numbers, tx.open_questions))
    };
    writer.run(read).await.unwrap()
}

fn unavailable(result: &StoreResult<i64>) -> bool {
    matches!(result, Err(StoreError::Unavailable(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_fails_undoes_only_itself() {
    let writer = writer();
    let results = in_one_batch(&writer, &[1, 1, 2]).await;
    assert!(matches!(results[0], Ok(1)) && unavailable(&results[1]) && matches!(results[2], Ok(2)));
    assert_eq!(kept(&writer).await, (vec![1, 2], 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_fails_acknowledges_nobody() {
    let writer = writer();
    in_one_batch(&writer, &[1]).await;
    let batch = vec![insert(2), fails_at_commit(), insert(3)];
    let results = all_in_one_batch(&writer, batch).await;
    assert!(results.iter().all(unavailable), "{results:?}");
    assert_eq!(kept(&writer).await, (vec![1], 1));
    assert!(matches!(in_one_batch(&writer, &[4]).await[..], [Ok(4)]));
    assert_eq!(kept(&writer).await, (vec![1, 4], 5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_chain_nothing_is_stored_after_what_failed() {
    let writer = writer();
    // One fails at the commit.
    for failing in [fails(false), fails(true), fails_at_commit()] {
        let chain = Chain::default();
        assert!(chain.with(writer.run(failing)).await.is_err());
        assert!(unavailable(&chain.with(writer.run(insert(2))).await));
    }
    assert_eq!(kept(&writer).await, (vec![], 0));
    let chain = Chain::default();
    assert!(matches!(chain.with(writer.run(insert(4))).await, Ok(4)));
    assert!(matches!(chain.with(writer.run(insert(5))).await, Ok(5)));
    assert_eq!(kept(&writer).await, (vec![4, 5], 9), "others are stored, whatever failed");
}

/// What SQLite does by itself when the disk is broken: the whole transaction is gone in the middle of a
/// batch. Nothing of it is stored, so no caller is told that it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_rolled_back_beneath_a_job_acknowledges_nobody() {
    let writer = writer();
    let results = in_one_batch(&writer, &[1, 666, 2]).await;
    assert!(results.iter().all(unavailable), "{results:?}");
    assert_eq!(kept(&writer).await, (vec![], 0));
    assert!(matches!(in_one_batch(&writer, &[3]).await[..], [Ok(3)]));
    assert_eq!(kept(&writer).await, (vec![3], 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_follows_the_commit_and_nothing_else() {
    let writer = writer();
    let (happened, effects) = channel();
    // The second fails by itself, the third at the commit.
    for (n, works) in [(1, true), (2, false), (404, false), (3, true)] {
        let happened = happened.clone();
        let job = move |tx: &mut Tx<'_>| {
            tx.after_commit(move || happened.send(n).unwrap());
            match n {
                2 => Err(StoreError::Corrupt("as told".to_owned())),
                404 => fails_at_commit()(tx),
                n => insert(n)(tx),
            }
        };
        assert_eq!(writer.run(job).await.is_ok(), works, "{n}");
    }
    assert_eq!(effects.try_iter().collect::<Vec<_>>(), [1, 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_counters_of_a_transcript_are_undone_with_its_entries() {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn, 0).unwrap();
    let writer = start(conn);
    let says = |works: bool| -> TestJob {
        Box::new(move |tx: &mut Tx<'_>| {
            let entry = NewEntry::new(Timestamp::from_millis(0), "agent");
            transcripts::append(tx, SessionId::from_bits(1), vec![entry], Ends::Perhaps)?;
            if works { Ok(1) } else { Err(StoreError::Corrupt("as told".to_owned())) }
        })
    };
    let results = all_in_one_batch(&writer, vec![says(true), says(false), says(true)]).await;
    assert!(matches!(&results[..], [Ok(1), Err(StoreError::Corrupt(_)), Ok(1)]), "{results:?}");
    let read = |tx: &mut Tx<'_>| {
        let numbers: Vec<u64> =
            rows(tx.conn, "SELECT number FROM transcript_entries ORDER BY number", &[], |row| {
                Ok(row.get(0)?)
            })?;
        let next: u64 = tx.conn.query_row("SELECT next_number FROM transcripts", [], |row| row.get(0))?;
        Ok((numbers, next))
    };
    assert_eq!(writer.run(read).await.unwrap(), (vec![1, 2], 3));
}

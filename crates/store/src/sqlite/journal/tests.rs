use rusqlite::params;

use super::super::rows::rows;
use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let tables = "CREATE TABLE t (n INTEGER PRIMARY KEY); CREATE TABLE meta (key TEXT, value TEXT); \
                      INSERT INTO meta VALUES ('folded_through', '0')";
        place.connect().execute_batch(tables).unwrap();
        place
    }

    #[expect(clippy::disallowed_methods, reason = "a database of its own")]
    fn connect(&self) -> Connection {
        Connection::open(self.0.path().join("db")).unwrap()
    }

    fn open(&self) -> Journal {
        let conn = self.connect();
        let redo = recover(&conn, &self.0.path().join("redo")).unwrap();
        Journal::new(conn, redo).unwrap()
    }
}

fn numbers(conn: &Connection) -> Vec<i64> {
    rows(conn, "SELECT n FROM t ORDER BY n", &[], |row| Ok(row.get(0)?)).unwrap()
}

const INSERT: &str = "INSERT INTO t VALUES (?1)";

fn store(journal: &mut Journal, n: i64) {
    journal.write(INSERT, params![n]).unwrap();
    journal.commit().unwrap();
}

#[test]
fn what_is_durable_is_seen_by_others_once_it_is_folded() {
    let place = Place::new();
    let mut journal = place.open();
    journal.write(INSERT, params![1]).unwrap();
    assert!(numbers(journal.read().unwrap()) == [1]);
    journal.commit().unwrap();
    store(&mut journal, 2);
    assert!(numbers(&place.connect()).is_empty() && !journal.is_folded());
    assert_eq!(numbers(journal.peek().unwrap()), [1], "what is durable may wait");
    assert_eq!(numbers(journal.read().unwrap()), [1, 2]);
    journal.fold(0).unwrap();
    assert!(numbers(&place.connect()) == [1, 2] && journal.is_folded());
}

#[test]
fn what_is_durable_survives_before_and_after_a_fold() {
    let place = Place::new();
    let mut journal = place.open();
    for n in 1..=3 {
        assert_eq!(journal.change(INSERT, params![n]).unwrap(), 1);
        journal.commit().unwrap();
        if n == 2 {
            journal.fold(0).unwrap();
        }
    }
    journal.write(INSERT, params![4]).unwrap();
    // Neither closed nor folded, as after a crash; the fourth was not committed.
    drop(journal);
    assert_eq!(numbers(&place.connect()), [1, 2]);
    for _ in 0..2 {
        assert_eq!(numbers(place.open().read().unwrap()), [1, 2, 3]);
    }
    let mut journal = place.open();
    store(&mut journal, 4);
    drop(journal);
    assert_eq!(numbers(place.open().read().unwrap()), [1, 2, 3, 4]);
}

#[test]
fn a_commit_that_was_refused_is_not_found_by_the_next_hub() {
    for stored in [vec![], vec![1]] {
        let place = Place::new();
        let mut journal = place.open();
        stored.iter().for_each(|n| store(&mut journal, *n));
        journal.write(INSERT, params![2]).unwrap();
        journal.redo.append_in_vain(&journal.changes[journal.durable..]);
        journal.undo().unwrap();
        assert!(!journal.is_folded(), "it is still to be found");
        let found = std::fs::read(place.0.path().join("redo")).unwrap();
        journal.fold(0).unwrap();
        assert!(journal.is_folded());
        drop(journal);
        // As if it could not be overwritten either.
        std::fs::write(place.0.path().join("redo"), found).unwrap();
        let mut journal = place.open();
        assert_eq!(numbers(journal.read().unwrap()), stored);
        store(&mut journal, 3);
        drop(journal);
        assert!(numbers(place.open().read().unwrap()).ends_with(&[3]), "its number is not given again");
    }
}

#[test]
fn a_commit_that_is_undone_leaves_what_was_durable() {
    let place = Place::new();
    let mut journal = place.open();
    store(&mut journal, 1);
    journal.change(INSERT, params![2]).unwrap();
    journal.undo().unwrap();
    assert_eq!(numbers(journal.read().unwrap()), [1]);
    let part = journal.begin_part().unwrap();
    journal.change(INSERT, params![3]).unwrap();
    journal.write(INSERT, params![4]).unwrap();
    journal.undo_part(part).unwrap();
    assert_eq!(numbers(journal.read().unwrap()), [1]);
}

#[test]
fn after_a_fold_that_failed_nothing_is_taken_until_one_succeeds() {
    let place = Place::new();
    let mut journal = place.open();
    store(&mut journal, 1);
    // Somebody else writes.
    let other = place.connect();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    journal.conn().unwrap().busy_timeout(Duration::ZERO).unwrap();
    assert!(journal.fold(0).is_err() && journal.is_stuck());
    assert!(journal.ready().is_err());
    other.execute_batch("ROLLBACK").unwrap();
    journal.fold(0).unwrap();
    journal.ready().unwrap();
    store(&mut journal, 3);
    assert_eq!(numbers(journal.read().unwrap()), [1, 3]);
}

#[test]
fn what_is_stored_beside_a_fold_is_left_for_the_next() {
    let place = Place::new();
    let mut journal = place.open();
    store(&mut journal, 1);
    journal.begin_fold(7).unwrap();
    store(&mut journal, 2);
    journal.conn().unwrap();
    assert_eq!((journal.newly_folded(), journal.newly_folded()), (Some(7), None));
    assert!(numbers(&place.connect()) == [1] && !journal.is_folded());
    assert_eq!(numbers(journal.read().unwrap()), [1, 2]);
    drop(journal);
    assert_eq!(numbers(place.open().read().unwrap()), [1, 2], "as after a crash");
}

#[test]
fn a_fold_that_failed_leaves_its_changes_before_those_that_came_beside_it() {
    let place = Place::new();
    for crashes in [false, true] {
        let mut journal = place.open();
        let before = numbers(journal.read().unwrap());
        let next = before.len() as i64;
        journal.conn().unwrap().busy_timeout(Duration::ZERO).unwrap();
        let other = place.connect();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        store(&mut journal, next);
        journal.begin_fold(1).unwrap();
        // It needs what the fold did not bring into the database.
        journal.write("INSERT INTO t SELECT max(n) + 1 FROM t", params![]).unwrap();
        journal.commit().unwrap();
        journal.conn().unwrap();
        assert!(journal.is_stuck() && journal.newly_folded().is_none());
        other.execute_batch("ROLLBACK").unwrap();
        if crashes {
            drop(journal);
            journal = place.open();
        }
        journal.begin_fold(1).unwrap();
        assert!(!journal.is_folding(), "it has both files, and nothing is stored beside it");
        assert_eq!(numbers(&place.connect()), (0..next + 2).collect::<Vec<_>>());
    }
}

//! Copies of a store: a backup has everything, and a store that was opened from a copy says that it is
//! another one.

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use askd_core::{AskInput, QuestionId, SessionId, Timestamp, TokenId};
    use askd_store::sqlite::{SqliteStore, restore};
    use askd_store::{
        Asked, EventLog, Maintenance, NewEntry, NewQuestion, Origin, Questions, StoreError, Transcripts,
    };

    fn open(folder: &Path) -> SqliteStore {
        SqliteStore::open(&folder.join("askd.db"), &[7; 32]).unwrap()
    }

    async fn ask(store: &SqliteStore, n: u128) -> u64 {
        let ask = r#"{"questions":[{"question":"Which?"}]}"#;
        let ask = serde_json::from_str::<AskInput>(ask).unwrap().complete().unwrap();
        let origin = Origin::Api { asker: TokenId::from_bits(1) };
        let (id, at) = (QuestionId::from_bits(n), Timestamp::from_millis(0));
        match store.ask(NewQuestion { id, ask, at, origin, idempotency: None }).await.unwrap() {
            Asked::New(question) => question.seq,
            other => panic!("not new: {other:?}"),
        }
    }

    async fn say(store: &SqliteStore) -> u64 {
        let transcript = SessionId::from_bits(1);
        let entry = NewEntry::new(Timestamp::from_millis(0), "agent");
        store.append(&transcript, vec![entry]).await.unwrap();
        store.entries_after(&transcript, None, 0).await.unwrap().newest
    }

    /// Every number of the log.
    async fn numbers(store: &SqliteStore) -> Vec<u64> {
        let mut numbers = vec![0];
        loop {
            let page = store.events_after(*numbers.last().unwrap()).await.unwrap();
            if page.is_empty() {
                return numbers.split_off(1);
            }
            numbers.extend(page.iter().map(|event| event.seq));
        }
    }

    async fn backup(store: &SqliteStore, to: &Path) {
        let mut bytes = Vec::new();
        let mut file = store.backup().await.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        file.read_to_end(&mut bytes).unwrap();
        std::fs::write(to, bytes).unwrap();
    }

    #[tokio::test]
    async fn a_store_that_is_opened_again_is_the_same_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        ask(&store, 1).await;
        let identity = store.identity().to_owned();
        store.close().await;
        let again = open(folder.path());
        assert_eq!((again.identity(), ask(&again, 2).await), (identity.as_str(), 2));
        // As after a kill: it was not closed.
        let killed = open(folder.path());
        assert_eq!((killed.identity(), killed.newest()), (identity.as_str(), 2));
        assert!((0..4).all(|cursor| !killed.is_of_another_store(cursor)));
    }

    #[tokio::test]
    async fn a_backup_has_everything_and_begins_another_life() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(folder.path());
        for n in 1..=3 {
            ask(&store, n).await;
        }
        let said = say(&store).await;
        let file = folder.path().join("copy");
        backup(&store, &file).await;
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name == "askd.backup"), "{left:?}");
        // What the original tells its clients after the backup.
        let cursor = ask(&store, 4).await;
        assert_eq!(cursor, 4);

        restore(&file, &other.path().join("askd.db")).unwrap();
        let mode = std::fs::metadata(other.path().join("askd.db")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let copy = open(other.path());
        assert_ne!(copy.identity(), store.identity());
        assert_eq!(numbers(&copy).await, [1, 2, 3]);
        assert!(copy.is_of_another_store(cursor), "nobody knows here what its client has heard");
        assert!(!copy.is_of_another_store(3) && !copy.is_of_another_store(copy.newest()));
        // Whoever goes on from there misses nothing all the same.
        let next = ask(&copy, 5).await;
        assert!(next > 1 << 40 && next < 1 << 53, "{next}");
        let after: Vec<_> = copy.events_after(cursor).await.unwrap().iter().map(|event| event.seq).collect();
        assert_eq!(after, [next]);
        assert!(say(&copy).await > said + (1 << 40));
        // Another store from the same copy gives other numbers; opened again it is the same.
        let third = tempfile::tempdir().unwrap();
        restore(&file, &third.path().join("askd.db")).unwrap();
        let third = open(third.path());
        assert_ne!(third.newest(), next);
        assert!(third.is_of_another_store(next) || third.newest() < next);
        let identity = copy.identity().to_owned();
        copy.close().await;
        let copy = open(other.path());
        assert_eq!((copy.identity(), copy.newest()), (identity.as_str(), next));
        assert!(copy.is_of_another_store(cursor));
    }

    #[tokio::test]
    async fn a_database_that_was_put_back_by_hand_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let (database, kept) = (folder.path().join("askd.db"), folder.path().join("kept"));
        let store = open(folder.path());
        ask(&store, 1).await;
        let identity = store.identity().to_owned();
        // By another program, beside the hub.
        backup(&store, &kept).await;
        #[expect(clippy::disallowed_methods, reason = "the test is another program")]
        let unmark = rusqlite::Connection::open(&kept).unwrap();
        unmark.execute_batch("DELETE FROM meta WHERE key = 'copied'").unwrap();
        let cursor = ask(&store, 2).await;
        store.close().await;
        drop(store);
        std::fs::copy(&kept, &database).unwrap();
        let store = open(folder.path());
        assert_ne!(store.identity(), identity);
        assert!(store.is_of_another_store(cursor));
        store.close().await;
        // Alone in a new folder.
        let other = tempfile::tempdir().unwrap();
        std::fs::copy(&database, other.path().join("askd.db")).unwrap();
        assert_ne!(open(other.path()).identity(), store.identity());
    }

    #[test]
    fn what_is_no_store_is_not_restored() {
        let folder = tempfile::tempdir().unwrap();
        let (file, database) = (folder.path().join("file"), folder.path().join("askd.db"));
        for bytes in [&b""[..], b"not a database at all", &[b'x'; 8192]] {
            std::fs::write(&file, bytes).unwrap();
            let refused = restore(&file, &database).unwrap_err();
            assert!(matches!(refused, StoreError::Corrupt(_)), "{refused}");
            assert!(!database.exists());
        }
        assert!(restore(&folder.path().join("missing"), &database).is_err());
    }
}

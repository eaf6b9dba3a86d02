//! What only the embedded store can show: its file, its schema, a disk that fails, a crash.

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use askd_core::delivery::DeliveryInput;
    use askd_core::{
        Answer, AskInput, By, Cause, Question, QuestionId, Resolution, SessionId, SourceId, Status, Surface,
        Timestamp, TokenId,
    };
    use askd_store::sqlite::SqliteStore;
    use askd_store::{
        Asked, Claim, Deliveries, EventLog, NewQuestion, Origin, Questions, Resolve, Resolved, Retention,
        StoreError,
    };
    use rusqlite::Connection;
    use tempfile::TempDir;

    const KEY: [u8; 32] = [7; 32];

    fn open(folder: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(&folder.join("askd.db"), &KEY)
    }

    fn folder() -> TempDir {
        tempfile::tempdir().unwrap()
    }

    /// A look at the file beside the store.
    #[expect(clippy::disallowed_methods, reason = "the test looks behind the store's only door")]
    fn beside(folder: &Path) -> Connection {
        Connection::open(folder.join("askd.db")).unwrap()
    }

    fn schema(conn: &Connection) -> Vec<String> {
        let mut statement = conn.prepare("SELECT sql FROM sqlite_schema ORDER BY name").unwrap();
        let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
        rows.filter_map(Result::unwrap).collect()
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + millis)
    }

    fn asking(n: u128, origin: Origin, json: &str) -> NewQuestion {
        let ask = serde_json::from_str::<AskInput>(json).unwrap().complete().unwrap();
        NewQuestion { id: QuestionId::from_bits(n), ask, at: at(0), origin, idempotency: None }
    }

    async fn ask(store: &SqliteStore, n: u128) -> Result<Question, StoreError> {
        let origin = Origin::Api { asker: TokenId::from_bits(1) };
        match store.ask(asking(n, origin, r#"{"questions":[{"question":"Which?"}]}"#)).await? {
            Asked::New(question) => Ok(question),
            other => panic!("not new: {other:?}"),
        }
    }

    async fn answer(store: &SqliteStore, id: &QuestionId, pick: &str) -> Result<Question, StoreError> {
        let answers = vec![askd_core::ItemAnswer::picks([pick])];
        let answer = Answer { answers, notes: vec![None], edited_plan: None, next_mode: None };
        let by = By { surface: Surface::Cli, actor: None };
        let resolution = Resolution::Answer(answer);
        let wanted = Resolve { id: id.clone(), resolution, by, at: at(1), idempotency: None, claim: None };
        match store.resolve(wanted).await? {
            Resolved::Settled(question, _) => Ok(question),
            other => panic!("not settled: {other:?}"),
        }
    }

    async fn stored(store: &SqliteStore, id: &QuestionId) -> Option<Question> {
        store.question(id).await.unwrap().map(|record| record.question)
    }

    fn contains(folder: &Path, needle: &[u8]) -> bool {
        let holds = |path: &Path| {
            let bytes = std::fs::read(path).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle)
        };
        std::fs::read_dir(folder).unwrap().any(|file| holds(&file.unwrap().path()))
    }

    #[tokio::test]
    async fn what_ended_last_is_found_by_the_next_who_opens() {
        let folder = folder();
        let source = SourceId::from_bits(1);
        let store = open(folder.path()).unwrap();
        let ended = |n, millis| {
            let resolution = Resolution::Cancel(Cause::TurnAborted { detail: None });
            let id = QuestionId::from_bits(n);
            Resolve { id, resolution, by: By::agent(), at: at(millis), idempotency: None, claim: None }
        };
        for (n, source) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 1), (6, 1)] {
            let (source, native_id) = (SourceId::from_bits(source), n.to_string());
            let (road, native) = ("lines".to_owned(), "{}".to_owned());
            let origin = Origin::Agent { source, native_id, is_new: true, road, native };
            store.ask(asking(n, origin, r#"{"questions":[{"question":"Which?"}]}"#)).await.unwrap();
        }
        for (n, millis) in [(1, 1_000), (2, 2_000), (3, 2_500), (4, 3_000)] {
            store.resolve(ended(n, millis)).await.unwrap();
        }
        answer(&store, &QuestionId::from_bits(5), "x").await.unwrap();
        store.close().await;
        let store = open(folder.path()).unwrap();
        let last = async || {
            let ended = store.ended_last(&source, Duration::from_secs(1)).await.unwrap();
            ended.into_iter().map(|question| question.id).collect::<Vec<_>>()
        };
        let ids = |numbers: &[u128]| numbers.iter().map(|n| QuestionId::from_bits(*n)).collect::<Vec<_>>();
        assert_eq!(last().await, ids(&[3, 2]), "neither an older one, nor another's, nor an answer");
        store.resolve(ended(6, 9_000)).await.unwrap();
        assert_eq!(last().await, ids(&[3, 2]), "nor what ends since");
    }

    #[tokio::test]
    async fn an_empty_file_becomes_a_store() {
        let folder = folder();
        std::fs::write(folder.path().join("askd.db"), b"").unwrap();
        let store = open(folder.path()).unwrap();
        ask(&store, 1).await.unwrap();
        let conn = beside(folder.path());
        let pragma = |name: &str| -> String {
            conn.query_row(&format!("SELECT cast({name} AS TEXT) FROM pragma_{name}"), [], |row| row.get(0))
                .unwrap()
        };
        // Every file of the folder was carried out.
        let migrations =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap().count();
        assert_eq!(
            (pragma("user_version"), pragma("journal_mode")),
            (migrations.to_string(), "wal".to_owned())
        );
        // The same schema whether it is made at once or opened again.
        let made = schema(&conn);
        store.close().await;
        let store = open(folder.path()).unwrap();
        assert_eq!((schema(&conn), store.newest()), (made, 1));
    }

    #[tokio::test]
    async fn an_older_store_is_brought_up_to_date() {
        let (new, old) = (folder(), folder());
        beside(old.path())
            .execute_batch(include_str!("../migrations/0001_start.sql"))
            .and_then(|()| beside(old.path()).execute_batch("PRAGMA user_version = 1"))
            .unwrap();
        for path in [new.path(), old.path()] {
            let store = open(path).unwrap();
            ask(&store, 1).await.unwrap();
            store.close().await;
        }
        assert_eq!(schema(&beside(old.path())), schema(&beside(new.path())));
    }

    #[tokio::test]
    async fn what_an_older_store_had_under_way_goes_on() {
        let (new, old) = (folder(), folder());
        let source = SourceId::from_bits(1);
        let claim = async |store: &SqliteStore| {
            let (sources, now, until) = (vec![source.clone()], at(2), at(9));
            store.claim(Claim { owner: "hub".to_owned(), sources, now, until, limit: 9 }).await.unwrap()
        };
        let (session, native_id) = (SessionId::from_bits(1), "toolu_1");
        let origin = Origin::Agent {
            source: source.clone(),
            native_id: native_id.to_owned(),
            is_new: false,
            road: "control".to_owned(),
            native: "{}".to_owned(),
        };
        let mut question = asking(1, origin, r#"{"questions":[{"question":"Which?"}]}"#);
        question.ask.session_id = Some(session.clone());
        let store = open(new.path()).unwrap();
        store.ask(question).await.unwrap();
        answer(&store, &QuestionId::from_bits(1), "A").await.unwrap();
        store.close().await;

        let conn = beside(old.path());
        for migration in [
            include_str!("../migrations/0001_start.sql"),
            include_str!("../migrations/0002_transcripts.sql"),
            include_str!("../migrations/0003_streams.sql"),
            include_str!("../migrations/0004_tmux.sql"),
        ] {
            conn.execute_batch(migration).unwrap();
        }
        conn.execute("ATTACH ?1 AS new", [new.path().join("askd.db").to_str().unwrap()]).unwrap();
        conn.execute_batch(
            "INSERT INTO questions SELECT seq, id, status, agent, session_id, source_id, call_id, native_id, asker, created_at,
               deadline, settled_at, ask, native, outcome, answer_mac, picks_mac FROM new.questions; INSERT INTO events SELECT * FROM new.events;
             INSERT INTO sightings SELECT session_id, native_id, question_id, road FROM new.sightings;
             INSERT INTO deliveries SELECT question_id, 'dlv', source_id, state, body, claim_owner, claim_until, not_before
               FROM new.deliveries;
             PRAGMA user_version = 4",
        )
        .unwrap();
        drop(conn);
        let (new, old) = (open(new.path()).unwrap(), open(old.path()).unwrap());
        let known = old.question_by_native(&session, native_id).await.unwrap();
        assert!(known.is_some());
        assert_eq!(known, new.question_by_native(&session, native_id).await.unwrap());
        let claimed = claim(&old).await;
        assert_eq!(claimed.len(), 1);
        assert_eq!(claimed, claim(&new).await);
    }

    #[tokio::test]
    async fn a_store_of_a_newer_askd_is_refused_and_left_as_it_is() {
        let folder = folder();
        beside(folder.path()).execute_batch("CREATE TABLE future (x); PRAGMA user_version = 4711;").unwrap();
        let before = std::fs::read(folder.path().join("askd.db")).unwrap();
        let error = open(folder.path()).err().unwrap();
        assert!(matches!(error, StoreError::TooNew { found: 4711, .. }), "{error}");
        assert_eq!(std::fs::read(folder.path().join("askd.db")).unwrap(), before);
    }

    #[tokio::test]
    async fn what_is_no_store_is_refused_as_unreadable() {
        let folder = folder();
        std::fs::write(folder.path().join("askd.db"), [b'x'; 8192]).unwrap();
        let error = open(folder.path()).err().unwrap();
        assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
        let error = open(&folder.path().join("missing")).err().unwrap();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    }

    #[tokio::test]
    async fn a_redo_log_with_changes_is_refused_and_an_empty_one_is_removed() {
        let folder = folder();
        let log = folder.path().join("askd.redo2");
        let mut bytes = vec![0; 1 << 20];
        bytes[4711] = 1;
        std::fs::write(&log, &bytes).unwrap();
        let error = open(folder.path()).err().unwrap();
        assert!(matches!(&error, StoreError::OldRedoLog(path) if *path == log), "{error}");
        assert!(
            error
                .to_string()
                .contains("start the last version of askd once on this data folder and stop it cleanly")
        );
        assert_eq!(std::fs::read(&log).unwrap(), bytes, "what was refused is left as it is");
        bytes[4711] = 0;
        std::fs::write(&log, &bytes).unwrap();
        ask(&open(folder.path()).unwrap(), 1).await.unwrap();
        assert!(!log.exists());
    }

    /// A fault of askd's own, a row that SQLite refuses: the questions beside it in the same commit are
    /// stored, and the store goes on.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_statement_that_is_refused_fails_its_own_job_alone() {
        let folder = folder();
        let store = Arc::new(open(folder.path()).unwrap());
        let asking = |n: u128, id: u128| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { (n, ask(&store, id).await) })
        };
        // Every third has an id that is stored already.
        let asking: Vec<_> = (1..=60).map(|n| asking(n, if n % 3 == 0 { 1 } else { n })).collect();
        for asked in asking {
            let (n, asked) = asked.await.unwrap();
            assert_eq!(asked.is_ok(), n % 3 != 0, "{n}: {asked:?}");
        }
        assert_eq!(store.newest(), 40, "what was refused is not in the log");
        store.probe().await.unwrap();
    }

    #[tokio::test]
    async fn a_deleted_secret_leaves_no_sealed_bytes_behind() {
        let folder = folder();
        let store = open(folder.path()).unwrap();
        let source = SourceId::from_bits(1);
        let origin = Origin::Agent {
            source: source.clone(),
            native_id: "1".to_owned(),
            is_new: false,
            road: "control".to_owned(),
            native: "{}".to_owned(),
        };
        let new = asking(1, origin, r#"{"questions":[{"question":"Password?","secret":true}]}"#);
        let id = new.id.clone();
        store.ask(new).await.unwrap();
        answer(&store, &id, &"hunter2".repeat(40)).await.unwrap();
        let sealed: Vec<u8> =
            beside(folder.path()).query_row("SELECT sealed FROM secrets", [], |row| row.get(0)).unwrap();
        assert!(contains(folder.path(), &sealed));
        let until = at(9999);
        let claim = Claim { owner: "hub".to_owned(), sources: vec![source], now: at(2), until, limit: 1 };
        assert_eq!(store.claim(claim).await.unwrap().len(), 1);
        store.step(&id, DeliveryInput::Confirmed, at(3)).await.unwrap().unwrap();
        store.close().await;
        assert!(!contains(folder.path(), &sealed[24..56]));
    }

    /// A crash leaves the files as they are at some moment. A reader keeps SQLite's log from being begun
    /// anew, so the log only grows: a copy of the database and then of the log has all that was told before
    /// the copy was begun.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn after_a_crash_every_acknowledged_write_is_there() {
        const WRITERS: u128 = 8;
        const QUESTIONS: u128 = 20;
        let folder = folder();
        let store = Arc::new(open(folder.path()).unwrap());
        let acknowledged = Arc::new(Mutex::new(Vec::<Question>::new()));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (store, acknowledged) = (Arc::clone(&store), Arc::clone(&acknowledged));
                tokio::spawn(async move {
                    for n in 0..QUESTIONS {
                        let asked = ask(&store, writer * QUESTIONS + n).await.unwrap();
                        acknowledged.lock().unwrap().push(asked.clone());
                        let answered = answer(&store, &asked.id, "mine").await.unwrap();
                        acknowledged.lock().unwrap().push(answered);
                    }
                })
            })
            .collect();
        let reader = beside(folder.path());
        reader.execute_batch("BEGIN; SELECT count(*) FROM questions;").unwrap();
        let mut crashes = 0;
        loop {
            let over = writers.iter().all(|writer| writer.is_finished());
            let told = acknowledged.lock().unwrap().clone();
            let newest = store.newest();
            let copy = self::folder();
            for file in ["askd.identity", "askd.db", "askd.db-wal"] {
                std::fs::copy(folder.path().join(file), copy.path().join(file)).unwrap();
            }
            let after = open(copy.path()).unwrap();
            assert!(after.newest() >= newest);
            for question in &told {
                let found = stored(&after, &question.id).await.unwrap();
                // What was told as open may have been answered since.
                let wanted = if question.is_open() && !found.is_open() {
                    Question { status: Status::Requested, outcome: None, ..found.clone() }
                } else {
                    found.clone()
                };
                assert_eq!(wanted, *question);
            }
            crashes += 1;
            if over {
                assert_eq!((told.len() as u128, after.newest() as u128), (320, 2 * WRITERS * QUESTIONS));
                break;
            }
        }
        assert!(crashes > 1);
        for writer in writers {
            writer.await.unwrap();
        }
    }

    /// Backups by another program, while the store is busy: each has everything that was acknowledged before
    /// it began.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_backup_by_sqlite_beside_a_busy_store_has_every_acknowledged_question() {
        const BACKUPS: usize = 12;
        let folder = folder();
        let store = Arc::new(open(folder.path()).unwrap());
        let acknowledged = Arc::new(Mutex::new(Vec::<QuestionId>::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let asking: Vec<_> = (0..4u128)
            .map(|asker| {
                let (store, acknowledged, stop) =
                    (Arc::clone(&store), Arc::clone(&acknowledged), Arc::clone(&stop));
                tokio::spawn(async move {
                    for n in (asker << 32).. {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let asked = ask(&store, n).await.unwrap();
                        acknowledged.lock().unwrap().push(asked.id);
                    }
                })
            })
            .collect();
        let mut told = 0;
        for n in 0..BACKUPS {
            while acknowledged.lock().unwrap().len() <= told {
                tokio::task::yield_now().await;
            }
            let before = acknowledged.lock().unwrap().clone();
            told = before.len();
            let path = folder.path().join(format!("copy-{n}.db"));
            let source = beside(folder.path());
            #[expect(clippy::disallowed_methods, reason = "the test is another program")]
            let mut copy = Connection::open(&path).unwrap();
            let backup = rusqlite::backup::Backup::new(&source, &mut copy).unwrap();
            while backup.step(-1).unwrap() != rusqlite::backup::StepResult::Done {
                tokio::task::yield_now().await;
            }
            drop(backup);
            let mut find = copy.prepare("SELECT 1 FROM questions WHERE id = ?1").unwrap();
            for id in &before {
                assert!(find.exists([id.as_str()]).unwrap(), "{id} is not in copy {n}");
            }
        }
        stop.store(true, Ordering::Relaxed);
        for asking in asking {
            asking.await.unwrap();
        }
    }

    /// What the retention deletes is the disk's again, in a new store and in one of before.
    #[tokio::test]
    async fn the_retention_gives_the_disk_back() {
        const QUESTIONS: u128 = 60;
        for is_old in [false, true] {
            let folder = folder();
            if is_old {
                beside(folder.path()).execute_batch(include_str!("../migrations/0001_start.sql")).unwrap();
                beside(folder.path()).execute_batch("PRAGMA user_version = 1").unwrap();
            }
            let store = open(folder.path()).unwrap();
            let long = format!(r#"{{"questions":[{{"question":"{}"}}]}}"#, "x".repeat(100_000));
            for n in 0..QUESTIONS {
                let origin = Origin::Api { asker: TokenId::from_bits(1) };
                store.ask(asking(n, origin, &long)).await.unwrap();
                answer(&store, &QuestionId::from_bits(n), "x").await.unwrap();
            }
            let size = || std::fs::metadata(folder.path().join("askd.db")).unwrap().len();
            store.close().await;
            let before = size();
            let store = open(folder.path()).unwrap();
            let retention = Retention { settled_before: Some(at(1000)), ..Retention::default() };
            assert_eq!(store.prune(retention).await.unwrap(), QUESTIONS as u64);
            store.close().await;
            assert!(size() < 2 << 20 && before > 5 << 20, "{before} -> {} bytes, old: {is_old}", size());
        }
    }

    const FULL: &str = "ASKD_TEST_WITH_A_FULL_DISK";

    /// The disk is full for root too: a child of this test runs with a limit on the size of its files.
    #[cfg(unix)]
    #[test]
    fn a_full_disk_loses_nothing_that_was_acknowledged() {
        let run = r#"trap '' XFSZ; ulimit -S -f 1024; exec "$0" --exact tests::the_child_with_a_full_disk --nocapture"#;
        let output = std::process::Command::new("sh")
            .arg("-c")
            .arg(run)
            .arg(std::env::current_exe().unwrap())
            .env(FULL, "1")
            .output()
            .unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("the disk was full"), "{said}");
    }

    #[cfg(unix)]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_child_with_a_full_disk() {
        const AT_ONCE: u128 = 16;
        const LIMIT: u128 = 20_000;
        if std::env::var_os(FULL).is_none() {
            return;
        }
        let folder = folder();
        let store = Arc::new(open(folder.path()).unwrap());
        let (mut acknowledged, mut refused) = (Vec::new(), Vec::new());
        let mut next = 0;
        while refused.is_empty() {
            assert!(next < LIMIT, "the disk never became full");
            let asking: Vec<_> = (next..next + AT_ONCE)
                .map(|n| {
                    let store = Arc::clone(&store);
                    tokio::spawn(async move { (QuestionId::from_bits(n), ask(&store, n).await) })
                })
                .collect();
            next += AT_ONCE;
            for asked in asking {
                match asked.await.unwrap() {
                    (_, Ok(question)) => acknowledged.push(question),
                    (id, Err(StoreError::Unavailable(_))) => refused.push(id),
                    (_, Err(other)) => panic!("{other}"),
                }
            }
        }
        let newest = store.newest();
        assert_eq!(newest, acknowledged.len() as u64);
        // A smaller write may still fit; then the health goes red.
        let mut probes = 0;
        let red = loop {
            match store.probe().await {
                Ok(()) => probes += 1,
                Err(error) => break error,
            }
            assert!(probes < LIMIT, "the disk never became full");
        };
        assert!(matches!(red, StoreError::Unavailable(_)), "{red}");
        // It can still be read, and what was refused did not happen.
        for id in &refused {
            assert_eq!(stored(&store, id).await, None);
        }

        println!("the disk was full after {} questions, {} were refused", acknowledged.len(), refused.len());
        let whole = rustix::process::getrlimit(rustix::process::Resource::Fsize).maximum;
        let limit = rustix::process::Rlimit { current: whole, maximum: whole };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
        store.probe().await.unwrap();
        let again = ask(&store, LIMIT).await.unwrap();
        assert_eq!(again.seq, newest + 1);
        acknowledged.push(again);
        store.close().await;
        let store = open(folder.path()).unwrap();
        assert_eq!(store.newest(), newest + 1);
        for question in &acknowledged {
            assert_eq!(stored(&store, &question.id).await.as_ref(), Some(question));
        }
        for id in &refused {
            assert_eq!(stored(&store, id).await, None);
        }
    }
}

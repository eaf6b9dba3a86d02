//! The store on a disk that loses its power at any moment, and on one whose syncs fail: nothing that was
//! acknowledged is missing.
//!
//! A child of each test runs the store over `broken_disk/shim.c`, which records every write and sync. The
//! test rebuilds the files as a disk may have them at a random place of the record: what was synced is there;
//! of the rest nothing, all, some writes, or some sectors. `ASKD_DISK_SEED=N` repeats the choices of an
//! earlier run.

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::path::Path;
    use std::process::Command;
    use std::sync::{Arc, Mutex};
    use std::time::{SystemTime, UNIX_EPOCH};

    use askd_core::{
        Answer, AskInput, By, ItemAnswer, QuestionId, Resolution, Status, Surface, Timestamp, TokenId,
    };
    use askd_store::sqlite::SqliteStore;
    use askd_store::{Asked, EventLog, NewQuestion, Origin, Questions, Resolve, Resolved, StoreError};
    use rusqlite::Connection;
    use tempfile::TempDir;

    const CHILD: &str = "ASKD_TEST_ON_A_BROKEN_DISK";
    /// Enough pages for several checkpoints.
    const ASKERS: u128 = 4;
    const QUESTIONS: u128 = 150;
    /// Each is opened by a store: this bounds the time of a test.
    const CUTS: u64 = 40;
    const SECTOR: usize = 512;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    async fn ask(store: &SqliteStore, n: u128) -> Result<(), StoreError> {
        let ask = r#"{"questions":[{"question":"Which?","options":["A","B"]}]}"#;
        let ask = serde_json::from_str::<AskInput>(ask).unwrap().complete().unwrap();
        let origin = Origin::Api { asker: TokenId::from_bits(1) };
        let new = NewQuestion { id: QuestionId::from_bits(n), ask, at: at(0), origin, idempotency: None };
        assert!(matches!(store.ask(new).await?, Asked::New(_)));
        Ok(())
    }

    async fn answer(store: &SqliteStore, n: u128) -> Result<(), StoreError> {
        let answers = vec![ItemAnswer::picks(["A"])];
        let answer = Answer { answers, notes: vec![None], edited_plan: None, next_mode: None };
        let (resolution, by) = (Resolution::Answer(answer), By { surface: Surface::Cli, actor: None });
        let id = QuestionId::from_bits(n);
        let wanted = Resolve { id, resolution, by, at: at(1), idempotency: None, claim: None };
        assert!(matches!(store.resolve(wanted).await?, Resolved::Settled(..)));
        Ok(())
    }

    /// What the child does: asks and answers, and notes what was acknowledged in a file that the shim records
    /// too.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_child_on_a_broken_disk() {
        let Some(folder) = std::env::var_os(CHILD) else { return };
        let folder = Path::new(&folder);
        let store = Arc::new(SqliteStore::open(&folder.join("askd.db"), &[7; 32]).unwrap());
        let noted = OpenOptions::new().create(true).append(true).open(folder.join("acknowledged"));
        let noted = Arc::new(Mutex::new(noted.unwrap()));
        let asking: Vec<_> = (0..ASKERS)
            .map(|asker| {
                let (store, noted) = (Arc::clone(&store), Arc::clone(&noted));
                tokio::spawn(async move {
                    let note = |what: &str, n: u128| {
                        noted.lock().unwrap().write_all(format!("{what} {n}\n").as_bytes()).unwrap();
                    };
                    for n in asker * QUESTIONS..(asker + 1) * QUESTIONS {
                        // What is refused may be there or not.
                        if ask(&store, n).await.is_ok() {
                            note("asked", n);
                            if answer(&store, n).await.is_ok() {
                                note("answered", n);
                            }
                        }
                    }
                })
            })
            .collect();
        for asking in asking {
            asking.await.unwrap();
        }
        // Killed here, as it were: the store is not closed.
        std::process::exit(0);
    }

    #[derive(Debug, Clone)]
    enum Change {
        Write(usize, Vec<u8>),
        Truncate(usize),
    }

    #[derive(Debug)]
    enum Event {
        Change(&'static str, Change),
        Synced(&'static str),
        SyncFailed(&'static str),
        Acknowledged(String),
    }

    fn run_child(fail_every: Option<u32>) -> (TempDir, Vec<Event>) {
        let folder = tempfile::tempdir().unwrap();
        let (library, log) = (folder.path().join("shim.so"), folder.path().join("record"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/broken_disk/shim.c");
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
        assert!(built.unwrap().success(), "the C compiler that builds SQLite builds this too");
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "tests::the_child_on_a_broken_disk", "--nocapture"]);
        child.env(CHILD, folder.path()).env("LD_PRELOAD", &library).env("SHIM_LOG", &log);
        child.env("SHIM_FAIL_EVERY", fail_every.unwrap_or(0).to_string());
        let output = child.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let events = read(&std::fs::read(&log).unwrap());
        (folder, events)
    }

    /// The file that says that the database is the one that was here last.
    fn identity_of(folder: &Path) -> String {
        std::fs::read_to_string(folder.join("askd.identity")).unwrap()
    }

    fn read(mut log: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some((head, rest)) = log.split_first_chunk::<24>() {
            let word = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().unwrap());
            let long = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().unwrap()) as usize;
            let (what, file, offset, length) = (word(0), word(4), long(8), long(16));
            let name = if file == 1 { "askd.db" } else { "askd.db-wal" };
            let (bytes, rest) = rest.split_at(length);
            events.push(match what {
                1 if file == 3 => Event::Acknowledged(String::from_utf8(bytes.to_vec()).unwrap()),
                1 => Event::Change(name, Change::Write(offset, bytes.to_vec())),
                2 => Event::Change(name, Change::Truncate(offset)),
                3 => Event::Synced(name),
                4 => Event::SyncFailed(name),
                other => panic!("a record of {other}"),
            });
            log = rest;
        }
        events
    }

    struct Random(u64);

    impl Random {
        fn new() -> Self {
            let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            let seed = std::env::var("ASKD_DISK_SEED").ok().and_then(|seed| seed.parse().ok());
            let seed = seed.unwrap_or(u64::from(clock.subsec_nanos()) | 1);
            eprintln!("ASKD_DISK_SEED={seed}");
            Self(seed)
        }

        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % n
        }
    }

    /// What becomes of a change that was not synced.
    #[derive(Debug, Clone, Copy)]
    enum Fate {
        Lost,
        Kept,
        Some,
        Torn,
    }

    #[derive(Default, Clone)]
    struct OnDisk {
        durable: Vec<u8>,
        pending: Vec<Change>,
    }

    impl OnDisk {
        fn write(&mut self, offset: usize, bytes: &[u8]) {
            let end = offset + bytes.len();
            if self.durable.len() < end {
                self.durable.resize(end, 0);
            }
            self.durable[offset..end].copy_from_slice(bytes);
        }

        fn settle(&mut self, fate: Fate, random: &mut Random) {
            for change in std::mem::take(&mut self.pending) {
                let is_kept = match fate {
                    Fate::Lost => false,
                    Fate::Kept | Fate::Torn => true,
                    Fate::Some => random.below(2) == 0,
                };
                match change {
                    _ if !is_kept => {}
                    Change::Truncate(length) => self.durable.resize(length, 0),
                    Change::Write(offset, bytes) if matches!(fate, Fate::Torn) => {
                        for (n, sector) in bytes.chunks(SECTOR).enumerate() {
                            if random.below(2) == 0 {
                                self.write(offset + n * SECTOR, sector);
                            }
                        }
                    }
                    Change::Write(offset, bytes) => self.write(offset, &bytes),
                }
            }
        }
    }

    #[derive(Default, Clone)]
    struct Disk {
        files: BTreeMap<&'static str, OnDisk>,
        acknowledged: String,
    }

    impl Disk {
        fn after(events: &[Event], random: &mut Random) -> Self {
            let mut disk = Self::default();
            for event in events {
                match event {
                    Event::Change(name, change) => {
                        disk.files.entry(name).or_default().pending.push(change.clone());
                    }
                    Event::Synced(name) => {
                        disk.files.entry(name).or_default().settle(Fate::Kept, random);
                    }
                    // The system may have dropped what it could not write, and says so only once.
                    Event::SyncFailed(name) => {
                        disk.files.entry(name).or_default().settle(Fate::Some, random);
                    }
                    Event::Acknowledged(what) => disk.acknowledged.push_str(what),
                }
            }
            disk
        }

        /// The files of the disk after a power cut.
        fn cut(mut self, identity: &str, fate: Fate, random: &mut Random) -> TempDir {
            let folder = tempfile::tempdir().unwrap();
            // Synced before the first acknowledgement.
            std::fs::write(folder.path().join("askd.identity"), identity).unwrap();
            for (name, file) in &mut self.files {
                file.settle(fate, random);
                std::fs::write(folder.path().join(name), &file.durable).unwrap();
            }
            folder
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the test looks behind the store's only door")]
    fn integrity(folder: &Path) -> String {
        let conn = Connection::open(folder.join("askd.db")).unwrap();
        conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
    }

    /// Opens the store as it was found, and looks for everything that a client had been told by then.
    async fn check(folder: &Path, acknowledged: &str, what: &str) {
        let store = SqliteStore::open(&folder.join("askd.db"), &[7; 32]).unwrap();
        for line in acknowledged.lines() {
            let (told, n) = line.split_once(' ').unwrap();
            let id = QuestionId::from_bits(n.parse().unwrap());
            let Some(found) = store.question(&id).await.unwrap() else { panic!("{line}: lost, {what}") };
            assert!(told == "asked" || found.question.status == Status::Answered, "{line}: undone, {what}");
        }
        let mut seen = 0;
        while seen < store.newest() {
            let page = store.events_after(seen).await.unwrap();
            assert!(!page.is_empty(), "no event after {seen}, {what}");
            for event in page {
                assert_eq!(event.seq, seen + 1, "a hole in the log, {what}");
                seen = event.seq;
            }
        }
        // And it goes on.
        ask(&store, 1 << 100).await.unwrap();
        store.close().await;
        assert_eq!(integrity(folder), "ok", "{what}");
    }

    async fn check_cuts(identity: &str, events: &[Event], random: &mut Random) {
        let first = events.iter().position(|event| matches!(event, Event::Acknowledged(_))).unwrap();
        for cut in 0..CUTS {
            let at = first as u64 + random.below((events.len() - first) as u64);
            let fate = [Fate::Lost, Fate::Kept, Fate::Some, Fate::Torn][cut as usize % 4];
            let disk = Disk::after(&events[..at as usize], random);
            let acknowledged = disk.acknowledged.clone();
            let folder = disk.cut(identity, fate, random);
            check(folder.path(), &acknowledged, &format!("cut at {at} of {}, {fate:?}", events.len())).await;
        }
    }

    #[tokio::test]
    async fn after_a_power_cut_everything_acknowledged_is_there() {
        let mut random = Random::new();
        let (folder, events) = run_child(None);
        let identity = identity_of(folder.path());
        let checkpoints = events.iter().filter(|event| matches!(event, Event::Synced("askd.db"))).count();
        assert!(checkpoints > 3, "too few writes for this test: {checkpoints} checkpoints");
        check_cuts(&identity, &events, &mut random).await;
    }

    #[tokio::test]
    async fn a_sync_that_fails_loses_nothing_that_was_acknowledged() {
        let mut random = Random::new();
        for every in [3, 7] {
            let (folder, events) = run_child(Some(every));
            let identity = identity_of(folder.path());
            let failed = events.iter().filter(|event| matches!(event, Event::SyncFailed(_))).count();
            assert!(failed > 5, "only {failed} syncs failed");
            let whole = Disk::after(&events, &mut random).acknowledged;
            assert!(whole.contains("answered"), "changes go through between the failing syncs");
            // The hub was killed, and the system lives on.
            check(folder.path(), &whole, "killed").await;
            // The machine loses its power.
            check_cuts(&identity, &events, &mut random).await;
        }
    }
}

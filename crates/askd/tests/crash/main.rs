//! Kills the real hub with SIGKILL at random moments under load, again and again on the same data, and checks
//! the promises from what clients saw: what was acknowledged is there, one question has one outcome, and the
//! log is one story for every reader.
//!
//! `ASKD_CRASH_SEED=N` repeats the moments of an earlier run (the machine's own timing differs),
//! `ASKD_CRASH_SECONDS=N` sets its length.

#[cfg(test)]
#[path = "../common/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the other tests use the rest of it")]
mod common;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod load;
#[cfg(test)]
mod random;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use crate::common::Starting;
    use crate::ledger::Ledger;
    use crate::load::Load;
    use crate::random::Random;

    /// With fewer nothing would be shown, however slow the machine is.
    const FEWEST_KILLS: u32 = 5;

    fn number(name: &str) -> Option<u64> {
        std::env::var(name).ok()?.parse().ok()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_hub_that_is_killed_at_any_moment_keeps_its_promises() {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = number("ASKD_CRASH_SEED").unwrap_or(clock.subsec_nanos().into());
        let budget = Duration::from_secs(number("ASKD_CRASH_SECONDS").unwrap_or(50));
        eprintln!("ASKD_CRASH_SEED={seed}");
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let ledger = Arc::new(Ledger::default());
        let begun = Instant::now();
        let mut kills = 0;
        while begun.elapsed() < budget || kills < FEWEST_KILLS {
            if random.below(4) == 0 {
                // Some die before anybody could reach them, in the middle of a recovery.
                Starting::on(&data).killed_after(Duration::from_millis(random.below(150))).await;
                kills += 1;
            }
            let mut hub = Starting::on(&data).start().await;
            ledger.check_after_restart(&hub.owner).await;
            let load = Load::start(&hub, &ledger, &mut random);
            // Short lives are the interesting ones: the first commits, checkpoints and streams.
            let life = if random.below(2) == 0 { random.below(200) } else { random.below(2000) };
            tokio::time::sleep(Duration::from_millis(life)).await;
            hub.kill().await;
            kills += 1;
            load.end().await;
        }
        let hub = Starting::on(&data).start().await;
        ledger.check_after_restart(&hub.owner).await;
        let told = ledger.check_all(&hub.owner).await;
        eprintln!("{kills} kills in {} s: {told}", begun.elapsed().as_secs());
    }
}

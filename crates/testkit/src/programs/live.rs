//! A runner for tests that need real programs.
//!
//! In: tests, each with the names of the programs it needs. Out: the usual report, in which a test whose programs are not
//! installed is *ignored, with the reason*, instead of having passed without a trace. With `ASKD_REQUIRE_AGENTS=1` such a
//! test runs and fails.
//!
//! A test target that uses it has `harness = false` and this as its `main`:
//!
//! ```no_run
//! use askd_testkit::programs::live::Live;
//!
//! fn main() -> std::process::ExitCode {
//!     Live::new().test("it_starts", &["claude"], || async { Ok(()) }).run()
//! }
//! ```

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};

use super::cache::{has_packages, program, required};

/// The hard end of one test. The slowest real program starts in seconds; the machine may be busy.
pub const LIMIT: Duration = Duration::from_secs(240);

#[derive(Default)]
pub struct Live {
    trials: Vec<Trial>,
    packages: Option<&'static str>,
}

impl Live {
    pub fn new() -> Self {
        Self::default()
    }

    /// The tests that follow also need the npm packages of this folder of the repository, which `./test`
    /// installs.
    #[must_use]
    pub fn with_packages(mut self, folder: &'static str) -> Self {
        self.packages = Some(folder);
        self
    }

    /// Adds a test. It has a runtime of its own and ends after [`LIMIT`] at the latest; what it started ends
    /// with it.
    #[must_use]
    pub fn test<F, Fut>(mut self, name: &str, needs: &'static [&'static str], body: F) -> Self
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = anyhow::Result<()>>,
    {
        let programs = needs.iter().copied().filter(|name| program(name).is_none());
        let missing: Vec<_> = programs.chain(self.packages.filter(|folder| !has_packages(folder))).collect();
        let must_run = std::env::var("ASKD_REQUIRE_AGENTS").is_ok_and(|value| value == "1");
        let trial =
            Trial::test(name, move || run(needs, body).map_err(|error| Failed::from(format!("{error:#}"))));
        let trial = if missing.is_empty() || must_run {
            trial
        } else {
            eprintln!("not run: {name}: {} not installed, ./test installs it", missing.join(", "));
            trial.with_ignored_flag(true).with_kind("not installed")
        };
        self.trials.push(trial);
        self
    }

    /// Adds a test that runs only where it is asked for (`--run-ignored`), as long as it wants: a soak. It
    /// blocks its thread.
    #[must_use]
    pub fn on_request<F>(mut self, name: &str, needs: &'static [&'static str], body: F) -> Self
    where
        F: FnOnce() -> anyhow::Result<()> + Send + 'static,
    {
        let run = move || {
            needs.iter().try_for_each(|name| required(name).map(drop))?;
            body()
        };
        let trial = Trial::test(name, move || {
            run().map_err(|error: anyhow::Error| Failed::from(format!("{error:#}")))
        });
        self.trials.push(trial.with_ignored_flag(true));
        self
    }

    pub fn run(self) -> ExitCode {
        libtest_mimic::run(&Arguments::from_args(), self.trials).exit_code()
    }
}

fn run<F, Fut>(needs: &[&str], body: F) -> anyhow::Result<()>
where
    F: FnOnce() -> Fut,
    Fut: Future<Output = anyhow::Result<()>>,
{
    for name in needs {
        required(name)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        tokio::time::timeout(LIMIT, body())
            .await
            .unwrap_or_else(|_| Err(anyhow::anyhow!("the test did not end within {LIMIT:?}")))
    })
}

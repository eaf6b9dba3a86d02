//! The two small processes that the askd binary can also be. Neither has a runtime.

use std::path::Path;
use std::process::ExitCode;

/// `askd holder SPEC`: holds one managed agent. Its `stderr` is a file in its folder.
pub fn holder(spec: &Path) -> ExitCode {
    match askd_holder::run(spec) {
        Ok(code) => code,
        Err(error) => {
            use std::io::Write;
            drop(writeln!(std::io::stderr(), "failed to {error}"));
            ExitCode::FAILURE
        }
    }
}

/// `askd mock-agent`: the scripted ACP agent on its standard streams.
pub fn mock_agent() -> ExitCode {
    let code = askd_agents::mock::run(std::io::stdin(), std::io::stdout(), std::io::stderr());
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

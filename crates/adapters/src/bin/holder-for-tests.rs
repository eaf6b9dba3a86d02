//! The holder alone, for the tests of this crate: `holder-for-tests holder SPEC`, as `askd holder SPEC` is.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [word, spec] = arguments.as_slice() else {
        eprintln!("usage: holder-for-tests holder SPEC");
        return ExitCode::from(2);
    };
    if word != "holder" {
        eprintln!("usage: holder-for-tests holder SPEC");
        return ExitCode::from(2);
    }
    match askd_adapters::transport::holder::run(Path::new(spec)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("failed to {error}");
            ExitCode::FAILURE
        }
    }
}

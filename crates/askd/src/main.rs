//! The askd binary: everything is in the library, so that tests and benchmarks can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    askd::cli::main()
}

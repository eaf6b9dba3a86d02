//! The askd binary: everything is in the library, so that tests and benchmarks can reach it.

use std::process::ExitCode;

/// What a worker allocates the store's thread often frees, and the other way round: glibc makes them wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    askd::cli::main()
}

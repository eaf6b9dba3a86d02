//! The mock agent as a program of its own, for tests that have no askd binary. In the product it is
//! `askd mock-agent`.

fn main() {
    let code = askd_agents::mock::run(std::io::stdin(), std::io::stdout(), std::io::stderr());
    std::process::exit(code);
}

# The everyday commands: `just` lists them. `./test` installs what they need; `just` itself is in CACHE/tools/bin afterwards.

cache := env("ASKD_TEST_CACHE", ".cache")
biome := "tests/tools/node_modules/.bin/biome"

# this list
_default:
    @just --list

# everything, as CI runs it
test:
    ./test

# format, lints and the tests that need nothing but this repository
quick:
    ./test --quick

# one test binary, or a part of it: `just one cli_prompt near_miss`
one BINARY *FILTER:
    cargo nextest run --workspace --locked -E 'binary({{ BINARY }})' {{ FILTER }}

# the demo: a hub on a throw-away store, and an agent that asks
demo:
    cargo run --release -- demo

# format everything that is written by hand
format:
    cargo fmt --all
    {{ biome }} check --write .

# the lints alone
lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings
    {{ biome }} ci --error-on-warnings .
    {{ cache }}/tools/bin/typos

# licences, bans and sources of the crates
deny *CHECKS="licenses bans sources":
    cargo deny --locked check {{ CHECKS }}

# the documentation of the crates
doc *ARGS:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked {{ ARGS }}

# write api/openapi.json and the table of agents anew, after their tests have failed
generate:
    UPDATE_OPENAPI=1 cargo nextest run --locked -p askd --test openapi
    cd sdk/typescript && npm run generate
    UPDATE_AGENTS=1 cargo nextest run --locked -p askd --test live_conformance table

# the page's built files, which are checked in
page:
    cd web && npm run build

# a fuzz target for some seconds (nightly toolchain, cargo-fuzz)
fuzz TARGET SECONDS="60":
    cargo +nightly fuzz run {{ TARGET }} -- -max_total_time={{ SECONDS }}

# the live tests with the newest version of every agent; moves the pins of this checkout
newest-agents:
    cd tests/agents && npm install --package-lock-only --save-exact --no-audit --no-fund @agentclientprotocol/claude-agent-acp@latest @agentclientprotocol/codex-acp@latest @anthropic-ai/claude-code@latest @openai/codex@latest opencode-ai@latest
    tests/agents/install
    ASKD_REQUIRE_AGENTS=1 cargo nextest run --workspace --locked --no-fail-fast -E 'binary(/^live_/)'

# which lines the tests reach (cargo-llvm-cov)
coverage:
    cargo llvm-cov nextest --workspace --locked --profile quick --lcov --output-path target/lcov.info

# the numbers, as ratios of one run
bench *SECTIONS:
    ./bench {{ SECTIONS }}

# what a package contains: the fastest and smallest program
dist:
    cargo build --locked --profile dist

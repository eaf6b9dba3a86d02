//! The borders between the crates, as `cargo metadata` tells them: which crate may use which.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::process::Command;

use serde_json::{Value, json};

/// Each crate, and those of this workspace that it may use. Never a crate that is not here.
const MAY_USE: [(&str, &[&str]); 11] = [
    ("askd-core", &[]),
    ("askd-data", &["askd-core"]),
    ("askd-wire", &["askd-core"]),
    ("askd-store", &["askd-core"]),
    ("askd-holder", &["askd-data", "askd-wire"]),
    ("askd-agents", &["askd-core", "askd-data", "askd-holder", "askd-wire"]),
    ("askd-hub", &["askd-agents", "askd-core", "askd-data", "askd-holder", "askd-store", "askd-wire"]),
    ("askd-server", &["askd-core", "askd-data", "askd-hub", "askd-wire"]),
    ("askd-cli", &["askd-core", "askd-data", "askd-wire"]),
    (
        "askd",
        &[
            "askd-agents",
            "askd-cli",
            "askd-core",
            "askd-data",
            "askd-holder",
            "askd-hub",
            "askd-server",
            "askd-store",
            "askd-wire",
        ],
    ),
    // For tests alone, so nothing that ships may use it.
    ("askd-testkit", &["askd-holder"]),
];

/// Only tests may use it.
const FOR_TESTS: &str = "askd-testkit";

fn metadata() -> Value {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
        "--manifest-path",
        manifest,
    ]);
    serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
}

/// What uses what it must not, one line each.
fn forbidden(metadata: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            found.push(format!("{name} is a new crate: say here what it may use"));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let is_ours = MAY_USE.iter().any(|(known, _)| *known == used);
            let for_tests = dependency["kind"] == "dev" && used == FOR_TESTS;
            if is_ours && !for_tests && !allowed.contains(&used) {
                found.push(format!("{name} uses {used}"));
            }
        }
    }
    found
}

#[test]
fn no_crate_uses_one_that_it_must_not() {
    let metadata = metadata();
    assert_eq!(metadata["packages"].as_array().unwrap().len(), MAY_USE.len());
    assert_eq!(forbidden(&metadata), Vec::<String>::new());
}

#[test]
fn a_forbidden_edge_is_seen() {
    let package = |name: &str, used: &str, kind: Value| {
        let packages = json!([{ "name": name, "dependencies": [{ "name": used, "kind": kind }, { "name": "serde", "kind": null }] }]);
        forbidden(&json!({ "packages": packages }))
    };
    assert_eq!(package("askd-server", "askd-store", Value::Null), ["askd-server uses askd-store"]);
    assert_eq!(package("askd-core", "askd-wire", json!("dev")), ["askd-core uses askd-wire"]);
    assert_eq!(package("askd-hub", "askd-testkit", Value::Null), ["askd-hub uses askd-testkit"]);
    assert_eq!(package("askd-new", "serde", Value::Null).len(), 1);
    for good in
        [package("askd", "askd-testkit", json!("dev")), package("askd-hub", "askd-store", Value::Null)]
    {
        assert_eq!(good, Vec::<String>::new());
    }
}

/// The holder process stays small: the async runtime comes with its client alone.
#[test]
fn the_holder_has_no_async_runtime_without_its_client() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let holder = packages.iter().find(|package| package["name"] == "askd-holder").unwrap();
    assert_eq!(holder["features"], json!({ "client": ["dep:tokio"] }));
    let dependencies = holder["dependencies"].as_array().unwrap();
    let tokio: Vec<_> =
        dependencies.iter().filter(|one| one["name"] == "tokio" && one["kind"].is_null()).collect();
    assert!(tokio.len() == 1 && tokio[0]["optional"] == true, "{tokio:?}");
}

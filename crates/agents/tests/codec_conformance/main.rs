//! The conformance suite at the level of codecs: every claim of every adapter against its scenario.
//!
//! In: the descriptors of the registry, and `conformance/<suite>/<scenario>[--variant].script`. Out: a
//! failure where a claim has no scenario, a claimed scenario fails, or a scenario passes that the adapter
//! says it cannot do. The live level is judged by `live_conformance` of the `askd` crate, which also prints
//! the table of both.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod player;
mod script;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use askd_agents::capability::Level;
use askd_agents::{Adapter, Capability, ClaimState, Registry};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// All scripts of a suite, by scenario.
fn scripts(suite: &str) -> BTreeMap<String, Vec<PathBuf>> {
    let mut scripts: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let entries = std::fs::read_dir(folder().join(suite)).unwrap();
    for entry in entries {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let scenario = stem.split("--").next().unwrap().to_owned();
        scripts.entry(scenario).or_default().push(path);
    }
    scripts.values_mut().for_each(|paths| paths.sort());
    scripts
}

/// What is wrong with one claim, if anything is.
fn judge(adapter: &dyn Adapter, capability: Capability, paths: &[PathBuf]) -> Result<(), String> {
    let descriptor = adapter.descriptor();
    let claim = descriptor.claim(capability).ok_or("no word about it in the descriptor")?;
    if capability.level() == Level::Live {
        return Ok(());
    }
    let codec = || adapter.conversation().map_err(|error| error.to_string());
    let mut failures = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap();
        if let Err(why) = player::play(&text, codec) {
            failures.push(format!("{}: {why}", path.file_name().unwrap().to_string_lossy()));
        }
    }
    match (claim.state, paths.len(), failures.is_empty()) {
        (ClaimState::No, 0, _) | (ClaimState::No, _, false) => Ok(()),
        (ClaimState::No, _, true) => {
            Err("it is said not to work and its scenario passes: claim it".to_owned())
        }
        (_, 0, _) => Err("it is claimed and has no scenario".to_owned()),
        (_, _, false) => Err(failures.join("; ")),
        (ClaimState::Proven | ClaimState::Declared, _, true) => Ok(()),
    }
}

#[test]
fn every_claim_of_every_adapter_is_true() {
    let mut registry = Registry::built_in();
    registry.register("acp", "any-acp-agent --stdio").unwrap();
    let mut wrong = Vec::new();
    for adapter in registry.iter().filter(|adapter| adapter.codec().is_ok()) {
        let descriptor = adapter.descriptor();
        let scripts = scripts(descriptor.suite);
        for &capability in Capability::ALL {
            let paths = scripts.get(capability.scenario()).map(Vec::as_slice).unwrap_or_default();
            if let Err(why) = judge(adapter.as_ref(), capability, paths) {
                wrong.push(format!("{} / {}: {why}", descriptor.name, capability.scenario()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_script_belongs_to_a_capability_and_every_suite_to_an_adapter() {
    let known: Vec<&str> = Capability::ALL.iter().map(|capability| capability.scenario()).collect();
    let registry = Registry::built_in();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let suite = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            registry.iter().any(|adapter| adapter.descriptor().suite == suite),
            "nobody is judged by {suite}"
        );
        for scenario in scripts(&suite).keys() {
            assert!(known.contains(&scenario.as_str()), "{suite}/{scenario} belongs to no capability");
        }
    }
}

#[test]
fn the_document_names_every_scenario() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/adapters.md");
    let text = std::fs::read_to_string(path).unwrap();
    let missing: Vec<&str> = Capability::ALL
        .iter()
        .map(|capability| capability.scenario())
        .filter(|scenario| !text.contains(&format!("`{scenario}`")))
        .collect();
    assert!(missing.is_empty(), "docs/adapters.md does not name: {missing:?}");
}

#[test]
fn the_player_notices_what_is_wrong() {
    let registry = Registry::built_in();
    let mock = registry.get("mock").unwrap();
    let play = |text: &str| player::play(text, || mock.conversation().map_err(|error| error.to_string()));
    let ask = r#"< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"sessionId":"s","message":"Name?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}}"#;
    let begin = "begin {\"start\":\"observed\"}";
    let met = "= {\"heard\":\"sessionStarted\"}";
    let asked = "= {\"heard\":\"asked\",\"nativeId\":\"1\"}";
    let answer = "answer {\"answers\":[[\"x\"]]}";
    let bytes = r#"> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":"x"}}}"#;
    let script = |lines: &[&str]| lines.join("\n");
    assert_eq!(play(&script(&[begin, ask, met, asked, answer, bytes])), Ok(()));
    assert!(play(&script(&[begin, ask, met])).unwrap_err().contains("asked"));
    assert!(play(&script(&[begin, ask, met, asked, answer])).unwrap_err().contains("was not expected"));
    let other = bytes.replace("\"x\"", "\"y\"");
    assert!(play(&script(&[begin, ask, met, asked, answer, &other])).is_err());
    assert!(play(&script(&[begin, ask, met, asked, "answer {\"answers\":[]}"])).is_err());
    assert!(play("dance").is_err());
}

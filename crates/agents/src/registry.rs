//! All known agents: one line each in [`Registry::built_in`].
//!
//! In: names, and commands of the user. Out: adapters. A name is unique.

use std::ffi::OsStr;
use std::sync::Arc;

use serde::Serialize;

use crate::acp::{self, AcpAgent};
use crate::adapter::{Adapter, AdapterError, FoundProgram};
use crate::claude::ClaudeAgent;
use crate::descriptor::{Claim, Descriptor, Road};
use crate::here::Here;
use crate::mock::MockAgent;
use crate::opencode::OpencodeAgent;
use crate::opencode_acp::OpencodeAcpAgent;
use crate::process_names;
use crate::unbuilt::Unbuilt;

const CODEX: &str =
    "askd hears Codex over /v1/acp only; the questions of codex-acp 2.6.0 were answered there (docs/acp.md)";
const AMP: &str = "Amp has no way to ask or to be answered from outside";

/// One agent as surfaces list it.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentListing {
    #[serde(flatten)]
    pub descriptor: Descriptor,
    /// Its programs on this machine; empty if it is not installed.
    pub found: Vec<FoundProgram>,
    /// Its claims behind `/v1/acp`, if that needs another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acp: Option<AcpListing>,
}

/// An agent as it is behind `/v1/acp`.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpListing {
    pub questions: Claim,
    pub programs: Vec<String>,
    pub install: Option<String>,
    pub found: Vec<FoundProgram>,
}

#[derive(Clone)]
pub struct Registry {
    adapters: Vec<Arc<dyn Adapter>>,
    /// The ACP commands of agents with another adapter under the same name.
    by_acp: Vec<Arc<dyn Adapter>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Registry {
    pub fn built_in() -> Self {
        let adapters: Vec<Arc<dyn Adapter>> = vec![
            Arc::new(MockAgent::new()),
            Arc::new(ClaudeAgent::new()),
            Arc::new(OpencodeAgent::default()),
            Arc::new(Unbuilt::new("codex", "Codex", CODEX, Some("npm install -g @openai/codex"))),
            Arc::new(Unbuilt::new("amp", "Amp", AMP, Some("npm install -g @sourcegraph/amp"))),
        ];
        let known = acp::known().into_iter().map(|agent| Arc::new(agent) as Arc<dyn Adapter>);
        let by_acp = known.chain([Arc::new(OpencodeAcpAgent::default()) as Arc<dyn Adapter>]).collect();
        Self { adapters, by_acp }
    }

    /// Adds an ACP agent of the user: a name and a command line (`--agent NAME=COMMAND`). A built-in agent
    /// that askd cannot run gives its name away; the mock does not.
    pub fn register(&mut self, name: &str, command: &str) -> Result<(), AdapterError> {
        let agent = AcpAgent::custom(name, command)?;
        match self.adapters.iter_mut().find(|adapter| adapter.descriptor().name == name) {
            Some(place) if place.codec().is_err() => *place = Arc::new(agent),
            Some(_) => return Err(AdapterError::NameTaken(name.to_owned())),
            None => self.adapters.push(Arc::new(agent)),
        }
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Adapter>> {
        self.adapters.iter().find(|adapter| adapter.descriptor().name == name)
    }

    /// The agent's ACP adapter: the user's command, else the built-in one of that name.
    pub fn acp(&self, name: &str) -> Option<&Arc<dyn Adapter>> {
        let named = |adapter: &&Arc<dyn Adapter>| adapter.descriptor().name == name;
        let own = self.adapters.iter().find(named);
        let speaks = own.filter(|adapter| adapter.descriptor().roads.contains(&Road::Acp));
        speaks.or_else(|| self.by_acp.iter().find(named)).or(own)
    }

    /// The adapter of an agent that runs already, perhaps since an earlier hub. An agent that is no longer
    /// registered was the user's own ACP agent, and works as before.
    pub fn running(&self, name: &str, by_acp: bool) -> Result<Arc<dyn Adapter>, AdapterError> {
        match if by_acp { self.acp(name) } else { self.get(name) } {
            Some(adapter) => Ok(Arc::clone(adapter)),
            None => Ok(Arc::new(AcpAgent::custom(name, name)?)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Adapter>> {
        self.adapters.iter()
    }

    /// All agents with their programs on this machine. [`Self::judge`] adjusts the claims once the versions
    /// are known.
    pub fn list(&self, path_var: &OsStr) -> Vec<AgentListing> {
        let listing = |adapter: &Arc<dyn Adapter>| AgentListing {
            descriptor: adapter.descriptor().clone(),
            found: adapter.find(path_var),
            acp: self
                .acp(&adapter.descriptor().name)
                .filter(|acp| !Arc::ptr_eq(acp, adapter))
                .map(|acp| acp_listing(acp.as_ref(), path_var)),
        };
        self.adapters.iter().map(listing).collect()
    }

    /// Limits the claims to those that hold for the present programs: the content of `GET /v1/agents`.
    pub fn judge(&self, listing: &mut AgentListing) {
        if let (Some(acp), Some(adapter)) = (&mut listing.acp, self.acp(&listing.descriptor.name)) {
            Here::look(adapter.as_ref(), &mut acp.found).limit(&mut acp.questions);
        }
        let Some(adapter) = self.get(&listing.descriptor.name) else { return };
        let here = Here::look(adapter.as_ref(), &mut listing.found);
        here.limit(&mut listing.descriptor.questions);
        here.limit_all(&mut listing.descriptor.capabilities);
    }

    pub fn names(&self) -> Vec<&str> {
        self.adapters.iter().map(|adapter| adapter.descriptor().name.as_str()).collect()
    }

    /// The agent of a process, if it is one.
    pub fn agent_of_process(&self, process_name: &str, arguments: &[String]) -> Option<String> {
        let known = self.adapters.iter().flat_map(|adapter| &adapter.descriptor().process_names);
        process_names::agent_of(known.map(String::as_str), process_name, arguments)
    }
}

fn acp_listing(adapter: &dyn Adapter, path_var: &OsStr) -> AcpListing {
    let Descriptor { questions, programs, install, .. } = adapter.descriptor().clone();
    AcpListing { questions, programs, install, found: adapter.find(path_var) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::ClaimState;

    #[test]
    fn every_name_is_unique_and_only_what_was_seen_is_proven() {
        let registry = Registry::built_in();
        assert_eq!(registry.names(), ["mock", "claude", "opencode", "codex", "amp"]);
        for adapter in registry.iter() {
            let descriptor = adapter.descriptor();
            let seen = ["mock", "claude", "opencode"].contains(&descriptor.name.as_str());
            assert_eq!(descriptor.questions.state == ClaimState::Proven, seen, "{}", descriptor.name);
            assert_eq!(descriptor.questions.state == ClaimState::No, adapter.codec().is_err());
        }
    }

    #[test]
    fn a_user_registers_an_agent_once_and_may_take_a_name_that_askd_cannot_run() {
        let mut registry = Registry::built_in();
        registry.register("amp", "amp-acp --flag 'two words'").unwrap();
        registry.register("mine", "mine --acp").unwrap();
        assert_eq!(
            registry.get("amp").unwrap().descriptor().questions.state,
            ClaimState::Declared,
            "a registered agent is never proven"
        );
        assert_eq!(registry.register("mine", "x"), Err(AdapterError::NameTaken("mine".to_owned())));
        for built in ["mock", "claude"] {
            assert_eq!(registry.register(built, "x"), Err(AdapterError::NameTaken(built.to_owned())));
        }
        assert_eq!(registry.register("a b", "x"), Err(AdapterError::BadName("a b".to_owned())));
        assert_eq!(registry.register("x", " "), Err(AdapterError::EmptyCommand));
        assert_eq!(registry.names().len(), 6);
    }

    #[test]
    fn a_listing_is_one_flat_object() {
        let list = Registry::built_in().list(OsStr::new(""));
        let mock = serde_json::to_value(&list[0]).unwrap();
        assert_eq!(mock["name"], "mock");
        assert_eq!(mock["questions"]["state"], "proven");
        assert_eq!(mock["rejectModes"], serde_json::json!(["decline", "cancel", "interrupt"]));
        assert_eq!(mock["capabilities"][0]["scenario"], "ask-and-answer");
        assert_eq!(mock["found"].as_array().unwrap().len(), 1, "the mock is wherever askd is");
        assert!(list[1..].iter().all(|agent| agent.found.is_empty()));
    }

    #[test]
    fn the_shell_of_a_person_is_not_an_agent() {
        let registry = Registry::built_in();
        assert_eq!(registry.agent_of_process("opencode", &[]), Some("opencode".to_owned()));
        assert_eq!(registry.agent_of_process("zsh", &["-zsh".to_owned()]), None);
    }
}

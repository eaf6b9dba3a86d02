//! The claims about an agent: product data (`GET /v1/agents`), test gate and documentation at once.
//!
//! In: nothing; it is written by hand in the agent's folder. Out: [`Descriptor`]. Every claim names a
//! [`Capability`], every capability a scenario of the conformance suite; a claim without a passing scenario
//! fails the suite.

use askd_core::delivery::Redeliver;
use askd_core::{Kind, RejectMode};
use serde::Serialize;

use crate::capability::{Capability, CapabilityClaim, Claims};

/// How sure askd is of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// Seen working with this very program. In a list of agents: with the version that is on this machine.
    Proven,
    /// The program, or its protocol, says so; or it was seen with another version.
    Declared,
    /// Not, for the reason that is given; in a list of agents also because the program is not on this
    /// machine.
    No,
}

/// A claim and its reason, in a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub state: ClaimState,
    pub why: String,
}

impl Claim {
    pub fn proven(why: &str) -> Self {
        Self { state: ClaimState::Proven, why: why.to_owned() }
    }

    pub fn declared(why: &str) -> Self {
        Self { state: ClaimState::Declared, why: why.to_owned() }
    }

    pub fn no(why: &str) -> Self {
        Self { state: ClaimState::No, why: why.to_owned() }
    }
}

/// A channel by which a question is seen or answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Road {
    /// The agent's own protocol on the standard streams of a process that askd started.
    ControlProtocol,
    /// A hook of the agent.
    Hook,
    /// A file of the agent that askd reads.
    Transcript,
    /// Keys typed into the agent's terminal.
    Keys,
    /// The agent's own server.
    Http,
    /// The Agent Client Protocol on standard streams.
    Acp,
}

/// A road in one version of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoadHere {
    pub road: Road,
    pub works: bool,
    /// The reason for a "no", or a remark, in a sentence for people.
    pub why: String,
}

/// Everything that askd claims about one agent.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub name: String,
    pub title: String,
    /// The claim that this agent's questions reach the inbox.
    pub questions: Claim,
    pub kinds: Vec<Kind>,
    /// The reject modes of this agent; a single question may offer fewer.
    pub reject_modes: Vec<RejectMode>,
    pub redeliver: Redeliver,
    pub roads: Vec<Road>,
    pub capabilities: Vec<CapabilityClaim>,
    /// The names of its processes in the process table.
    pub process_names: Vec<String>,
    /// The programs to look for, best first.
    pub programs: Vec<String>,
    /// How a person gets it.
    pub install: Option<String>,
    /// The versions of its program that were seen asking; the suite is played with the first.
    #[serde(skip)]
    pub seen: &'static [&'static str],
    /// The folder of its scenarios.
    #[serde(skip)]
    pub suite: &'static str,
}

impl Descriptor {
    pub fn claim(&self, capability: Capability) -> Option<&CapabilityClaim> {
        self.capabilities.iter().find(|claim| claim.capability == capability)
    }

    /// The message for a person if none of its programs is on this machine.
    pub fn not_found(&self) -> String {
        let programs = self.programs.join(" or ");
        match &self.install {
            Some(how) => format!("{programs} was not found; install it with: {how}"),
            None => {
                format!("{programs} was not found; it is the command that you registered for {}", self.name)
            }
        }
    }

    /// A known agent without an adapter, with nothing claimed.
    pub fn unsupported(name: &str, title: &str, why: &str, install: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            questions: Claim::no(why),
            kinds: Vec::new(),
            reject_modes: Vec::new(),
            redeliver: Redeliver::Never,
            roads: Vec::new(),
            capabilities: Claims::none(why).into(),
            process_names: vec![name.to_owned()],
            programs: vec![name.to_owned()],
            install: install.map(str::to_owned),
            seen: &[],
            suite: "",
        }
    }
}

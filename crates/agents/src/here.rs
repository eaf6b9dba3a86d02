//! The claims that hold on this machine: a claim that was proven with one program does not hold for another.
//!
//! In: an adapter, and its programs with their versions. Out: the claims by one rule for all agents: `proven`
//! with a version that was seen, `declared` with any other, `no` without a program that can ask.

use crate::adapter::{Adapter, FoundProgram};
use crate::capability::CapabilityClaim;
use crate::descriptor::{Claim, ClaimState};

/// The program that would start here: the first one.
pub(crate) enum Here {
    /// Seen asking; `played` if the suite plays this very version.
    Seen { played: bool },
    /// Another version than the seen ones.
    Other(String),
    /// No program, or one that cannot ask.
    None(String),
}

impl Here {
    /// Judges the programs, and notes at each the channels of its version.
    pub(crate) fn look(adapter: &dyn Adapter, found: &mut [FoundProgram]) -> Self {
        for program in found.iter_mut() {
            program.roads = program.version.as_deref().map(|it| adapter.roads_of(it)).unwrap_or_default();
        }
        let descriptor = adapter.descriptor();
        let Some(program) = found.first() else { return Self::None(descriptor.not_found()) };
        let version = program.version.as_deref().unwrap_or("of an unknown version");
        if let Some(road) = program.roads.first()
            && program.roads.iter().all(|road| !road.works)
        {
            return Self::None(format!("{}; the one on this machine is {version}", road.why));
        }
        match descriptor.seen.iter().position(|seen| version.split_whitespace().any(|word| word == *seen)) {
            Some(place) => Self::Seen { played: place == 0 },
            None => Self::Other(format!("the one on this machine is {version}")),
        }
    }

    pub(crate) fn limit(&self, claim: &mut Claim) {
        match (self, claim.state) {
            (Self::None(why), ClaimState::Proven | ClaimState::Declared) => *claim = Claim::no(why),
            (Self::Other(but), ClaimState::Proven) => {
                *claim = Claim::declared(&format!("{}; {but}", claim.why));
            }
            _ => {}
        }
    }

    pub(crate) fn limit_all(&self, claims: &mut [CapabilityClaim]) {
        for claim in claims {
            match (self, claim.state) {
                (Self::None(why), ClaimState::Proven | ClaimState::Declared) => {
                    claim.state = ClaimState::No;
                    claim.why = Some(why.clone());
                }
                (Self::Other(_) | Self::Seen { played: false }, ClaimState::Proven) => {
                    claim.state = ClaimState::Declared;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::registry::{AgentListing, Registry};

    /// What is listed of an agent whose programs say this version; of nothing, where there are none.
    fn listed(name: &str, version: Option<&str>) -> AgentListing {
        let mut registry = Registry::built_in();
        registry.register("mine", "/no/such/mine --acp").unwrap();
        let listings = registry.list(OsStr::new(""));
        let mut listing = listings.into_iter().find(|listing| listing.descriptor.name == name).unwrap();
        if let Some(version) = version {
            let version = Some(version.to_owned());
            let program = FoundProgram { path: "/bin/it".into(), version, roads: Vec::new() };
            listing.found = vec![program.clone()];
            if let Some(acp) = &mut listing.acp {
                acp.found = vec![program];
            }
        }
        registry.judge(&mut listing);
        listing
    }

    fn proven(listing: &AgentListing) -> usize {
        let claims = &listing.descriptor.capabilities;
        claims.iter().filter(|claim| claim.state == ClaimState::Proven).count()
    }

    #[test]
    fn only_a_version_that_was_seen_is_proven_on_every_road() {
        use ClaimState::{Declared, No, Proven};
        for (name, version, own, acp) in [
            ("claude", Some("2.1.325 (Claude Code)"), Proven, Some(Declared)),
            ("claude", Some("2.0.76 (Claude Code)"), Proven, Some(Declared)),
            ("claude", Some("0.99.0"), No, Some(Proven)),
            ("claude", Some("2.1.326"), Declared, Some(Declared)),
            ("opencode", Some("1.18.33"), Proven, Some(Proven)),
            ("opencode", Some("9.9.9"), Declared, Some(Declared)),
            ("codex", Some("codex-acp 2.6.0"), No, Some(Proven)),
            ("codex", Some("2.6.01"), No, Some(Declared)),
            ("amp", Some("1.0.0"), No, None),
            ("mine", Some("1.0.0"), Declared, None),
            ("claude", None, No, Some(No)),
            ("opencode", None, No, Some(No)),
            ("codex", None, No, Some(No)),
            ("mine", None, No, None),
            ("mock", None, Proven, None),
        ] {
            let listing = listed(name, version);
            let states = (listing.descriptor.questions.state, listing.acp.map(|acp| acp.questions.state));
            assert_eq!(states, (own, acp), "{name} {version:?}");
        }
    }

    #[test]
    fn a_program_that_is_missing_is_named_with_the_way_to_get_it() {
        let opencode = listed("opencode", None);
        let how = "opencode was not found; install it with: npm install -g opencode-ai";
        assert_eq!(opencode.descriptor.questions, Claim::no(how));
        assert_eq!(opencode.acp.unwrap().questions, Claim::no(how));
        let mine = listed("mine", None).descriptor.questions.why;
        assert_eq!(mine, "/no/such/mine was not found; it is the command that you registered for mine");
    }

    #[test]
    fn the_capabilities_are_proven_with_the_version_that_plays_the_suite() {
        assert_eq!(proven(&listed("claude", Some("2.1.325 (Claude Code)"))), 26);
        for version in [None, Some("2.0.76 (Claude Code)"), Some("2.1.326")] {
            assert_eq!(proven(&listed("claude", version)), 0, "{version:?}");
        }
    }
}

//! The abilities of agents, one name for each scenario of the conformance suite.
//!
//! In: nothing. Out: [`Capability`], which names its scenario and the level that judges it, and
//! [`CapabilityClaim`].

use serde::Serialize;

use crate::descriptor::ClaimState;

/// The level at which a scenario is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A two-way script against the codec: `crates/agents/conformance/<suite>/<scenario>.script`.
    Codec,
    /// The real program (or the mock) with a hub and a holder.
    Live,
}

macro_rules! capabilities {
    ($($(#[$doc:meta])* $name:ident => $scenario:literal, $level:ident;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub enum Capability { $($(#[$doc])* $name,)* }

        impl Capability {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The scenario that proves it.
            pub fn scenario(self) -> &'static str {
                match self { $(Self::$name => $scenario,)* }
            }

            pub fn level(self) -> Level {
                match self { $(Self::$name => Level::$level,)* }
            }
        }
    };
}

capabilities! {
    /// A single choice is asked, answered and confirmed.
    AskAndAnswer => "ask-and-answer", Codec;
    MultiSelect => "multi-select", Codec;
    /// Several items in one call.
    SeveralItems => "several-items", Codec;
    FreeText => "free-text", Codec;
    /// A note beside a pick.
    Notes => "notes", Codec;
    Secret => "secret", Codec;
    /// Typed fields, both ways without loss.
    Form => "form", Codec;
    /// A link to open, with completion.
    Link => "link", Codec;
    Plan => "plan", Codec;
    /// A plan approved with changes.
    PlanEdits => "plan-edits", Codec;
    Permission => "permission", Codec;
    Decline => "decline", Codec;
    CancelReject => "cancel", Codec;
    Interrupt => "interrupt", Codec;
    /// The agent takes its question back.
    Withdrawn => "withdrawn", Codec;
    /// The agent's own screen answers.
    AnsweredElsewhere => "answered-elsewhere", Codec;
    TwoOpenAtOnce => "two-open-at-once", Codec;
    SeveralSessions => "several-sessions", Codec;
    /// The hub is killed between ask and answer.
    HubKilledWhileOpen => "hub-killed-while-open", Codec;
    /// The hub is killed between answer and evidence.
    HubKilledAfterAnswer => "hub-killed-after-answer", Codec;
    /// The same bytes are read again after a reconnect.
    DuplicateInput => "duplicate-input", Codec;
    /// Malformed and half lines end nothing.
    Malformed => "malformed", Codec;
    UnknownMessages => "unknown-messages", Codec;
    /// An id is used again in a later turn, or for another request.
    IdUsedAgain => "id-used-again", Codec;
    /// Texts that were cut in the middle of a character, and bytes that are no text.
    OddBytes => "odd-bytes", Codec;
    /// The agent dies while it asks.
    AgentExit => "agent-exit", Live;
    Oversized => "oversized", Live;
    SlowReader => "slow-reader", Live;
    /// The hub is killed, the agent lives, the answer arrives once.
    HubKilledLive => "hub-killed-live", Live;
}

/// One line of an agent's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityClaim {
    pub capability: Capability,
    pub state: ClaimState,
    /// The reason for a "no", or a remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub scenario: &'static str,
    pub level: Level,
}

/// All capabilities with one state, and then the exceptions.
#[derive(Debug, Clone)]
pub struct Claims(Vec<CapabilityClaim>);

impl Claims {
    pub fn all(state: ClaimState) -> Self {
        Self(
            Capability::ALL
                .iter()
                .map(|&capability| CapabilityClaim {
                    capability,
                    state,
                    why: None,
                    scenario: capability.scenario(),
                    level: capability.level(),
                })
                .collect(),
        )
    }

    pub fn none(why: &str) -> Self {
        let mut claims = Self::all(ClaimState::No);
        for claim in &mut claims.0 {
            claim.why = Some(why.to_owned());
        }
        claims
    }

    /// Replaces the claim of one capability.
    pub fn but(mut self, capability: Capability, state: ClaimState, why: &str) -> Self {
        for claim in self.0.iter_mut().filter(|claim| claim.capability == capability) {
            claim.state = state;
            claim.why = Some(why.to_owned());
        }
        self
    }
}

impl From<Claims> for Vec<CapabilityClaim> {
    fn from(claims: Claims) -> Self {
        claims.0
    }
}

//! OpenCode as an adapter: claims, program, and the way to reach and start its server.

use askd_core::delivery::Redeliver;
use askd_core::{Kind, RejectMode};

use super::OpencodeCodec;
use crate::adapter::{Adapter, AdapterError, Launch, LaunchRequest, Listening, ServerWay};
use crate::capability::{Capability, Claims};
use crate::codec::Codec;
use crate::descriptor::{Claim, ClaimState, Descriptor, Road};

pub(crate) const NAME: &str = "opencode";
/// The version that was seen asking, on each channel.
pub(crate) const SEEN: &[&str] = &["1.18.33"];
/// A server for this machine only; port 0 is 4096 or, if that is taken, any free one.
const SERVE: [&str; 5] = ["serve", "--hostname", "127.0.0.1", "--port", "0"];

#[derive(Debug)]
pub struct OpencodeAgent {
    descriptor: Descriptor,
}

impl Default for OpencodeAgent {
    fn default() -> Self {
        Self { descriptor: descriptor() }
    }
}

fn descriptor() -> Descriptor {
    use Capability::{AgentExit, CancelReject, Decline, Form, Link, Notes, Plan, PlanEdits, Secret};
    let no = |claims: Claims, capability, why: &str| claims.but(capability, ClaimState::No, why);
    let mut claims = Claims::all(ClaimState::Proven);
    for (capability, why) in [
        (Secret, "OpenCode has no secret questions"),
        (Form, "OpenCode has no typed fields"),
        (Link, "OpenCode has no links to open"),
        (Plan, "OpenCode asks about a plan by an ordinary question with Yes and No"),
        (PlanEdits, "OpenCode has no place for an edited plan"),
        (CancelReject, "a rejection ends the turn; OpenCode knows no other"),
    ] {
        claims = no(claims, capability, why);
    }
    let claims = claims
        .but(Decline, ClaimState::Proven, "permissions only, by a rejection with a message")
        .but(Notes, ClaimState::Proven, "a note becomes one more entry of its answer")
        .but(
            AgentExit,
            ClaimState::Proven,
            "of a server that askd started; one that was attached is a lost source",
        );
    Descriptor {
        name: NAME.to_owned(),
        title: "OpenCode".to_owned(),
        questions: Claim::proven(
            "seen with OpenCode 1.18.33, started by askd, attached to, and by the plugin in a terminal",
        ),
        kinds: vec![Kind::Choice, Kind::Permission],
        reject_modes: vec![RejectMode::Interrupt, RejectMode::Decline],
        // The first reply wins at the server and every later one is a 404: a second copy does no harm.
        redeliver: Redeliver::Safe,
        roads: vec![Road::Http],
        capabilities: claims.into(),
        process_names: vec![NAME.to_owned()],
        programs: vec![NAME.to_owned()],
        install: Some("npm install -g opencode-ai".to_owned()),
        seen: SEEN,
        suite: NAME,
    }
}

impl Adapter for OpencodeAgent {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn launch(&self, request: &LaunchRequest) -> Result<Launch, AdapterError> {
        let mut args = SERVE.map(str::to_owned).to_vec();
        args.extend(request.args.clone());
        Ok(Launch::new(&request.program, args))
    }

    fn codec(&self) -> Result<Box<dyn Codec>, AdapterError> {
        Ok(Box::new(OpencodeCodec::new(NAME)))
    }

    fn server(&self) -> Option<ServerWay> {
        Some(server(Listening::Says("listening on ")))
    }
}

/// OpenCode's server, however it was started.
pub(crate) fn server(listening: Listening) -> ServerWay {
    ServerWay {
        events: "/global/event",
        user: NAME,
        url: "http://127.0.0.1:4096",
        health: "/global/health",
        listening,
        user_variable: "OPENCODE_SERVER_USERNAME",
        password_variable: "OPENCODE_SERVER_PASSWORD",
    }
}

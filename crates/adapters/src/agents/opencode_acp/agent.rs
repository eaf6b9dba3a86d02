//! `opencode acp` as an adapter: what is claimed, how it is started, and that it has a server beside its lines.

use super::OpencodeAcpCodec;
use crate::adapter::{Adapter, AdapterError, Launch, LaunchRequest, Listening, ServerWay};
use crate::agents::{acp, opencode};
use crate::codec::Codec;
use crate::descriptor::{Claim, ClaimState, Descriptor, Road};

const ACP: [&str; 3] = ["acp", "--hostname", "127.0.0.1"];
/// Without it OpenCode does not offer its model the question tool where it is led over ACP.
const ASKS: (&str, &str) = ("OPENCODE_ENABLE_QUESTION_TOOL", "1");

#[derive(Debug)]
pub struct OpencodeAcpAgent {
    descriptor: Descriptor,
}

impl Default for OpencodeAcpAgent {
    fn default() -> Self {
        let why = "seen with OpenCode 1.18.33: questions come over its HTTP server, joined to ACP by session and call";
        let questions = Claim::proven(why);
        let mut descriptor =
            acp::descriptor(opencode::NAME, "OpenCode (ACP)", questions, ClaimState::Declared);
        descriptor.roads.push(Road::Http);
        descriptor.programs = vec![opencode::NAME.to_owned()];
        descriptor.install = Some("npm install -g opencode-ai".to_owned());
        Self { descriptor }
    }
}

impl Adapter for OpencodeAcpAgent {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn launch(&self, request: &LaunchRequest) -> Result<Launch, AdapterError> {
        let args = ACP.into_iter().map(str::to_owned).chain(request.args.clone()).collect();
        let mut launch = Launch::new(&request.program, args);
        launch.env.push((ASKS.0.to_owned(), ASKS.1.to_owned()));
        Ok(launch)
    }

    fn codec(&self) -> Result<Box<dyn Codec>, AdapterError> {
        Ok(Box::new(OpencodeAcpCodec::default()))
    }

    fn server(&self) -> Option<ServerWay> {
        Some(opencode::server(Listening::Given("--port")))
    }
}

//! `opencode acp` as an adapter: claims, command line, and the server beside its lines.

use super::OpencodeAcpCodec;
use crate::adapter::{Adapter, AdapterError, Launch, LaunchRequest, Listening, ServerWay};
use crate::codec::Codec;
use crate::descriptor::{Claim, ClaimState, Descriptor, Road};
use crate::{acp, opencode};

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
        descriptor.seen = opencode::SEEN;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn opencode_over_acp_is_started_so_that_it_asks_and_listens_to_this_machine_alone() {
        let registry = Registry::built_in();
        let agent = registry.acp("opencode").unwrap();
        assert_eq!(agent.descriptor().questions.state, ClaimState::Proven);
        let program = "/bin/opencode".into();
        let request =
            LaunchRequest { cwd: "/".into(), prompt: None, args: Vec::new(), program, version: None };
        let launch = agent.launch(&request).unwrap();
        assert_eq!(
            launch.args,
            ["acp", "--hostname", "127.0.0.1"],
            "the port comes with the server's settings"
        );
        assert_eq!(launch.env, [("OPENCODE_ENABLE_QUESTION_TOOL".to_owned(), "1".to_owned())]);
        assert_eq!(agent.server().unwrap().listening, Listening::Given("--port"));
    }
}

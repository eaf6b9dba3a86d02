//! Claude Code as an agent of the registry: what is claimed of it, and its command line.

use askd_core::delivery::Redeliver;
use askd_core::{Kind, RejectMode};

use super::{ClaudeCodec, versions};
use crate::adapter::{Adapter, AdapterError, Launch, LaunchRequest};
use crate::capability::{Capability, Claims};
use crate::codec::Codec;
use crate::descriptor::{Claim, ClaimState, Descriptor, Road, RoadHere};

const NAME: &str = "claude";
const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";
/// The versions that were seen asking; forms of MCP servers with the first one only.
const SEEN: [&str; 3] = ["2.1.325", "2.1.120", "2.0.76"];

/// The arguments that make it ask its host over its standard streams. Its help hides the last one.
const HEADLESS: [&str; 8] = [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
];

/// Variables of the Claude Code that started the hub: with them a second one believes that it runs inside the
/// first.
const INHERITED: [&str; 3] = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"];

#[derive(Debug)]
pub struct ClaudeAgent {
    descriptor: Descriptor,
}

impl Default for ClaudeAgent {
    fn default() -> Self {
        Self::new()
    }
}

impl ClaudeAgent {
    pub fn new() -> Self {
        Self { descriptor: descriptor() }
    }
}

fn descriptor() -> Descriptor {
    use Capability::{
        AnsweredElsewhere, CancelReject, Form, Link, Notes, PlanEdits, Secret, SeveralSessions,
    };
    use ClaimState::{Declared, No, Proven};
    let claims = Claims::all(Proven)
        .but(Secret, No, "Claude Code has no secret questions")
        .but(SeveralSessions, No, "one process is one session")
        .but(CancelReject, Proven, "only for MCP elicitations; a tool call knows a decline and an interrupt")
        .but(Form, Proven, "MCP elicitations, with 2.1.325")
        .but(Link, Declared, "MCP elicitations in url mode, by the protocol; not seen")
        .but(Notes, Proven, "before 2.1.97 a note goes into the answer's text, because old versions lose it")
        .but(
            PlanEdits,
            Proven,
            "before 2.1.76 the changed plan is said as a message, because 2.0.76 ignores it",
        )
        .but(AnsweredElsewhere, Proven, "by a PermissionRequest hook that was faster, with 2.1.325");
    Descriptor {
        name: NAME.to_owned(),
        title: "Claude Code".to_owned(),
        questions: Claim::proven(
            "sessions that askd starts: questions, plans, permissions and MCP forms of the real 2.1.325 were answered through \
             the hub, questions and plans of 2.1.120 and 2.0.76 too; 2.0.71 and newer are supported",
        ),
        kinds: vec![Kind::Choice, Kind::Plan, Kind::Permission, Kind::Form],
        reject_modes: vec![RejectMode::Decline, RejectMode::Cancel, RejectMode::Interrupt],
        // A response to a request that is over is ignored by 2.1.325; the holder's journal makes a guess
        // unnecessary.
        redeliver: Redeliver::Probe,
        roads: vec![Road::ControlProtocol, Road::Hook, Road::Transcript, Road::Keys],
        capabilities: claims.into(),
        process_names: vec![NAME.to_owned()],
        programs: vec![NAME.to_owned()],
        install: Some(INSTALL.to_owned()),
        seen: &SEEN,
        suite: NAME,
    }
}

impl Adapter for ClaudeAgent {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn launch(&self, request: &LaunchRequest) -> Result<Launch, AdapterError> {
        if let Some(found) = &request.version
            && let Some(why) = versions::lacks(found, Road::ControlProtocol)
        {
            return Err(AdapterError::Unsupported {
                agent: self.descriptor.title.clone(),
                found: found.clone(),
                supported: versions::SUPPORTED,
                why,
                update: INSTALL,
            });
        }
        let args = HEADLESS.iter().map(|arg| (*arg).to_owned()).chain(request.args.iter().cloned());
        let mut launch = Launch::new(&request.program, args.collect());
        launch.env_remove.extend(INHERITED.map(str::to_owned));
        Ok(launch)
    }

    fn version_argument(&self) -> Option<&'static str> {
        Some("--version")
    }

    fn roads_of(&self, version: &str) -> Vec<RoadHere> {
        versions::roads(version)
    }

    /// An id is a word of Claude Code's own; anything else is not put on a command line.
    fn resume_command(&self, native_id: &str) -> Option<String> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_id = !native_id.starts_with('-') && !native_id.is_empty() && native_id.bytes().all(is_word);
        is_id.then(|| format!("{NAME} --resume {native_id}"))
    }

    fn resumed<'a>(&self, args: &'a [String]) -> Option<&'a str> {
        args.iter().enumerate().find_map(|(at, arg)| match arg.as_str() {
            "--resume" | "-r" => args.get(at + 1).map(String::as_str),
            arg => arg.strip_prefix("--resume="),
        })
    }

    fn codec(&self) -> Result<Box<dyn Codec>, AdapterError> {
        Ok(Box::new(ClaudeCodec::new(NAME)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: Option<&str>) -> LaunchRequest {
        LaunchRequest {
            cwd: "/".into(),
            prompt: Some("go".to_owned()),
            args: vec!["--model".to_owned(), "opus".to_owned()],
            program: "/opt/claude".into(),
            version: version.map(str::to_owned),
        }
    }

    #[test]
    fn a_version_that_cannot_ask_without_a_screen_is_not_started() {
        let launch = |version: Option<&str>| ClaudeAgent::new().launch(&request(version));
        for version in [Some("2.0.71 (Claude Code)"), Some("2.1.325"), Some("a fork"), None] {
            assert!(launch(version).is_ok(), "{version:?}");
        }
        let said = launch(Some("2.0.70 (Claude Code)")).unwrap_err().to_string();
        for part in ["2.0.70", "2.0.71 and newer", INSTALL] {
            assert!(said.contains(part), "{part} is not in {said}");
        }
    }

    #[test]
    fn the_arguments_of_the_user_come_last_and_the_marks_of_another_claude_are_removed() {
        let launch = ClaudeAgent::new().launch(&request(None)).unwrap();
        assert_eq!(launch.args.first().map(String::as_str), Some("-p"));
        assert_eq!(launch.args[7..], ["stdio", "--model", "opus"]);
        assert!(launch.env_remove.contains(&"CLAUDECODE".to_owned()));
        assert!(launch.env_remove.contains(&"ASKD_TOKEN".to_owned()));
    }

    #[test]
    fn the_arguments_say_which_conversation_is_resumed() {
        let resumed = |line: &str| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            ClaudeAgent::new().resumed(&args).map(str::to_owned)
        };
        for line in ["--model opus --resume id-1", "-r id-1 --fork-session", "--resume=id-1"] {
            assert_eq!(resumed(line).as_deref(), Some("id-1"), "{line}");
        }
        for line in ["", "--model id-1", "--continue", "--resume", "-r --model"] {
            assert_ne!(resumed(line).as_deref(), Some("id-1"), "{line}");
        }
    }
}

//! An ACP agent of the user: a name and a command line.

use std::ffi::OsStr;

use askd_core::delivery::Redeliver;
use askd_core::{Kind, RejectMode};

use super::AcpCodec;
use crate::adapter::{Adapter, AdapterError, FoundProgram, Launch, LaunchRequest, find_programs};
use crate::capability::{Capability, Claims};
use crate::codec::Codec;
use crate::descriptor::{Claim, ClaimState, Descriptor, Road};

#[derive(Debug)]
pub struct AcpAgent {
    pub(super) descriptor: Descriptor,
    /// Arguments of the command itself.
    pub(super) args: Vec<String>,
}

impl AcpAgent {
    /// `command` is split into words as a shell does, with quotes and backslashes and nothing else.
    pub fn custom(name: &str, command: &str) -> Result<Self, AdapterError> {
        let named = (1..=256).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if !named {
            return Err(AdapterError::BadName(name.to_owned()));
        }
        let mut words = split_words(command)?.into_iter();
        let program = words.next().filter(|word| !word.is_empty()).ok_or(AdapterError::EmptyCommand)?;
        let why = "an ACP agent that you registered; askd has not seen this program ask";
        let mut descriptor =
            descriptor(name, &format!("{name} (ACP)"), Claim::declared(why), ClaimState::Declared);
        descriptor.process_names.extend(program.rsplit('/').next().map(str::to_owned));
        descriptor.programs = vec![program];
        Ok(Self { descriptor, args: words.collect() })
    }
}

/// The descriptor of every agent behind the ACP codec.
pub(crate) fn descriptor(name: &str, title: &str, questions: Claim, state: ClaimState) -> Descriptor {
    use Capability::{AgentExit, AnsweredElsewhere, HubKilledLive, Oversized, PlanEdits, SlowReader};
    let not_judged = "needs a hub and a holder; not judged yet";
    let claims = Claims::all(state)
        .but(PlanEdits, ClaimState::No, "a permission response of ACP has no place for an edited plan")
        .but(
            AnsweredElsewhere,
            state,
            "only links, by elicitation/complete; ACP agents have no screen of their own",
        )
        .but(AgentExit, ClaimState::No, not_judged)
        .but(Oversized, ClaimState::No, not_judged)
        .but(SlowReader, ClaimState::No, not_judged)
        .but(HubKilledLive, ClaimState::No, not_judged);
    Descriptor {
        name: name.to_owned(),
        title: title.to_owned(),
        questions,
        kinds: vec![Kind::Choice, Kind::Form, Kind::Permission, Kind::Plan],
        reject_modes: vec![RejectMode::Decline, RejectMode::Cancel, RejectMode::Interrupt],
        // A second response to the same id is ignored by every JSON-RPC library seen, but no rule says so.
        redeliver: Redeliver::Probe,
        roads: vec![Road::Acp],
        capabilities: claims.into(),
        process_names: vec![name.to_owned()],
        programs: Vec::new(),
        install: None,
        seen: &[],
        suite: "acp",
    }
}

impl Adapter for AcpAgent {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn find(&self, path_var: &OsStr) -> Vec<FoundProgram> {
        find_programs(&self.descriptor.programs, path_var)
    }

    fn launch(&self, request: &LaunchRequest) -> Result<Launch, AdapterError> {
        let args = self.args.iter().chain(&request.args).cloned().collect();
        Ok(Launch::new(&request.program, args))
    }

    fn codec(&self) -> Result<Box<dyn Codec>, AdapterError> {
        Ok(Box::new(AcpCodec::new(&self.descriptor.name)))
    }
}

fn split_words(command: &str) -> Result<Vec<String>, AdapterError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(AdapterError::OpenQuote(command.to_owned()));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_a_shell_would() {
        let words = |text: &str| split_words(text).unwrap();
        assert_eq!(words(r#" npx  -y 'a b' "c \"d\"" e\ f '' "#), ["npx", "-y", "a b", "c \"d\"", "e f", ""]);
        assert_eq!(words(""), Vec::<String>::new());
        assert!(matches!(split_words("a 'b"), Err(AdapterError::OpenQuote(_))));
    }

    #[test]
    fn the_arguments_of_the_user_come_after_those_of_the_command() {
        let agent = AcpAgent::custom("mine", "/opt/mine --acp").unwrap();
        let request = LaunchRequest {
            cwd: "/".into(),
            prompt: None,
            args: vec!["--model=x".to_owned()],
            program: "/opt/mine".into(),
            version: None,
        };
        let launch = agent.launch(&request).unwrap();
        assert_eq!(launch.args, ["--acp", "--model=x"]);
        assert!(launch.env_remove.contains(&"ASKD_TOKEN".to_owned()));
        assert!(agent.descriptor().process_names.contains(&"mine".to_owned()));
    }
}

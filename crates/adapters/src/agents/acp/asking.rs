//! From a request of the agent to a question with its context, its id and its place among the open ones.

use serde_json::value::RawValue;

use askd_core::{RejectMode, ToolRef};

use super::codec::AcpCodec;
use super::open::{Open, Scope, Way, print_of};
use super::wire::{self, RpcId};
use super::{elicitation, permission, question};
use crate::heard::Asked;

pub(super) struct Read {
    pub(super) asked: Asked,
    pub(super) open: Open,
}

/// Reads a request that asks; the error is what is wrong with it, for the agent and for `askd doctor`.
pub(super) fn read(
    codec: &AcpCodec,
    line: &str,
    id: &RpcId,
    way: Way,
    params: Option<&RawValue>,
) -> Result<Read, String> {
    let scope: Scope = wire::params(params)?;
    let raw = params.ok_or("it has no parameters")?;
    let session = scope.session_id.as_deref().and_then(|session| codec.sessions.get(session));
    let call_id = scope.call_id();
    let mut elicitation_id = None;
    let mut patience = None;
    let mut meanwhile = false;
    let mut own_id = None;
    let agent = codec.agent.as_str();
    let mut ask = match way {
        Way::Question => {
            let params: question::Params = wire::params(params)?;
            own_id.clone_from(&params.question_id);
            question::ask(agent, params)?
        }
        Way::Elicitation => {
            let params: elicitation::Params = wire::params(params)?;
            elicitation_id.clone_from(&params.elicitation_id);
            patience = params.patience();
            meanwhile = params.is_async();
            elicitation::ask(agent, &params, raw)
        }
        Way::Permission => {
            let params: permission::Params = wire::params(params)?;
            let title = session.and_then(|session| call_id.and_then(|call| session.call_title(call)));
            permission::ask(agent, &params, title)?
        }
    };
    if scope.session_id.is_none() {
        // An interrupt names the session whose turn it ends.
        ask.reject_modes.retain(|mode| *mode != RejectMode::Interrupt);
    }
    if let Some(session) = session {
        ask.context = session.context();
    }
    ask.tool = call_id.map(|call| ToolRef { message_id: None, call_id: Some(call.to_owned()) });
    ask.check().map_err(|errors| errors.to_string())?;
    let native_id = native_id(codec, id, own_id.as_deref(), call_id);
    if codec.open.is_full() && !codec.open.uses(&native_id) {
        return Err("too many questions are open".to_owned());
    }
    let native = RawValue::from_string(line.to_owned()).map_err(|error| error.to_string())?;
    let open = Open {
        native_id: native_id.clone(),
        rpc: id.clone(),
        print: print_of(line),
        way,
        session: scope.session_id.clone(),
        call_id: call_id.map(str::to_owned),
        elicitation_id,
        announced: session.is_some_and(|session| call_id.is_some_and(|call| session.knows_call(call))),
        meanwhile,
        delivered: None,
    };
    let asked = Asked { native_id, native_session: scope.session_id, ask, native, patience, likeness: None };
    Ok(Read { asked, open })
}

/// The agent's own id of the question where it has one, else that of the request and its tool call. An own id that another
/// open request uses is told apart by the request, because each request waits for its own response.
fn native_id(codec: &AcpCodec, id: &RpcId, own: Option<&str>, call_id: Option<&str>) -> String {
    match (own.filter(|own| !own.is_empty()), call_id) {
        (Some(own), _) => {
            let known = codec.open.by_rpc(id).is_some_and(|open| open.native_id == own);
            if codec.open.uses(own) && !known { format!("{own}~{id}") } else { own.to_owned() }
        }
        (None, Some(call)) => format!("{id}/{call}"),
        (None, None) => id.to_string(),
    }
}

//! From a request of the agent to a question with its context, its id and its place among the open ones.

use std::time::Duration;

use serde_json::value::RawValue;

use askd_core::ask::RAW_RESULT;
use askd_core::{Ask, RejectMode, ToolRef};

use super::codec::AcpCodec;
use super::open::{Open, Scope, Way, print_of};
use super::wire::{self, RpcId};
use super::{elicitation, permission, question, raw};
use crate::heard::Asked;
use crate::open_requests::MAX_OPEN;

pub(super) struct Read {
    pub(super) asked: Asked,
    pub(super) open: Open,
}

/// The question in a request, without its place.
#[derive(Default)]
struct Draft {
    patience: Option<Duration>,
    /// True if the agent continues while it is open.
    meanwhile: bool,
}

/// Reads a request that asks; one that no form can show becomes a raw item. The error, for the agent and for
/// `askd doctor`, says why not even that is possible.
pub(super) fn read(
    codec: &AcpCodec,
    line: &str,
    id: &RpcId,
    way: Way,
    params: Option<&RawValue>,
) -> Result<Read, String> {
    let (scope, unreadable) = Scope::read(params);
    let session = scope.session_id.as_deref().and_then(|session| codec.sessions.get(session));
    let call_id = scope.call_id();
    let belongs = |mut ask: Ask| {
        if scope.session_id.is_none() {
            // An interrupt ends the turn of a session, so it needs one.
            ask.reject_modes.retain(|mode| *mode != RejectMode::Interrupt);
        }
        if let Some(session) = session {
            ask.context = session.context();
        }
        ask
    };
    let checked = |ask: Ask| ask.check().map(|()| ask).map_err(|errors| errors.to_string());
    let title = session.and_then(|session| call_id.and_then(|call| session.call_title(call)));
    let understood = unreadable.map_or(Ok(()), Err).and_then(|()| {
        let (ask, draft) = understand(&codec.agent, way, params, title)?;
        let tool = call_id.map(|call| ToolRef { message_id: None, call_id: Some(call.to_owned()) });
        Ok((checked(belongs(Ask { tool, ..ask }))?, draft))
    });
    let (ask, draft) = match understood {
        Ok(understood) => understood,
        Err(why) => {
            tracing::info!(agent = codec.agent, why, "a question is shown as it came");
            (checked(belongs(raw::ask(&codec.agent, way, params, &why)))?, Draft::default())
        }
    };
    let own_id = wire::text_at(params, &["questionId"]).filter(|_| way == Way::Question);
    let native_id = native_id(codec, id, own_id.as_deref(), call_id);
    if codec.open.is_full() && !codec.open.uses(&native_id) {
        return Err(format!("{MAX_OPEN} questions of this agent are open already"));
    }
    let native = RawValue::from_string(line.to_owned()).map_err(|error| error.to_string())?;
    let open = Open {
        native_id: native_id.clone(),
        rpc: id.clone(),
        print: print_of(line),
        way,
        session: scope.session_id.clone(),
        call_id: call_id.map(str::to_owned),
        elicitation_id: elicitation::id_of(params).filter(|_| way == Way::Elicitation),
        announced: session.is_some_and(|session| call_id.is_some_and(|call| session.knows_call(call))),
        for_request: scope.request_id(),
        calls_before: 0,
        meanwhile: draft.meanwhile,
        delivered: None,
    };
    let (native_session, patience) = (scope.session_id, draft.patience);
    let asked = Asked { native_id, native_session, ask, native, patience, likeness: None };
    Ok(Read { asked, open })
}

/// The question of a request, if a form can show it.
fn understand(
    agent: &str,
    way: Way,
    params: Option<&RawValue>,
    title: Option<&str>,
) -> Result<(Ask, Draft), String> {
    let raw = params.ok_or("it has no parameters")?;
    let mut draft = Draft::default();
    let ask = match way {
        Way::Question => {
            let params: question::Params = wire::params(params)?;
            question::ask(agent, params)?
        }
        Way::Elicitation => {
            let params: elicitation::Params = wire::params(params)?;
            draft.patience = params.patience();
            draft.meanwhile = params.is_async();
            params.check()?;
            params.check_offers()?;
            elicitation::ask(agent, &params, raw)
        }
        Way::Permission => {
            let params: permission::Params = wire::params(params)?;
            permission::ask(agent, &params, title)?
        }
    };
    if ask.questions.iter().any(|item| item.key.as_deref() == Some(RAW_RESULT)) {
        return Err(format!("it has a field with the name {RAW_RESULT}"));
    }
    Ok((ask, draft))
}

/// The agent's own id of the question, else that of the request and its tool call. If another open request
/// uses the name, the request's id is added, because each request waits for its own response.
fn native_id(codec: &AcpCodec, id: &RpcId, own: Option<&str>, call_id: Option<&str>) -> String {
    let mut name = match (own.filter(|own| !own.is_empty()), call_id) {
        (Some(own), _) => own.to_owned(),
        (None, Some(call)) => format!("{id}/{call}"),
        (None, None) => id.to_string(),
    };
    let is_its_own = |name: &str| codec.open.by_rpc(id).is_some_and(|open| open.native_id == name);
    while codec.open.uses(&name) && !is_its_own(&name) {
        name = format!("{name}~{id}");
    }
    name
}

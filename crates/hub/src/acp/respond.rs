//! A client's response to a request of the agent: for a question it goes the way of every answer, for
//! anything else to the agent.
//!
//! A response that is malformed, unknown, late or contradicts the one that won is refused with a typed error,
//! and the agent never sees it.

use askd_agents::acp::asks;
use askd_agents::{ClientSays, Unspeakable};
use askd_core::{Cause, Question, QuestionId, RejectMode, Right, SessionId, Settlement};
use askd_store::AskedIn;
use askd_wire::json_edit;
use askd_wire::jsonrpc::{Id, JsonRpcError, Message, Outcome};
use serde_json::value::RawValue;

use super::AcpServers;
use super::error::AcpError;
use super::ids::{id_of, respelled};
use super::notice;
use super::relay::{OwnRequest, Relayed};
use super::server::AcpServer;
use crate::{Caller, EngineError};

/// The state of an agent's newest request with one id.
enum Newest {
    Question(Id, QuestionId),
    /// It waits for a response of a client: its id and its method.
    Waits(Id, String),
    /// It has its response, or needs none.
    Over,
    /// The stream knows none, as far as it goes back.
    Unknown,
}

impl Newest {
    /// Checks a request that is no question: it has its response, or needs none. A question knows how it
    /// ended.
    fn is_over(&mut self) {
        if let Self::Waits(..) = self {
            *self = Self::Over;
        }
    }
}

impl AcpServers {
    pub async fn respond(&self, caller: &Caller, id: &str, body: String) -> Result<(), AcpError> {
        if !caller.token.rights.allows(Right::Manage) {
            caller.needs(Right::Answer)?;
        }
        let request = id_of(&body).ok_or_else(|| AcpError::Malformed("the id is no id".to_owned()))?;
        let Some(server) = self.current_server(id).await else {
            return self.late_response(caller, id, &request).await;
        };
        if !server.knows(&request) {
            // A client can be faster than the connection, which learns from the same commit.
            let (done, caught_up) = tokio::sync::oneshot::channel();
            self.relay(&server, Relayed::CatchUp { done }).await?;
            let _ = caught_up.await;
        }
        let question = match server.question(&request) {
            Some(question) => Some(question),
            None if server.asks(&request) && error_of(&body).is_some() => {
                return self.cannot_show(caller, &server, &request, &body).await;
            }
            None if server.has_request(&request) => {
                // The right is checked first: a client without it leaves the request to others.
                caller.needs(Right::Manage)?;
                match server.take_request(&request) {
                    Some(own) => return self.pass_on(&server, body, &request, own).await,
                    None => return Err(AcpError::UnknownRequest(request.to_string())),
                }
            }
            None => match self.newest_request(&server.stream, &request).await? {
                Newest::Question(own, question) => Some((own, question)),
                Newest::Waits(own, method) => {
                    if asks(&method) && error_of(&body).is_some() {
                        return self.cannot_show(caller, &server, &own, &body).await;
                    }
                    caller.needs(Right::Manage)?;
                    if server.take_earlier(&own) {
                        let own = OwnRequest { asks: asks(&method), id: own };
                        return self.pass_on(&server, body, &request, own).await;
                    }
                    None
                }
                Newest::Over => None,
                Newest::Unknown => server.recalled(&request),
            },
        };
        let (own, question) = question.ok_or_else(|| AcpError::UnknownRequest(request.to_string()))?;
        caller.needs(Right::Answer)?;
        let body = respelled(body, &request, &own);
        self.settle_by_response(caller, &server, &own, &question, body).await
    }

    /// Handles a client's report that it cannot show a question that the inbox refused. Another client may.
    async fn cannot_show(
        &self,
        caller: &Caller,
        server: &AcpServer,
        request: &Id,
        body: &str,
    ) -> Result<(), AcpError> {
        caller.needs(Right::Answer)?;
        let why = error_of(body).unwrap_or_default();
        self.note(server, notice::not_shown(request, None, &why, &caller.token.name)).await
    }

    async fn note(&self, server: &AcpServer, text: String) -> Result<(), AcpError> {
        let (done, recorded) = tokio::sync::oneshot::channel();
        self.relay(server, Relayed::Note { text, done }).await?;
        recorded.await.map_err(|_| AcpError::Unreachable)
    }

    async fn pass_on(
        &self,
        server: &AcpServer,
        body: String,
        given: &Id,
        request: OwnRequest,
    ) -> Result<(), AcpError> {
        let body = respelled(body, given, &request.id);
        self.relay_until_written(server, |done| Relayed::Response { body, request, done }).await
    }

    async fn settle_by_response(
        &self,
        caller: &Caller,
        server: &AcpServer,
        request: &Id,
        id: &QuestionId,
        body: String,
    ) -> Result<(), AcpError> {
        let record = self.store().question(id).await?.ok_or(EngineError::NotFound("question"))?;
        let question = record.question;
        let native = self.store().native(id).await?.unwrap_or_default();
        let native = RawValue::from_string(native).map_err(|error| AcpError::Malformed(error.to_string()))?;
        let adapter = self.inner.agents.registry().running(&server.agent, true);
        let codec = adapter.and_then(|adapter| adapter.conversation()).map_err(|_| AcpError::Unreachable)?;
        let says = codec.understand(&native, &question.ask, &body).map_err(misunderstood)?;
        let (settlement, settled) = match says {
            ClientSays::Failed(why) => {
                tracing::info!(question = %id, client = caller.token.name, why, "a client cannot show a question");
                let text = notice::not_shown(request, Some(id), &why, &caller.token.name);
                return if question.is_open() { self.note(server, text).await } else { Ok(()) };
            }
            ClientSays::Reply(reply) => {
                let answer = reply.clone().check(&question.ask).map_err(EngineError::from)?;
                let settlement = Settlement::Answered(answer);
                server.keep_words(&question, settlement.clone(), body);
                (settlement, self.inner.questions.reply(caller, id, reply, None).await)
            }
            ClientSays::Reject(rejection) => {
                let (mode, reason) = rejection.clone().check(&question.ask).map_err(EngineError::from)?;
                if mode == RejectMode::Cancel && was_withdrawn(&question) {
                    return Ok(());
                }
                let settlement = Settlement::Rejected { mode, reason };
                server.keep_words(&question, settlement.clone(), body);
                (settlement, self.inner.questions.reject(caller, id, rejection, None).await)
            }
        };
        if settled.is_err() {
            server.drop_words(id, &settlement);
        }
        settled?;
        Ok(())
    }

    /// The agent of the server is gone, or was never there. Nothing is started for a response.
    async fn late_response(&self, caller: &Caller, id: &str, request: &Id) -> Result<(), AcpError> {
        caller.needs(Right::Answer)?;
        let Some(last) = self.last_agent(id).await? else {
            return Err(AcpError::UnknownServer(id.to_owned()));
        };
        if let Some((_, question, _)) = self.question_of_request(&last.stream, request).await?
            && let Some(record) = self.store().question(&question).await?
            && !record.question.is_open()
        {
            return Err(EngineError::Conflict(Box::new(record.question)).into());
        }
        Err(AcpError::Ended { server: id.to_owned(), cause: last.cause })
    }

    /// The state of the newest request with this id, by the stream: an agent may use an id again.
    async fn newest_request(&self, stream: &SessionId, request: &Id) -> Result<Newest, AcpError> {
        let asked = self.question_of_request(stream, request).await?;
        let (mut newest, mut at) = match asked {
            Some((own, question, number)) => (Newest::Question(own, question), number),
            None => (Newest::Unknown, 0),
        };
        let mut after = at;
        loop {
            let page = self.store().entries_after(stream, None, after).await?;
            let Some(last) = page.entries.last() else { break };
            after = last.number;
            let lines = page.entries.iter().filter_map(|entry| Some((entry.number, entry.raw.as_deref()?)));
            for (number, line) in lines {
                match Message::parse(line.as_bytes()) {
                    Message::Request { id, method, .. } if id == *request => {
                        (newest, at) = (Newest::Waits(id, method), number);
                    }
                    Message::Notification { method, .. } if method == notice::ANSWERED => {
                        let answered = json_edit::at(line, &["params", "requestId"]);
                        let answered = answered.and_then(|id| serde_json::from_str::<Id>(id).ok());
                        if answered.as_ref() == Some(request) {
                            newest.is_over();
                        }
                    }
                    Message::Notification { method, .. } if method == notice::ENDED => newest.is_over(),
                    _ => {}
                }
            }
        }
        if let Newest::Waits(..) = newest
            && let Some((own, question, number)) = self.question_of_request(stream, request).await?
            && number >= at
        {
            // It was stored since it was looked for.
            return Ok(Newest::Question(own, question));
        }
        Ok(newest)
    }

    /// Finds the question that a request in a server's stream is, and the number of its entry; of several
    /// with this id, the newest.
    async fn question_of_request(
        &self,
        stream: &SessionId,
        request: &Id,
    ) -> Result<Option<(Id, QuestionId, u64)>, AcpError> {
        let mut before = u64::MAX;
        loop {
            let page = self.store().asked_in(stream, before).await?;
            let Some(oldest) = page.last() else { return Ok(None) };
            before = oldest.number;
            let own = |asked: &AskedIn| serde_json::from_str::<Id>(&asked.request).ok();
            let mut found =
                page.into_iter().filter_map(|asked| Some((own(&asked)?, asked.question, asked.number)));
            if let Some(found) = found.find(|(own, ..)| own == request) {
                return Ok(Some(found));
            }
        }
    }
}

/// The message of an error response; `None` for a result.
fn error_of(response: &str) -> Option<String> {
    let Message::Response { outcome: Outcome::Error(raw), .. } = Message::parse(response.as_bytes()) else {
        return None;
    };
    let error = serde_json::from_str::<JsonRpcError>(raw.get());
    Some(error.map_or_else(|_| raw.get().to_owned(), |error| format!("{} ({})", error.message, error.code)))
}

/// True for "cancelled" as the answer to a withdrawn question: the client obeyed a cancellation.
fn was_withdrawn(question: &Question) -> bool {
    let cause = question.outcome.as_ref().and_then(|outcome| outcome.cause.as_ref());
    matches!(
        cause,
        Some(Cause::AgentWithdrew { .. } | Cause::TurnAborted { .. } | Cause::SessionEnded { .. })
    )
}

fn misunderstood(error: Unspeakable) -> AcpError {
    AcpError::Malformed(error.to_string())
}

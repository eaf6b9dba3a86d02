//! How an attendant serves an ACP server: the agent's lines become stream and questions, the clients'
//! messages go to the agent.
//!
//! A question and its line in the stream are stored together: no client sees a question that is not durable.
//! Its end is put into the stream by the store, with the outcome, whatever ended it. A response is given to
//! its client after everything that the agent said before it is in the stream: a turn that is over has been
//! told.

use std::time::Duration;

use bytes::Bytes;

use askd_agents::Heard;
use askd_agents::acp::asks;
use askd_core::{Cause, Question, SessionId};
use askd_holder::HolderConnection;
use askd_holder::protocol::WriteResult;
use askd_store::{AsksHere, NewEntry};
use askd_wire::json_edit;
use askd_wire::jsonrpc::{Id, Message};

use super::error::AcpError;
use super::ids::id_of;
use super::notice;
use super::relay::{Relay, Relayed, Response, Sender, Sent};
use crate::managed::{Attendant, Command, ROAD, SERVED_ROAD, Stored};
use crate::{AgentQuestion, EngineError, now};

/// The voice of a response that its client received as the answer to its request.
pub(crate) const TAKEN: &str = "response";
/// The voice of a line that no client can read.
pub(crate) const UNREADABLE: &str = "error";

/// The time for an agent to end after it stopped reading its input.
const EXIT_SOON: Duration = Duration::from_secs(1);

impl Attendant {
    /// One line of the agent.
    pub(crate) async fn relay_line(&mut self, n: u64, bytes: &[u8]) -> Result<(), EngineError> {
        let line = String::from_utf8_lossy(bytes);
        let line = json_edit::one_line(&line);
        let Some(relay) = self.relay.as_mut().filter(|_| !line.is_empty()) else { return Ok(()) };
        let message = Message::parse(bytes);
        if matches!(message, Message::Request { .. }) && self.names.may_repeat(n) {
            // It is in the stream and what it asks is in the store, perhaps answered by now: it is not asked
            // once more.
            return Ok(());
        }
        let mut entry = NewEntry { line: Some(relay.line(n)), ..NewEntry::new(now(), "other") };
        match &message {
            Message::Malformed { defect, .. } => {
                entry.voice = UNREADABLE;
                entry.raw = Some(serde_json::json!({ "unreadable": line }).to_string());
                self.pipeline.following.responses.extend(relay.unreadable(&line));
                self.push_entry(Some(entry));
                let why = format!("no JSON-RPC message ({defect:?})");
                return self.apply_all(vec![Heard::Unrecognised { why }], Some(n)).await;
            }
            Message::Response { .. } => {
                let returned = relay.returned(&line);
                if let Some(retold) = returned.retold {
                    drop(self.codec.overhear(retold.as_bytes()));
                }
                if let Some(response) = returned.response {
                    entry.voice = TAKEN;
                    self.pipeline.following.responses.push(response);
                }
                entry.raw = Some(returned.text);
            }
            Message::Request { .. } | Message::Notification { .. } => entry.raw = Some(relay.shown(&line)),
        }
        let heard = self.codec.hear(line.as_bytes());
        let taken = entry.voice == TAKEN;
        let native_session = self.describe(&mut entry, &heard);
        entry.about = Some(self.session_of(native_session.as_deref()));
        if taken {
            entry.voice = TAKEN;
        }
        if let (Some(relay), Message::Request { id, method, .. }) = (&self.relay, &message)
            && !heard.iter().any(|value| matches!(value, Heard::Asked(_)))
        {
            relay.server.add_request(id.clone(), asks(method));
            if asks(method) {
                return self.relay_not_taken(id, heard, entry, n).await;
            }
        }
        self.relay_heard(heard, entry, n).await
    }

    /// Reports a request that asks and is no question of the inbox, once, with its line: no asker may wait
    /// unseen.
    async fn relay_not_taken(
        &mut self,
        request: &Id,
        heard: Vec<Heard>,
        entry: NewEntry,
        n: u64,
    ) -> Result<(), EngineError> {
        let (line, about) = (entry.line, entry.about.clone());
        self.push_entry(Some(entry));
        for value in heard {
            let Heard::Unrecognised { why } = value else {
                self.apply_all(vec![value], Some(n)).await?;
                continue;
            };
            let raw = Some(self.not_taken(request, &why));
            self.push_entry(Some(NewEntry {
                line,
                about: about.clone(),
                raw,
                ..NewEntry::new(now(), "other")
            }));
        }
        Ok(())
    }

    /// Logs that a question is not in the inbox, and returns the notice for clients.
    fn not_taken(&self, request: &Id, why: &str) -> String {
        let (agent, request_id) = (&self.source.agent, request.as_str());
        tracing::warn!(agent, request_id, why, "an agent asks something that the inbox cannot take");
        notice::not_taken(request, why)
    }

    /// Gives stored responses to their waiting clients. The response for a client that just disconnected goes
    /// to the stream.
    pub(crate) fn tell_responses(&mut self, responses: Vec<Response>) {
        for response in responses {
            if let Err(text) = response.tell() {
                self.push_notice(text);
            }
        }
    }

    async fn relay_heard(&mut self, heard: Vec<Heard>, entry: NewEntry, n: u64) -> Result<(), EngineError> {
        let mut entry = Some(entry);
        if !heard.iter().any(|value| matches!(value, Heard::Asked(_))) {
            self.push_entry(entry.take());
        }
        let mut others = Vec::new();
        for value in heard {
            match value {
                Heard::Asked(mut asked) => {
                    self.apply_all(std::mem::take(&mut others), Some(n)).await?;
                    let is_new = self.name_question(&mut asked, Some(n)).await?;
                    let question = self.question_from(*asked, ROAD);
                    self.relay_asked(AgentQuestion { is_new, ..question }, entry.take());
                }
                // The response itself tells the client, which decides about the next step.
                Heard::Failed { .. } => {}
                value => others.push(value),
            }
        }
        self.apply_all(others, Some(n)).await
    }

    /// Handles the events of the agent's own server: a question is in the stream once, as the request that
    /// the codec made of it.
    pub(crate) async fn relay_news(&mut self, heard: Vec<Heard>) -> Result<(), EngineError> {
        for value in heard {
            let Heard::Asked(asked) = value else {
                self.apply_all(vec![value], None).await?;
                continue;
            };
            // An earlier event may still be on its way into the store.
            self.save().await?;
            let raw = Some(asked.native.get().to_owned());
            let entry = NewEntry { raw, ..NewEntry::new(now(), "question") };
            let mut question = self.question_from(*asked, SERVED_ROAD);
            let (name, is_known) = self.hub.questions.free_name(&question).await?;
            if name != question.native_id && self.codec.rename(&question.native_id, &name) {
                question.native_id = name;
            }
            self.relay_asked(question, (!is_known).then_some(entry));
        }
        Ok(())
    }

    /// Puts something into the stream; what is said of no session is said of the main one.
    pub(crate) fn push_entry(&mut self, entry: Option<NewEntry>) {
        if let (Some(relay), Some(mut entry)) = (&self.relay, entry) {
            entry.about.get_or_insert_with(|| self.main.id.clone());
            self.unsaved.push((relay.server.stream.clone(), entry));
        }
    }

    /// A question, its line and what was said before it, in one transaction. Other lines of the batch may
    /// share the commit.
    fn relay_asked(&mut self, question: AgentQuestion, entry: Option<NewEntry>) {
        let Some(stream) = self.relay.as_ref().map(|relay| relay.server.stream.clone()) else { return };
        let native_id = question.native_id.clone();
        let request = id_of(&question.native);
        let about = Some(question.session.clone());
        if let (Some(relay), Some(request)) = (&self.relay, &request) {
            relay.server.asked_anew(request);
        }
        let asks = request
            .as_ref()
            .map(|request| AsksHere { native_id: native_id.clone(), request: request.as_str().to_owned() });
        let line = entry.map(|entry| NewEntry { about, asks, ..entry });
        let said = std::mem::take(&mut self.unsaved).into_iter().map(|(_, entry)| entry);
        let said: Vec<NewEntry> = said.chain(line).collect();
        let questions = self.hub.questions.clone();
        self.submit(async move {
            match questions.ask_as_agent_in(question, &stream, said).await {
                taken @ (Ok(_) | Err(EngineError::Invalid(_))) => {
                    Ok(Stored::Question { native_id, request, taken: Box::new(taken) })
                }
                Err(error) => Err(error),
            }
        });
    }

    /// Records the clients' id of a question that was stored or refused.
    pub(crate) fn relay_took(&mut self, request: Option<Id>, taken: &Result<Question, EngineError>) {
        let (Some(relay), Some(request)) = (&self.relay, request) else { return };
        match taken {
            Ok(question) => relay.server.add_question(request, question.id.clone()),
            // It cannot be shown in the inbox; its clients can still answer it.
            Err(EngineError::Invalid(errors)) => {
                relay.server.add_request(request.clone(), true);
                let text = self.not_taken(&request, &errors.to_string());
                self.push_notice(text);
            }
            Err(_) => {}
        }
    }

    /// A message of a client.
    pub(crate) async fn obey_relay(
        &mut self,
        relayed: Relayed,
        connection: &mut HolderConnection,
    ) -> Result<(), EngineError> {
        let tag = self.new_tag();
        let Some(relay) = &mut self.relay else { return Ok(()) };
        let (text, by) = match relayed {
            Relayed::Request { body, call, reply } => match relay.outgoing(&body, call, reply) {
                Some(outgoing) => outgoing,
                None => return Ok(()),
            },
            Relayed::Notification { body, done } => (body, Sender::Other(done)),
            Relayed::Cancel { body, client, done } => match relay.cancellation(&body, &client) {
                Ok(text) => (text, Sender::Other(done)),
                Err(refused) => {
                    drop(done.send(Err(refused)));
                    return Ok(());
                }
            },
            Relayed::Response { body, request, done } => (body, Sender::Response(request, done)),
            Relayed::GiveUp { id, why } => {
                relay.not_written(Sender::Request(id), why);
                return Ok(());
            }
            Relayed::Note { text, done } => {
                self.pipeline.following.caught_up.push(done);
                self.push_notice(text);
                return Ok(());
            }
            Relayed::CatchUp { done } => {
                self.pipeline.following.caught_up.push(done);
                return Ok(());
            }
        };
        let line = Bytes::from(format!("{}\n", json_edit::one_line(&text)));
        match connection.gather_write(tag, None, line.clone()) {
            Ok(()) => relay.sending(tag, Sent { line, by }),
            Err(error) => relay.not_written(by, error.to_string()),
        }
        Ok(())
    }

    /// Handles the holder's report about a client's message. The codec reads only messages that the agent
    /// has.
    pub(crate) async fn relay_written(&mut self, tag: u64, result: &WriteResult) -> Result<(), EngineError> {
        let Some(relay) = &mut self.relay else { return Ok(()) };
        match relay.written(tag, result) {
            Some((sent, Ok(()))) => self.overhear(sent, Ok(())).await,
            Some((Sent { by: Sender::Request(id), .. }, Err(why)))
                if matches!(result, WriteResult::Failed { .. }) =>
            {
                self.give_up_soon(id, why);
                Ok(())
            }
            Some((sent, Err(why))) => {
                relay.not_written(sent.by, why);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Waits for the exit of an agent that takes no input: its exit says more than the failed write.
    fn give_up_soon(&self, id: String, why: String) {
        let source = self.source.id.clone();
        let connections = self.connections.clone();
        self.hub.tasks.spawn(async move {
            tokio::time::sleep(EXIT_SOON).await;
            // Where no task attends it any more, its client has been told.
            let _ = connections.command(&source, Command::Relay(Relayed::GiveUp { id, why })).await;
        });
    }

    /// The connection to the holder has ended: the sent messages were probably written, but no report will
    /// come.
    pub(crate) async fn relay_unconfirmed(&mut self) -> Result<(), EngineError> {
        for sent in self.relay.as_mut().map(Relay::unconfirmed).unwrap_or_default() {
            self.overhear(sent, Err(AcpError::Unreachable)).await?;
        }
        Ok(())
    }

    async fn overhear(&mut self, sent: Sent, known: Result<(), AcpError>) -> Result<(), EngineError> {
        let heard = self.codec.overhear(&sent.line);
        match sent.by {
            Sender::Request(_) => {}
            Sender::Other(done) => drop(done.send(known)),
            Sender::Response(request, done) => {
                self.push_notice(notice::answered(&request.id));
                self.pipeline.following.recorded.push((done, known));
            }
        }
        self.apply_all(heard, None).await
    }

    /// The exact bytes of the client whose outcome won.
    pub(crate) fn clients_words(&self, delivery: &askd_store::ClaimedDelivery) -> Option<Bytes> {
        let relay = self.relay.as_ref()?;
        let words = relay.server.words(&delivery.question.id, &delivery.settlement)?;
        // Exactly one line: what stands on a line of its own would be a message of its own to the agent.
        Some(Bytes::from(format!("{}\n", json_edit::one_line(&words))))
    }

    fn push_notice(&mut self, text: String) {
        self.push_entry(Some(NewEntry { raw: Some(text), ..NewEntry::new(now(), "other") }));
    }

    /// The entry for the stream about the agent's end.
    pub(crate) fn relay_end(&self, cause: &Cause) -> Option<(SessionId, NewEntry)> {
        let relay = self.relay.as_ref()?;
        relay.server.set_gone();
        let (about, raw) = (Some(self.main.id.clone()), Some(notice::ended(cause)));
        Some((relay.server.stream.clone(), NewEntry { about, raw, ..NewEntry::new(now(), "other") }))
    }

    /// Ends the stream of an ended agent, and fails every waiting request.
    pub(crate) async fn relay_gone(&mut self, cause: &Cause) -> Result<(), EngineError> {
        if self.relay.is_none() {
            return Ok(());
        }
        let responses = self.pipeline.abandon();
        self.tell_responses(responses);
        self.save().await?;
        if let Some(relay) = &mut self.relay {
            relay.fail_all(cause);
        }
        Ok(())
    }
}

//! The ACP proxy's state in a connection: requests of clients that the agent has not answered, and the
//! stream.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use askd_agents::recent::Recent;
use askd_core::{Cause, SessionId, TokenId};
use askd_holder::protocol::WriteResult;
use askd_wire::json_edit;
use askd_wire::jsonrpc::Id;

use super::error::{AcpError, words};
use super::ids::{Carried, Ids, id_of};
use super::server::AcpServer;

/// Requests of clients that wait for the agent at one time.
const MAX_WAITING: usize = 4096;
/// Lines of an earlier agent under the same server are told apart by these bits.
const GENERATION_BITS: u32 = 40;
const INTERNAL_ERROR: i64 = -32603;
const CAPABILITY: &str = "sessionRequestQuestion";

/// A client's command to the connection.
#[derive(Debug)]
pub(crate) enum Relayed {
    /// A request; the reply is the agent's response under the client's own id.
    Request {
        body: String,
        call: ClientCall,
        reply: oneshot::Sender<String>,
    },
    Notification {
        body: String,
        done: Done,
    },
    /// A client takes its request back.
    Cancel {
        body: String,
        client: TokenId,
        done: Done,
    },
    /// A response to a request of the agent that is no question; `done` after the write is recorded.
    Response {
        body: String,
        request: OwnRequest,
        done: Done,
    },
    /// No action; `done` when everything that the agent wrote before is known.
    CatchUp {
        done: oneshot::Sender<()>,
    },
    /// Stop waiting for a request that could not be written.
    GiveUp {
        id: String,
        why: String,
    },
    /// Something about a question that is to be seen in the stream; `done` when it is stored.
    Note {
        text: String,
        done: oneshot::Sender<()>,
    },
}

/// Receives the result of a client's write.
pub(crate) type Done = oneshot::Sender<Result<(), AcpError>>;

/// A request of the agent that is no question.
#[derive(Debug, Clone)]
pub(crate) struct OwnRequest {
    pub(super) id: Id,
    /// True if it asks a human.
    pub(super) asks: bool,
}

/// A client's message on its way to the agent.
pub(super) struct Sent {
    pub(super) line: Bytes,
    pub(super) by: Sender,
}

pub(super) enum Sender {
    /// A request, by its id towards the agent.
    Request(String),
    Other(Done),
    Response(OwnRequest, Done),
}

pub(crate) struct Relay {
    pub(crate) server: Arc<AcpServer>,
    generation: u64,
    ids: Ids,
    /// By the id towards the agent.
    waiting: HashMap<String, Waiting>,
    /// Messages without a report of the holder, in the order of sending.
    writes: BTreeMap<u64, Sent>,
    /// Requests with a response: a second response ends nothing.
    answered: Recent,
}

/// The facts about a client's request besides its bytes.
#[derive(Debug)]
pub struct ClientCall {
    pub client: TokenId,
    pub method: String,
    pub session: Option<String>,
}

#[derive(Debug)]
struct Waiting {
    client: TokenId,
    carried: Carried,
    /// The text that the agent received. A prompt can be long, so its entry has only what the request
    /// carries.
    text: Option<String>,
    reply: oneshot::Sender<String>,
}

/// The agent's response as its client receives it, and the waiting client.
pub(crate) struct Response {
    /// The request's id towards the agent.
    id: String,
    waiting: Waiting,
    text: String,
}

impl Response {
    /// Delivers the response; returns it if the client has disconnected.
    pub(super) fn tell(self) -> Result<(), String> {
        self.waiting.reply.send(self.text)
    }
}

/// The agent's response as clients see it.
pub(super) struct Returned {
    /// The text with the client's own id.
    pub(super) text: String,
    /// For the waiting client.
    pub(super) response: Option<Response>,
    /// The request for the codec to read first, because an earlier hub forwarded it.
    pub(super) retold: Option<String>,
}

impl Relay {
    pub(crate) fn new(server: Arc<AcpServer>, generation: u64) -> Self {
        let (waiting, writes) = (HashMap::new(), BTreeMap::new());
        Self { server, generation, ids: Ids::new(), waiting, writes, answered: Recent::default() }
    }

    /// The number under which a line is stored once.
    pub(super) fn line(&self, n: u64) -> u64 {
        (self.generation << GENERATION_BITS) | n
    }

    /// The agent's own number of a stored line; 0 if it is an earlier agent's.
    pub(crate) fn own_line(&self, stored: u64) -> u64 {
        stored.saturating_sub(self.generation << GENERATION_BITS)
    }

    /// The transcript position and text of a line over the limit.
    pub(crate) fn oversized(&self, n: u64, prefix: &str) -> (SessionId, u64, String) {
        let raw = serde_json::json!({ "oversized": prefix }).to_string();
        (self.server.stream.clone(), self.line(n), raw)
    }

    /// A client's request as the agent gets it; refused requests get their reply at once.
    pub(super) fn outgoing(
        &mut self,
        body: &str,
        call: ClientCall,
        reply: oneshot::Sender<String>,
    ) -> Option<(String, Sender)> {
        let ClientCall { client, method, session } = call;
        let original = json_edit::member(body, "id").unwrap_or("null").to_owned();
        if self.waiting.len() >= MAX_WAITING {
            drop(reply.send(refusal(&original, "too many requests wait for this agent", None)));
            return None;
        }
        let (initialize, prompts) = (method == "initialize", method == "session/prompt");
        let carried = Carried { method, session, original };
        let id = self.ids.next(&carried);
        let mut text = json_edit::set(body, &["id"], &id);
        if initialize {
            text = with_client_capabilities(text);
        }
        let kept = (!prompts).then(|| text.clone());
        self.waiting.insert(id.clone(), Waiting { client, carried, text: kept, reply });
        Some((text, Sender::Request(id)))
    }

    /// A client's cancellation for the agent, with the request's id translated. If several requests have that
    /// id, or none that this hub forwarded, it is refused: a guess could end another turn.
    pub(super) fn cancellation(&self, body: &str, client: &TokenId) -> Result<String, AcpError> {
        let path = ["params", "requestId"];
        let read = |text: &str| serde_json::from_str::<Id>(text).ok();
        let wanted = json_edit::at(body, &path).and_then(read);
        let Some(wanted) = wanted else { return Ok(body.to_owned()) };
        let named = |waiting: &Waiting| {
            waiting.client == *client && read(&waiting.carried.original).as_ref() == Some(&wanted)
        };
        let mut known = self.waiting.iter().filter(|(_, waiting)| named(waiting)).map(|(id, _)| id);
        match (known.next(), known.next()) {
            (None, _) => Err(AcpError::NothingToCancel(wanted.to_string())),
            (Some(id), None) => Ok(json_edit::set(body, &path, id)),
            (Some(_), Some(_)) => Err(AcpError::AmbiguousCancel),
        }
    }

    /// A response of the agent, given back under the client's own id.
    pub(super) fn returned(&mut self, line: &str) -> Returned {
        let id = id_of(line).map_or_else(|| "null".to_owned(), |id| id.to_string());
        let waiting = self.waiting.remove(&id);
        let read = if waiting.is_none() { Carried::read(&id) } else { None };
        let first = self.answered.add(&id);
        let retold = read.as_ref().filter(|_| first).map(|carried| carried.retold(&id));
        let Some(carried) = waiting.as_ref().map(|waiting| &waiting.carried).or(read.as_ref()) else {
            return Returned { text: line.to_owned(), response: None, retold: None };
        };
        let mut text = json_edit::set(line, &["id"], &carried.original);
        if carried.method == "initialize" && json_edit::member(&text, "result").is_some() {
            text = with_agent_capabilities(text);
        }
        let waiting = waiting.filter(|waiting| !waiting.reply.is_closed());
        let response = waiting.map(|waiting| Response { id, waiting, text: text.clone() });
        Returned { text, response, retold }
    }

    /// Responses that could not be stored: the agent's lines are heard again, and theirs are among them.
    pub(crate) fn wait_again(&mut self, responses: Vec<Response>) {
        self.answered.clear();
        self.waiting.extend(responses.into_iter().map(|response| (response.id, response.waiting)));
    }

    /// The waiting requests, for a codec that has not read them.
    pub(crate) fn requests(&self) -> impl Iterator<Item = String> {
        let told = |(id, waiting): (&String, &Waiting)| {
            waiting.text.clone().unwrap_or_else(|| waiting.carried.retold(id))
        };
        self.waiting.iter().map(told)
    }

    /// Translates the id in a message that names a client's request back to the client's own.
    pub(super) fn shown(&self, line: &str) -> String {
        let path = ["params", "requestId"];
        // Most lines name none, not even in another spelling, and are not read for it.
        if !line.contains(path[1]) && !line.contains("\\u") {
            return line.to_owned();
        }
        match json_edit::at(line, &path).and_then(Carried::read) {
            Some(carried) => json_edit::set(line, &path, &carried.original),
            None => line.to_owned(),
        }
    }

    /// Something is to be sent to the holder.
    pub(super) fn sending(&mut self, tag: u64, sent: Sent) {
        self.writes.insert(tag, sent);
    }

    /// The message with this tag, if the holder's report is final; `Err` is the reason why the agent has not
    /// received it.
    pub(super) fn written(&mut self, tag: u64, result: &WriteResult) -> Option<(Sent, Result<(), String>)> {
        let result = match result {
            WriteResult::UnderWay => return None,
            WriteResult::Done { .. } => Ok(()),
            WriteResult::Busy => Err("it does not read at this moment".to_owned()),
            WriteResult::Failed { reason, .. } | WriteResult::Refused { reason } => Err(reason.clone()),
        };
        self.writes.remove(&tag).map(|sent| (sent, result))
    }

    /// Fails the messages from this tag on.
    pub(crate) fn unsent(&mut self, from: u64) {
        for sent in self.writes.split_off(&from).into_values() {
            self.not_written(sent.by, "it cannot be reached at this moment".to_owned());
        }
    }

    /// True if several requests wait for the agent.
    pub(crate) fn is_crowded(&self) -> bool {
        self.waiting.len() > 1
    }

    /// Sent messages whose write will never be reported.
    pub(super) fn unconfirmed(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.writes).into_values().collect()
    }

    /// Tells a client that the agent has not received its message.
    pub(super) fn not_written(&mut self, by: Sender, why: String) {
        match by {
            Sender::Request(id) => {
                if let Some(waiting) = self.waiting.remove(&id) {
                    drop(waiting.reply.send(refusal(&waiting.carried.original, &why, None)));
                }
            }
            Sender::Other(done) => drop(done.send(Err(AcpError::NotWritten(why)))),
            Sender::Response(request, done) => {
                // It waits for a response as before.
                self.server.add_request(request.id, request.asks);
                drop(done.send(Err(AcpError::NotWritten(why))));
            }
        }
    }

    /// The error for a client in place of an unreadable response, of which perhaps only the beginning exists.
    pub(crate) fn unreadable(&mut self, line: &str) -> Option<Response> {
        let names =
            |id: &&String| ["", " "].iter().any(|space| line.contains(&format!(r#""id":{space}{id}"#)));
        let id = self.waiting.keys().find(names)?.clone();
        let waiting = self.waiting.remove(&id)?;
        let why = "the agent has answered with a line that cannot be read: too long, or no JSON-RPC message in UTF-8";
        let text = refusal(&waiting.carried.original, why, None);
        Some(Response { id, waiting, text })
    }

    /// Fails every waiting request of an ended agent at once.
    pub(super) fn fail_all(&mut self, cause: &Cause) {
        for (_, waiting) in self.waiting.drain() {
            let text = format!("the agent has ended: {}", words(cause));
            drop(waiting.reply.send(refusal(&waiting.carried.original, &text, Some(cause))));
        }
    }
}

fn with_client_capabilities(mut text: String) -> String {
    let base = ["params", "clientCapabilities"];
    for mode in ["form", "url"] {
        let path = [base[0], base[1], "elicitation", mode];
        if json_edit::at(&text, &path).is_none_or(|value| value == "null") {
            text = json_edit::set(&text, &path, "{}");
        }
    }
    advertise(text, &base)
}

fn with_agent_capabilities(text: String) -> String {
    advertise(text, &["result", "agentCapabilities"])
}

/// Sets the capability at both places where clients look for it.
fn advertise(mut text: String, capabilities: &[&str; 2]) -> String {
    let [first, second] = *capabilities;
    let short = [first, second, "_meta", "extensions", CAPABILITY];
    let long = [first, second, "_meta", "sandboxagent.dev", "extensions", CAPABILITY];
    for path in [short.as_slice(), long.as_slice()] {
        if json_edit::at(&text, path) != Some("true") {
            text = json_edit::set(&text, path, "true");
        }
    }
    text
}

/// The error response for a client that will receive none from the agent.
fn refusal(id: &str, message: &str, cause: Option<&Cause>) -> String {
    let mut error = serde_json::json!({ "code": INTERNAL_ERROR, "message": message });
    if let Some(cause) = cause {
        error["data"] = serde_json::json!({ "askd": { "cause": cause } });
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

#[cfg(test)]
mod tests {
    use askd_core::SourceId;

    use super::*;
    use crate::new_bits;

    #[test]
    fn a_second_response_to_a_request_of_an_earlier_hub_ends_no_turn() {
        let (source, stream) = (SourceId::from_bits(new_bits()), SessionId::from_bits(new_bits()));
        let server = AcpServer::new("s".to_owned(), "mock".to_owned(), source, stream);
        let mut relay = Relay::new(Arc::new(server), 0);
        let carried = Carried {
            method: "session/prompt".to_owned(),
            session: Some("s1".to_owned()),
            original: "7".to_owned(),
        };
        let id = Ids::new().next(&carried);
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"cancelled"}}}}"#);
        let (first, second) = (relay.returned(&line), relay.returned(&line));
        assert!(first.retold.is_some() && second.retold.is_none());
        assert_eq!(first.text, second.text, "clients see both");
        // What could not be stored is heard once more, and is the first.
        relay.wait_again(Vec::new());
        assert!(relay.returned(&line).retold.is_some());
    }
}

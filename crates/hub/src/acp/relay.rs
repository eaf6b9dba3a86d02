//! What the attendant of an ACP server keeps: the clients' requests that the agent has not answered, and the stream.

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

/// What clients want of the attendant.
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
    /// A response to a request of the agent that is no question; `done` when it is written and that is recorded.
    Response {
        body: String,
        request: OwnRequest,
        done: Done,
    },
    /// Nothing; `done` when everything that the agent said until then is known.
    CatchUp {
        done: oneshot::Sender<()>,
    },
    /// A request that could not be written is not waited for any more.
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

/// Told when the agent has what a client wrote, or why not.
pub(crate) type Done = oneshot::Sender<Result<(), AcpError>>;

/// A request of the agent that is no question.
#[derive(Debug, Clone)]
pub(crate) struct OwnRequest {
    pub(super) id: Id,
    /// Whether it asks a human.
    pub(super) asks: bool,
}

/// What a client wrote, on its way to the agent.
pub(super) struct Sent {
    pub(super) line: Bytes,
    pub(super) by: Sender,
}

pub(super) enum Sender {
    /// A request, by the id that the agent knows.
    Request(String),
    Other(Done),
    Response(OwnRequest, Done),
}

pub(crate) struct Relay {
    pub(crate) server: Arc<AcpServer>,
    generation: u64,
    ids: Ids,
    /// By the id that the agent knows.
    waiting: HashMap<String, Waiting>,
    /// What the holder has not said yet to be written, in the order in which it was sent.
    writes: BTreeMap<u64, Sent>,
    /// Requests that have their response: a second one ends nothing.
    answered: Recent,
}

/// What has to be known of a client's request besides its bytes.
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
    /// As the agent got it; of a prompt, which can be long, what it carries says enough.
    text: Option<String>,
    reply: oneshot::Sender<String>,
}

/// A response of the agent as its client gets it, and who waits for it.
pub(crate) struct Response {
    /// By which the agent knows the request.
    id: String,
    waiting: Waiting,
    text: String,
}

impl Response {
    /// Gives back the response to a client that has gone.
    pub(super) fn tell(self) -> Result<(), String> {
        self.waiting.reply.send(self.text)
    }
}

/// What a response of the agent is to clients.
pub(super) struct Returned {
    /// As clients see it: under the id of the one that asked.
    pub(super) text: String,
    /// For the one that waits for it.
    pub(super) response: Option<Response>,
    /// What the codec has to hear first, because an earlier hub passed the request on.
    pub(super) retold: Option<String>,
}

impl Relay {
    pub(crate) fn new(server: Arc<AcpServer>, generation: u64) -> Self {
        let (waiting, writes) = (HashMap::new(), BTreeMap::new());
        Self { server, generation, ids: Ids::new(), waiting, writes, answered: Recent::default() }
    }

    /// The number by which a line is stored once.
    pub(super) fn line(&self, n: u64) -> u64 {
        (self.generation << GENERATION_BITS) | n
    }

    /// The agent's own number of a stored line; 0 if it is an earlier agent's.
    pub(crate) fn own_line(&self, stored: u64) -> u64 {
        stored.saturating_sub(self.generation << GENERATION_BITS)
    }

    /// Where and how a line that was too long is told.
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

    /// A client's cancellation, which names its request by its own id, as the agent gets it. Where several requests have that id it
    /// cannot be known whose turn is meant, and nobody's is ended by guessing; nor where none has it that this hub passed on.
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

    /// The requests that wait, for a codec that has not overheard them.
    pub(crate) fn requests(&self) -> impl Iterator<Item = String> {
        let told = |(id, waiting): (&String, &Waiting)| {
            waiting.text.clone().unwrap_or_else(|| waiting.carried.retold(id))
        };
        self.waiting.iter().map(told)
    }

    /// A message of the agent that names a client's request gets the client's own id.
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

    /// What was sent under this tag, if the holder says something of it that is final: `Err` is why the agent has not got it.
    pub(super) fn written(&mut self, tag: u64, result: &WriteResult) -> Option<(Sent, Result<(), String>)> {
        let result = match result {
            WriteResult::UnderWay => return None,
            WriteResult::Done { .. } => Ok(()),
            WriteResult::Busy => Err("it does not read at this moment".to_owned()),
            WriteResult::Failed { reason, .. } | WriteResult::Refused { reason } => Err(reason.clone()),
        };
        self.writes.remove(&tag).map(|sent| (sent, result))
    }

    /// What was to be sent, from this tag on, could not be.
    pub(crate) fn unsent(&mut self, from: u64) {
        for sent in self.writes.split_off(&from).into_values() {
            self.not_written(sent.by, "it cannot be reached at this moment".to_owned());
        }
    }

    /// Whether several requests wait for the agent.
    pub(crate) fn is_crowded(&self) -> bool {
        self.waiting.len() > 1
    }

    /// What was sent and of which nobody will say any more whether it was written.
    pub(super) fn unconfirmed(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.writes).into_values().collect()
    }

    /// Tells a client that the agent has not got what it wrote.
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

    /// What a client gets in place of a response that cannot be read, of which perhaps nothing but the beginning is there.
    pub(crate) fn unreadable(&mut self, line: &str) -> Option<Response> {
        let names =
            |id: &&String| ["", " "].iter().any(|space| line.contains(&format!(r#""id":{space}{id}"#)));
        let id = self.waiting.keys().find(names)?.clone();
        let waiting = self.waiting.remove(&id)?;
        let why = "the agent has answered with a line that cannot be read: too long, or no JSON-RPC message in UTF-8";
        let text = refusal(&waiting.carried.original, why, None);
        Some(Response { id, waiting, text })
    }

    /// The agent is gone: whoever waits for it is told at once.
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

/// Says at both places where clients look for it that questions are understood here.
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

/// The response that a client gets when there will be none of the agent.
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

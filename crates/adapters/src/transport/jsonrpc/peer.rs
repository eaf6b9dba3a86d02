//! One end of a JSON-RPC conversation, without IO: which requests are open in both directions.
//!
//! In: lines from the other side, and what this side wants to say. Out: values with the tag of the request they answer,
//! and lines to write. Cancellation is `$/cancel_request` with `requestId`, both ways, and cooperative: a cancelled
//! request is still answered.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::id::Id;
use super::message::{
    Defect, JsonRpcError, Message, Outcome, encode_error, encode_notification, encode_request, encode_result,
};

/// The notification that asks the other side to give up a request.
pub const CANCEL_METHOD: &str = "$/cancel_request";
/// Open requests per direction. A peer that never answers must not grow us without end.
pub const MAX_OPEN_REQUESTS: usize = 4096;

/// Whether messages carry `"jsonrpc":"2.0"`; Codex wants it left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionField {
    Sent,
    LeftOut,
}

#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("track another request: {MAX_OPEN_REQUESTS} are open")]
    TooManyOpen,
    #[error("answer request {0}: it is not open")]
    NotOpen(Id),
    #[error("encode the message: {0}")]
    Encode(#[from] serde_json::Error),
}

/// What came in, put next to what is open.
#[derive(Debug)]
pub enum Incoming<T> {
    Request {
        id: Id,
        method: String,
        params: Option<Box<RawValue>>,
    },
    /// An id that is already open, or one too many: answer it with an error, it is not tracked.
    Unacceptable {
        id: Id,
        method: String,
        reason: &'static str,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
    /// The other side gives up a request of its own; `open`: it has not been answered yet.
    Cancelled {
        id: Id,
        open: bool,
    },
    /// The answer to a request of ours.
    Response {
        id: Id,
        tag: T,
        outcome: Outcome,
    },
    /// A response to nothing that is open: late, repeated or wrong.
    Stray {
        id: Id,
        outcome: Outcome,
    },
    Malformed {
        defect: Defect,
        id: Option<Id>,
    },
}

/// The state of one end. `T` is what the caller wants back with the answer to a request.
#[derive(Debug)]
pub struct Peer<T> {
    version: VersionField,
    next_id: i64,
    ours: HashMap<Id, T>,
    theirs: HashSet<Id>,
}

#[derive(Serialize, Deserialize)]
struct CancelParams {
    #[serde(rename = "requestId")]
    request_id: Id,
}

impl<T> Peer<T> {
    pub fn new(version: VersionField) -> Self {
        Self { version, next_id: 0, ours: HashMap::new(), theirs: HashSet::new() }
    }

    /// Goes on after ids that an earlier hub has used with the same agent.
    pub fn with_next_id(mut self, next_id: i64) -> Self {
        self.next_id = next_id;
        self
    }

    /// Opens a request; gives its id and the line to write.
    pub fn request<P: Serialize>(
        &mut self,
        method: &str,
        params: &P,
        tag: T,
    ) -> Result<(Id, Vec<u8>), PeerError> {
        if self.ours.len() >= MAX_OPEN_REQUESTS {
            return Err(PeerError::TooManyOpen);
        }
        let id = Id::from(self.next_id);
        let line = encode_request(self.with_version(), &id, method, Some(params))?;
        self.next_id = self.next_id.wrapping_add(1);
        self.ours.insert(id.clone(), tag);
        Ok((id, line))
    }

    /// A line that wants no answer.
    pub fn notification<P: Serialize>(&self, method: &str, params: &P) -> Result<Vec<u8>, PeerError> {
        Ok(encode_notification(self.with_version(), method, Some(params))?)
    }

    /// Answers a request of the other side; each is answered once.
    pub fn respond<P: Serialize>(&mut self, id: &Id, result: &P) -> Result<Vec<u8>, PeerError> {
        let line = encode_result(self.with_version(), id, result)?;
        if self.theirs.remove(id) { Ok(line) } else { Err(PeerError::NotOpen(id.clone())) }
    }

    /// Answers a request of the other side with an error; also for one that was not acceptable.
    pub fn respond_error(&mut self, id: &Id, error: &JsonRpcError) -> Result<Vec<u8>, PeerError> {
        self.theirs.remove(id);
        Ok(encode_error(self.with_version(), id, error)?)
    }

    /// The line that asks the other side to give up a request of ours; `None` when it is not open. Its response still
    /// comes and is still ours.
    pub fn cancel(&self, id: &Id) -> Result<Option<Vec<u8>>, PeerError> {
        if !self.ours.contains_key(id) {
            return Ok(None);
        }
        Ok(Some(self.notification(CANCEL_METHOD, &CancelParams { request_id: id.clone() })?))
    }

    /// Takes a request for open that was received by an earlier hub and is still unanswered.
    pub fn reopen(&mut self, id: Id) -> Result<(), PeerError> {
        if self.theirs.len() >= MAX_OPEN_REQUESTS {
            return Err(PeerError::TooManyOpen);
        }
        self.theirs.insert(id);
        Ok(())
    }

    /// Understands one line from the other side. Total.
    pub fn receive(&mut self, line: &[u8]) -> Incoming<T> {
        match Message::parse(line) {
            Message::Request { id, method, params } => {
                if self.theirs.contains(&id) {
                    return Incoming::Unacceptable { id, method, reason: "the id is already open" };
                }
                if self.theirs.len() >= MAX_OPEN_REQUESTS {
                    return Incoming::Unacceptable { id, method, reason: "too many requests are open" };
                }
                self.theirs.insert(id.clone());
                Incoming::Request { id, method, params }
            }
            Message::Notification { method, params } if method == CANCEL_METHOD => {
                let named =
                    params.as_ref().and_then(|raw| serde_json::from_str::<CancelParams>(raw.get()).ok());
                match named {
                    Some(CancelParams { request_id: id }) => {
                        Incoming::Cancelled { open: self.theirs.contains(&id), id }
                    }
                    None => Incoming::Notification { method, params },
                }
            }
            Message::Notification { method, params } => Incoming::Notification { method, params },
            Message::Response { id, outcome } => match self.ours.remove(&id) {
                Some(tag) => Incoming::Response { id, tag, outcome },
                None => Incoming::Stray { id, outcome },
            },
            Message::Malformed { defect, id } => Incoming::Malformed { defect, id },
        }
    }

    /// The connection is gone: what was asked and will not be answered.
    pub fn abandon(&mut self) -> Vec<(Id, T)> {
        self.theirs.clear();
        self.ours.drain().collect()
    }

    /// How many requests of ours, and of the other side, are open.
    pub fn open(&self) -> (usize, usize) {
        (self.ours.len(), self.theirs.len())
    }

    fn with_version(&self) -> bool {
        self.version == VersionField::Sent
    }
}

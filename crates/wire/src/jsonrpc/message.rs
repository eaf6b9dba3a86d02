//! One JSON-RPC message. In: the bytes of a line, whatever they are. Out: request, notification, response or
//! the reason why it is none of these.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::id::Id;

/// The error object of a response, in the form of JSON-RPC.
#[derive(Debug, Clone, Deserialize)]
pub struct JsonRpcError {
    pub code: i64,
    pub message: String,
    #[serde(default)]
    pub data: Option<Box<RawValue>>,
}

/// The content of a response, in its original bytes.
#[derive(Debug, Clone)]
pub enum Outcome {
    Result(Box<RawValue>),
    Error(Box<RawValue>),
}

/// Why a line is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// No JSON, no UTF-8, a key twice, or an id of a wrong type.
    NotJson,
    /// An array: batches are not used by any agent, and MCP took them out.
    Batch,
    /// `jsonrpc` is there and is not "2.0".
    Version,
    /// Neither a method nor a response, or both.
    Shape,
}

/// One line, understood.
#[derive(Debug, Clone)]
pub enum Message {
    Request {
        id: Id,
        method: String,
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
    Response {
        id: Id,
        outcome: Outcome,
    },
    /// `id` is there when the sender can be told by it.
    Malformed {
        defect: Defect,
        id: Option<Id>,
    },
}

/// One line, understood, with its parts as they stand in it.
#[derive(Debug)]
pub enum Parsed<'a> {
    Request { id: Id, method: Cow<'a, str>, params: Option<&'a RawValue> },
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    Response { id: Id, outcome: Result<&'a RawValue, &'a RawValue> },
    Malformed { defect: Defect, id: Option<Id> },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "present_id")]
    id: Option<Id>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A null id is an id.
fn present_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Id>, D::Error> {
    Id::deserialize(deserializer).map(Some)
}

/// A null result is a result.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Parsed<'a> {
    /// Understands one line; the one reader of JSON-RPC. Total: any bytes give a value. A missing `jsonrpc`
    /// is taken (Codex leaves it out). Some programs write every member that they know: null is then the same
    /// as absent, but for an id, and for the result or the error of a response.
    pub fn read(line: &'a [u8]) -> Self {
        let malformed = |defect, id| Self::Malformed { defect, id };
        let first = line.iter().find(|byte| !byte.is_ascii_whitespace());
        let Ok(envelope) = serde_json::from_slice::<Envelope<'a>>(line) else {
            let batch = first == Some(&b'[') && serde_json::from_slice::<&RawValue>(line).is_ok();
            return malformed(if batch { Defect::Batch } else { Defect::NotJson }, None);
        };
        // Serde would also read a struct from an array, which would be a batch.
        if first != Some(&b'{') {
            return malformed(Defect::Batch, None);
        }
        let Envelope { jsonrpc, id, method, params, result, error } = envelope;
        if jsonrpc.is_some_and(|version| version.get() != "\"2.0\"") {
            return malformed(Defect::Version, id);
        }
        let is_null = |value: Option<&RawValue>| value.is_none_or(|value| value.get() == "null");
        match (method, id, result, error) {
            (Some(method), id, result, error) if is_null(result) && is_null(error) => match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            },
            (None, Some(id), Some(result), error) if is_null(error) => {
                Self::Response { id, outcome: Ok(result) }
            }
            (None, Some(id), result, Some(error)) if is_null(result) => {
                Self::Response { id, outcome: Err(error) }
            }
            (_, id, _, _) => malformed(Defect::Shape, id),
        }
    }
}

impl Message {
    /// Understands one line, as [`Parsed::read`] does.
    pub fn parse(line: &[u8]) -> Self {
        let owned = |params: Option<&RawValue>| params.map(RawValue::to_owned);
        match Parsed::read(line) {
            Parsed::Request { id, method, params } => {
                Self::Request { id, method: method.into_owned(), params: owned(params) }
            }
            Parsed::Notification { method, params } => {
                Self::Notification { method: method.into_owned(), params: owned(params) }
            }
            Parsed::Response { id, outcome } => {
                let outcome = match outcome {
                    Ok(result) => Outcome::Result(result.to_owned()),
                    Err(error) => Outcome::Error(error.to_owned()),
                };
                Self::Response { id, outcome }
            }
            Parsed::Malformed { defect, id } => Self::Malformed { defect, id },
        }
    }
}

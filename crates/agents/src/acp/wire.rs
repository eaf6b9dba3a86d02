//! JSON-RPC as ACP uses it on one line: the envelope in, requests, notifications and responses out.
//!
//! In: one line. Out: [`Message`] with borrowed raw parts, so that nothing is re-serialised. Ids are compared
//! as values and echoed as the very text that came.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use askd_wire::json_edit;

pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const REQUEST_CANCELLED: i32 = -32800;

/// The id of a request of the agent.
pub(crate) use askd_wire::jsonrpc::Id as RpcId;
use askd_wire::jsonrpc::Parsed;

#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request { id: RpcId, method: Cow<'a, str>, params: Option<&'a RawValue> },
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    Response { id: RpcId, result: Result<&'a RawValue, RpcError> },
}

#[derive(Debug, Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Option<serde_json::Value>,
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)?;
        match &self.data {
            Some(data) => write!(f, ": {data}"),
            None => Ok(()),
        }
    }
}

/// A value that must be a JSON object. Left to itself, serde also takes a list for a struct, its members in
/// order.
#[derive(Debug, Default)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyMaps<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMaps<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(OnlyMaps(PhantomData)).map(Self)
    }
}

/// Parses a text that must be a JSON object.
pub(crate) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).map(|Object(value)| value)
}

impl<'a> Message<'a> {
    pub(crate) fn read(line: &'a str) -> Result<Self, String> {
        match Parsed::read(line.as_bytes()) {
            Parsed::Request { id, method, params } => Ok(Self::Request { id, method, params }),
            Parsed::Notification { method, params } => Ok(Self::Notification { method, params }),
            Parsed::Response { id, outcome } => {
                let error = |raw: &RawValue| {
                    object(raw.get()).unwrap_or_else(|_| RpcError {
                        code: 0,
                        message: raw.get().to_owned(),
                        data: None,
                    })
                };
                Ok(Self::Response { id, result: outcome.map_err(error) })
            }
            Parsed::Malformed { defect, .. } => Err(format!("not a JSON-RPC message ({defect:?})")),
        }
    }
}

/// The id of an invalid JSON-RPC 2.0 request: its sender waits for a response.
pub(crate) fn refusable(line: &str) -> Option<RpcId> {
    match Parsed::read(line.as_bytes()) {
        Parsed::Malformed { id, .. } => {
            id.filter(|_| json_edit::member(line, "method").is_some_and(|m| m != "null"))
        }
        _ => None,
    }
}

/// Reads parameters into a type; absent ones read as an empty object.
pub(crate) fn params<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<T, String> {
    match raw {
        Some(raw) => object(raw.get()).map_err(|error| error.to_string()),
        None => {
            let empty = std::iter::empty::<(&str, &str)>();
            let empty: serde::de::value::MapDeserializer<'_, _, serde::de::value::Error> =
                serde::de::value::MapDeserializer::new(empty.map(|(k, v)| (k.into_deserializer(), v)));
            T::deserialize(empty).map_err(|error| error.to_string())
        }
    }
}

/// A text in parameters, whatever else is in them.
pub(crate) fn text_at(params: Option<&RawValue>, path: &[&str]) -> Option<String> {
    serde_json::from_str(json_edit::at(params?.get(), path)?).ok()
}

/// The id of a stored request, in the agent's own spelling.
pub(crate) fn stored_id(native: &RawValue) -> Result<&RawValue, String> {
    #[derive(Deserialize)]
    struct OnlyId<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let stored: OnlyId<'_> = serde_json::from_str(native.get()).map_err(|error| error.to_string())?;
    Ok(stored.id)
}

fn line(value: &impl Serialize) -> Vec<u8> {
    // Serialisation fails only for maps with other keys than text, and there are none.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[derive(Serialize)]
struct Outgoing<'a, T: Serialize> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    method: &'a str,
    params: T,
}

/// A request of askd. Its id contains the request, so that a restarted hub understands the response.
pub(crate) fn request(id: &str, method: &str, params: impl Serialize) -> Vec<u8> {
    line(&Outgoing { jsonrpc: "2.0", id: Some(id), method, params })
}

pub(crate) fn notification(method: &str, params: impl Serialize) -> Vec<u8> {
    line(&Outgoing { jsonrpc: "2.0", id: None, method, params })
}

pub(crate) fn response(id: &RawValue, result: impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Response<'a, T: Serialize> {
        jsonrpc: &'static str,
        id: &'a RawValue,
        result: T,
    }
    line(&Response { jsonrpc: "2.0", id, result })
}

pub(crate) fn error(id: &str, code: i32, message: &str) -> Vec<u8> {
    let message = serde_json::Value::from(message);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}}}}}\n")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_an_id_and_absence_is_not() {
        assert!(matches!(Message::read(r#"{"id":null,"method":"m"}"#), Ok(Message::Request { .. })));
        assert!(matches!(Message::read(r#"{"method":"m"}"#), Ok(Message::Notification { .. })));
        assert!(matches!(Message::read(r#"{"id":1,"result":null}"#), Ok(Message::Response { .. })));
        for line in ["", "[]", r#"[1,"m",{}]"#, "{}", "null", r#"{"id":{},"method":"m"}"#, r#"{"id":1}"#] {
            assert!(Message::read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn absent_parameters_are_an_empty_object() {
        #[derive(Deserialize)]
        struct P {
            #[serde(default)]
            n: u8,
        }
        assert_eq!(params::<P>(None).unwrap().n, 0);
        let list = RawValue::from_string("[7]".to_owned()).unwrap();
        let refused = params::<P>(Some(&list)).map(|p| p.n).unwrap_err();
        assert!(refused.starts_with("invalid type: sequence, expected a JSON object"), "{refused}");
    }
}

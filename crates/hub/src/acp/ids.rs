//! The ids of clients' requests on their way through the hub.
//!
//! Two clients may use the same id, so each request goes to the agent under an id of the hub. It says what
//! the request was, so that a hub that was restarted meanwhile still understands the response and can give it
//! back under the client's own id.

use askd_wire::json_edit;
use askd_wire::jsonrpc::Id;

use crate::new_bits;

const PREFIX: &str = "acp:";

/// The id of a message.
pub(crate) fn id_of(message: &str) -> Option<Id> {
    serde_json::from_str(json_edit::member(message, "id")?).ok()
}

/// A client's response to the agent's request `own`, in the agent's own spelling of the id.
pub(super) fn respelled(response: String, given: &Id, own: &Id) -> String {
    if given.as_str() == own.as_str() { response } else { json_edit::set(&response, &["id"], own.as_str()) }
}

/// Makes ids that no earlier hub has made.
#[derive(Debug)]
pub(super) struct Ids {
    epoch: String,
    count: u64,
}

impl Ids {
    pub(super) fn new() -> Self {
        Self { epoch: format!("{:08x}", new_bits() as u32), count: 0 }
    }

    pub(super) fn next(&mut self, what: &Carried) -> String {
        self.count += 1;
        let carried = serde_json::to_string(&(&what.method, &what.session, &what.original));
        let text = format!("{PREFIX}{}.{}:{}", self.epoch, self.count, carried.unwrap_or_default());
        serde_json::Value::from(text).to_string()
    }
}

/// The request behind an id of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) method: String,
    pub(super) session: Option<String>,
    /// The client's own id, as it wrote it.
    pub(super) original: String,
}

impl Carried {
    /// Reads the JSON text of an id; `None` if no hub made it.
    pub(super) fn read(id: &str) -> Option<Self> {
        let text: String = serde_json::from_str(id).ok()?;
        let (_, carried) = text.strip_prefix(PREFIX)?.split_once(':')?;
        let (method, session, original): (_, _, String) = serde_json::from_str(carried).ok()?;
        // It becomes a part of messages to clients: an agent must not be able to say anything else by it.
        let is_id = serde_json::from_str::<Id>(&original).is_ok() && original.trim() == original;
        is_id.then_some(Self { method, session, original })
    }

    /// The request as far as a codec has to know it, for a hub that did not pass it on itself.
    pub(super) fn retold(&self, id: &str) -> String {
        let method = serde_json::Value::from(self.method.as_str());
        let params = match &self.session {
            Some(session) => serde_json::json!({ "sessionId": session }),
            None => serde_json::json!({}),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_the_hub_tells_what_it_stands_for_and_no_two_are_the_same() {
        let mut ids = Ids::new();
        for original in ["7", "\"7\"", "null", "\"a:b\\\"c\""] {
            let carried = Carried {
                method: "session/prompt".to_owned(),
                session: Some("s:\"1".to_owned()),
                original: original.to_owned(),
            };
            let (one, two) = (ids.next(&carried), ids.next(&carried));
            assert_ne!(one, two);
            assert_eq!(Carried::read(&one), Some(carried));
        }
        let forged = |original: &str| {
            let carried = serde_json::to_string(&("m", None::<&str>, original)).unwrap();
            serde_json::Value::from(format!("{PREFIX}1.2:{carried}")).to_string()
        };
        assert!(Carried::read(&forged("7")).is_some());
        let others = ["7", "\"acp:\"", "\"x\"", "null", "\"acp:1.2:3\""].map(str::to_owned);
        let forgeries = ["", "7,\"a\":1", "\n\nid: 9\n\n", "7\n", "[]", "\"a\nb\""].map(forged);
        for other in others.into_iter().chain(forgeries) {
            assert_eq!(Carried::read(&other), None, "{other}");
        }
    }

    #[test]
    fn the_agent_gets_its_own_spelling_of_an_id() {
        let response = r#"{"jsonrpc":"2.0","id":2,"result":{"a":1.0}}"#;
        let (given, own) = (id_of(response).unwrap(), id_of(r#"{"id":2.0}"#).unwrap());
        assert_eq!(given, own);
        assert_eq!(
            respelled(response.to_owned(), &given, &own),
            r#"{"jsonrpc":"2.0","id":2.0,"result":{"a":1.0}}"#
        );
        assert_eq!(id_of("{}"), None);
    }
}

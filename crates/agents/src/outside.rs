//! The rules for the bytes of every agent, whichever codec reads them.
//!
//! In: messages of an agent, and a codec. Out: [`Conversation`], the codec that the engine and the suites
//! use. It adds two rules:
//!
//! 1. The codec reads a copy in which bytes that are no UTF-8, and halves of surrogate pairs, are U+FFFD: a text
//!    that was cut inside an emoji reads like any other. The store keeps the request as the agent wrote it.
//! 2. A codec names a question by its native id. An agent may use that id again after the question, so the store
//!    may keep the next one under another name ([`Codec::rename`]); the codec continues with the agent's id.

use std::borrow::Cow;
use std::collections::HashMap;

use askd_core::delivery::DeliveryInput;
use askd_core::{Ask, Outcome, Settlement};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::codec::{Begin, ClientSays, Codec, Unspeakable};
use crate::heard::{Heard, Speech};
use askd_wire::{json_edit, readable::readable};

/// Ids of JSON-RPC are compared and sent back as the text that came, so the copy keeps them too.
const IDS: [&[&str]; 2] = [&["id"], &["params", "requestId"]];

/// The same for a whole message, with unchanged ids.
fn readable_message(bytes: &[u8]) -> Cow<'_, str> {
    let copy = readable(bytes);
    let original = String::from_utf8_lossy(bytes);
    if copy == original {
        return copy;
    }
    let mut copy = copy.into_owned();
    for path in IDS {
        if let Some(id) = json_edit::at(&original, path) {
            copy = json_edit::set(&copy, path, id);
        }
    }
    copy.into()
}

/// Reads a member of an agent's message, with null as absent.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A stored request as a codec reads it.
fn readable_native(native: &RawValue) -> Cow<'_, RawValue> {
    match readable_message(native.get().as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(native),
        Cow::Owned(copy) => RawValue::from_string(copy).map_or(Cow::Borrowed(native), Cow::Owned),
    }
}

/// A codec with the rules for every agent.
pub struct Conversation {
    codec: Box<dyn Codec>,
    /// The store's names of questions by the codec's, if they differ.
    names: HashMap<String, String>,
}

impl Conversation {
    pub fn new(codec: Box<dyn Codec>) -> Self {
        Self { codec, names: HashMap::new() }
    }

    /// The codec's name of a question.
    fn own<'a>(&'a self, name: &'a str) -> &'a str {
        let is_it = |(own, stored): (&'a String, &String)| (stored == name).then_some(own.as_str());
        self.names.iter().find_map(is_it).unwrap_or(name)
    }

    /// Renames the events' questions to the names of the store.
    fn told(&mut self, mut heard: Vec<Heard>) -> Vec<Heard> {
        if self.names.is_empty() {
            return heard;
        }
        for value in &mut heard {
            match value {
                Heard::Asked(asked) => self.put_name(&mut asked.native_id, false),
                Heard::Closing { native_id, .. } => self.put_name(native_id, false),
                Heard::Withdrawn { native_id, .. }
                | Heard::AnsweredElsewhere { native_id, .. }
                | Heard::Confirmed { native_id }
                | Heard::NotTaken { native_id, .. } => self.put_name(native_id, true),
                _ => {}
            }
        }
        heard
    }

    fn put_name(&mut self, native_id: &mut String, is_over: bool) {
        let stored = if is_over { self.names.remove(native_id) } else { self.names.get(native_id).cloned() };
        if let Some(stored) = stored {
            *native_id = stored;
        }
    }

    /// Lets the codec read a copy, and gives its questions the original bytes.
    fn read(&mut self, message: &[u8], hear: impl Fn(&mut dyn Codec, &[u8]) -> Vec<Heard>) -> Vec<Heard> {
        let copy = readable_message(message);
        let mut heard = hear(self.codec.as_mut(), copy.as_bytes());
        if copy.as_bytes() != message {
            let original = String::from_utf8_lossy(message);
            for value in &mut heard {
                if let Heard::Asked(asked) = value
                    && asked.native.get() == copy.trim()
                    && let Ok(native) = RawValue::from_string(original.trim().to_owned())
                {
                    asked.native = native;
                }
            }
        }
        self.told(heard)
    }
}

impl Codec for Conversation {
    fn begin(&mut self, mut begin: Begin) -> Vec<Heard> {
        for pending in &mut begin.pending {
            if let Cow::Owned(copy) = readable_native(&pending.native) {
                pending.native = copy;
            }
            if let Some(own) = self.codec.own_name(&pending.native).filter(|own| *own != pending.native_id) {
                let stored = std::mem::replace(&mut pending.native_id, own.clone());
                self.names.insert(own, stored);
            }
        }
        self.codec.begin(begin)
    }

    fn hear(&mut self, message: &[u8]) -> Vec<Heard> {
        self.read(message, |codec, copy| codec.hear(copy))
    }

    fn hear_server(&mut self, event: &[u8]) -> Vec<Heard> {
        self.read(event, |codec, copy| codec.hear_server(copy))
    }

    fn overhear(&mut self, message: &[u8]) -> Vec<Heard> {
        self.read(message, |codec, copy| codec.overhear(copy))
    }

    fn connected(&mut self) -> Vec<Heard> {
        let heard = self.codec.connected();
        self.told(heard)
    }

    fn still_connected(&mut self) -> Vec<Heard> {
        let heard = self.codec.still_connected();
        self.told(heard)
    }

    fn replied(&mut self, tag: &str, status: u16, body: &[u8]) -> Vec<Heard> {
        let heard = self.codec.replied(tag, status, readable(body).as_bytes());
        self.told(heard)
    }

    fn prompt(&mut self, session: Option<&str>, text: &str) -> Result<Vec<Heard>, Unspeakable> {
        let heard = self.codec.prompt(session, text)?;
        Ok(self.told(heard))
    }

    fn interrupt(&mut self, session: Option<&str>) -> Vec<Heard> {
        let heard = self.codec.interrupt(session);
        self.told(heard)
    }

    fn close(&mut self, session: Option<&str>) -> Vec<Heard> {
        let heard = self.codec.close(session);
        self.told(heard)
    }

    fn speak(&self, native: &RawValue, ask: &Ask, settled: &Settlement) -> Result<Speech, Unspeakable> {
        self.codec.speak(&readable_native(native), ask, settled)
    }

    fn closing(&self, native: &RawValue, outcome: &Outcome) -> Option<Vec<u8>> {
        self.codec.closing(&readable_native(native), outcome)
    }

    fn delivered(&mut self, native_id: &str, settled: &Settlement) -> Vec<Heard> {
        let own = self.own(native_id).to_owned();
        let heard = self.codec.delivered(&own, settled);
        self.told(heard)
    }

    fn undelivered(&mut self, native_id: &str) {
        let own = self.own(native_id).to_owned();
        self.codec.undelivered(&own);
    }

    fn understand(&self, native: &RawValue, ask: &Ask, response: &str) -> Result<ClientSays, Unspeakable> {
        self.codec.understand(&readable_native(native), ask, &readable_message(response.as_bytes()))
    }

    fn first_time(&mut self, surely: bool) {
        self.codec.first_time(surely);
    }

    fn rename(&mut self, native_id: &str, name: &str) -> bool {
        let own = self.own(native_id).to_owned();
        self.names.insert(own, name.to_owned());
        true
    }

    fn forget(&mut self, native_id: &str) {
        let own = self.own(native_id).to_owned();
        self.names.remove(&own);
        self.codec.forget(&own);
    }

    fn judge(&self, status: u16, body: &[u8]) -> DeliveryInput {
        self.codec.judge(status, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_as_they_came() {
        let text = r#"{"id":"\ud800","method":"m","params":{"requestId":"\udc00","a":"\ud800"}}"#;
        assert_eq!(
            readable_message(text.as_bytes()),
            r#"{"id":"\ud800","method":"m","params":{"requestId":"\udc00","a":"\ufffd"}}"#
        );
    }
}

//! The requests that wait for a person, each with askd's messages to the server about it.

use std::collections::VecDeque;

use askd_core::Settlement;

use super::wire::{AnyRequest, Envelope, Link};
use crate::codec::Pending;
use crate::open_requests::{OpenRequest, OpenRequests};

/// Remembered ends, so that an older list undoes none of them.
const REMEMBERED_ENDS: usize = 512;

pub(super) const QUESTION_ASKED: &str = "question.asked";
pub(super) const PERMISSION_ASKED: &str = "permission.asked";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Question,
    Permission,
}

impl Way {
    pub(super) fn of_event(kind: &str) -> Option<Self> {
        match kind {
            QUESTION_ASKED => Some(Self::Question),
            PERMISSION_ASKED => Some(Self::Permission),
            _ => None,
        }
    }

    pub(super) fn event(self) -> &'static str {
        match self {
            Self::Question => QUESTION_ASKED,
            Self::Permission => PERMISSION_ASKED,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) native_id: String,
    pub(super) way: Way,
    pub(super) session: String,
    pub(super) directory: Option<String>,
    pub(super) link: Option<Link>,
    /// askd's outcome, once it was sent.
    pub(super) sent: Option<Settlement>,
    /// The call with it has not come back yet: that the server lists the request no more may be its doing.
    pub(super) in_flight: bool,
    /// True once the server has reported exactly this outcome.
    pub(super) acknowledged: bool,
    /// Its place in the order of calls and requests; an older list says nothing about it.
    pub(super) since: u64,
}

impl Open {
    pub(super) fn new(way: Way, directory: Option<String>, request: AnyRequest, since: u64) -> Self {
        let AnyRequest { id, session, tool } = request;
        let (sent, in_flight, acknowledged) = (None, false, false);
        Self { native_id: id, way, session, directory, link: tool, sent, in_flight, acknowledged, since }
    }

    /// A request from before a restart of the hub.
    pub(super) fn known(pending: &Pending) -> Option<Self> {
        let envelope = Envelope::read(pending.native.get()).ok()?;
        let way = Way::of_event(&envelope.payload.kind)?;
        let request: AnyRequest = envelope.payload.read().ok()?;
        let mut open = Self::new(way, envelope.directory, request, 0);
        open.native_id.clone_from(&pending.native_id);
        open.sent.clone_from(&pending.written);
        Some(open)
    }
}

impl OpenRequest for Open {
    fn native_id(&self) -> &str {
        &self.native_id
    }
}

/// The open requests of an OpenCode server, and the last ones that ended.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: OpenRequests<Open>,
    ended: VecDeque<(String, String)>,
}

impl Requests {
    pub(super) fn push(&mut self, open: Open) {
        self.forget(&open.native_id);
        self.open.push(open);
    }

    pub(super) fn get(&self, native_id: &str) -> Option<&Open> {
        self.open.by_native(native_id)
    }

    pub(super) fn get_mut(&mut self, native_id: &str) -> Option<&mut Open> {
        self.open.by_native_mut(native_id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Open> {
        self.open.iter()
    }

    pub(super) fn by_part(&self, message: &str, call: &str) -> Option<&Open> {
        let fits = |link: &Link| link.message == message && link.call == call;
        self.open.iter().find(|open| open.link.as_ref().is_some_and(fits))
    }

    /// Ends it; `why` is the reason for a late answer's refusal.
    pub(super) fn end(&mut self, native_id: &str, why: &str) -> Option<Open> {
        self.note_end(native_id, why);
        self.open.take(|open| open.native_id == native_id).pop()
    }

    pub(super) fn note_end(&mut self, native_id: &str, why: &str) {
        if self.ended.len() >= REMEMBERED_ENDS {
            self.ended.pop_front();
        }
        self.ended.push_back((native_id.to_owned(), why.to_owned()));
    }

    pub(super) fn forget_end(&mut self, native_id: &str) {
        self.ended.retain(|(id, _)| id != native_id);
    }

    pub(super) fn forget(&mut self, native_id: &str) {
        self.open.take(|open| open.native_id == native_id);
    }

    pub(super) fn why_ended(&self, native_id: &str) -> Option<&str> {
        self.ended.iter().find(|(id, _)| id == native_id).map(|(_, why)| why.as_str())
    }
}

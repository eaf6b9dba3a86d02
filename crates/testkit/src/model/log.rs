//! The log: what every agent told the model, for tests to assert on.
//!
//! In: one entry per request, at its arrival. Out: the entries, and the tool results of all conversations in
//! the order in which they were first seen. Everything is bounded, the oldest goes first, and what went is
//! counted.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::conversation::ToolResult;
use super::dialect::Protocol;
use super::reply::Reply;

/// Requests kept: more than any test makes by hand, few enough for a soak test of hours.
pub const LOG_REQUESTS: usize = 1_000;
/// Bytes of bodies kept: one request of Claude Code has about 100 kB, since it repeats tools and history.
pub const LOG_BODY_BYTES: usize = 64 * 1024 * 1024;
/// Tool results kept.
pub const LOG_RESULTS: usize = 10_000;

/// One request that reached the server.
#[derive(Debug, Clone, Serialize)]
pub struct Request {
    /// Counts from 1.
    pub seq: u64,
    pub protocol: Protocol,
    pub method: String,
    pub path: String,
    pub model: String,
    /// The scenario that the conversation's last marker names.
    pub scenario: Option<String>,
    pub step: usize,
    /// The names of the tools on offer.
    pub tools: Vec<String>,
    pub last_user_text: String,
    /// All tool results in the conversation, the history included.
    pub tool_results: Vec<ToolResult>,
    /// What was answered; none for a request that is not understood.
    pub reply: Option<Reply>,
    /// The body as it came.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shared_body")]
    pub body: Option<Arc<Value>>,
}

/// A view of the whole log, as `GET /__log` gives it.
#[derive(Debug, Clone, Serialize)]
pub struct LogPage {
    pub requests: Vec<Request>,
    pub tool_results: Vec<ToolResult>,
    /// Requests that were here and are no longer.
    pub requests_dropped: u64,
    pub tool_results_dropped: u64,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    requests: VecDeque<(usize, Request)>,
    body_bytes: usize,
    last_seq: u64,
    requests_dropped: u64,
    results: VecDeque<ToolResult>,
    seen: HashSet<(String, String, bool)>,
    results_dropped: u64,
}

impl Log {
    /// Adds a request whose body has `bytes` bytes. Its `seq` is given here.
    pub(super) fn add(&mut self, bytes: usize, mut request: Request) {
        self.last_seq += 1;
        request.seq = self.last_seq;
        for result in &request.tool_results {
            self.see(result);
        }
        self.body_bytes += bytes;
        self.requests.push_back((bytes, request));
        while self.requests.len() > LOG_REQUESTS
            || (self.body_bytes > LOG_BODY_BYTES && self.requests.len() > 1)
        {
            let Some((bytes, _)) = self.requests.pop_front() else { break };
            self.body_bytes -= bytes;
            self.requests_dropped += 1;
        }
    }

    /// Every request repeats the history, so a result counts once; one that comes again with other words is
    /// another.
    fn see(&mut self, result: &ToolResult) {
        if !self.seen.insert(key(result)) {
            return;
        }
        self.results.push_back(result.clone());
        if self.results.len() > LOG_RESULTS
            && let Some(old) = self.results.pop_front()
        {
            self.seen.remove(&key(&old));
            self.results_dropped += 1;
        }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.iter().map(|(_, request)| request.clone()).collect()
    }

    pub(super) fn results(&self) -> Vec<ToolResult> {
        self.results.iter().cloned().collect()
    }

    pub(super) fn page(&self, bodies: bool) -> LogPage {
        let mut requests = self.requests();
        if !bodies {
            requests.iter_mut().for_each(|request| request.body = None);
        }
        LogPage {
            requests,
            tool_results: self.results(),
            requests_dropped: self.requests_dropped,
            tool_results_dropped: self.results_dropped,
        }
    }
}

fn shared_body<S: serde::Serializer>(body: &Option<Arc<Value>>, serializer: S) -> Result<S::Ok, S::Error> {
    body.as_deref().serialize(serializer)
}

fn key(result: &ToolResult) -> (String, String, bool) {
    (result.call_id.clone(), result.text.clone(), result.is_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(results: &[(&str, &str)]) -> Request {
        let result = |(id, text): &(&str, &str)| ToolResult {
            call_id: (*id).to_owned(),
            name: None,
            text: (*text).to_owned(),
            is_error: false,
            scenario: None,
        };
        Request {
            seq: 0,
            protocol: Protocol::Chat,
            method: "POST".into(),
            path: "/".into(),
            model: String::new(),
            scenario: None,
            step: 0,
            tools: Vec::new(),
            last_user_text: String::new(),
            tool_results: results.iter().map(result).collect(),
            reply: None,
            body: None,
        }
    }

    #[test]
    fn repeated_history_is_seen_once_and_changed_history_again() {
        let mut log = Log::default();
        log.add(1, request(&[("a", "1")]));
        log.add(1, request(&[("a", "1"), ("b", "2")]));
        log.add(1, request(&[("a", "other"), ("b", "2")]));
        let texts: Vec<_> = log.results().into_iter().map(|result| result.text).collect();
        assert_eq!(texts, ["1", "2", "other"]);
    }

    #[test]
    fn the_oldest_requests_go_and_are_counted() {
        let mut log = Log::default();
        for _ in 0..LOG_REQUESTS + 3 {
            log.add(1, request(&[]));
        }
        let page = log.page(false);
        assert_eq!((page.requests.len(), page.requests_dropped), (LOG_REQUESTS, 3));
        assert_eq!(page.requests[0].seq, 4);
        log.add(LOG_BODY_BYTES + 1, request(&[]));
        assert_eq!(log.requests().len(), 1);
    }
}

//! One request and its answer.
//!
//! In: method, path, query, body. Out: [`Received`], the value and the JSON as the hub wrote it, or a [`ClientError`]. There is
//! a limit on connecting and on ordinary requests, and none on a request that waits for a human.

use std::time::Duration;

use reqwest::{Method, Response, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::discover::{Found, is_loopback};
use super::error::ClientError;
use super::wire::Problem;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A hub that answers at all answers from memory or one disk; a minute is a machine in trouble.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of one answer: the largest page of questions that the hub serves.
const MAX_BODY_BYTES: usize = 256 << 20;

/// An answer of the hub: what it means, and the JSON for programs that want all of it.
#[derive(Debug, Clone)]
pub struct Received<T> {
    pub value: T,
    pub json: Value,
}

#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    /// The token and where it came from.
    token: Option<(String, String)>,
    surface: &'static str,
}

/// How long an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    Ordinary,
    /// It waits for a human.
    Human,
}

impl Client {
    /// A client that speaks for `surface` (`cli`, `terminal`, ...).
    pub fn new(found: &Found, surface: &'static str) -> Result<Self, ClientError> {
        let bad = |why: String| ClientError::BadUrl { url: found.url.clone(), why };
        let parsed = reqwest::Url::parse(&found.url).map_err(|error| bad(error.to_string()))?;
        if parsed.scheme() != "http" {
            return Err(bad(
                "only http:// is spoken; reach a hub on another machine through an SSH tunnel".to_owned()
            ));
        }
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&found.url) {
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| bad(error.to_string()))?;
        let token = found.token.clone().map(|(token, from)| (token, from.to_string()));
        Ok(Self { http, url: found.url.clone(), token, surface })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&impl Serialize>,
        patience: Patience,
    ) -> Result<Received<T>, ClientError> {
        let mut request = self.request(method, path).query(query);
        if let Some(body) = body {
            request = request.json(body);
        }
        if patience == Patience::Ordinary {
            request = request.timeout(REQUEST_TIMEOUT);
        }
        let response = request.send().await.map_err(|error| self.failed(&error))?;
        let response = self.checked(response).await?;
        let bytes = self.body(response).await?;
        let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
        let json: Value = serde_json::from_slice(text).map_err(|error| self.unreadable(error.to_string()))?;
        // A request that waited has sent its status before it knew of an error, which is then in the body.
        if json.get("status").is_some_and(Value::is_number) && json.get("code").is_some() {
            return Err(self.refusal(bytes.as_slice(), 500));
        }
        let value =
            serde_json::from_value(json.clone()).map_err(|error| self.unreadable(error.to_string()))?;
        Ok(Received { value, json })
    }

    /// Opens a stream that has no end of its own.
    pub(super) async fn stream(&self, path: &str, query: &[(&str, String)]) -> Result<Response, ClientError> {
        let request =
            self.request(Method::GET, path).query(query).header(header::ACCEPT, "text/event-stream");
        let response = request.send().await.map_err(|error| self.failed(&error))?;
        self.checked(response).await
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request =
            self.http.request(method, format!("{}{path}", self.url)).header("Askd-Surface", self.surface);
        match &self.token {
            Some((token, _)) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn checked(&self, response: Response) -> Result<Response, ClientError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let bytes = self.body(response).await?;
        Err(self.refusal(&bytes, status.as_u16()))
    }

    fn refusal(&self, bytes: &[u8], status: u16) -> ClientError {
        let from = self.token.as_ref().map_or("nowhere", |(_, from)| from.as_str());
        match serde_json::from_slice::<Problem>(bytes) {
            Ok(problem) if problem.status == 401 => {
                ClientError::Unauthorized { url: self.url.clone(), from: from.to_owned() }
            }
            Ok(problem) => ClientError::Problem(Box::new(problem)),
            Err(_) => self.unreadable(format!("HTTP {status} without a reason")),
        }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if bytes.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(self.unreadable(format!("its answer is larger than {MAX_BODY_BYTES} bytes")));
            }
            // White space before the value is the hub's way of keeping a waiting connection alive.
            if !bytes.is_empty() || !chunk.trim_ascii().is_empty() {
                bytes.extend_from_slice(&chunk);
            }
        }
        Ok(bytes)
    }

    pub(super) fn failed(&self, error: &reqwest::Error) -> ClientError {
        let url = self.url.clone();
        if error.is_connect() {
            return ClientError::NotRunning { url };
        }
        let mut detail = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            detail = error.to_string();
            source = error.source();
        }
        ClientError::Broken { url, detail }
    }

    pub(super) fn unreadable(&self, detail: String) -> ClientError {
        ClientError::Unreadable { url: self.url.clone(), detail }
    }
}

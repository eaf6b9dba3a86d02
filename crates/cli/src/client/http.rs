//! One request and its answer.
//!
//! In: method, path, query, body. Out: [`Received`], the value and the JSON as the hub wrote it, or a
//! [`ClientError`]. There is a limit on connecting and on ordinary requests, and none on a request that waits
//! for a human.

use std::sync::Arc;
use std::time::Duration;

use askd_data::socket_path::{SocketPath, SocketPathError};
use reqwest::{Method, Response, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::discover::{Found, Road};
use super::error::ClientError;
use super::wire::Problem;
use askd_data::DataFolder;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A hub that answers at all answers from memory or one disk; a minute is a machine in trouble.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of one response: the largest page of questions from the hub.
const MAX_BODY_BYTES: usize = 256 << 20;

/// A response of the hub: its meaning, and the JSON for programs.
#[derive(Debug, Clone)]
pub struct Received<T> {
    pub value: T,
    pub json: Value,
}

/// The address and `Host` of a request over the socket.
pub const SOCKET_URL: &str = "http://localhost";

#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    /// The beginning of each request's address.
    url: String,
    /// The hub's address, for people.
    place: String,
    socket: Option<Socket>,
    /// The token and its origin.
    token: Option<(String, String)>,
    surface: &'static str,
}

/// The socket of a data folder, which is checked before each request: a restarted hub has a new one.
#[derive(Debug, Clone)]
struct Socket {
    folder: DataFolder,
    /// Keeps a short name of a long path alive.
    _path: Arc<SocketPath>,
}

/// A client that uses the socket and nothing else.
pub fn over_socket(path: &SocketPath) -> reqwest::ClientBuilder {
    let http = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT);
    http.redirect(reqwest::redirect::Policy::none()).no_proxy().unix_socket(path.path())
}

/// A body in parts. A connection that breaks before its end is an error.
#[derive(Debug)]
pub struct Download {
    response: Response,
    client: Client,
}

impl Download {
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, ClientError> {
        self.response.chunk().await.map_err(|error| self.client.failed(&error))
    }
}

/// How long an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    Ordinary,
    /// It waits for a human.
    Human,
}

impl Client {
    /// A client for `surface` (`cli`, `terminal`, ...).
    pub fn new(found: &Found, surface: &'static str) -> Result<Self, ClientError> {
        let place = found.road.to_string();
        let bad = |why: String| ClientError::BadUrl { url: place.clone(), why };
        let (http, url, socket) = match &found.road {
            Road::Address(url) => (over_address(url).map_err(bad)?, url.clone(), None),
            Road::Socket(folder) => {
                let path = match folder.socket_path() {
                    Ok(path) => Arc::new(path),
                    Err(SocketPathError::Folder { source, .. })
                        if source.kind() == std::io::ErrorKind::NotFound =>
                    {
                        return Err(ClientError::NotRunning { url: place });
                    }
                    Err(error) => return Err(bad(error.to_string())),
                };
                let socket = Socket { folder: folder.clone(), _path: Arc::clone(&path) };
                (over_socket(&path), SOCKET_URL.to_owned(), Some(socket))
            }
        };
        let http = http.build().map_err(|error| bad(error.to_string()))?;
        let token = found.token.clone().map(|(token, from)| (token, from.to_string()));
        Ok(Self { http, url, place, socket, token, surface })
    }

    /// The hub's address, for people.
    pub fn place(&self) -> &str {
        &self.place
    }

    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&impl Serialize>,
        patience: Patience,
    ) -> Result<Received<T>, ClientError> {
        let mut request = self.request(method, path)?.query(query);
        if let Some(body) = body {
            request = request.json(body);
        }
        if patience == Patience::Ordinary {
            request = request.timeout(REQUEST_TIMEOUT);
        }
        let response = self.checked(self.send(request).await?).await?;
        let bytes = self.body(response).await?;
        let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
        let json: Value = serde_json::from_slice(text).map_err(|error| self.unreadable(error.to_string()))?;
        // A request that waited has sent its status before its error, which is then in the body.
        if json.get("status").is_some_and(Value::is_number) && json.get("code").is_some() {
            return Err(self.refusal(bytes.as_slice(), 500));
        }
        let value =
            serde_json::from_value(json.clone()).map_err(|error| self.unreadable(error.to_string()))?;
        Ok(Received { value, json })
    }

    /// Opens an endless stream.
    pub(super) async fn stream(&self, path: &str, query: &[(&str, String)]) -> Result<Response, ClientError> {
        let request =
            self.request(Method::GET, path)?.query(query).header(header::ACCEPT, "text/event-stream");
        self.checked(self.send(request).await?).await
    }

    /// Opens a possibly large body.
    pub(super) async fn download(&self, path: &str) -> Result<Download, ClientError> {
        let response = self.send(self.request(Method::GET, path)?).await?;
        Ok(Download { response: self.checked(response).await?, client: self.clone() })
    }

    /// Sends a request. A read whose connection breaks is sent once more: the connection to a hub that is
    /// being killed breaks, and the second attempt finds that no hub runs.
    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Response, ClientError> {
        let (http, request) = request.build_split();
        let request = request.map_err(|error| self.failed(&error))?;
        let again = if request.method() == Method::GET { request.try_clone() } else { None };
        let sent = http.execute(request).await;
        let sent = match (sent, again) {
            (Err(error), Some(again)) if !error.is_connect() && !error.is_timeout() => {
                http.execute(again).await
            }
            (sent, _) => sent,
        };
        sent.map_err(|error| self.failed(&error))
    }

    fn request(&self, method: Method, path: &str) -> Result<reqwest::RequestBuilder, ClientError> {
        if let Some(socket) = &self.socket
            && !socket.folder.check_socket()?
        {
            return Err(ClientError::NotRunning { url: self.place.clone() });
        }
        let request =
            self.http.request(method, format!("{}{path}", self.url)).header("Askd-Surface", self.surface);
        Ok(match &self.token {
            Some((token, _)) => request.bearer_auth(token),
            None => request,
        })
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
                ClientError::Unauthorized { url: self.place.clone(), from: from.to_owned() }
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
        let url = self.place.clone();
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
        ClientError::Unreadable { url: self.place.clone(), detail }
    }
}

/// A client for an address that the user named; `Err` is the reason why it cannot be used.
pub fn over_address(url: &str) -> Result<reqwest::ClientBuilder, String> {
    if !url.contains("://") {
        return Err(format!("it has no http:// in front; use http://{url}"));
    }
    let parsed = reqwest::Url::parse(url).map_err(|error| error.to_string())?;
    if parsed.scheme() != "http" {
        return Err("only http:// is spoken; reach a hub on another machine through an SSH tunnel".to_owned());
    }
    // No redirects and no proxy: the token goes to the named address and nowhere else.
    Ok(reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy())
}

//! Messages of clients to the agent, and the stream back.

use std::time::Duration;

use tokio::sync::{oneshot, watch};

use askd_core::Right;
use askd_store::{Entry, RESOLVED};
use askd_wire::jsonrpc::CANCEL_METHOD;

use super::AcpServers;
use super::attending::{TAKEN, UNREADABLE};
use super::error::AcpError;
use super::notice;
use super::relay::{ClientCall, Done, Relayed};
use super::server::AcpServer;
use crate::managed::Command;
use crate::{Caller, Transcript};

/// How long an agent may take to read before its client is told that the message is on its way.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);

/// The stream of a server, as a cursor reads it.
pub struct AcpStream {
    /// The transcript of the stream.
    pub transcript: Transcript,
    /// Changes whenever it grew.
    pub news: watch::Receiver<()>,
    /// Closes when the agent is gone; none if it is gone already.
    pub over: Option<watch::Receiver<()>>,
}

/// An entry of the stream as an event: its name and data. Only messages for every client are `message`:
/// another client with the same id must not take a response for its own.
pub fn acp_event(entry: Entry) -> (&'static str, String) {
    let said = entry.raw.unwrap_or_else(|| serde_json::json!({ "text": entry.text }).to_string());
    match entry.voice.as_str() {
        TAKEN => ("response", said),
        UNREADABLE => ("unreadable", said),
        RESOLVED => ("message", notice::resolved(&said)),
        _ => ("message", said),
    }
}

impl AcpServers {
    /// Passes a request on. The agent's response comes whenever it comes: no time is set for it.
    pub async fn request(
        &self,
        server: &AcpServer,
        body: String,
        call: ClientCall,
    ) -> Result<oneshot::Receiver<String>, AcpError> {
        let (reply, response) = oneshot::channel();
        self.relay(server, Relayed::Request { body, call, reply }).await?;
        Ok(response)
    }

    pub async fn notify(
        &self,
        caller: &Caller,
        id: &str,
        body: String,
        method: String,
    ) -> Result<(), AcpError> {
        caller.needs(Right::Manage)?;
        let server = self.running_server(id).await?;
        let client = caller.token.id.clone();
        self.relay_until_written(&server, |done| match method.as_str() {
            CANCEL_METHOD => Relayed::Cancel { body, client, done },
            _ => Relayed::Notification { body, done },
        })
        .await
    }

    /// Forwards a message without a response, and returns when the agent has it.
    pub(super) async fn relay_until_written(
        &self,
        server: &AcpServer,
        message: impl FnOnce(Done) -> Relayed,
    ) -> Result<(), AcpError> {
        let (done, written) = oneshot::channel();
        self.relay(server, message(done)).await?;
        match tokio::time::timeout(WRITE_PATIENCE, written).await {
            Ok(written) => written.map_err(|_| AcpError::Unreachable)?,
            // It is on its way: the holder writes it as soon as the agent reads.
            Err(_) => Ok(()),
        }
    }

    pub(super) async fn relay(&self, server: &AcpServer, message: Relayed) -> Result<(), AcpError> {
        let passed = self.inner.connections.command(&server.source, Command::Relay(message)).await;
        if passed { Ok(()) } else { Err(AcpError::Unreachable) }
    }

    /// The stream of a server, for a reader.
    pub async fn stream(&self, caller: &Caller, id: &str) -> Result<AcpStream, AcpError> {
        caller.needs(Right::Read)?;
        // Clients open the stream together with the request that starts the server.
        let (transcript, over) = match self.current_server(id).await {
            Some(server) => (server.stream.clone(), Some(server.over())),
            None => match self.last_agent(id).await? {
                Some(last) => (last.stream, None),
                None => return Err(AcpError::UnknownServer(id.to_owned())),
            },
        };
        let transcript = Transcript::whole(transcript);
        let news = self.inner.transcripts.watch(&transcript);
        Ok(AcpStream { transcript, news, over })
    }
}

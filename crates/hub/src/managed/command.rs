//! Commands to a connection. Each has a reply, or its channel is dropped with the connection.

use tokio::sync::oneshot;

use askd_core::QuestionId;
use askd_store::ClaimedDelivery;

use crate::Said;
use crate::acp::Relayed;

pub(crate) enum Command {
    /// Bring an outcome to the agent.
    Speak { delivery: Box<ClaimedDelivery>, reply: oneshot::Sender<Said> },
    /// Find out whether a delivery was written.
    Probe { delivery: String, reply: oneshot::Sender<Option<bool>> },
    /// Say something to a session of the agent. What has a name is written to the agent once. The reply comes
    /// when it is written.
    Prompt { session: Option<String>, name: Option<String>, text: String, reply: oneshot::Sender<Said> },
    /// A question is over without a word to the agent.
    Over { question: QuestionId },
    /// Pass on a message of an ACP client.
    Relay(Relayed),
    /// End one session in the agent's own protocol.
    Close { session: String },
    /// End the agent and its process group.
    End { detail: String },
}

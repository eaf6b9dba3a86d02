//! Commands: deliveries, prompts, messages of ACP clients, the end.
//!
//! In: commands, in order. Out: their bytes for the agent, together as far as they do not wait for the store,
//! and work for the store.

use tokio::sync::{mpsc, oneshot};

use askd_agents::{Heard, Speech};
use askd_core::delivery::FailReason;
use askd_holder::{CommandError, HolderConnection};

use super::COMMANDS;
use super::attendant::Attendant;
use super::command::Command;
use super::pipeline::Words;
use crate::acp::Relay;
use crate::{EngineError, Said};

impl Attendant {
    /// Carries out a command and those that wait behind it.
    pub(super) async fn obey_all(
        &mut self,
        first: Command,
        wishes: &mut mpsc::Receiver<Command>,
        connection: &mut HolderConnection,
    ) -> Result<(), EngineError> {
        let obeyed = self.obey_each(first, wishes, connection).await;
        // Bytes of commands before a failure still go to the agent.
        self.send_gathered(connection).await;
        obeyed?;
        self.flush(connection).await;
        Ok(())
    }

    async fn obey_each(
        &mut self,
        first: Command,
        wishes: &mut mpsc::Receiver<Command>,
        connection: &mut HolderConnection,
    ) -> Result<(), EngineError> {
        let mut is_joined = joins_others(&first);
        self.obey(first, connection).await?;
        // In a busy moment more commands may arrive right now.
        let mut looks_again = self.relay.as_ref().is_some_and(Relay::is_crowded);
        for _ in 1..COMMANDS {
            if !is_joined || connection.is_full() {
                break;
            }
            match wishes.try_recv() {
                Ok(command) => {
                    is_joined = joins_others(&command);
                    self.obey(command, connection).await?;
                }
                Err(_) if looks_again => {
                    looks_again = false;
                    tokio::task::yield_now().await;
                }
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Flushes the gathered bytes. Clients whose messages could not be sent learn it here; for messages that
    /// the holder may have, the end of the connection tells.
    pub(super) async fn send_gathered(&mut self, connection: &mut HolderConnection) {
        let sent = connection.flush().await;
        let from = std::mem::replace(&mut self.unsent_from, self.next_tag);
        if let (Err(CommandError::Closed), Some(relay)) = (sent, &mut self.relay) {
            relay.unsent(from);
        }
    }

    /// Applies the meaning of a prompt; its caller hears when the bytes are written.
    async fn apply_prompt(
        &mut self,
        mut heard: Vec<Heard>,
        name: Option<String>,
        reply: oneshot::Sender<Said>,
    ) -> Result<(), EngineError> {
        let last = heard.pop_if(|heard| matches!(heard, Heard::Write(_)));
        self.apply_all(heard, None).await?;
        let following = &mut self.pipeline.following;
        match last {
            Some(Heard::Write(Speech::Bytes(bytes))) => {
                following.to_write.push(Words { name, told: Some(reply), ..Words::new(bytes) });
            }
            Some(Heard::Write(Speech::Call(call))) => following.to_call.push((call, Some(reply))),
            // The codec keeps it until the agent has a session.
            _ => following.kept.push(reply),
        }
        Ok(())
    }

    async fn obey(&mut self, command: Command, connection: &mut HolderConnection) -> Result<(), EngineError> {
        if !joins_others(&command) {
            // The command may wait for the store; the bytes before it need not.
            self.send_gathered(connection).await;
        }
        match command {
            Command::Speak { delivery, reply } => self.speak(&delivery, reply, connection).await?,
            // A server keeps no journal, so the adapter's declaration about a second copy decides.
            Command::Probe { reply, .. } if self.served.is_some() && self.relay.is_none() => {
                let _ = reply.send(None);
            }
            Command::Probe { delivery, reply } => {
                let _ = connection.probe(&delivery).await;
                self.probes.insert(delivery, reply);
            }
            Command::Prompt { session, name, text, reply } => {
                match self.codec.prompt(session.as_deref(), &text) {
                    Ok(heard) => {
                        self.note_prompt(session.as_deref(), text);
                        self.apply_prompt(heard, name, reply).await?;
                    }
                    Err(error) => drop(
                        reply.send(Said::Failed { reason: FailReason::Refused, detail: error.to_string() }),
                    ),
                }
            }
            Command::Over { question } => self.forget_question(&question),
            Command::Relay(relayed) => self.obey_relay(relayed, connection).await?,
            Command::Close { session } => {
                let heard = self.codec.close(Some(&session));
                self.apply_all(heard, None).await?;
            }
            Command::End { detail } => {
                self.ending = Some(detail);
                let heard = self.codec.close(None);
                self.apply_all(heard, None).await?;
            }
        }
        Ok(())
    }
}

/// True if the bytes of a command can be sent together with others. The bytes of all other commands wait for
/// the store, and later commands must not overtake them.
fn joins_others(command: &Command) -> bool {
    matches!(command, Command::Speak { .. } | Command::Relay(_) | Command::Over { .. })
}

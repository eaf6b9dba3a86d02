//! The meaning of a server's events and replies for the engine: questions, sessions, evidence.

use askd_agents::{Asked, Heard, Speech};
use askd_core::delivery::DeliveryInput;
use askd_core::{QuestionId, SessionId, SourceState};
use askd_store::SessionSeen;

use super::attendant::Attendant;
use crate::{AgentQuestion, EngineError, new_bits, now};

impl Attendant {
    pub(super) async fn apply_all(&mut self, mut heard: Vec<Heard>) -> Result<(), EngineError> {
        self.leave_to_others(&mut heard);
        for value in heard {
            self.apply(value).await?;
        }
        Ok(())
    }

    /// Drops questions that the other channel has reported: a server with a plugin may also be attached by
    /// its port.
    fn leave_to_others(&mut self, heard: &mut Vec<Heard>) {
        let owners = self.servers.owners();
        let others = |value: &Heard| match value {
            Heard::Asked(asked) => !owners.claim(&self.source, &asked.native_id),
            _ => false,
        };
        for native_id in leave_out(heard, others) {
            self.codec.forget(&native_id);
        }
    }

    async fn apply(&mut self, heard: Heard) -> Result<(), EngineError> {
        match heard {
            Heard::Asked(asked) => self.asked(*asked).await?,
            Heard::Withdrawn { native_id, cause } => {
                if let Some(id) = self.questions.remove(&native_id) {
                    self.hub.questions.cancel(&id, cause).await?;
                }
            }
            Heard::AnsweredElsewhere { native_id, how } => {
                if let Some(id) = self.questions.remove(&native_id) {
                    self.hub.questions.elsewhere(&id, how).await?;
                }
            }
            Heard::Confirmed { native_id } => self.evidence(&native_id, DeliveryInput::Confirmed).await?,
            Heard::NotTaken { native_id, reason, detail } => {
                self.evidence(&native_id, DeliveryInput::Failed { reason, detail: Some(detail) }).await?;
            }
            Heard::SessionStarted { native_id, title, cwd, parent } => {
                self.see(native_id, title, cwd, parent).await?;
            }
            Heard::SessionUpdated { native_id, title } => {
                if self.sessions.contains_key(&native_id) {
                    self.see(native_id, Some(title), None, None).await?;
                }
            }
            Heard::SessionEnded { native_id, cause } => {
                if let Some(session) = self.sessions.remove(&native_id) {
                    self.hub.sessions.end(&session, cause).await?;
                }
            }
            Heard::Failed { step, detail } => {
                tracing::warn!(source = %self.source.id, step, detail, "a server could not do what was wanted");
            }
            Heard::Incomplete { detail } => self.tell(SourceState::Connected, Some(detail)).await?,
            Heard::Write(Speech::Call(call)) => self.to_call.push(call),
            Heard::Write(Speech::Bytes(_)) | Heard::Closing { .. } | Heard::FirstPrompt(_) => {
                tracing::error!(source = %self.source.id, "a server takes calls and no lines");
            }
            Heard::Unrecognised { why } => {
                tracing::info!(source = %self.source.id, why, "a server said something that askd does not know");
            }
            Heard::TurnEnded { .. } | Heard::Chatter { .. } => {}
        }
        Ok(())
    }

    async fn asked(&mut self, asked: Asked) -> Result<(), EngineError> {
        let native_session = asked.native_session.clone().unwrap_or_default();
        if !self.sessions.contains_key(&native_session) {
            let cwd = asked.ask.context.cwd.clone();
            self.see(native_session.clone(), None, cwd, None).await?;
        }
        let Some(session) = self.sessions.get(&native_session).cloned() else { return Ok(()) };
        let own_id = asked.native_id.clone();
        let heard = AgentQuestion::heard(asked, &self.source.id, session, self.link.road());
        match self.hub.questions.ask_under_free_name(heard).await {
            Ok((native_id, question)) => {
                if question.is_under_way() {
                    if native_id != own_id {
                        self.codec.rename(&own_id, &native_id);
                    }
                    self.questions.insert(native_id, question.id);
                } else {
                    self.codec.forget(&own_id);
                }
                Ok(())
            }
            // The agent's own screen still has it.
            Err(EngineError::Invalid(errors)) => {
                tracing::warn!(source = %self.source.id, %errors, "a question could not be taken");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn evidence(&mut self, native_id: &str, input: DeliveryInput) -> Result<(), EngineError> {
        if let Some(id) = self.questions.remove(native_id) {
            let id: QuestionId = id;
            self.hub.store.step(&id, input, now()).await?;
        }
        Ok(())
    }

    async fn see(
        &mut self,
        native_id: String,
        title: Option<String>,
        cwd: Option<String>,
        parent: Option<String>,
    ) -> Result<(), EngineError> {
        let seen = SessionSeen {
            id: SessionId::from_bits(new_bits()),
            source: self.source.id.clone(),
            agent: self.source.agent.clone(),
            native_id: native_id.clone(),
            cwd,
            title,
            parent: parent.and_then(|parent| self.sessions.get(&parent).cloned()),
            pid: None,
            managed: false,
            at: now(),
        };
        let session = self.hub.sessions.see(seen).await?;
        self.sessions.insert(native_id, session.id);
        Ok(())
    }
}

/// Removes these questions, with the sessions that were announced for them, and returns their names.
fn leave_out(heard: &mut Vec<Heard>, is_others: impl Fn(&Heard) -> bool) -> Vec<String> {
    let others: Vec<Heard> = heard.extract_if(.., |value| is_others(value)).collect();
    let others: Vec<&Asked> = others
        .iter()
        .filter_map(|value| if let Heard::Asked(asked) = value { Some(&**asked) } else { None })
        .collect();
    heard.retain(|value| match value {
        Heard::SessionStarted { native_id, .. } => {
            !others.iter().any(|asked| asked.native_session.as_ref() == Some(native_id))
        }
        _ => true,
    });
    others.into_iter().map(|asked| asked.native_id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn started(native_id: &str) -> Heard {
        Heard::SessionStarted { native_id: native_id.to_owned(), title: None, cwd: None, parent: None }
    }

    fn asked(native_id: &str, session: &str) -> Heard {
        let native = serde_json::value::RawValue::from_string("{}".to_owned()).unwrap();
        let (native_id, native_session) = (native_id.to_owned(), Some(session.to_owned()));
        let ask =
            json!({ "agent": "x", "kind": "choice", "questions": [], "context": {}, "rejectModes": [] });
        let ask = serde_json::from_value(ask).unwrap();
        Heard::Asked(Box::new(Asked {
            native_id,
            native_session,
            ask,
            native,
            patience: None,
            likeness: None,
        }))
    }

    #[test]
    fn only_the_session_of_a_question_that_another_road_told_is_left_out() {
        let mut heard =
            vec![started("a"), asked("que_a", "a"), started("b"), asked("que_b", "b"), started("c")];
        let theirs = |value: &Heard| matches!(value, Heard::Asked(asked) if asked.native_id == "que_a");
        assert_eq!(leave_out(&mut heard, theirs), ["que_a"]);
        let left = [started("b"), asked("que_b", "b"), started("c")];
        assert_eq!(format!("{heard:?}"), format!("{left:?}"));
    }
}

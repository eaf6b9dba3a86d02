//! The delivery target for Claude Code's own terminal: the waiting hook fetches the outcome; without a hook
//! it may be typed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use askd_agents::claude::Takes;
use askd_agents::claude_hook::decision;
use askd_agents::claude_keys::Goal;
use askd_core::delivery::{FailReason, Redeliver};
use askd_core::{Question, QuestionId, Session, Settlement, Surface};
use askd_store::{ClaimedDelivery, Store, StoreError};

use super::identity::of_native;
use super::keys::{Decided, Leaves, NotTyped, Standing, look_at, type_answer};
use super::road::{describe, is_told, may_type};
use super::{COMES_WITHIN, HOOK, HookPresence, Observed, is_alive};
use crate::{Carried, DeliveryTarget, Said};

/// The pause between two checks for a hook.
const LOOK: Duration = Duration::from_millis(100);
/// The longest time from an answer in the terminal to the reading of its transcript, with `inotify`.
const HEARD_WITHIN: Duration = Duration::from_secs(3);
const NO_HOOK: &str = "no hook waits in that terminal";
/// The remedy for a refused answer.
const ELSEWHERE: &str = "answer it in its terminal, or here again when its dialog can be typed into";

pub(super) struct HookMouth {
    pub(super) observed: Arc<Observed>,
    pub(super) store: Arc<dyn Store>,
}

impl HookMouth {
    pub(super) fn new(observed: Arc<Observed>, store: Arc<dyn Store>) -> Self {
        Self { observed, store }
    }

    /// Checks that a hook's decision can express this outcome.
    async fn by_hook(&self, question: &Question, settlement: &Settlement) -> Result<Carried, StoreError> {
        let native = self.store.native(&question.id).await?.unwrap_or_default();
        let Some((tool, input)) = of_native(&native) else { return Ok(Carried::Yes) };
        // The other abilities of a version change the form of a decision, not its existence.
        let takes = Takes { notes: false, nothing: false };
        Ok(match decision(tool, &input, takes, settlement) {
            Ok(_) => Carried::Yes,
            Err(error) => Carried::No(error.to_string()),
        })
    }

    /// Nothing was decided in the dialog: the question is opened again, unless a hook has the decision and
    /// may still print it.
    fn undecided(&self, why: &str, delivery: &ClaimedDelivery) -> Said {
        match self.was_told(&delivery.question.id) {
            true => unknown(why),
            false => Said::Undecided(open_again(why)),
        }
    }

    pub(super) fn was_told(&self, id: &QuestionId) -> bool {
        self.observed.memory().hooks.get(id).is_some_and(|presence| presence.was_told)
    }

    /// Waits a moment for the transcript to show the terminal's answer; true if it did.
    pub(super) async fn hears_of(&self, id: &QuestionId) -> Result<bool, StoreError> {
        let until = Instant::now() + HEARD_WITHIN;
        while Instant::now() < until {
            if !self.awaits_evidence(id).await? {
                return Ok(true);
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(false)
    }

    /// True while the agent's answer is unknown.
    pub(super) async fn awaits_evidence(&self, id: &QuestionId) -> Result<bool, StoreError> {
        let record = self.store.question(id).await?;
        let delivery = record.and_then(|record| record.question.delivery);
        Ok(delivery.is_some_and(|delivery| delivery.awaits_evidence()))
    }

    /// The deciding key was pressed: what came of it is told by the transcript, or by the dialog if it stands
    /// on.
    async fn after_the_key(
        &self,
        decided: Decided,
        session: &Session,
        delivery: &ClaimedDelivery,
    ) -> Result<Said, StoreError> {
        let until = Instant::now() + HEARD_WITHIN;
        while Instant::now() < until {
            // A dialog that was hidden at the time of the key may not have received it.
            if !self.awaits_evidence(&delivery.question.id).await? {
                return Ok(Said::Written);
            }
            if let Standing::Gone = decided.look().await {
                return Ok(Said::Written);
            }
        }
        let error = decided.probe().await;
        if error.leaves == Leaves::Open {
            return Ok(self.undecided(&not_typed(&error), delivery));
        }
        let (observed, store) = (Arc::clone(&self.observed), Arc::clone(&self.store));
        let followed = Self { observed, store };
        followed.follow_on(decided, session.clone(), delivery.question.id.clone());
        Ok(unknown(&not_typed(&error)))
    }

    /// The session of a question, with the process that asked it: two may hold one conversation, and each has
    /// a dialog of its own.
    pub(super) async fn asked_from(&self, question: &Question) -> Result<Option<Session>, StoreError> {
        let session = match &question.ask.session_id {
            Some(id) => self.store.session(id).await?,
            None => None,
        };
        let asker = self.observed.asker(&question.id).filter(|asker| is_alive(asker.pid, asker.started));
        Ok(session.map(|session| Session { pid: asker.map(|asker| asker.pid).or(session.pid), ..session }))
    }

    /// Looks, before an answer is accepted, whether it could be typed now; why not, for a person. Nothing is
    /// pressed.
    async fn look(
        &self,
        question: &Question,
        settlement: &Settlement,
        surface: Surface,
        is_hooked: bool,
    ) -> Result<Result<(), String>, StoreError> {
        let Some(session) = self.asked_from(question).await? else { return Ok(Err(NO_HOOK.to_owned())) };
        if !self.observed.can_type(&session).await {
            return Ok(Err(format!("{NO_HOOK}, and it does not run in tmux, so nothing can be typed there")));
        }
        if !may_type(&session, is_hooked) {
            return Ok(Err(format!(
                "{NO_HOOK}; answers are typed there only after `askd tmux {}`",
                session.id
            )));
        }
        if !session.tmux && !is_told(surface) {
            return Ok(Err(format!("{NO_HOOK}; {}", only_after(&session))));
        }
        let goal = match Goal::of(&question.ask, settlement) {
            Ok(goal) => goal,
            Err(why) => {
                return Ok(Err(format!("{NO_HOOK}, so an answer is typed into its dialog, and {why}")));
            }
        };
        let until = Instant::now() + COMES_WITHIN;
        while self.observed.memory().typing.contains(&session.id) {
            if Instant::now() >= until {
                return Ok(Err(format!("{NO_HOOK}, and another answer is being typed there at this moment")));
            }
            tokio::time::sleep(LOOK).await;
        }
        let seen = look_at(&session, goal).await;
        Ok(seen.map_err(|error| format!("{NO_HOOK}, and it cannot be typed there: {}", error.detail())))
    }

    /// Types the answer, if that is allowed and possible.
    async fn type_it(&self, delivery: &ClaimedDelivery) -> Result<Said, StoreError> {
        let question = &delivery.question;
        let session = self.asked_from(question).await?;
        let is_hooked = self.store.is_sighted(&question.id, HOOK).await?;
        let Some(session) = session.filter(|session| may_type(session, is_hooked)) else {
            return Ok(self.undecided(NO_HOOK, delivery));
        };
        let is_told = question.outcome.as_ref().is_some_and(|outcome| is_told(outcome.by.surface));
        if !session.tmux && !is_told {
            return Ok(self.undecided(&format!("{NO_HOOK}; {}", only_after(&session)), delivery));
        }
        let goal = match Goal::of(&question.ask, &delivery.settlement) {
            Ok(goal) => goal,
            Err(error) => {
                return Ok(self.undecided(&format!("{NO_HOOK}, and {error}"), delivery));
            }
        };
        let Some(_keyboard) = self.observed.take_keyboard(&session.id) else {
            return Ok(Said::NotNow("another answer is being typed into that terminal".to_owned()));
        };
        Ok(match type_answer(&session, goal).await {
            Ok(decided) => self.after_the_key(decided, &session, delivery).await?,
            // A hook has come after all, and brings it.
            Err(_) if !is_hooked && self.store.is_sighted(&question.id, HOOK).await? => Said::Unknown,
            Err(error) => {
                let why = not_typed(&error);
                match error.leaves {
                    Leaves::Open => self.undecided(&why, delivery),
                    Leaves::Hidden => {
                        self.hears_of(&question.id).await?;
                        self.undecided(&why, delivery)
                    }
                    Leaves::Unknown => unknown(&why),
                }
            }
        })
    }
}

#[async_trait]
impl DeliveryTarget for HookMouth {
    /// A hook prints once and ends, and the program takes one decision for a call: a second copy does no
    /// harm. Keys are pressed only while the question is on the screen.
    fn redeliver(&self) -> Redeliver {
        Redeliver::Safe
    }

    async fn can_carry(
        &self,
        question: &Question,
        settlement: &Settlement,
        surface: Surface,
    ) -> Result<Carried, StoreError> {
        let by_hook = self.by_hook(question, settlement).await?;
        let until = Instant::now() + COMES_WITHIN;
        loop {
            let is_hooked = self.store.is_sighted(&question.id, HOOK).await?;
            let is_expected = match self.observed.presence(question) {
                HookPresence::Waits => return Ok(by_hook),
                HookPresence::Expected if is_hooked => return Ok(by_hook),
                HookPresence::Expected => true,
                HookPresence::Gone => false,
            };
            let Err(why) = self.look(question, settlement, surface, is_hooked).await? else {
                return Ok(if is_expected { by_hook } else { Carried::Yes });
            };
            // A hook may come in a moment, and a dialog may not be drawn yet.
            if !is_expected || Instant::now() >= until {
                return Ok(Carried::No(format!("{why}.\nThe question is still open: {ELSEWHERE}")));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn deliver(&self, delivery: &ClaimedDelivery) -> Said {
        match self.observed.presence(&delivery.question) {
            // The hook's own request reads the outcome, prints it and reports that; the claim ends with the
            // report.
            HookPresence::Waits => Said::Unknown,
            HookPresence::Expected => {
                Said::NotNow("the hook in that terminal is not connected at this moment".to_owned())
            }
            HookPresence::Gone => {
                self.type_it(delivery).await.unwrap_or_else(|error| Said::NotNow(error.to_string()))
            }
        }
    }

    async fn was_written(&self, _: &ClaimedDelivery) -> Option<bool> {
        None
    }

    fn describes(&self) -> bool {
        true
    }

    async fn describe(&self, questions: &mut [Question]) -> Result<(), StoreError> {
        describe(&self.observed, &*self.store, questions).await
    }
}

/// A notification has no room for the warning that an answer would be typed.
fn only_after(session: &Session) -> String {
    format!("an answer from a notification is typed there only after `askd tmux {}`", session.id)
}

pub(super) fn not_typed(error: &NotTyped) -> String {
    format!("{NO_HOOK}, and it was not typed there: {}", error.detail())
}

pub(super) fn open_again(why: &str) -> String {
    format!("{why}.\nThe question is open again: {ELSEWHERE}")
}

/// The agent may continue with this answer: its transcript will show.
fn unknown(why: &str) -> Said {
    let detail = format!("{why}.\nLook at its terminal: the answer may have arrived there");
    Said::Failed { reason: FailReason::Unknown, detail }
}

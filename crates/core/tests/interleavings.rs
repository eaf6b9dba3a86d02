//! Random interleavings of everything that can happen to a question: one outcome, no lost acknowledged
//! answer, no delivery without an outcome, no second copy to an agent that cannot bear one.

#![expect(clippy::expect_used, reason = "a failure here is a failed test")]

use askd_core::delivery::{Delivery, DeliveryInput, DeliveryState, FailReason, Redeliver};
use askd_core::lifecycle::{Current, Decision, Elsewhere, Resolution, decide, failed_try, opened_again};
use askd_core::{
    Answer, AskInput, By, Cause, ItemAnswer, Outcome, Question, QuestionId, RejectMode, ShownAnswer, Status,
    Surface, Timestamp,
};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Op {
    Answer(u8),
    Reject(RejectMode),
    Cancel,
    Withdraw,
    Expire,
    AnsweredElsewhere(u8),
    Claim,
    /// The worker writes the bytes to the agent but has not yet noted it.
    Write,
    NoteWritten,
    NotWritten,
    /// The worker saw the agent wait on with nothing decided, before or after it wrote something that the
    /// agent did not take.
    Undecided,
    /// What the worker wrote is not known to have been taken.
    Unknown,
    Confirm,
    AgentGone,
    Crash,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0u8..3).prop_map(Op::Answer),
        1 => prop_oneof![Just(RejectMode::Decline), Just(RejectMode::Interrupt)].prop_map(Op::Reject),
        1 => Just(Op::Cancel),
        1 => Just(Op::Withdraw),
        1 => Just(Op::Expire),
        2 => (0u8..3).prop_map(Op::AnsweredElsewhere),
        3 => Just(Op::Claim),
        3 => Just(Op::Write),
        3 => Just(Op::NoteWritten),
        1 => Just(Op::NotWritten),
        2 => Just(Op::Undecided),
        1 => Just(Op::Unknown),
        1 => Just(Op::Confirm),
        1 => Just(Op::AgentGone),
        2 => Just(Op::Crash),
    ]
}

fn answer(n: u8) -> Answer {
    Answer {
        answers: vec![ItemAnswer::words([n.to_string()])],
        notes: vec![None],
        edited_plan: None,
        next_mode: None,
    }
}

fn kept(outcome: &Outcome) -> Option<Vec<ItemAnswer>> {
    Some(outcome.answers.as_ref()?.iter().map(ShownAnswer::answer).collect())
}

/// What the store keeps, what the worker has in hand, and what the agent has seen.
#[derive(Debug)]
struct World {
    delivers: bool,
    redeliver: Redeliver,
    outcome: Option<Outcome>,
    delivery: Option<Delivery>,
    claimed: bool,
    copies_at_agent: u32,
    copies_since_claim: u32,
    /// What clients were told to be stored, of the tries that are no failed ones.
    acknowledged: Vec<Resolution>,
    settled_times: u32,
    question: Question,
    /// Tries that failed, with the answers that were acknowledged in each.
    failed: Vec<(Outcome, Vec<Resolution>)>,
}

/// Failed tries that a question keeps.
const KEPT_TRIES: usize = 8;

fn question() -> Question {
    let input: AskInput =
        serde_json::from_str(r#"{"questions":[{"question":"Which?"}]}"#).expect("a question");
    Question {
        id: QuestionId::from_bits(1),
        ask: input.complete().expect("whole").into(),
        status: Status::Requested,
        outcome: None,
        delivery: None,
        created_at: Timestamp::from_millis(0),
        seq: 1,
        road: None,
        agent_times_out_at: None,
        failed_tries: Vec::new(),
    }
}

impl World {
    fn resolve(&mut self, resolution: Resolution, at: Timestamp) {
        let by = By { surface: Surface::Cli, actor: None };
        let current = match &self.outcome {
            None => Current::Open { delivers: self.delivers, items: &[] },
            Some(outcome) => Current::Settled {
                outcome,
                delivery: self.delivery.as_ref(),
                items: &[],
                same_answer: resolution
                    .answer(&[])
                    .is_some_and(|answer| kept(outcome) == Some(answer.answers)),
            },
        };
        match decide(current, &resolution, by, at) {
            Decision::Settle { outcome, deliver } => {
                self.outcome = Some(*outcome);
                self.delivery = deliver.then(|| Delivery::queued(at));
                self.settled_times += 1;
                self.acknowledged.push(resolution);
            }
            Decision::Same => self.acknowledged.push(resolution),
            Decision::Confirm => self.step(&DeliveryInput::Confirmed, at),
            Decision::Overtaken(received) => {
                let reason = FailReason::Overtaken;
                self.step(&DeliveryInput::Failed { reason, detail: None }, at);
                if let Some(outcome) = &mut self.outcome {
                    outcome.agent_received = Some(received);
                }
            }
            Decision::Conflict | Decision::Nothing => {}
        }
    }

    fn step(&mut self, input: &DeliveryInput, at: Timestamp) {
        let status = self.outcome.as_ref().map_or(Status::Requested, |outcome| outcome.status);
        let (outcome, delivery) = (self.outcome.clone(), self.delivery.clone());
        let question = Question { status, outcome, delivery, ..self.question.clone() };
        if let Some(failed) = failed_try(&question, input, at) {
            let told = std::mem::take(&mut self.acknowledged);
            self.failed.push((failed.outcome.clone(), told));
            self.question = opened_again(question, failed);
            (self.outcome, self.delivery, self.claimed, self.settled_times) = (None, None, false, 0);
            return;
        }
        if let Some(next) = self.delivery.as_ref().and_then(|delivery| delivery.after(input, at)) {
            self.delivery = Some(next);
        }
    }

    fn queued(&self) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.state == DeliveryState::Queued)
    }

    fn failed_because(&self, reason: FailReason) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| {
            delivery.state == DeliveryState::Failed
                && delivery.error.as_ref().is_some_and(|error| error.reason == reason)
        })
    }

    fn is_in_doubt(&self) -> bool {
        self.failed_because(FailReason::Unknown) && self.copies_since_claim == 1
    }

    fn apply(&mut self, op: &Op, at: Timestamp) {
        match op {
            Op::Answer(n) => self.resolve(Resolution::Answer(answer(*n)), at),
            Op::Reject(mode) => self.resolve(Resolution::Reject { mode: *mode, reason: None }, at),
            Op::Cancel => self.resolve(Resolution::Cancel(Cause::TurnAborted { detail: None }), at),
            Op::Withdraw => self.resolve(Resolution::Cancel(Cause::AskerWithdrew { reason: None }), at),
            Op::Expire => self.resolve(Resolution::Expire, at),
            Op::AnsweredElsewhere(n) => {
                let answers = vec![vec![n.to_string()]];
                let elsewhere =
                    Elsewhere::Answered { answers, notes: vec![None], via: "terminal".to_owned() };
                self.resolve(Resolution::Elsewhere(elsewhere), at);
            }
            Op::Claim if self.queued() && !self.claimed => {
                self.claimed = true;
                self.copies_since_claim = 0;
                self.step(&DeliveryInput::Claimed, at);
            }
            // A worker writes once per claim, and only what it holds.
            Op::Write if self.claimed && self.queued() && self.copies_since_claim == 0 => {
                self.copies_since_claim = 1;
                self.copies_at_agent += 1;
            }
            Op::NoteWritten if self.claimed && self.copies_since_claim == 1 => {
                self.step(&DeliveryInput::Written, at);
                self.claimed = false;
            }
            Op::NotWritten if self.claimed && self.copies_since_claim == 0 => {
                self.step(&DeliveryInput::NotWritten { detail: "busy".to_owned() }, at);
                self.claimed = false;
            }
            // Nothing was taken, and the keys that were typed were taken back: no copy is at the agent.
            Op::Undecided if self.claimed || self.is_in_doubt() => {
                self.copies_at_agent -= self.copies_since_claim;
                self.copies_since_claim = 0;
                self.claimed = false;
                self.step(&DeliveryInput::Undecided { detail: "its dialog stands".to_owned() }, at);
            }
            Op::Unknown if self.claimed && self.copies_since_claim == 1 => {
                self.claimed = false;
                let reason = FailReason::Unknown;
                self.step(&DeliveryInput::Failed { reason, detail: None }, at);
            }
            Op::Confirm if self.copies_at_agent > 0 => self.step(&DeliveryInput::Confirmed, at),
            Op::AgentGone => {
                self.resolve(
                    Resolution::Cancel(Cause::AgentExited {
                        code: Some(1),
                        signal: None,
                        stderr: vec![],
                        resume: None,
                    }),
                    at,
                );
                self.step(&DeliveryInput::AgentGone { detail: None }, at);
            }
            Op::Crash if self.claimed => {
                self.claimed = false;
                let written = (self.redeliver == Redeliver::Probe).then_some(self.copies_since_claim == 1);
                self.step(&DeliveryInput::ClaimLost { redeliver: self.redeliver, written }, at);
            }
            _ => {}
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert!(self.settled_times <= 1, "settled more than once");
        if self.delivery.is_some() {
            let status = self.outcome.as_ref().map(|outcome| outcome.status);
            prop_assert!(
                matches!(status, Some(Status::Answered | Status::Rejected)),
                "delivery without an outcome"
            );
            prop_assert!(self.delivers, "delivery of a question that its asker reads");
        }
        if self.redeliver != Redeliver::Safe {
            prop_assert!(self.copies_at_agent <= 1, "the agent got the answer twice");
            // Where a second copy does no harm, a first one of a lost claim is forgotten.
            prop_assert!(
                !self.failed_because(FailReason::AgentGone) || self.copies_at_agent == 0,
                "the agent has the answer, and is said to have ended before the write"
            );
        }
        let tries = self.failed.iter().map(|(outcome, told)| (Some(outcome), told));
        for (outcome, told) in tries.chain([(self.outcome.as_ref(), &self.acknowledged)]) {
            for resolution in told {
                if let Resolution::Answer(answer) = resolution {
                    let kept = outcome.and_then(kept);
                    prop_assert_eq!(kept.as_ref(), Some(&answer.answers), "an acknowledged answer was lost");
                }
            }
        }
        // The history of a question that was opened again is whole, oldest first, as far as it is kept.
        let shown = self.question.failed_tries.iter().map(|failed| &failed.outcome);
        let skipped = self.failed.len().saturating_sub(KEPT_TRIES);
        prop_assert!(
            shown.eq(self.failed.iter().skip(skipped).map(|(outcome, _)| outcome)),
            "a try was lost"
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn one_outcome_whatever_happens(
        ops in proptest::collection::vec(op(), 1..40),
        delivers in any::<bool>(),
        redeliver in prop_oneof![Just(Redeliver::Safe), Just(Redeliver::Probe), Just(Redeliver::Never)],
    ) {
        let mut world = World {
            delivers, redeliver, outcome: None, delivery: None, claimed: false, copies_at_agent: 0,
            copies_since_claim: 0, acknowledged: vec![], settled_times: 0,
            failed: vec![], question: question(),
        };
        let (mut first, mut tries): (Option<Outcome>, usize) = (None, 0);
        for (tick, op) in ops.iter().enumerate() {
            world.apply(op, Timestamp::from_millis(tick as i64));
            world.check()?;
            // Only being opened again takes an outcome away.
            if tries != world.failed.len() {
                (first, tries) = (None, world.failed.len());
            }
            prop_assert!(first.is_none() || world.outcome.is_some(), "the outcome is gone");
            if let Some(outcome) = &world.outcome {
                let mut shown = outcome.clone();
                shown.agent_received = None;
                let kept = first.get_or_insert_with(|| shown.clone());
                prop_assert_eq!(&*kept, &shown, "the outcome changed");
            }
        }
    }
}

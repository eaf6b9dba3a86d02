//! Carries out core's decisions inside a transaction: outcomes, deliveries and their events.
//!
//! In: a stored question and what happened to it. Out: the question as it then stands. Every change of a
//! question's life after it was asked goes through these two functions.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use askd_core::delivery::{Delivery, DeliveryInput, DeliveryState, FailReason};
use askd_core::lifecycle::{Current, Decision, Resolution, decide, failed_try, opened_again};
use askd_core::outcome::{AgentReceived, FailedTry};
use askd_core::{
    Answer, By, EventType, Item, ItemAnswer, Outcome, Question, QuestionId, Settlement, ShownAnswer,
    Timestamp,
};

use super::rows::{corrupt, from_json, to_json};
use super::transcripts;
use super::writer::Tx;
use crate::seal::Sealer;
use crate::{ClaimHolder, ClaimedDelivery, Expired, Record, Resolved, StoreResult};

pub(super) fn resolve(
    tx: &mut Tx<'_>,
    record: Record,
    resolution: &Resolution,
    by: By,
    at: Timestamp,
    claim: Option<&ClaimHolder>,
) -> StoreResult<Resolved> {
    if record.question.is_overdue(at) && *resolution != Resolution::Expire {
        // The clock of the deadlines has not come to it yet.
        let source = record.source.clone();
        return Ok(match resolve(tx, record, &Resolution::Expire, By::hub(), at, None)? {
            Resolved::Settled(question, _) => Resolved::Expired(Expired { question, source }),
            other => other,
        });
    }
    let mut question = record.question;
    let asked = Arc::clone(&question.ask);
    let items = asked.questions.as_slice();
    let current = match &question.outcome {
        None => Current::Open { delivers: record.source.is_some(), items },
        Some(outcome) => Current::Settled {
            outcome,
            delivery: question.delivery.as_ref(),
            items,
            same_answer: is_same_answer(tx, &question.id, resolution, items)?,
        },
    };
    match decide(current, resolution, by, at) {
        Decision::Settle { outcome, deliver } => {
            question.status = outcome.status;
            question.outcome = Some(*outcome);
            // Everything that can be corrupt is read before the first change.
            let asked_at = transcripts::places(tx, &question.id)?;
            let native = claim.map(|_| native(tx.conn, &question.id)).transpose()?.flatten();
            store_outcome(tx, &question, resolution, at)?;
            let source = record.source.filter(|_| deliver);
            let id = question.delivery_id();
            if let Some(source) = &source {
                let queued = Delivery::queued(at);
                let delivery =
                    claim.and_then(|_| queued.after(&DeliveryInput::Claimed, at)).unwrap_or(queued);
                let sql = "INSERT INTO deliveries (question_id, source_id, state, body, not_before, claim_owner, claim_until) \
                           VALUES (?1, ?2, 'queued', ?3, ?4, ?5, ?6)";
                let body = to_json(&delivery)?;
                tx.change(
                    sql,
                    params![
                        question.id.as_str(),
                        source.as_str(),
                        body,
                        at.millis(),
                        claim.map(|claim| claim.owner.as_str()),
                        claim.map(|claim| claim.until.millis()),
                    ],
                )?;
                question.delivery = Some(delivery);
            }
            tx.open_questions -= 1;
            transcripts::tell_end(tx, asked_at, &question, at)?;
            tx.log_change(EventType::QuestionResolved, at, &mut question)?;
            let claimed = match (source, record.native_id, native, &question.outcome) {
                (Some(source), Some(native_id), Some(native), Some(outcome)) => {
                    let settlement = match resolution {
                        Resolution::Answer(answer) if !outcome.withheld.is_empty() => {
                            Settlement::Answered(answer.clone())
                        }
                        _ => plain_settlement(outcome),
                    };
                    let question = question.clone();
                    Some(Box::new(ClaimedDelivery { id, source, question, native_id, native, settlement }))
                }
                _ => None,
            };
            Ok(Resolved::Settled(question, claimed))
        }
        Decision::Same => Ok(Resolved::Same(question)),
        Decision::Conflict => Ok(Resolved::Conflict(question)),
        Decision::Nothing => Ok(Resolved::Noted(question)),
        Decision::Confirm => {
            Ok(Resolved::Noted(step(tx, &question, &DeliveryInput::Confirmed, at)?.unwrap_or(question)))
        }
        Decision::Overtaken(received) => Ok(Resolved::Noted(overtaken(tx, question, received, at)?)),
    }
}

/// The agent's own words for a question.
pub(super) fn native(conn: &Connection, id: &QuestionId) -> StoreResult<Option<String>> {
    let sql = "SELECT native FROM questions WHERE id = ?1";
    Ok(conn.prepare_cached(sql)?.query_row([id.as_str()], |row| row.get(0)).optional()?.flatten())
}

/// The agent took another answer: the outcome stays, the delivery failed, and both say so.
fn overtaken(
    tx: &mut Tx<'_>,
    mut question: Question,
    received: AgentReceived,
    at: Timestamp,
) -> StoreResult<Question> {
    if let Some(outcome) = &mut question.outcome {
        outcome.agent_received = Some(received);
        let sql = "UPDATE questions SET outcome = ?2 WHERE id = ?1";
        tx.change(sql, params![question.id.as_str(), to_json(outcome)?])?;
    }
    let input = DeliveryInput::Failed { reason: FailReason::Overtaken, detail: None };
    Ok(step(tx, &question, &input, at)?.unwrap_or(question))
}

fn store_outcome(
    tx: &mut Tx<'_>,
    question: &Question,
    resolution: &Resolution,
    at: Timestamp,
) -> StoreResult<()> {
    let id = question.id.as_str();
    let (whole, picks) = macs(tx.sealer, id, resolution, &question.ask.questions)?;
    let sql = "UPDATE questions SET status = ?2, outcome = ?3, settled_at = ?4, answer_mac = ?5, picks_mac = ?6 WHERE id = ?1";
    let outcome = question.outcome.as_ref().map(to_json).transpose()?;
    let status = question.status.as_str();
    tx.change(sql, params![id, status, outcome, at.millis(), whole, picks])?;
    // An outcome from the agent itself needs no delivery.
    if let (Resolution::Answer(answer), false) = (resolution, question.secret_items().is_empty()) {
        let sealed = tx.sealer.seal(id, to_json(answer)?.as_bytes()).map_err(corrupt)?;
        let sql = "INSERT INTO secrets (question_id, sealed) VALUES (?1, ?2)";
        tx.change(sql, params![id, sealed])?;
    }
    Ok(())
}

type Mac = Option<[u8; 32]>;

/// The keyed hashes of the answer that a resolution carries, whole and its picks alone. They outlive a sealed
/// answer.
fn macs(sealer: &Sealer, id: &str, resolution: &Resolution, items: &[Item]) -> StoreResult<(Mac, Mac)> {
    let Some(answer) = resolution.answer(items) else { return Ok((None, None)) };
    let whole = sealer.mac(id, to_json(&answer)?.as_bytes());
    let picks = sealer.mac(id, to_json(&answer.answers)?.as_bytes());
    Ok((Some(whole), Some(picks)))
}

/// A person repeats an answer with all its parts; an agent shows only the picks with which it continued.
fn is_same_answer(
    tx: &mut Tx<'_>,
    id: &QuestionId,
    resolution: &Resolution,
    items: &[Item],
) -> StoreResult<bool> {
    let (whole, picks) = macs(tx.sealer, id.as_str(), resolution, items)?;
    let (column, given) = match resolution {
        Resolution::Elsewhere(_) => ("picks_mac", picks),
        _ => ("answer_mac", whole),
    };
    let Some(given) = given else { return Ok(false) };
    let sql = format!("SELECT {column} FROM questions WHERE id = ?1");
    let stored: Mac = tx.conn.prepare_cached(&sql)?.query_row([id.as_str()], |row| row.get(0))?;
    Ok(stored == Some(given))
}

/// Moves a delivery by core's rules, with an event if people care.
pub(super) fn step(
    tx: &mut Tx<'_>,
    question: &Question,
    input: &DeliveryInput,
    at: Timestamp,
) -> StoreResult<Option<Question>> {
    if let Some(failed) = failed_try(question, input, at) {
        return open_again(tx, question.clone(), failed, at).map(Some);
    }
    let Some(next) = question.delivery.as_ref().and_then(|delivery| delivery.after(input, at)) else {
        return Ok(None);
    };
    let mut question = Question { delivery: Some(next.clone()), ..question.clone() };
    let not_before = match input {
        DeliveryInput::NotWritten { .. } => at.plus_millis(next.retry_pause()),
        _ => at,
    };
    let keep_claim = matches!(input, DeliveryInput::Claimed);
    let sql = "UPDATE deliveries SET state = ?2, body = ?3, not_before = ?4, claim_owner = iif(?5, claim_owner, NULL), \
               claim_until = iif(?5, claim_until, NULL) WHERE question_id = ?1";
    let id = question.id.clone();
    let body = to_json(&next)?;
    tx.change(sql, params![id.as_str(), next.state.as_str(), body, not_before.millis(), keep_claim])?;
    match next.state {
        DeliveryState::Confirmed | DeliveryState::Failed => {
            tx.change("DELETE FROM secrets WHERE question_id = ?1", params![id.as_str()])?;
            tx.log_change(EventType::QuestionDelivered, at, &mut question)?;
        }
        DeliveryState::Sent => tx.log_change(EventType::QuestionUpdated, at, &mut question)?,
        DeliveryState::Queued => {}
    }
    Ok(Some(question))
}

/// Nothing was decided at the agent: the outcome becomes a failed try, and the question is open again.
fn open_again(
    tx: &mut Tx<'_>,
    question: Question,
    failed: FailedTry,
    at: Timestamp,
) -> StoreResult<Question> {
    let mut question = opened_again(question, failed);
    let id = question.id.clone();
    let sql = "UPDATE questions SET status = ?2, outcome = NULL, settled_at = NULL, answer_mac = NULL, picks_mac = NULL, \
               failed_tries = ?3 WHERE id = ?1";
    tx.change(sql, params![id.as_str(), question.status.as_str(), to_json(&question.failed_tries)?])?;
    tx.change("DELETE FROM deliveries WHERE question_id = ?1", params![id.as_str()])?;
    tx.change("DELETE FROM secrets WHERE question_id = ?1", params![id.as_str()])?;
    tx.open_questions += 1;
    tx.log_change(EventType::QuestionUpdated, at, &mut question)?;
    Ok(question)
}

/// The outcome for the agent or the asker, with the secret answers while they are kept.
pub(super) fn settlement(
    conn: &Connection,
    sealer: &Sealer,
    id: &QuestionId,
    outcome: &Outcome,
) -> StoreResult<Settlement> {
    if outcome.mode.is_none() && !outcome.withheld.is_empty() {
        let sql = "SELECT sealed FROM secrets WHERE question_id = ?1";
        let sealed: Option<Vec<u8>> =
            conn.prepare_cached(sql)?.query_row([id.as_str()], |row| row.get(0)).optional()?;
        if let Some(sealed) = sealed {
            let plain = sealer.open(id.as_str(), &sealed).map_err(corrupt)?;
            let plain = String::from_utf8(plain).map_err(corrupt)?;
            return Ok(Settlement::Answered(from_json(&plain)?));
        }
    }
    Ok(plain_settlement(outcome))
}

/// The same without secret answers.
fn plain_settlement(outcome: &Outcome) -> Settlement {
    if let Some(mode) = outcome.mode {
        return Settlement::Rejected { mode, reason: outcome.reason.clone() };
    }
    let answers: Vec<ItemAnswer> = outcome.answers.iter().flatten().map(ShownAnswer::answer).collect();
    Settlement::Answered(Answer {
        notes: outcome.notes.clone().unwrap_or_else(|| vec![None; answers.len()]),
        answers,
        edited_plan: outcome.edited_plan.clone(),
        next_mode: outcome.next_mode.clone(),
    })
}

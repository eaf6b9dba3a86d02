//! The outbox in SQLite.

use async_trait::async_trait;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};

use askd_core::delivery::{Delivery, DeliveryInput};
use askd_core::{DeliveryId, Question, QuestionId, SourceId, Timestamp};

use super::rows::{DELIVERY, PENDING, at, corrupt, load, optional_json, record, rows, text, to_json};
use super::{SqliteStore, settle};
use crate::StoreResult;
use crate::deliveries::{Claim, ClaimedDelivery, Deliveries};
use crate::seal::Sealer;

fn delivery(conn: &Connection, sealer: &Sealer, row: &Row<'_>) -> StoreResult<ClaimedDelivery> {
    let record = record(row)?;
    let missing = |what: &str| corrupt(format!("a delivery without {what}"));
    let outcome = record.question.outcome.as_ref().ok_or_else(|| missing("an outcome"))?;
    Ok(ClaimedDelivery {
        settlement: settle::settlement(conn, sealer, &record.question.id, outcome)?,
        id: record.question.delivery_id(),
        source: record.source.ok_or_else(|| missing("a source"))?,
        native_id: record.native_id.ok_or_else(|| missing("a native id"))?,
        native: row.get::<_, Option<String>>(11)?.ok_or_else(|| missing("a native payload"))?,
        question: record.question,
    })
}

fn deliveries(
    conn: &Connection,
    sealer: &Sealer,
    condition: &str,
    values: &[Value],
) -> StoreResult<Vec<ClaimedDelivery>> {
    rows(conn, &format!("{DELIVERY} WHERE {condition}"), values, |row| delivery(conn, sealer, row))
}

/// True if the input changes the delivery.
fn moves(
    conn: &Connection,
    question: &QuestionId,
    input: &DeliveryInput,
    at: Timestamp,
) -> StoreResult<bool> {
    let sql = "SELECT body FROM deliveries WHERE question_id = ?1";
    let body: Option<String> =
        conn.prepare_cached(sql)?.query_row([question.as_str()], |row| row.get(0)).optional()?;
    let delivery: Option<Delivery> = optional_json(body)?;
    Ok(delivery.is_some_and(|delivery| delivery.after(input, at).is_some()))
}

impl SqliteStore {
    async fn pending_in_state(&self, source: &SourceId, state: &str) -> StoreResult<Vec<ClaimedDelivery>> {
        let (values, sealer) = ([text(source), text(state)], self.sealer.clone());
        self.read(move |conn| {
            let condition = format!("d.source_id = ?1 AND {PENDING} AND d.state = ?2 ORDER BY q.seq");
            deliveries(conn, &sealer, &condition, &values)
        })
        .await
    }
}

#[async_trait]
impl Deliveries for SqliteStore {
    async fn claim(&self, claim: Claim) -> StoreResult<Vec<ClaimedDelivery>> {
        self.write(move |tx| {
            let mut claimed = Vec::new();
            for source in &claim.sources {
                let left = claim.limit.saturating_sub(claimed.len());
                let condition = format!(
                    "d.source_id = ?1 AND {PENDING} AND d.state = 'queued' AND d.claim_owner IS NULL AND d.not_before <= ?2 \
                     ORDER BY d.not_before, q.seq LIMIT ?3"
                );
                let limit = Value::Integer(i64::try_from(left).unwrap_or(i64::MAX));
                let values = [text(source), Value::Integer(claim.now.millis()), limit];
                let sealer = tx.sealer;
                for mut delivery in deliveries(tx.conn, sealer, &condition, &values)? {
                    let sql = "UPDATE deliveries SET claim_owner = ?2, claim_until = ?3 WHERE question_id = ?1";
                    let id = delivery.question.id.as_str();
                    tx.change(sql, params![id, claim.owner, claim.until.millis()])?;
                    let step = settle::step(tx, &delivery.question, &DeliveryInput::Claimed, claim.now)?;
                    delivery.question = step.unwrap_or(delivery.question);
                    claimed.push(delivery);
                }
            }
            Ok(claimed)
        })
        .await
    }

    async fn delivery(&self, question: &QuestionId) -> StoreResult<Option<ClaimedDelivery>> {
        let (id, sealer) = (text(question), self.sealer.clone());
        let found = self.read(move |conn| deliveries(conn, &sealer, "d.question_id = ?1", &[id])).await?;
        Ok(found.into_iter().next())
    }

    async fn lost_claims(&self, owner: &str, held: &[QuestionId]) -> StoreResult<Vec<ClaimedDelivery>> {
        let values = [text(owner), Value::Text(to_json(&held)?)];
        let sealer = self.sealer.clone();
        self.read(move |conn| {
            let condition = format!(
                "{PENDING} AND d.state = 'queued' AND d.claim_owner IS NOT NULL \
                     AND (d.claim_owner <> ?1 OR d.question_id NOT IN (SELECT value FROM json_each(?2))) ORDER BY q.seq"
            );
            deliveries(conn, &sealer, &condition, &values)
        })
        .await
    }

    async fn next_delivery(&self, sources: &[SourceId]) -> StoreResult<Option<Timestamp>> {
        let sources = sources.to_vec();
        self.read(move |conn| {
            let sql = format!(
                "SELECT min(coalesce(d.claim_until, d.not_before)) FROM deliveries d \
                     WHERE d.source_id = ?1 AND {PENDING} AND d.state = 'queued'"
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let mut next: Option<i64> = None;
            for source in &sources {
                let due: Option<i64> = statement.query_row([source.as_str()], |row| row.get(0))?;
                next = next.into_iter().chain(due).min();
            }
            Ok(next.map(at))
        })
        .await
    }

    async fn queued(&self, source: &SourceId) -> StoreResult<Vec<ClaimedDelivery>> {
        self.pending_in_state(source, "queued").await
    }

    async fn awaiting_evidence(&self, source: &SourceId) -> StoreResult<Vec<ClaimedDelivery>> {
        self.pending_in_state(source, "sent").await
    }

    async fn step(
        &self,
        question: &QuestionId,
        input: DeliveryInput,
        at: Timestamp,
    ) -> StoreResult<Option<Question>> {
        self.step_if(question, None, input, at).await
    }

    async fn step_claimed(
        &self,
        claimed: &ClaimedDelivery,
        input: DeliveryInput,
        at: Timestamp,
    ) -> StoreResult<Option<Question>> {
        self.step_if(&claimed.question.id, Some(claimed.id.clone()), input, at).await
    }
}

impl SqliteStore {
    /// `only`: does nothing if the question has another delivery by now.
    async fn step_if(
        &self,
        question: &QuestionId,
        only: Option<DeliveryId>,
        input: DeliveryInput,
        at: Timestamp,
    ) -> StoreResult<Option<Question>> {
        let id = question.clone();
        self.write(move |tx| {
            // Most often evidence was faster than the news that it was written: then the question need not be
            // read.
            let record = if moves(tx.conn, &id, &input, at)? { load(tx.conn, &id)? } else { None };
            match record {
                Some(record) if only.is_none_or(|only| only == record.question.delivery_id()) => {
                    settle::step(tx, &record.question, &input, at)
                }
                _ => Ok(None),
            }
        })
        .await
    }
}

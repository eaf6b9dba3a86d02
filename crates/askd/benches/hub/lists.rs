//! Lists with a million questions in history: a page must cost what a page costs.

use std::time::Instant;

use askd_core::lifecycle::Resolution;
use askd_core::{Answer, AskInput, By, QuestionId, Timestamp, TokenId};
use askd_store::sqlite::SqliteStore;
use askd_store::{NewQuestion, Order, Origin, QuestionFilter, Questions, Resolve};

use crate::Result;
use crate::hub::ASK;
use crate::table::{Table, percentile};

const HISTORY: u128 = 1_000_000;
const WRITERS: u128 = 64;

pub async fn run(table: &mut Table) -> Result {
    eprintln!("history: writing {HISTORY} questions and their answers");
    let folder = tempfile::tempdir()?;
    let store = std::sync::Arc::new(SqliteStore::open(&folder.path().join("askd.db"), &[7; 32])?);
    let ask = serde_json::from_str::<AskInput>(ASK)?.complete().map_err(|error| error.to_string())?;
    let small = pages(&store).await?;
    let mut tasks = Vec::new();
    for writer in 0..WRITERS {
        let (store, ask) = (std::sync::Arc::clone(&store), ask.clone());
        tasks.push(tokio::spawn(async move {
            for n in (writer..HISTORY).step_by(WRITERS as usize) {
                let id = QuestionId::from_bits(n);
                let origin = Origin::Api { asker: TokenId::from_bits(1) };
                let at = Timestamp::from_millis(n as i64);
                store
                    .ask(NewQuestion { id: id.clone(), ask: ask.clone(), at, origin, idempotency: None })
                    .await?;
                let answer = Answer {
                    answers: vec![askd_core::ItemAnswer::picks(["JWT"])],
                    notes: vec![None],
                    edited_plan: None,
                    next_mode: None,
                };
                let resolution = Resolution::Answer(answer);
                store
                    .resolve(Resolve { id, resolution, by: By::hub(), at, idempotency: None, claim: None })
                    .await?;
            }
            Ok::<_, askd_store::StoreError>(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let large = pages(&store).await?;
    for ((what, before), (_, after)) in small.into_iter().zip(large) {
        let against = format!("{before:.2} ms with an empty history");
        table.row(&format!("{what}, {HISTORY} in history, p99"), format!("{after:.2} ms"), against, "");
    }
    Ok(())
}

async fn pages(store: &SqliteStore) -> Result<Vec<(&'static str, f64)>> {
    let open = QuestionFilter { status: Some(askd_core::Status::Requested), ..QuestionFilter::default() };
    let agent = QuestionFilter { agent: Some("api".to_owned()), ..QuestionFilter::default() };
    let mut found = Vec::new();
    for (what, filter, order, after) in [
        ("list of open questions", open, Order::Asc, None),
        ("newest 50", QuestionFilter::default(), Order::Desc, None),
        ("50 from the middle", QuestionFilter::default(), Order::Desc, Some(1_000_000)),
        ("newest 50 of one agent", agent, Order::Desc, None),
    ] {
        let mut samples = Vec::new();
        for _ in 0..200 {
            let began = Instant::now();
            store.list(filter.clone(), order, after, 50).await?;
            samples.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        found.push((what, percentile(&mut samples, 0.99)));
    }
    Ok(found)
}

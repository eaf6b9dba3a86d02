//! Durable asks and answers a second, in the engine and over HTTP, against the bare group commit of the same
//! disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askd_core::{AskInput, QuestionId, Reply, Rights, Surface};
use askd_hub::{Caller, EngineSettings, Hub as Services, ManagedSettings};
use askd_store::sqlite::SqliteStore;

use crate::hub::{ASK, Hub, REPLY};
use crate::table::{Table, bar};
use crate::{Result, raw, wire};

const ASKERS: usize = 64;
const SECONDS: u64 = 4;

pub async fn run(table: &mut Table) -> Result {
    eprintln!("throughput, {ASKERS} at once");
    let raw = tokio::task::spawn_blocking(|| raw::group_commits_a_second(ASKERS, SECONDS)).await??;
    let against = |rate: f64| format!("{:.2} of the raw {raw:.0}/s", rate / raw);
    let (asks, answers) = engine().await?;
    let what = format!("durable asks/s, engine, {ASKERS} askers");
    table.row(&what, format!("{asks:.0}"), against(asks), &bar(asks / raw >= 0.5, ">= 0.5 of raw"));
    table.row("durable answers/s, engine", format!("{answers:.0}"), against(answers), "");
    let (asks, answers) = http().await?;
    table.row("durable asks/s, HTTP, client on the same two cores", format!("{asks:.0}"), against(asks), "");
    table.row("durable answers/s, HTTP", format!("{answers:.0}"), against(answers), "");
    Ok(())
}

async fn engine() -> Result<(f64, f64)> {
    let folder = tempfile::tempdir()?;
    let store = SqliteStore::open(&folder.path().join("askd.db"), &[7; 32])?;
    let managed = ManagedSettings {
        registry: askd_agents::Registry::built_in(),
        data: folder.path().to_owned(),
        exe: env!("CARGO_BIN_EXE_askd").into(),
        linger: Duration::from_secs(1),
    };
    let hub = Services::start(Arc::new(store), EngineSettings::default(), managed);
    let token = hub.access.make_own_token("bench", Rights::all()).await?.record;
    let caller = Caller { token, surface: Surface::Api };
    let input: AskInput = serde_json::from_str(ASK)?;
    let began = Instant::now();
    let until = began + Duration::from_secs(SECONDS);
    let tasks: Vec<_> = (0..ASKERS)
        .map(|_| {
            let (questions, caller, input) = (hub.questions.clone(), caller.clone(), input.clone());
            tokio::spawn(async move {
                let mut asked: Vec<QuestionId> = Vec::new();
                while Instant::now() < until {
                    match questions.ask(&caller, input.clone(), None).await {
                        Ok(question) => asked.push(question.id),
                        // The hub's own limit on open questions ends the load, not the measurement.
                        Err(_) => break,
                    }
                }
                (asked, began.elapsed())
            })
        })
        .collect();
    let mut asked = Vec::new();
    let mut elapsed = Duration::ZERO;
    for task in tasks {
        let (ids, at) = task.await?;
        asked.push(ids);
        elapsed = elapsed.max(at);
    }
    let total: usize = asked.iter().map(Vec::len).sum();
    let asks = total as f64 / elapsed.as_secs_f64();
    let reply: Reply = serde_json::from_str(REPLY)?;
    let began = Instant::now();
    let tasks: Vec<_> = asked
        .into_iter()
        .map(|ids| {
            let (questions, caller, reply) = (hub.questions.clone(), caller.clone(), reply.clone());
            tokio::spawn(async move {
                for id in &ids {
                    questions.reply(&caller, id, reply.clone(), None).await?;
                }
                Ok::<_, askd_hub::EngineError>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let answers = total as f64 / began.elapsed().as_secs_f64();
    hub.stop().await;
    Ok((asks, answers))
}

async fn http() -> Result<(f64, f64)> {
    let hub = Hub::start().await?;
    let began = Instant::now();
    let until = began + Duration::from_secs(SECONDS);
    let mut tasks = Vec::new();
    for _ in 0..ASKERS {
        let mut wire = hub.wire().await?;
        tasks.push(tokio::spawn(async move {
            let mut asked = Vec::new();
            while Instant::now() < until {
                let (status, body) = wire.call("POST", "/v1/questions", ASK).await?;
                // The hub's own limit on open questions ends the load, not the measurement.
                if status == 429 {
                    break;
                }
                if status != 201 {
                    return Err(format!("an ask answered {status}").into());
                }
                asked.push(wire::field(&body, "id")?);
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>((wire, asked))
        }));
    }
    let mut loads = Vec::new();
    for task in tasks {
        loads.push(task.await??);
    }
    let total: usize = loads.iter().map(|(_, asked)| asked.len()).sum();
    let asks = total as f64 / began.elapsed().as_secs_f64();
    let began = Instant::now();
    let mut tasks = Vec::new();
    for (mut wire, asked) in loads {
        tasks.push(tokio::spawn(async move {
            for id in asked {
                let (status, _) = wire.call("POST", &format!("/v1/questions/{id}/reply"), REPLY).await?;
                if status != 200 {
                    return Err(format!("a reply answered {status}").into());
                }
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok((asks, total as f64 / began.elapsed().as_secs_f64()))
}

//! Several servers and folders at one hub, and servers that the hub finds by itself.

use anyhow::{Result, ensure};
use askd_testkit::programs::OpencodeEnv;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Stage, id};

/// More folders than are listed as they are, and more sessions than are on a page of the server's list.
const FOLDERS: usize = 26;
const NEWER: usize = 104;

/// Two servers, two folders each, four questions: every answer goes to the one who asked.
pub async fn two_servers() -> Result<()> {
    let (stage, other) = (Stage::start().await?, Stage::apart().await?);
    let attach = json!({ "kind": "opencode", "url": other.url, "password": OpencodeEnv::PASSWORD });
    ensure!(stage.hub.http("POST", "/v1/sources", Some(&attach))?.0 == 201);
    found(&stage, &other.url, "connected").await?;
    for server in [&stage, &other] {
        server.prompt_in(&server.directory, "single").await?;
        server.prompt_in(&server.other, "single").await?;
    }
    let mut open = stage.open(4).await?;
    let folders: Vec<&str> = open.iter().filter_map(|question| question["context"]["cwd"].as_str()).collect();
    for folder in [&stage.directory, &stage.other, &other.directory, &other.other] {
        ensure!(folders.contains(&folder.as_str()), "{folder} is not among {folders:?}");
    }
    // The youngest first: nothing depends on the order.
    open.reverse();
    let of = |question: &Value, server: &Stage| {
        let cwd = question["context"]["cwd"].as_str().unwrap_or_default();
        cwd == server.directory || cwd == server.other
    };
    for question in &open {
        let word = if of(question, &other) { "Red" } else { "Green" };
        stage.answer(question, json!([[word]]))?;
        stage.confirmed(question).await?;
    }
    for (server, word) in [(&stage, "\"Green\""), (&other, "\"Red\"")] {
        let results = server.model.tool_results_seen(2, super::STEP).await?;
        ensure!(results.iter().all(|result| result.text.contains(word)), "{results:?}");
    }
    Ok(())
}

/// What waited before askd came is found in whatever folder it waits, also where the server has many sessions
/// and folders.
pub async fn many_folders() -> Result<()> {
    let stage = Stage::apart().await?;
    let session = stage.prompt("single").await?;
    stage.listed("/question").await?;
    let folder = |n: usize| stage.env.directory().with_file_name(format!("folder{n}"));
    for n in 0..FOLDERS {
        std::fs::create_dir(folder(n))?;
    }
    for n in 0..NEWER {
        stage.new_session_in(&folder(n % FOLDERS).to_string_lossy()).await?;
    }
    let newest = format!("/experimental/session?limit={NEWER}");
    let (_, newest) = stage.opencode_in("", Method::GET, &newest, None).await?;
    ensure!(newest.as_array().is_some_and(|newest| newest.len() == NEWER), "{newest}");
    ensure!(!newest.to_string().contains(&session), "it has to be an old one");
    stage.attach()?;
    let question = stage.open(1).await?.remove(0);
    ensure!(question["context"]["cwd"] == stage.directory.as_str(), "{question}");
    ensure!(stage.source_is("connected").await?["lastError"].is_null());
    stage.answer(&question, json!([["Green"]]))?;
    stage.confirmed(&question).await?;
    Ok(())
}

/// A server without a password is found, asks, is answered, and is told when it has gone.
pub async fn discovered() -> Result<()> {
    let mut stage = Stage::with(false, |hub| hub.env("ASKD_NO_DISCOVERY", "")).await?;
    let source = found(&stage, &stage.url, "connected").await?;
    ensure!(source["label"].as_str().is_some_and(|label| label.contains("(found, process ")), "{source}");
    let (_, question) = stage.ask("single").await?;
    stage.answer(&question, json!([["Green"]]))?;
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(1).await?.contains("\"Green\""));
    let (_, question) = stage.ask("single").await?;
    // The next hub knows it again, and does not find it twice.
    stage.hub.kill()?;
    stage.hub.restart()?;
    found(&stage, &stage.url, "connected").await?;
    ensure!(of_url(&stage, &stage.url)?.len() == 1, "found twice");
    stage.server = None;
    found(&stage, &stage.url, "ended").await?;
    let ended = stage.until(&question, "the end of its question", "/status", "cancelled").await?;
    ensure!(ended["outcome"]["cause"]["type"] == "sourceLost", "{ended}");
    Ok(())
}

/// A server with a password is shown as refusing, until its password is given, or its use was allowed.
pub async fn discovered_with_a_password() -> Result<()> {
    let stage = Stage::with(true, |hub| hub.env("ASKD_NO_DISCOVERY", "")).await?;
    let source = found(&stage, &stage.url, "lost").await?;
    ensure!(source["lastError"] == "the server refuses the user name or password", "{source}");
    stage.attach()?;
    found(&stage, &stage.url, "connected").await?;
    ensure!(id(&of_url(&stage, &stage.url)?[0]) != id(&source), "attached by hand is another source");

    let allowed = Stage::with(true, |hub| hub.env("ASKD_NO_DISCOVERY", "").arg("--discovery-passwords"));
    let allowed = allowed.await?;
    found(&allowed, &allowed.url, "connected").await?;
    let (_, sources) = allowed.hub.http("GET", "/v1/sources", None)?;
    let shown = format!("{sources}{}", allowed.hub.log());
    ensure!(!shown.contains(OpencodeEnv::PASSWORD), "the password is shown");
    // The other server runs as well, in another home.
    ensure!(sources["sources"].as_array().is_some_and(|found| found.len() == 1), "{sources}");

    // Switched off, nothing is found.
    let off = Stage::with(false, |hub| hub.env("ASKD_NO_DISCOVERY", "").arg("--no-discovery")).await?;
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    ensure!(off.hub.http("GET", "/v1/sources", None)?.1["sources"] == json!([]));
    Ok(())
}

/// The sources of a server.
fn of_url(stage: &Stage, url: &str) -> Result<Vec<Value>> {
    let (_, list) = stage.hub.http("GET", "/v1/sources", None)?;
    let of_url = |source: &&Value| {
        let label = source["label"].as_str().unwrap_or_default();
        label == url || label.starts_with(&format!("{url} "))
    };
    Ok(list["sources"].as_array().into_iter().flatten().filter(of_url).cloned().collect())
}

async fn found(stage: &Stage, url: &str, state: &str) -> Result<Value> {
    stage
        .eventually(&format!("{url} {state}"), || {
            Ok(of_url(stage, url)?.into_iter().next().filter(|source| source["state"] == state))
        })
        .await
}

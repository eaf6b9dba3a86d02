//! Connections that break, hang, or are not there yet: nothing is lost and nothing is asked twice.

use anyhow::{Result, ensure};
use reqwest::Method;
use serde_json::json;

use super::proxy::{Proxy, Wire};
use super::{Stage, id};

/// A wire that breaks while a question is open. What happened meanwhile is found when it is whole again.
pub async fn cut() -> Result<()> {
    let stage = Stage::apart().await?;
    let proxy = Proxy::start(&stage.url, Wire::Whole).await?;
    stage.attach_at(&proxy.url)?;
    stage.source_is("connected").await?;
    let (_, question) = stage.ask("single").await?;
    proxy.set(Wire::Cut);
    stage.source_is("lost").await?;
    // Answered while nothing can be brought: it arrives later.
    stage.answer(&question, json!([["Green"]]))?;
    stage.prompt_in(&stage.other, "single").await?;
    proxy.set(Wire::Whole);
    stage.source_is("connected").await?;
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(1).await?.contains("\"Green\""));
    let new = stage.open(1).await?.remove(0);
    ensure!(new["context"]["cwd"] == stage.other.as_str(), "what was asked meanwhile: {new}");

    proxy.set(Wire::Cut);
    stage.source_is("lost").await?;
    let (_, listed) = stage.opencode_in(&stage.other, Method::GET, "/question", None).await?;
    let path = format!("/question/{}/reply", id(&listed[0]));
    stage.opencode_in(&stage.other, Method::POST, &path, Some(json!({ "answers": [["Red"]] }))).await?;
    stage.last_result(2).await?;
    proxy.set(Wire::Whole);
    let answered = stage.until(&new, "what was answered there meanwhile", "/status", "answered").await?;
    ensure!(answered["outcome"]["answers"] == json!([["Red"]]), "{answered}");
    ensure!(answered["outcome"]["by"]["surface"] == "agent", "{answered}");
    Ok(())
}

/// A port that takes connections and answers none, as a server does that is just starting, and as one that hangs.
pub async fn silent() -> Result<()> {
    let stage = Stage::apart().await?;
    let proxy = Proxy::start(&stage.url, Wire::Silent).await?;
    stage.attach_at(&proxy.url)?;
    let lost = stage.source_is("lost").await?;
    ensure!(lost["lastError"].is_string(), "{lost}");
    proxy.set(Wire::Whole);
    stage.source_is("connected").await?;
    let (_, question) = stage.ask("single").await?;
    proxy.set(Wire::Silent);
    stage.source_is("lost").await?;
    stage.answer(&question, json!([["Green"]]))?;
    proxy.set(Wire::Whole);
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(1).await?.contains("\"Green\""));
    Ok(())
}

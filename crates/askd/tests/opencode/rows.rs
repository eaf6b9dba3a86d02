//! The rows of the server's own tables that the other tests do not come across: answers that do not fit,
//! several requests of one message, subagents, permissions that go with others, plans.

use anyhow::{Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Stage, id};

/// The server would take all of these; askd takes none but the one that says nothing.
pub async fn misfits() -> Result<()> {
    let stage = Stage::start().await?;
    let (session, question) = stage.ask("several").await?;
    for misfit in [
        json!({ "answers": [["Red"]] }),
        json!({ "answers": [["Red"], ["Red"], ["Red"]] }),
        json!({ "answers": [["Red", "Green"], ["Red"]] }),
        json!({ "answers": "Red" }),
        json!({}),
    ] {
        let (status, problem) = stage.settle(&question, "reply", &misfit)?;
        ensure!((400..=422).contains(&status), "{misfit}: {status} {problem}");
    }
    // What the user says meanwhile waits for the answer.
    stage.prompt_session_in(&stage.directory, &session, "bash").await?;
    stage.answer(&question, json!([[], ["Red"]]))?;
    stage.confirmed(&question).await?;
    let told = stage.last_result(1).await?;
    ensure!(told.contains(r#""Which colour?"="Unanswered", "Which sizes?"="Red""#), "{told}");
    let next = stage.open(1).await?.remove(0);
    ensure!(next["kind"] == "permission", "{next}");
    stage.answer(&next, json!([["once"]]))?;
    stage.confirmed(&next).await?;

    // An answer and a rejection at once: one of them.
    let (_, question) = stage.ask("single").await?;
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let (stage, question) = (&stage, &question);
        let settle = |verb, body| scope.spawn(move || stage.settle(question, verb, &body));
        let both = [settle("reply", json!({ "answers": [["Red"]] })), settle("reject", json!({}))];
        both.into_iter().filter_map(|one| one.join().ok()?.ok()).map(|(status, _)| status).collect()
    });
    statuses.sort_unstable();
    ensure!(statuses == [200, 409], "{statuses:?}");
    stage.confirmed(&question).await?;
    stage.nothing_listed("/question").await
}

/// Requests of one message: each has an end of its own, and the truth is told about every one.
pub async fn together() -> Result<()> {
    let stage = Stage::start().await?;
    stage.prompt("two-questions").await?;
    let both = stage.open(2).await?;
    ensure!(stage.settle(&both[0], "reject", &json!({}))?.0 == 200);
    stage.confirmed(&both[0]).await?;
    ensure!(id(&stage.open(1).await?[0]) == id(&both[1]), "the other one waits on");
    // OpenCode takes it into its history; its turn is over all the same.
    stage.answer(&both[1], json!([["Green"]]))?;
    stage.confirmed(&both[1]).await?;
    stage.nothing_listed("/question").await?;

    stage.prompt("question-and-bash").await?;
    let both = stage.open(2).await?;
    let (permission, question) = match both.iter().position(|each| each["kind"] == "permission") {
        Some(at) => (&both[at], &both[1 - at]),
        None => anyhow::bail!("no permission: {both:?}"),
    };
    ensure!(stage.settle(permission, "reject", &json!({ "mode": "interrupt" }))?.0 == 200);
    stage.confirmed(permission).await?;
    ensure!(id(&stage.open(1).await?[0]) == id(question), "the question waits on");
    stage.answer(question, json!([["Green"]]))?;
    stage.confirmed(question).await?;

    // What is allowed for good is allowed for the others that it fits, too.
    stage.prompt("two-echoes").await?;
    let both = stage.open(2).await?;
    stage.answer(&both[0], json!([["always"]]))?;
    stage.confirmed(&both[0]).await?;
    let other = stage.until(&both[1], "the other one allowed", "/status", "answered").await?;
    ensure!(other["outcome"]["by"]["surface"] == "agent", "{other}");
    stage.nothing_listed("/permission").await
}

/// The rejection of a subagent's question ends the subagent; its parent goes on. With the parent's turn its
/// question ends too.
pub async fn subagents() -> Result<()> {
    let stage = Stage::start().await?;
    let (_, question) = stage.ask("subagent").await?;
    ensure!(stage.settle(&question, "reject", &json!({}))?.0 == 200);
    stage.confirmed(&question).await?;
    let told = stage.last_result(1).await?;
    ensure!(told.contains("The user dismissed this question"), "the parent was told: {told}");

    let (parent, question) = stage.ask("subagent").await?;
    stage.opencode(Method::POST, &format!("/session/{parent}/abort"), None).await?;
    let ended = stage.until(&question, "the end with its parent", "/status", "cancelled").await?;
    ensure!(ended["outcome"]["cause"]["type"] == "turnAborted", "{ended}");
    ensure!(stage.settle(&question, "reply", &json!({ "answers": [["Red"]] }))?.0 == 409);
    stage.nothing_listed("/question").await
}

/// A plan waits for a yes; it is answered by its labels and by nothing else.
pub async fn plan() -> Result<()> {
    let stage = Stage::planning().await?;
    let session = stage.new_session_in(&stage.directory).await?;
    let prompt = json!({ "agent": "plan", "parts": [{ "type": "text", "text": "SCENARIO:plan go" }] });
    stage.opencode(Method::POST, &format!("/session/{session}/prompt_async"), Some(prompt)).await?;
    let question = stage.open(1).await?.remove(0);
    let item = &question["questions"][0];
    let labels: Vec<&Value> = item["options"].as_array().into_iter().flatten().map(|o| &o["label"]).collect();
    ensure!(labels == ["Yes", "No"] && item["custom"] == false, "{question}");
    ensure!(stage.settle(&question, "reply", &json!({ "answers": [["maybe"]] }))?.0 == 400);
    stage.answer(&question, json!([["Yes"]]))?;
    stage.confirmed(&question).await?;
    stage.nothing_listed("/question").await
}

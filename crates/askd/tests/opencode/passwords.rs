//! How the password of a server is given to askd, and that it is seen nowhere.

use std::path::Path;

use anyhow::{Result, ensure};
use askd_testkit::hub::run;
use askd_testkit::programs::OpencodeEnv;
use askd_testkit::terminal::Terminal;
use serde_json::json;

use super::{Stage, id};

/// One that does not fit, one by a variable, and addresses that are none.
pub async fn credentials() -> Result<()> {
    let stage = Stage::apart().await?;
    let attach = |password: &str| {
        let body = json!({ "kind": "opencode", "url": stage.url, "password": password });
        stage.hub.http("POST", "/v1/sources", Some(&body))
    };
    let (status, wrong) = attach("wrong-password")?;
    assert_eq!(status, 201);
    let lost = stage.source_is("lost").await?;
    assert_eq!(lost["lastError"], "the server refuses the user name or password");
    assert_eq!(attach("another-password")?.0, 400, "it has to be let go first");
    assert_eq!(stage.hub.http("DELETE", &format!("/v1/sources/{}", id(&wrong)), None)?.0, 204);
    stage.source_is("ended").await?;

    // By the command line, with the password where nobody else can read it.
    let mut command = stage.hub.command(["attach", "opencode", &stage.url, "--json"]);
    command.env("ASKD_SOURCE_PASSWORD", OpencodeEnv::PASSWORD);
    let ran = run(&mut command, "")?;
    assert_eq!((ran.code, &ran.json()?["state"]), (0, &json!("connected")), "{ran:?}");
    let (_, question) = stage.ask("single").await?;
    let source = ran.json()?["id"].as_str().unwrap_or_default().to_owned();
    stage.hub.http("DELETE", &format!("/v1/sources/{source}"), None)?;
    stage.until(&question, "detached", "/status", "cancelled").await?;
    ensure!(!stage.hub.log().contains("password\"") && !stage.hub.log().contains("dummy-password"));
    for (body, field) in [
        (json!({ "kind": "mock" }), "kind"),
        (json!({ "kind": "opencode", "url": "ftp://x" }), "url"),
        (json!({ "kind": "opencode", "url": "http://u:p@127.0.0.1:1" }), "url"),
    ] {
        let (status, problem) = stage.hub.http("POST", "/v1/sources", Some(&body))?;
        assert_eq!((status, &problem["errors"][0]["field"]), (400, &json!(field)), "{problem}");
    }
    Ok(())
}

/// By a pipe, and typed at the terminal, which shows nothing of it.
pub async fn given() -> Result<()> {
    let stage = Stage::apart().await?;
    let mut command = stage.hub.command(["attach", "opencode", &stage.url, "--password-stdin", "--json"]);
    let ran = run(&mut command, &format!("{}\n", OpencodeEnv::PASSWORD))?;
    ensure!(ran.code == 0 && ran.json()?["state"] == "connected", "{ran:?}");
    let source = ran.json()?;
    ensure!(stage.hub.http("DELETE", &format!("/v1/sources/{}", id(&source)), None)?.0 == 204);

    let terminal = Terminal::new();
    let variable = |name: &str| (name.to_owned(), std::env::var(name).unwrap_or_default());
    let mut env = vec![variable("PATH"), variable("HOME"), ("TERM".to_owned(), "xterm".to_owned())];
    env.push(("ASKD_ALLOW_INSIDE_AGENT".to_owned(), "1".to_owned()));
    let data = stage.hub.data.to_string_lossy();
    let args = ["--data", &data, "attach", "opencode", &stage.url];
    terminal.open(Path::new("/"), &env, Path::new(env!("CARGO_BIN_EXE_askd")), &args)?;
    let asks = || Ok(terminal.screen().contains("Password of the server").then_some(()));
    stage.eventually("that it is asked for", asks).await?;
    for key in OpencodeEnv::PASSWORD.chars() {
        terminal.key(&key.to_string())?;
    }
    ensure!(!terminal.screen().contains("dummy"), "{}", terminal.screen());
    terminal.key("Enter")?;
    stage
        .eventually("the source", || {
            let (_, list) = stage.hub.http("GET", "/v1/sources", None)?;
            let connected =
                list["sources"].as_array().into_iter().flatten().any(|s| s["state"] == "connected");
            Ok(connected.then_some(()))
        })
        .await?;
    ensure!(!stage.hub.log().contains(OpencodeEnv::PASSWORD), "the password is in the log");
    Ok(())
}

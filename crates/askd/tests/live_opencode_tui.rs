//! Real OpenCode in a real terminal, without a port, with askd's plugin and the scripted model: whoever
//! answers first, the inbox or the terminal, the model sees that answer, and the hub tells the truth about
//! it.

#[path = "live_opencode_tui/stage.rs"]
mod stage;

use std::os::unix::fs::PermissionsExt as _;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use askd_testkit::programs::OpencodeEnv;
use askd_testkit::programs::live::Live;
use serde_json::json;

use stage::{Stage, until};

/// What the dialog of a question shows, and nothing else does.
const DIALOG: &str = "esc dismiss";

fn main() -> ExitCode {
    Live::new()
        .test("inbox_wins", &["opencode"], inbox_wins)
        .test("terminal_wins", &["opencode"], terminal_wins)
        .test("escaped_in_the_terminal", &["opencode"], escaped)
        .test("rejected_in_the_inbox", &["opencode"], rejected)
        .test("permission_given_in_the_inbox", &["opencode"], permitted)
        .test("permission_refused_with_words", &["opencode"], refused)
        .test("permission_given_in_the_terminal", &["opencode"], permission_in_terminal)
        .test("hub_absent", &["opencode"], hub_absent)
        .test("hub_that_never_was", &["opencode"], hub_never_was)
        .test("hub_that_hangs", &["opencode"], hub_hangs)
        .test("hub_killed_while_it_asks", &["opencode"], hub_killed)
        .test("killed_while_it_asks", &["opencode"], killed)
        .test("terminal_closed_while_it_asks", &["opencode"], terminal_closed)
        .test("attached_by_its_port_too_and_aborted", &["opencode"], two_roads)
        .test("silent_in_askds_own_sessions", &["opencode"], silent)
        .test("uninstalled_after_use", &["opencode"], uninstalled)
        .run()
}

async fn inbox_wins() -> Result<()> {
    let stage = Stage::start("several").await?;
    let asked = stage.asked().await?;
    stage.shows("Which colour?").await?;
    ensure!(asked["context"]["cwd"] == stage.env.directory().to_string_lossy().as_ref(), "{asked}");
    ensure!(asked["questions"][1]["multiple"] == true && asked["tool"]["callId"].is_string(), "{asked}");
    let words = "my own \"words\",\nand more";
    let reply = json!({ "answers": [["Green"], ["Red", words]] });
    ensure!(stage.settle(&asked, "reply", &reply)? == 200);
    let seen = stage.model_saw(1).await?;
    let expected = format!("\"Which colour?\"=\"Green\", \"Which sizes?\"=\"Red, {words}\"");
    ensure!(seen.contains(&expected), "{seen}");
    stage.confirmed(&asked).await?;
    // Nobody has touched the keyboard.
    stage.gone(DIALOG).await?;
    stage.shows("Thank you.").await
}

async fn terminal_wins() -> Result<()> {
    let stage = Stage::start("single").await?;
    let asked = stage.asked().await?;
    ensure!(asked["context"]["excerpt"] == "One question.", "{asked}");
    stage.shows(DIALOG).await?;
    stage.key("2").await?;
    let settled = stage.becomes(&asked, "/status", "answered").await?;
    ensure!(settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    ensure!(askd_testkit::given(&settled["outcome"]["answers"]) == json!([["Green"]]), "{settled}");
    ensure!(settled["delivery"].is_null(), "{settled}");
    ensure!(stage.model_saw(1).await?.contains("\"Which colour?\"=\"Green\""));
    ensure!(stage.settle(&asked, "reply", &json!({ "answers": [["Red"]] }))? == 409);
    stage.shows("Thank you.").await
}

async fn escaped() -> Result<()> {
    let stage = Stage::start("single").await?;
    let asked = stage.asked().await?;
    stage.shows(DIALOG).await?;
    stage.key("Escape").await?;
    let settled = stage.becomes(&asked, "/status", "rejected").await?;
    ensure!(settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    stage.gone(DIALOG).await
}

async fn rejected() -> Result<()> {
    let stage = Stage::start("single").await?;
    let asked = stage.asked().await?;
    stage.shows(DIALOG).await?;
    ensure!(stage.settle(&asked, "reject", &json!({ "mode": "interrupt" }))? == 200);
    stage.confirmed(&asked).await?;
    stage.gone(DIALOG).await?;
    ensure!(stage.model.tool_results().is_empty(), "the turn went on");
    Ok(())
}

async fn permitted() -> Result<()> {
    let stage = Stage::start("bash").await?;
    let asked = stage.asked().await?;
    ensure!(asked["kind"] == "permission" && asked["body"]["text"] == "echo hi-there", "{asked}");
    stage.shows("Permission required").await?;
    ensure!(stage.settle(&asked, "reply", &json!({ "answers": [["once"]] }))? == 200);
    ensure!(stage.model_saw(1).await?.contains("hi-there"));
    stage.confirmed(&asked).await?;
    stage.gone("Permission required").await
}

async fn refused() -> Result<()> {
    let stage = Stage::start("bash").await?;
    let asked = stage.asked().await?;
    let decline = json!({ "mode": "decline", "reason": "use printf instead" });
    ensure!(stage.settle(&asked, "reject", &decline)? == 200);
    ensure!(stage.model_saw(1).await?.contains("use printf instead"));
    stage.confirmed(&asked).await?;
    stage.shows("Thank you.").await
}

async fn permission_in_terminal() -> Result<()> {
    let stage = Stage::start("bash").await?;
    let asked = stage.asked().await?;
    stage.shows("Permission required").await?;
    stage.key("Enter").await?;
    let settled = stage.becomes(&asked, "/status", "answered").await?;
    ensure!(askd_testkit::given(&settled["outcome"]["answers"]) == json!([["once"]]), "{settled}");
    ensure!(settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    ensure!(stage.model_saw(1).await?.contains("hi-there"));
    Ok(())
}

async fn hub_absent() -> Result<()> {
    let mut stage = Stage::prepare().await?;
    stage.install()?;
    stage.hub.kill()?;
    stage.open_terminal("single", &[], &[])?;
    stage.shows(DIALOG).await?;
    stage.key("1").await?;
    ensure!(stage.model_saw(1).await?.contains("\"Which colour?\"=\"Red\""));
    stage.shows("Thank you.").await
}

async fn hub_never_was() -> Result<()> {
    let mut stage = Stage::prepare().await?;
    stage.install()?;
    stage.hub.kill()?;
    std::fs::remove_dir_all(&stage.hub.data)?;
    stage.open_terminal("single", &[], &[])?;
    stage.shows(DIALOG).await?;
    stage.key("2").await?;
    ensure!(stage.model_saw(1).await?.contains("\"Which colour?\"=\"Green\""));
    Ok(())
}

async fn hub_hangs() -> Result<()> {
    let mut stage = Stage::prepare().await?;
    stage.install()?;
    stage.hub.kill()?;
    // It takes connections and never answers.
    let path = stage.hub.data.join("hub.sock");
    std::fs::remove_file(&path)?;
    let hung = std::os::unix::net::UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    // And something listens where the killed hub's port was.
    let thief = std::net::TcpListener::bind("127.0.0.1:0")?;
    let hub = json!({ "url": format!("http://{}", thief.local_addr()?), "pid": std::process::id(), "version": "0" });
    std::fs::write(stage.hub.data.join("hub.json"), hub.to_string())?;
    stage.open_terminal("single", &[], &[])?;
    stage.shows(DIALOG).await?;
    stage.key("1").await?;
    ensure!(stage.model_saw(1).await?.contains("\"Which colour?\"=\"Red\""));
    stage.shows("Thank you.").await?;
    hung.set_nonblocking(true)?;
    ensure!(hung.accept().is_ok(), "the plugin has not tried it");
    thief.set_nonblocking(true)?;
    ensure!(thief.accept().is_err(), "the plugin has tried a port");
    Ok(())
}

async fn hub_killed() -> Result<()> {
    let mut stage = Stage::start("single").await?;
    let asked = stage.asked().await?;
    stage.hub.kill()?;
    stage.shows(DIALOG).await?;
    stage.hub.restart_elsewhere()?;
    ensure!(stage.asked().await?["id"] == asked["id"], "it is another question now");
    ensure!(stage.settle(&asked, "reply", &json!({ "answers": [["Green"]] }))? == 200);
    ensure!(stage.model_saw(1).await?.contains("\"Which colour?\"=\"Green\""));
    stage.confirmed(&asked).await?;
    stage.gone(DIALOG).await?;
    ensure!(stage.sources()?.len() == 1, "{:?}", stage.sources());
    Ok(())
}

async fn killed() -> Result<()> {
    let stage = Stage::start("single").await?;
    let asked = stage.asked().await?;
    stage.shows(DIALOG).await?;
    let pid = stage.terminal_pid()?;
    askd_testkit::hub::signal(pid, "KILL")?;
    let ended = stage.becomes(&asked, "/status", "cancelled").await?;
    ensure!(ended["outcome"]["cause"]["type"] == "agentExited", "{ended}");
    ensure!(stage.settle(&asked, "reply", &json!({ "answers": [["Red"]] }))? == 409);
    source_ends(&stage).await
}

async fn source_ends(stage: &Stage) -> Result<()> {
    let ended = || Ok(stage.sources()?.iter().all(|source| source["state"] == "ended").then_some(()));
    until("the end of the source", ended).await
}

async fn terminal_closed() -> Result<()> {
    let stage = Stage::start("single").await?;
    let asked = stage.asked().await?;
    stage.shows(DIALOG).await?;
    stage.close_terminal()?;
    let ended = stage.becomes(&asked, "/status", "cancelled").await?;
    ensure!(ended["outcome"]["cause"]["type"] == "sessionEnded", "{ended}");
    source_ends(&stage).await
}

async fn two_roads() -> Result<()> {
    let stage = Stage::prepare().await?;
    stage.install()?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    stage.open_terminal("single", &[], &["--port", &port.to_string()])?;
    let url = format!("http://127.0.0.1:{port}");
    let attach = json!({ "kind": "opencode", "url": url, "password": OpencodeEnv::PASSWORD });
    let (status, source) = stage.hub.http("POST", "/v1/sources", Some(&attach))?;
    ensure!(status == 201, "{source}");
    until("both roads", || {
        let sources = stage.sources()?;
        let connected = |kind: &str| {
            sources.iter().any(|source| source["kind"] == kind && source["state"] == "connected")
        };
        Ok((connected("plugin") && connected("opencode")).then_some(()))
    })
    .await?;
    let asked = stage.asked().await?;
    stage.shows(DIALOG).await?;
    // An aborted turn leaves the dialog on the screen; askd takes it away.
    let session = stage.native_session(&asked)?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let abort = client
        .post(format!("{url}/session/{session}/abort"))
        .query(&[("directory", stage.env.directory().to_string_lossy())])
        .basic_auth(OpencodeEnv::USER, Some(OpencodeEnv::PASSWORD));
    ensure!(abort.send().await?.status() == 200);
    let ended = stage.becomes(&asked, "/status", "cancelled").await?;
    ensure!(ended["outcome"]["cause"]["type"] == "turnAborted", "{ended}");
    stage.gone(DIALOG).await?;
    ensure!(stage.questions("")?.len() == 1, "{:?}", stage.questions(""));
    let (_, sessions) = stage.hub.http("GET", "/v1/sessions", None)?;
    ensure!(sessions["sessions"].as_array().map(Vec::len) == Some(1), "{sessions}");
    Ok(())
}

async fn silent() -> Result<()> {
    let stage = Stage::prepare().await?;
    stage.install()?;
    stage.open_terminal("single", &[("ASKD_SESSION", "ses_x")], &[])?;
    stage.shows(DIALOG).await?;
    stage.key("1").await?;
    stage.model_saw(1).await?;
    stage.shows("Thank you.").await?;
    ensure!(stage.questions("")?.is_empty() && stage.sources()?.is_empty(), "{:?}", stage.sources());
    Ok(())
}

async fn uninstalled() -> Result<()> {
    let stage = Stage::prepare().await?;
    let shown = stage.askd(&["install", "opencode", "--dry-run"])?;
    ensure!(shown.stdout.contains("plugins/askd.js") && !stage.config().exists(), "{shown:?}");
    stage.install()?;
    stage.open_terminal("single", &[], &[])?;
    let asked = stage.asked().await?;
    stage.settle(&asked, "reply", &json!({ "answers": [["Red"]] }))?;
    stage.confirmed(&asked).await?;
    stage.close_terminal()?;
    let ran = stage.askd(&["uninstall", "opencode"])?;
    ensure!(ran.code == 0, "{ran:?}");
    // What OpenCode itself wrote there is its own.
    for ours in ["plugins", "node_modules", "package-lock.json", "package.json"] {
        ensure!(!stage.config().join(ours).exists(), "{ours} is still there: {ran:?}");
    }
    Ok(())
}

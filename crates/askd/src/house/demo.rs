//! `askd demo`: the whole loop in one command, on a throw-away store, with the mock agent and no keys.
//!
//! In: nothing. Out: the address, how to answer from elsewhere, what the agent says and what it received.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use anyhow::Context;

use askd_core::Rights;
use serde_json::json;

use super::up::{all_ended, eprint, say};
use super::{House, HubOptions, asked_to_stop};
use crate::dispatch::GUARD;
use crate::up_options::DemoOptions;
use askd_cli::client::{Client, Where, discover};
use askd_cli::conversation;
use askd_data::{DEFAULT_PORT, DataFolder};
use askd_hub::{Caller, EngineSettings, StartRequest};
use askd_server::Doors;

/// The throw-away agent of a killed demo ends soon.
const LINGER: Duration = Duration::from_secs(60);

pub async fn demo(options: DemoOptions) -> anyhow::Result<()> {
    let stop = asked_to_stop()?;
    // Ctrl-\ too: a prompt changes the terminal back only if it is ended.
    let mut quit = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::quit())?;
    let private = std::fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix("askd-demo-").permissions(private).tempdir();
    let folder = folder.context("cannot make a throw-away folder")?;
    let house = start(options.listen, folder.path()).await?;
    let link = house.login_link()?;
    say(&if options.json {
        json!({ "url": house.url, "loginLink": link }).to_string()
    } else {
        format!("inbox: {link}")
    })?;
    eprint("a scripted agent asks five questions; answer there, here, or from another terminal:");
    eprint(&format!("  export ASKD_DATA={}", folder.path().display()));
    eprint("  askd list; askd answer --oldest");
    eprint(&format!(
        "  curl -H \"Authorization: Bearer $(cat $ASKD_DATA/token)\" {}/v1/questions",
        house.url
    ));
    let result = tokio::select! {
        () = stop => Ok(()),
        _ = quit.recv() => Ok(()),
        result = converse(&house, folder.path(), options.inline, options.json) => result,
    };
    let left = house.hub.connections.end_all().await?;
    house.stop().await?;
    all_ended(&left)?;
    result
}

/// On the usual port if it is free, so that people learn one address.
async fn start(listen: Option<SocketAddr>, folder: &std::path::Path) -> anyhow::Result<House> {
    let options = |listen| HubOptions {
        data: DataFolder::at(folder),
        listen,
        doors: Doors::default(),
        beyond_loopback: false,
        settings: EngineSettings::default(),
        agents: Vec::new(),
        linger: LINGER,
        observe: None,
        claude_folders: Vec::new(),
        discovery: None,
    };
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT));
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listen = match listen {
        Some(listen) => listen,
        None if tokio::net::TcpListener::bind(usual).await.is_ok() => usual,
        None => any,
    };
    House::start(options(listen)).await
}

async fn converse(house: &House, folder: &std::path::Path, inline: bool, json: bool) -> anyhow::Result<()> {
    let owner = house.hub.access.make_own_token("demo", Rights::all()).await?;
    let caller = Caller { token: owner.record, surface: askd_core::Surface::Terminal };
    let request = StartRequest {
        agent: "mock".to_owned(),
        cwd: Some(folder.to_owned()),
        prompt: Some("demo".to_owned()),
        ..StartRequest::default()
    };
    let session = house.hub.connections.start(&caller, request).await?;
    let found =
        discover(&Where { url: None, token: Some(owner.token), data: Some(house.data.path().to_owned()) })?;
    let client = Client::new(&found, "terminal")?;
    // A prompt hears Ctrl-C too, and leaving the demo in the middle of a question is no error.
    if !conversation::follow_turn(&client, &session, inline, json, GUARD).await? {
        return Ok(());
    }
    eprint("the agent is done; the inbox stays open until Ctrl-C");
    eprint(
        "next, with your own agents: askd up, then askd install claude or askd run claude --prompt \"...\"",
    );
    std::future::pending().await
}

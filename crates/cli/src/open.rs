//! `askd open`: the web inbox, by a log-in link for one use.

use std::process::Stdio;
use std::time::Duration;

use clap::Args;

use super::exit::Outcome;
use super::inside_agent::Guard;
use super::screen::{Screen, say};
use super::text::one_line;
use crate::client::Client;

/// An opener that fails does so at once; one that still runs shows the page, and ends with the browser.
const OPENS_WITHIN: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Print the link instead of opening it
    #[arg(long)]
    print: bool,
}

pub async fn open(args: OpenArgs, client: &Client, screen: Screen, guard: Guard) -> Outcome {
    // The link's owner can answer.
    guard.refuse_inside_agent("make a log-in link")?;
    let link = client.login_code().await?;
    if screen.json {
        return Ok(screen.json(&link.json)?);
    }
    let url = one_line(&link.value.url);
    if args.print {
        screen.line(&url)?;
        if let Some(expires) = link.value.expires_at {
            say(&format!("The link works once, until {expires}."));
        }
        return Ok(());
    }
    if open_in_browser(&url).await {
        let inbox = url.split("/#").next().unwrap_or_default();
        say(&format!("Opened the inbox {inbox} in your browser."));
    } else {
        say("No browser could be opened here. Open this link, which works once:");
        screen.line(&url)?;
    }
    Ok(())
}

async fn open_in_browser(url: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = tokio::process::Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A group of its own: Ctrl-C here does not end a browser that it started.
    let Ok(mut opener) = command.process_group(0).spawn() else { return false };
    match tokio::time::timeout(OPENS_WITHIN, opener.wait()).await {
        Ok(status) => status.is_ok_and(|status| status.success()),
        // It runs on as the browser itself.
        Err(_) => true,
    }
}

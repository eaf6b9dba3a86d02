//! `askd doctor`: what is found and reachable, what is not, and what to do about it.
//!
//! In: the data folder and the hub's public API. Out: checks, with remedies; exit code 0 if the inbox is
//! usable. It changes nothing.

use askd_core::Session;
use askd_core::session::ActivityState;
use askd_holder::process::in_container;
use serde_json::json;

use super::doctor_claude;
use super::doctor_folder::{self, Check, State};
use askd_cli::client::{Client, ClientError, Found, Road, Where, discover};
use askd_cli::exit::{Exit, Failure, Outcome};
use askd_cli::inside_agent::Guard;
use askd_cli::screen::{Paint, Screen};
use askd_cli::text::{one_line, width};
use askd_data::DataFolder;
use askd_wire::api::HeldAgent;

pub(super) async fn doctor(given: &Where, screen: Screen, guard: Guard) -> Outcome {
    let mut checks = vec![Check::ok("askd", format!("version {}", env!("CARGO_PKG_VERSION")))];
    let failed = examine(given, &mut checks).await;
    checks.extend(doctor_claude::settings(given.data.as_deref()));
    checks.push(match guard.refuse_inside_agent("answer") {
        Ok(()) => Check::ok("answering here", "possible: no agent is above this process"),
        Err(refused) => Check::warn("answering here", refused.message, ""),
    });
    if screen.json {
        let list: Vec<_> = checks
            .iter()
            .map(|check| json!({ "name": check.name, "state": check.state.as_str(), "detail": check.detail, "remedy": check.remedy }))
            .collect();
        screen.json(&json!({ "usable": failed.is_none(), "checks": list }))?;
    } else {
        screen.line(&report(&checks, screen.paint))?;
    }
    match failed {
        None => Ok(()),
        Some(exit) => Err(Failure::new(exit, "")),
    }
}

/// Runs all checks; returns the exit code if the inbox cannot be used.
async fn examine(given: &Where, checks: &mut Vec<Check>) -> Option<Exit> {
    let folder = given.data.clone().map(DataFolder::at).or_else(DataFolder::from_environment);
    if let Some(folder) = &folder {
        checks.extend(doctor_folder::examine(folder));
        checks.extend(doctor_folder::missed(folder));
        checks.extend(doctor_folder::on_the_port(folder));
        checks.extend(doctor_claude::folders(folder));
    }
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let has_socket = folder.as_ref().is_some_and(|folder| folder.socket().exists());
    let url = set("ASKD_URL");
    checks.extend(doctor_claude::reach(
        url.as_deref(),
        set("ASKD_TOKEN").is_some(),
        in_container(),
        has_socket,
    ));
    let found = match discover(given) {
        Ok(found) => found,
        Err(error) => {
            // Mostly it is said above, with its remedy.
            if checks.iter().all(|check| check.state != State::Fail) {
                checks.push(Check::fail("data folder", error.to_string(), ""));
            }
            return Some(Exit::Error);
        }
    };
    let client = match Client::new(&found, "cli") {
        Ok(client) => client,
        Err(error) => {
            checks.push(Check::fail("hub", error.to_string(), "give a usable address with --url"));
            return Some(Exit::Usage);
        }
    };
    if let Some(exit) = hub(&client, &found, checks).await {
        checks.extend(found.folder.iter().flat_map(doctor_folder::holders));
        return Some(exit);
    }
    if let Some(exit) = token(&client, &found, checks).await {
        return Some(exit);
    }
    places(&client, checks).await;
    None
}

async fn hub(client: &Client, found: &Found, checks: &mut Vec<Check>) -> Option<Exit> {
    let place = match (&found.road, &found.hub) {
        (Road::Socket(_), Some((hub, true))) => format!("{}, its page at {}", found.road, one_line(&hub.url)),
        (Road::Socket(_), _) => found.road.to_string(),
        (Road::Address(_), _) => format!("{} (from {})", found.road, found.road_from),
    };
    let health = match client.health().await {
        Ok(health) => health.value,
        Err(error @ ClientError::NotRunning { .. }) => {
            let left = found.hub.as_ref().map(|(hub, runs)| match runs {
                true => format!(
                    "; process {} runs and should be it: an askd before the socket must be started anew",
                    hub.pid
                ),
                false => format!("; the last one was process {} at {} and has ended", hub.pid, hub.url),
            });
            checks.push(Check::fail(
                "hub",
                format!("does not run at {place}{}", left.unwrap_or_default()),
                "start it with: askd up",
            ));
            return Some(Failure::from(error).exit);
        }
        Err(error) => {
            checks.push(Check::fail(
                "hub",
                error.to_string(),
                "see the hub's log, or whether another program has the port",
            ));
            return Some(Exit::Error);
        }
    };
    if health.status != "ok" {
        let detail = health.detail.as_deref().map(one_line).unwrap_or_default();
        checks.push(Check::fail(
            "hub",
            format!("runs at {place} but is {} {detail}", one_line(&health.status)),
            "see the hub's log and the disk",
        ));
        return Some(Exit::Error);
    }
    checks.push(Check::ok("hub", format!("healthy at {place}")));
    let version = health.version.as_deref().map(one_line).unwrap_or_default();
    if version == env!("CARGO_PKG_VERSION") {
        checks.push(Check::ok("version", "the hub and this command are the same"));
    } else {
        checks.push(Check::warn("version", format!("the hub is {version}"), "restart the hub with: askd up"));
    }
    None
}

async fn token(client: &Client, found: &Found, checks: &mut Vec<Check>) -> Option<Exit> {
    let from = match found.need_token() {
        Ok((_, from)) => from,
        Err(error) => {
            checks.push(Check::fail("token", error.to_string(), "give one with --token or ASKD_TOKEN"));
            return Some(Exit::Refused);
        }
    };
    let query = askd_cli::client::ListQuery {
        filter: askd_cli::client::Filter { status: Some(askd_core::Status::Requested), ..Default::default() },
        oldest_first: true,
        cursor: None,
        limit: Some(1),
    };
    match client.questions(&query).await {
        Ok(list) => {
            checks.push(Check::ok("token", format!("accepted (from {from})")));
            let waits = list.value.questions.first().map(|question| askd_cli::when::ago(question.created_at));
            checks.push(match waits {
                Some(since) => {
                    Check::ok("questions", format!("open, the oldest was asked {since}; see: askd list"))
                }
                None => Check::ok("questions", "none is open"),
            });
            None
        }
        Err(error) => {
            let remedy = "give a token with the right answer, or use that of the data folder";
            checks.push(Check::fail("token", error.to_string(), remedy));
            Some(Failure::from(error).exit)
        }
    }
}

/// Agents, sources and sessions: what is attached. None of it is needed for the inbox to work.
async fn places(client: &Client, checks: &mut Vec<Check>) {
    match client.agents().await {
        Ok(agents) => {
            checks.extend(doctor_folder::agents(&agents.value));
            checks.extend(doctor_claude::roads(&agents.value));
        }
        Err(error) if error.problem().is_some_and(|problem| problem.status == 404) => {
            checks.push(Check::ok("agents", "this hub lists none; programs can ask through the API"));
        }
        Err(error) => checks.push(Check::warn("agents", error.to_string(), "")),
    }
    match client.sources().await {
        Ok(sources) => {
            if sources.is_empty() {
                checks.push(Check::ok("sources", "none is attached"));
            }
            for source in &sources {
                let name = format!("source {}", one_line(&source.agent));
                let place = format!("{} {}", one_line(&source.kind), one_line(&source.label));
                checks.push(match (source.state, &source.last_error) {
                    (askd_core::SourceState::Connected, None) => {
                        Check::ok(name, format!("connected: {place}"))
                    }
                    // It is heard, but not as well as it could be.
                    (askd_core::SourceState::Connected, Some(why)) => {
                        Check::warn(name, format!("connected: {place}; {}", one_line(why)), "")
                    }
                    (askd_core::SourceState::Ended, _) => continue,
                    (_, error) => {
                        let why = error.as_deref().map(one_line).unwrap_or_default();
                        Check::warn(
                            name,
                            format!("not reached: {place} {why}"),
                            "askd tries again by itself; see whether it runs",
                        )
                    }
                });
            }
        }
        Err(error) => checks.push(Check::warn("sources", error.to_string(), "")),
    }
    match client.live_sessions().await {
        Ok(live) => {
            let managed = live.iter().filter(|session| session.managed).count();
            let detail =
                format!("{} live, {managed} of them started by askd{}", live.len(), activities(&live));
            checks.push(Check::ok("sessions", detail));
        }
        Err(error) => checks.push(Check::warn("sessions", error.to_string(), "")),
    }
    match client.holders().await {
        Ok(holders) => checks.extend(holders.iter().map(holder)),
        Err(error) => checks.push(Check::warn("holders", error.to_string(), "")),
    }
}

/// The activities of agents in terminals, by their own report.
fn activities(live: &[Session]) -> String {
    let count = |state: ActivityState| {
        live.iter()
            .filter(|session| session.activity.as_ref().is_some_and(|activity| activity.state == state))
            .count()
    };
    let states = [
        (ActivityState::Working, "working"),
        (ActivityState::Idle, "idle"),
        (ActivityState::Waiting, "waiting in its terminal"),
    ];
    let told = states.map(|(state, word)| (count(state), word)).into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, word)| format!("{count} {word}")).collect();
    if told.is_empty() { String::new() } else { format!("; in terminals: {}", told.join(", ")) }
}

fn holder(held: &HeldAgent) -> Check {
    let name = format!("holder {}", one_line(&held.agent));
    let pid = |pid: Option<i32>| pid.map_or_else(|| "none".to_owned(), |pid| pid.to_string());
    let detail =
        format!("{}: holder {}, agent {}", held.session_id, pid(held.holder_pid), pid(held.agent_pid));
    if held.alive {
        return Check::ok(name, detail);
    }
    Check::warn(name, format!("gone: {detail}"), "its questions are cancelled when the hub has noticed")
}

fn report(checks: &[Check], paint: Paint) -> String {
    let column = checks.iter().map(|check| width(&check.name)).max().unwrap_or(0);
    let mut out = String::new();
    for check in checks {
        let mark = match check.state {
            State::Ok => paint.green("ok  "),
            State::Info => paint.dim("--  "),
            State::Warn => paint.yellow("warn"),
            State::Fail => paint.red("FAIL"),
        };
        let space = " ".repeat(column - width(&check.name));
        out.push_str(&format!("{mark}  {}{space}  {}\n", check.name, check.detail));
        if !check.remedy.is_empty() {
            out.push_str(&format!("      {}  -> {}\n", " ".repeat(column), check.remedy));
        }
    }
    out
}

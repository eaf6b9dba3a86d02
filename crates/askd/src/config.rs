//! `askd config`: the settings that hold for this user, and where each comes from.

use serde_json::{Value, json};

use askd_cli::exit::Outcome;
use askd_cli::one_line;
use askd_cli::screen::Screen;
use askd_cli::table::{Fit, table};
use askd_data::{Config, DataFolder, Origin, Setting};

pub(super) fn config(config: &Config, screen: Screen) -> Outcome {
    let rows = rows(config);
    let file = config.path.as_ref().map(|path| path.display().to_string());
    let is_there = config.path.as_ref().is_some_and(|path| path.exists());
    if screen.json {
        let values: Vec<Value> = rows
            .iter()
            .map(|(key, value, from)| json!({ "key": key, "value": value, "from": origin(*from), "line": line(*from) }))
            .collect();
        return Ok(screen.json(&json!({ "file": file, "exists": is_there, "values": values }))?);
    }
    let file = file.unwrap_or_else(|| "no folder for it is known; set ASKD_CONFIG".to_owned());
    let note = if is_there { "" } else { " (not there: all is as askd comes)" };
    screen.line(&format!("{}{note}\n", one_line(&file)))?;
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(key, value, from)| {
            let value = match value {
                Value::String(text) => one_line(text),
                Value::Null => "-".to_owned(),
                value => one_line(&value.to_string()),
            };
            let from = line(*from).map_or_else(|| origin(*from), |line| format!("line {line}"));
            vec![one_line(key), value, from]
        })
        .collect();
    let columns = [("KEY", Fit::Whole), ("VALUE", Fit::End), ("FROM", Fit::Whole)];
    Ok(screen.line(&table(&columns, &rows, screen.width, screen.paint))?)
}

fn origin(from: Origin) -> String {
    match from {
        Origin::Default => "default".to_owned(),
        Origin::Line(_) => "file".to_owned(),
        Origin::Variable(name) => name.to_owned(),
    }
}

fn line(from: Origin) -> Option<usize> {
    match from {
        Origin::Line(line) => Some(line),
        _ => None,
    }
}

fn rows(config: &Config) -> Vec<(String, Value, Origin)> {
    fn row<T>(key: &str, setting: &Setting<T>, value: impl FnOnce(&T) -> Value) -> (String, Value, Origin) {
        (key.to_owned(), value(&setting.value), setting.from)
    }
    let usual = DataFolder::usual().map(|folder| folder.path().to_owned());
    let data = config.data.value.as_ref().or(usual.as_ref());
    let mut rows = vec![
        row("listen", &config.listen, |listen| json!(listen.to_string())),
        row("data", &config.data, |_| json!(data.map(|path| path.display().to_string()))),
        row("allow-hosts", &config.allow_hosts, |hosts| json!(hosts)),
        row("allow-origins", &config.allow_origins, |origins| json!(origins)),
        row("expose-beyond-loopback", &config.expose_beyond_loopback, |yes| json!(yes)),
        row("keep-days", &config.keep_days, |days| json!(days)),
        row("end-agents", &config.end_agents, |yes| json!(yes)),
        row("observe", &config.observe, |yes| json!(yes)),
        row("discovery.enabled", &config.discovery, |yes| json!(yes)),
        row("discovery.passwords", &config.discovery_passwords, |yes| json!(yes)),
    ];
    for agent in &config.agents {
        rows.push(row(&format!("agents.{}", agent.value.name), agent, |agent| json!(agent.command)));
    }
    rows
}

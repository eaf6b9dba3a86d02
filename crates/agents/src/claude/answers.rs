//! Several picks as one text, the way Claude Code writes and reads them.
//!
//! The rule: a label that contains `, ` or `"` is written as JSON, then all are joined by `, `. One pick
//! alone is written as it is, because an exact label is looked for first and own words must arrive as they
//! were typed.

use askd_core::Item;
use serde_json::Value;

const JOINER: &str = ", ";

pub(crate) fn join(picks: &[String]) -> String {
    match picks {
        [only] => only.clone(),
        several => several.iter().map(|pick| quoted(pick)).collect::<Vec<_>>().join(JOINER),
    }
}

/// One pick among several.
pub(crate) fn quoted(pick: &str) -> String {
    if pick.contains(JOINER) || pick.contains('"') { Value::from(pick).to_string() } else { pick.to_owned() }
}

/// The picks of one item in the agent's report.
pub(crate) fn split(value: &Value, item: &Item) -> Vec<String> {
    match value {
        Value::Array(picks) => picks.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => split_text(text, item),
        _ => Vec::new(),
    }
}

fn split_text(text: &str, item: &Item) -> Vec<String> {
    let exact = item.options.iter().any(|option| option.value == text);
    if exact || !item.multiple {
        return vec![text.to_owned()];
    }
    let mut picks = Vec::new();
    let mut rest = text;
    loop {
        let (pick, after) = first(rest, item);
        picks.push(pick);
        match after.strip_prefix(JOINER) {
            Some(next) => rest = next,
            None => return picks,
        }
    }
}

/// The first pick: a label, JSON text, or own words up to the next known pick.
fn first<'a>(rest: &'a str, item: &Item) -> (String, &'a str) {
    known(rest, item).unwrap_or_else(|| {
        let joints = rest.match_indices(JOINER).map(|(at, _)| at);
        let end = joints.into_iter().find(|at| known(&rest[at + JOINER.len()..], item).is_some());
        let (words, after) = rest.split_at(end.unwrap_or(rest.len()));
        (words.to_owned(), after)
    })
}

/// A whole label (before 2.1.235 the agent's own screen did not quote), or JSON text.
fn known<'a>(rest: &'a str, item: &Item) -> Option<(String, &'a str)> {
    let ends = |after: &str| after.is_empty() || after.starts_with(JOINER);
    let labels = item.options.iter().map(|option| option.value.as_str());
    let label = labels.filter(|label| rest.strip_prefix(*label).is_some_and(ends)).max_by_key(|l| l.len());
    if let Some(label) = label {
        return Some((label.to_owned(), &rest[label.len()..]));
    }
    let mut json = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let text = json.next()?.ok()?;
    let after = rest.get(json.byte_offset()..).filter(|after| ends(after))?;
    Some((text, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::draft;

    fn item(labels: &[&str]) -> Item {
        let mut item = draft::item("Which?".to_owned());
        item.multiple = true;
        item.options = labels.iter().map(|label| draft::choice(label, label)).collect();
        item
    }

    #[test]
    fn picks_survive_being_joined_and_split() {
        let item = item(&["Logging", "Metrics, traces", "say \"hi\"", "Alerts", "日本, 語", "a\nb"]);
        for picks in [
            vec!["Logging", "Alerts"],
            vec!["Metrics, traces"],
            vec!["Logging", "Metrics, traces", "say \"hi\""],
            vec!["日本, 語", "a\nb"],
            vec!["Logging", "own words, with a comma"],
        ] {
            let picks: Vec<String> = picks.into_iter().map(str::to_owned).collect();
            assert_eq!(split(&Value::from(join(&picks)), &item), picks);
        }
    }

    #[test]
    fn the_form_is_the_one_that_the_agent_recognises() {
        let picks = ["Logging", "Metrics, traces", "say \"hi\""].map(str::to_owned);
        assert_eq!(join(&picks), r#"Logging, "Metrics, traces", "say \"hi\"""#);
        assert_eq!(join(&picks[1..2]), "Metrics, traces");
    }

    #[test]
    fn an_unquoted_label_with_a_comma_is_still_one_pick() {
        let item = item(&["Logging", "Metrics, traces"]);
        assert_eq!(split(&Value::from("Metrics, traces, Logging"), &item), ["Metrics, traces", "Logging"]);
        assert_eq!(split(&serde_json::json!(["Logging", "x"]), &item), ["Logging", "x"]);
        assert_eq!(split(&Value::from("Logging, own, words"), &item), ["Logging", "own, words"]);
        assert_eq!(split(&Value::from("own, words, Logging"), &item), ["own, words", "Logging"]);
    }
}

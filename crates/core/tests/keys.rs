//! The table of what a key does, which the page and the widget run as well: the rows that hold for the
//! terminal.

#![expect(clippy::panic, reason = "a failure here is a failed test")]

use std::time::Duration;

use askd_core::keys::{APPEARED, Effect, Key, PLAN_SEEN, Sight, State, effect};
use serde_json::Value;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/keys.json");

fn state(name: &str) -> State {
    match name {
        "open" | "partial" | "asked" => State::Open,
        "skipping" => State::Skipping,
        "picked" => State::Picked,
        "review" => State::Review,
        "refusing" => State::Refusing,
        "sending" => State::Sending,
        "lost" => State::Lost,
        other => panic!("the terminal knows no state {other}"),
    }
}

fn key(name: &str) -> Key {
    match name {
        "Enter" => Key::Enter,
        "held Enter" => Key::HeldEnter,
        "1" => Key::Option,
        "s" => Key::Skip,
        "x" => Key::Other,
        other => panic!("the terminal knows no key {other}"),
    }
}

fn sight(name: &str) -> Sight {
    match name {
        "unread" => Sight::Unread,
        "fits" => Sight::Fits,
        "read" => Sight::Read,
        other => panic!("a plan is not {other}"),
    }
}

fn name(effect: Effect) -> &'static str {
    match effect {
        Effect::Drop => "drop",
        Effect::None => "none",
        Effect::Pick => "pick",
        Effect::Say => "say",
        Effect::Send => "send",
        Effect::Refuse => "refuse",
    }
}

#[test]
fn every_row_of_the_table_holds_in_the_terminal() {
    let table: Value = serde_json::from_str(&std::fs::read_to_string(TABLE).unwrap()).unwrap();
    assert_eq!(table["settleMs"], u64::try_from(APPEARED.as_millis()).unwrap());
    assert_eq!(table["readMs"], u64::try_from(PLAN_SEEN.as_millis()).unwrap());
    let here = |row: &&Value| row["on"].as_array().is_none_or(|on| on.contains(&"terminal".into()));
    let rows: Vec<&Value> = table["rows"].as_array().unwrap().iter().filter(here).collect();
    assert!(rows.len() > 30, "only {} rows", rows.len());
    for row in rows {
        assert!(row["focus"].is_null(), "the terminal knows no focus: {row}");
        let since = Duration::from_millis(row["since"].as_u64().unwrap());
        let done = effect(
            state(row["state"].as_str().unwrap()),
            key(row["key"].as_str().unwrap()),
            row["plan"].as_str().map(sight),
            since,
        );
        assert_eq!(name(done), row["effect"], "{row}");
    }
}

//! How long ago, in the words of a person.

use std::time::{SystemTime, UNIX_EPOCH};

use askd_core::Timestamp;

pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// `5s`, `3m`, `2h`, `4d`: the largest unit, which is enough to see the longest wait.
pub fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = (to.millis() - from.millis()).max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub fn ago(at: Timestamp) -> String {
    format!("{} ago", span(at, now()))
}

/// The time of day, in UTC as everywhere in askd.
pub fn clock(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.get(11..19).unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_unit_is_told() {
        let span_of = |seconds: i64| span(Timestamp::from_millis(0), Timestamp::from_millis(seconds * 1000));
        let spans: Vec<String> = [-5, 0, 59, 60, 3599, 3600, 86_399, 86_400].map(span_of).to_vec();
        assert_eq!(spans, ["0s", "0s", "59s", "1m", "59m", "1h", "23h", "1d"]);
        assert_eq!(clock(Timestamp::from_millis(0)), "00:00:00Z");
    }
}

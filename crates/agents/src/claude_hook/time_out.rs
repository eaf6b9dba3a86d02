//! Claude Code's own time-out: after it a question in a terminal goes on without an answer.

use std::time::Duration;

use serde_json::Value;

/// The variable that sets it, in milliseconds.
pub const TIME_OUT_VARIABLE: &str = "CLAUDE_AFK_TIMEOUT_MS";
/// The setting.
const SETTING: &str = "askUserQuestionTimeout";

/// The time-out by the environment variable, or by the first settings that have one; `None`: the dialog waits
/// for ever.
pub fn time_out<'a>(
    variable: Option<&str>,
    settings: impl IntoIterator<Item = &'a Value>,
) -> Option<Duration> {
    let by_variable = variable.and_then(|text| text.parse().ok()).filter(|millis| *millis > 0);
    if let Some(millis) = by_variable {
        return Some(Duration::from_millis(millis));
    }
    let set = settings.into_iter().find_map(|settings| settings.get(SETTING)?.as_str())?;
    let (number, seconds) = match (set.strip_suffix('s'), set.strip_suffix('m')) {
        (Some(number), _) => (number, 1),
        (None, Some(number)) => (number, 60),
        (None, None) => return None,
    };
    number.parse().ok().and_then(|number: u64| number.checked_mul(seconds)).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_variable_wins_then_the_first_settings_that_say_it() {
        let set = |text: &str| json!({ SETTING: text });
        let of = |variable, settings: &[Value]| time_out(variable, settings).map(|time| time.as_millis());
        assert_eq!(of(Some("5000"), &[set("5m")]), Some(5000));
        assert_eq!(of(Some("0"), &[json!({}), set("5m"), set("60s")]), Some(300_000));
        assert_eq!(of(None, &[set("60s")]), Some(60_000));
        for none in ["never", "", "m", "\u{e9}", "xs", "99999999999999999999m"] {
            assert_eq!(of(None, &[set(none)]), None, "{none}");
        }
        assert_eq!(of(None, &[json!({})]), None);
    }
}

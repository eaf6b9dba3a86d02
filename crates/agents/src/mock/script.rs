//! From the words of a prompt to the steps that the mock takes.
//!
//! In: text. Out: steps, in the order of the words. Words that mean nothing are skipped; a prompt without any
//! is echoed.

use super::payload::Ask;

/// The default delay of `withdraw` in milliseconds.
const WITHDRAW_AFTER_MS: u64 = 300;
/// The delay of `slow` in milliseconds.
const SLOW_MS: u64 = 1000;
/// Lines of a `flood`, bytes of a `huge` line.
const FLOOD: u64 = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Say(String),
    /// Asks all of these at once and waits until each is answered.
    Ask(Vec<Ask>),
    /// Asks, and writes the very same request a second time.
    AskTwice,
    AskAndWithdraw {
        after_ms: u64,
    },
    /// Shows a link that is opened without a report to askd.
    LinkDone {
        after_ms: u64,
    },
    AskAndCrash,
    Crash,
    Flood(u64),
    Huge(u64),
    Garbage,
    Hang,
    IgnoreTerm,
    Pause(u64),
    Env(String),
    Child,
}

pub(super) fn steps(prompt: &str) -> Vec<Step> {
    let words: Vec<String> = prompt
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '=' | '-' | '_')))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    if words.iter().any(|word| word.eq_ignore_ascii_case("demo")) {
        return demo();
    }
    let steps: Vec<Step> = words.iter().filter_map(|word| step(word)).collect();
    if steps.is_empty() { vec![Step::Say(format!("you said: {prompt}"))] } else { steps }
}

fn step(word: &str) -> Option<Step> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let number = |default: u64| value.parse().unwrap_or(default);
    let ask = |ask: Ask| Some(Step::Ask(vec![ask]));
    match name.to_lowercase().as_str() {
        "question" | "questions" => ask(Ask::Question),
        "multi" | "multi-select" => ask(Ask::Multi),
        "two" => ask(Ask::Two),
        "text" => ask(Ask::Text),
        "secret" => ask(Ask::Secret),
        "form" => ask(Ask::Form),
        "link" => ask(Ask::Link),
        "permission" => ask(Ask::Permission),
        "plan" => ask(Ask::Plan),
        "both" => Some(Step::Ask(vec![Ask::Question, Ask::Multi])),
        "twice" => Some(Step::AskTwice),
        "withdraw" => Some(Step::AskAndWithdraw { after_ms: number(WITHDRAW_AFTER_MS) }),
        "link-done" => Some(Step::LinkDone { after_ms: number(WITHDRAW_AFTER_MS) }),
        "crash" => Some(Step::Crash),
        "crash-while-asking" => Some(Step::AskAndCrash),
        "flood" => Some(Step::Flood(number(FLOOD))),
        "huge" => Some(Step::Huge(number(FLOOD))),
        "garbage" => Some(Step::Garbage),
        "hang" => Some(Step::Hang),
        "ignore-term" => Some(Step::IgnoreTerm),
        "slow" => Some(Step::Pause(number(SLOW_MS))),
        "env" if !value.is_empty() => Some(Step::Env(value.to_owned())),
        "child" => Some(Step::Child),
        _ => None,
    }
}

/// Five questions as a coding agent would ask them.
fn demo() -> Vec<Step> {
    let say = |text: &str| Step::Say(format!("{text}\n"));
    vec![
        say("I read the project. The API has no log-in yet, so I need one decision before I start."),
        Step::Ask(vec![Ask::DemoAuth]),
        say("Next, the parts around it."),
        Step::Ask(vec![Ask::DemoFeatures]),
        say("The package needs a name that you can live with."),
        Step::Ask(vec![Ask::DemoName]),
        say("Two more things about where it runs."),
        Step::Ask(vec![Ask::DemoDeploy]),
        say("That is enough to write a plan."),
        Step::Ask(vec![Ask::DemoPlan]),
        say("Thank you, that was the demo."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_steps_in_their_order() {
        assert_eq!(
            steps("Please ask a Question, then: flood=3 (and) plan."),
            [Step::Ask(vec![Ask::Question]), Step::Flood(3), Step::Ask(vec![Ask::Plan])]
        );
        assert_eq!(steps("hello there"), [Step::Say("you said: hello there".to_owned())]);
        assert_eq!(steps("flood=x"), [Step::Flood(FLOOD)]);
        assert_eq!(steps("the demo, please").len(), 11);
        assert_eq!(steps(""), [Step::Say("you said: ".to_owned())]);
    }
}

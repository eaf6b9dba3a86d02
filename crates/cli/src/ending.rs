//! How a question ended, in words: the outcome, the delivery, a rejection, another person's answer.
//!
//! In: values of the hub. Out: clean text. Everything from an agent goes through `clean`.

use askd_core::delivery::FailReason;
use askd_core::{
    Cause, Delivery, DeliveryState, Item, Kind, Outcome, Question, RejectMode, ShownAnswer, Status,
};

use super::ids::short;
use super::render::indent;
use super::text::{clean, hides, one_line, quoted};
use super::when::ago;

/// The end, person and time: `Answered on web by phone 3m ago`.
pub fn ended(outcome: &Outcome) -> String {
    let who = match &outcome.by.actor {
        Some(actor) => format!(" on {} by {}", outcome.by.surface.as_str(), one_line(actor)),
        None => format!(" on {}", outcome.by.surface.as_str()),
    };
    let what = match (outcome.status, outcome.mode) {
        (Status::Answered, _) => "Answered".to_owned(),
        (Status::Rejected, Some(mode)) => rejected(mode).to_owned(),
        (Status::Rejected, None) => "Declined".to_owned(),
        (Status::Cancelled, _) => "Cancelled".to_owned(),
        (Status::Expired, _) => "Expired".to_owned(),
        (Status::Requested, _) => "Open".to_owned(),
    };
    let why = outcome.cause.as_ref().map(|cause| format!(": {}", cause_text(cause))).unwrap_or_default();
    let reason = outcome.reason.as_ref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
    format!("{what}{who} {}{why}{reason}", ago(outcome.at))
}

/// The page's words for the same three ends.
fn rejected(mode: RejectMode) -> &'static str {
    match mode {
        RejectMode::Decline => "Declined",
        RejectMode::Cancel => "Call cancelled",
        RejectMode::Interrupt => "Turn stopped",
    }
}

fn cause_text(cause: &Cause) -> String {
    let with = |text: &str, detail: &Option<String>| match detail {
        Some(detail) => format!("{text} ({})", one_line(detail)),
        None => text.to_owned(),
    };
    match cause {
        Cause::AgentWithdrew { detail } => with("the agent took it back", detail),
        Cause::AgentExited { code, signal, stderr, resume } => {
            let how = match (code, signal) {
                (Some(code), _) => format!("the agent exited with code {code}"),
                (None, Some(signal)) => format!("the agent was ended by signal {signal}"),
                (None, None) => "the agent exited".to_owned(),
            };
            let how = with(&how, &stderr.last().cloned());
            resume.as_ref().map_or(how.clone(), |resume| format!("{how}; go on with: {}", one_line(resume)))
        }
        Cause::AgentTimedOut { detail } => with("the agent's own time-out was over", detail),
        Cause::TurnAborted { detail } => with("the turn was aborted", detail),
        Cause::SessionEnded { detail } => with("the session ended", detail),
        Cause::SourceLost { detail } => with("askd can no longer reach where it came from", detail),
        Cause::AskerWithdrew { reason } => with("the asker took it back", reason),
        Cause::DeadlinePassed => "the asker's deadline passed and nobody had answered".to_owned(),
    }
}

pub fn answers(question: &Question, outcome: &Outcome) -> String {
    let mut out = String::new();
    let several = question.ask.questions.len() > 1;
    for (i, (item, picks)) in answered(question, outcome).enumerate() {
        let number = if several { format!("{}. ", i + 1) } else { String::new() };
        let text =
            if outcome.withheld.contains(&i) { "(secret)".to_owned() } else { picks_text(item, &picks) };
        out.push_str(&indent(&format!("{number}{text}"), "  "));
        if let Some(note) = outcome.notes.as_ref().and_then(|notes| notes.get(i)).and_then(Option::as_ref) {
            out.push_str(&indent(&format!("note: {}", clean(note)), "     "));
        }
    }
    out
}

fn answered<'a>(
    question: &'a Question,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (&'a Item, Vec<String>)> {
    question.ask.questions.iter().zip(outcome.answers.iter().flatten().map(ShownAnswer::to_texts))
}

/// The picks of one item as one text, in which one value does not look like two or none.
pub fn picks_text(item: &Item, picks: &[String]) -> String {
    if picks.is_empty() {
        return "(skipped)".to_owned();
    }
    let shown = |pick: &String| {
        let text = clean(pick);
        let unclear =
            text.trim().is_empty() || hides(pick) || (item.multiple && text.contains([',', '"', '\n']));
        if unclear { quoted(pick) } else { text }
    };
    picks.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The whole answer on one line, for lists and confirmations; empty without one. Scripts log these lines, so
/// a secret is hidden even from a reader with its right.
pub fn answer_line(question: &Question) -> String {
    let Some(outcome) = &question.outcome else { return String::new() };
    let items = answered(question, outcome).enumerate().map(|(i, (item, picks))| {
        if outcome.withheld.contains(&i) || (item.secret && !picks.is_empty()) {
            "(secret)".to_owned()
        } else {
            one_line(&picks_text(item, &picks))
        }
    });
    items.collect::<Vec<_>>().join(" / ")
}

/// The word for a failed delivery. An answer that was written is not called undelivered.
fn failed(reason: Option<FailReason>) -> &'static str {
    match reason {
        Some(FailReason::Unconfirmed) => {
            "sent, not confirmed: the agent ended before it showed that it had read it"
        }
        Some(FailReason::Unknown) => "delivery unknown: askd cannot know whether the agent received it",
        Some(FailReason::SentAsMessage) => "sent as a message: the call that asked had ended",
        Some(FailReason::Overtaken) => "not delivered: the agent took another answer first",
        Some(FailReason::AgentGone | FailReason::Refused) | None => "not delivered",
    }
}

/// The state of the answer on its way to the agent.
pub fn delivery(delivery: Option<&Delivery>, of_agent: bool) -> String {
    let Some(delivery) = delivery else {
        let text =
            if of_agent { "" } else { "  ready to read: the program that asked fetches it from the hub\n" };
        return text.to_owned();
    };
    let text = match delivery.state {
        DeliveryState::Queued => "stored; on its way to the agent".to_owned(),
        DeliveryState::Sent => format!("sent to the agent {}; not yet confirmed", ago(delivery.at)),
        DeliveryState::Confirmed => format!("confirmed: the agent went on with it {}", ago(delivery.at)),
        DeliveryState::Failed => failed(delivery.error.as_ref().map(|error| error.reason)).to_owned(),
    };
    let error = delivery.error.as_ref().map(|error| {
        let reason = serde_json::to_value(error.reason).ok();
        let reason = reason.as_ref().and_then(|reason| reason.as_str()).unwrap_or("unknown").to_owned();
        match &error.detail {
            Some(detail) => format!(" ({reason}: {})", one_line(detail)),
            None => format!(" ({reason})"),
        }
    });
    let attempts =
        if delivery.attempts > 1 { format!(", attempt {}", delivery.attempts) } else { String::new() };
    let is_late = delivery.state == DeliveryState::Failed
        && delivery.error.as_ref().is_some_and(|error| error.reason != FailReason::Overtaken);
    let late = if is_late {
        "  as the next message of a session that askd started: askd answer ID --as-message\n"
    } else {
        ""
    };
    format!("  {text}{}{attempts}\n{late}", error.unwrap_or_default())
}

/// The effect of a rejection, shown in advance.
pub fn reject_effect(mode: RejectMode, kind: Kind, has_reason: bool) -> &'static str {
    match (mode, kind, has_reason) {
        (RejectMode::Decline, Kind::Plan, true) => "the plan goes back to the agent with your feedback",
        (RejectMode::Decline, _, true) => {
            "the agent is told that you declined, with your reason, and goes on"
        }
        (RejectMode::Decline, _, false) => "the agent is told that you declined, and goes on",
        (RejectMode::Cancel, ..) => "the call that asked is aborted",
        (RejectMode::Interrupt, ..) => "the agent's turn is stopped",
    }
}

/// The message for a person who was second.
pub fn conflict(question: &Question) -> String {
    let Some(outcome) = &question.outcome else {
        return format!("{} is already settled", question.id);
    };
    let answer = answer_line(question);
    let answer = if answer.is_empty() { String::new() } else { format!(": {answer}") };
    let ended = ended(outcome);
    let mut letters = ended.chars();
    let ended: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
    format!("{} was already {ended}{answer}; nothing was changed", short(&question.id))
}

//! A question in words, whole: nothing is cut.
//!
//! In: values of the hub. Out: clean text, with colour on request. Everything from an agent goes through
//! `clean`.

use askd_core::question::{AnswerRoad, BodyFormat, Choice, Input};
use askd_core::{Item, ItemAnswer, Kind, Question, Status};

use super::ending::{answers, delivery, ended, picks_text};
use super::ids::short;
use super::picks::is_list;
use super::screen::Paint;
use super::text::{clean, one_line};
use super::when::{clock, now, span};

/// Everything about a question.
pub(super) fn question(question: &Question, paint: Paint) -> String {
    let mut out = introduction(question, paint);
    for (i, item) in question.ask.questions.iter().enumerate() {
        out.push('\n');
        out.push_str(&item_text(i, question.ask.questions.len(), item, paint));
    }
    if !question.ask.next_modes.is_empty() {
        out.push_str(&format!("\nNext modes: {}\n", one_line(&question.ask.next_modes.join(", "))));
    }
    out.push_str(&ending(question, paint));
    out
}

/// The lines before the items: asker, place, and subject.
pub(super) fn introduction(question: &Question, paint: Paint) -> String {
    let mut out = heading(question, paint);
    if let Some(excerpt) = &question.ask.context.excerpt {
        out.push_str(&indent(&clean(excerpt), &paint.dim("  > ")));
    }
    out.push_str(&body(question, paint));
    out
}

fn heading(question: &Question, paint: Paint) -> String {
    let ask = &question.ask;
    let status = match question.status {
        Status::Requested => paint.yellow("open"),
        Status::Answered => paint.green("answered"),
        other => paint.red(other.as_str()),
    };
    let kind = match ask.kind {
        Kind::Choice => "",
        Kind::Plan => " · plan",
        Kind::Permission => " · permission",
        Kind::Form => " · form",
    };
    let until = question.outcome.as_ref().map_or_else(now, |outcome| outcome.at);
    let mut out = format!(
        "{}  {status} · {}{kind} · waited {}\n",
        paint.bold(question.id.as_str()),
        paint.cyan(&one_line(&ask.agent)),
        span(question.created_at, until),
    );
    let context = &ask.context;
    let place =
        [&context.title, &context.cwd, &context.host].into_iter().flatten().map(|text| one_line(text));
    let place: Vec<String> = place.filter(|text| !text.is_empty()).collect();
    if !place.is_empty() {
        out.push_str(&format!("  {}\n", place.join(" · ")));
    }
    if let Some(session) = &ask.session_id {
        out.push_str(&format!("{}\n", paint.dim(&format!("  session {session}"))));
    }
    if let Some(failed) = question.failed_tries.last().filter(|_| question.is_open()) {
        let why = failed.delivery.error.as_ref().and_then(|error| error.detail.as_deref());
        out.push_str("  the last answer did not arrive:\n");
        out.push_str(&indent(&clean(why.unwrap_or("its delivery failed")), "    "));
    }
    if let Some(road) = question.road {
        out.push_str(&format!("  {}\n", road_text(road)));
    }
    if let Some(at) = question.agent_times_out_at {
        let how = "the agent goes on without an answer, unless a key is pressed in its terminal";
        out.push_str(&format!("  at {} {how}\n", clock(at)));
    }
    if let Some(deadline) = ask.deadline {
        out.push_str(&format!("  the asker gives up at {deadline}\n"));
    }
    out
}

/// The effect of an answer on this channel.
fn road_text(road: AnswerRoad) -> &'static str {
    match road {
        AnswerRoad::Hook => "answer here or in its terminal",
        AnswerRoad::Keys => "no hook waits: an answer is typed into its dialog, in its tmux pane",
        AnswerRoad::Terminal => "no hook waits: answer it in its terminal; an answer from here is refused",
    }
}

/// The plan, command or diff to decide about.
pub(super) fn body(question: &Question, paint: Paint) -> String {
    let Some(body) = &question.ask.body else { return String::new() };
    let name = match (question.ask.kind, body.format) {
        (Kind::Plan, _) => "Plan",
        (_, BodyFormat::Command) => "Command",
        (_, BodyFormat::Diff) => "Change",
        (_, BodyFormat::Markdown | BodyFormat::Text) => "Text",
    };
    format!("\n{}\n{}", paint.bold(name), indent(&clean(&body.text), &paint.dim("  │ ")))
}

/// One item with its options numbered, as the prompt and `--pick` count them.
pub(super) fn item_text(i: usize, items: usize, item: &Item, paint: Paint) -> String {
    let number = if items > 1 { format!("{}. ", i + 1) } else { String::new() };
    let mut out = String::new();
    if has_header(item) {
        out.push_str(&format!("{}\n", paint.bold(&format!("{number}{}", item_name(item)))));
        out.push_str(&indent(&clean(&item.question), "  "));
    } else {
        out.push_str(&format!("{number}{}\n", paint.bold(clean(&item.question).trim_end())));
    }
    for (n, option) in item.options.iter().enumerate() {
        out.push_str(&option_text(n, option, paint));
    }
    if let Some(url) = &item.url {
        out.push_str(&format!("  link: {}\n", one_line(url)));
    }
    // With several items, the key is one more name for `-i`.
    let key = item.key.as_deref().map(one_line).filter(|key| items > 1 && *key != item_name(item));
    let key = key.map(|key| format!("; key {key}")).unwrap_or_default();
    out.push_str(&paint.dim(&format!("  ({}{key})", how_to_answer(item))));
    out.push('\n');
    out
}

/// The name of an item on one line.
pub(super) fn item_name(item: &Item) -> String {
    let name = item.header.as_deref().filter(|_| has_header(item)).unwrap_or(&item.question);
    one_line(name)
}

fn has_header(item: &Item) -> bool {
    item.header.as_deref().is_some_and(|header| !one_line(header).is_empty())
}

fn option_text(n: usize, option: &Choice, paint: Paint) -> String {
    let mut out = format!("  {} {}", paint.cyan(&format!("{})", n + 1)), one_line(&option.label));
    // Scripts send the value; one that differs from the label only in case is nothing new.
    if !option.value.eq_ignore_ascii_case(&option.label) {
        out.push_str(&paint.dim(&format!(" [{}]", one_line(&option.value))));
    }
    out.push('\n');
    if let Some(description) = option.description.as_deref().filter(|text| !text.trim().is_empty()) {
        out.push_str(&indent(&clean(description), "     "));
    }
    if let Some(preview) = option.preview.as_deref().filter(|text| !text.is_empty()) {
        out.push_str(&indent(&clean(preview), &paint.dim("     │ ")));
    }
    out
}

/// The form of an answer to this item.
pub(super) fn how_to_answer(item: &Item) -> String {
    let mut parts = Vec::new();
    if !item.options.is_empty() {
        parts.push(if item.multiple { "pick any number".to_owned() } else { "pick one".to_owned() });
    }
    if item.custom {
        let words = match item.input {
            None | Some(Input::Text | Input::Multiline) if item.options.is_empty() => "in your own words",
            None | Some(Input::Text | Input::Multiline) => "or your own words",
            Some(Input::Number) => "a number",
            Some(Input::Integer) => "a whole number",
            Some(Input::Boolean) => "true or false",
            Some(Input::Date) => "a date such as 2026-11-15",
            Some(Input::Datetime) => "a time such as 2026-11-15T07:00:00Z",
            Some(Input::Email) => "an e-mail address",
            Some(Input::Uri | Input::Url) => "an address such as https://example.org",
        };
        parts.push(words.to_owned());
        if is_list(item) {
            parts.push("several values".to_owned());
        }
    }
    let bounds = &item.bounds;
    let mut limit = |name: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!("{name} {}", one_line(&value))));
    };
    limit("at least", bounds.minimum.as_ref().map(|n| n.to_string()));
    limit("at most", bounds.maximum.as_ref().map(|n| n.to_string()));
    limit("characters at least", bounds.min_length.map(|n| n.to_string()));
    limit("characters at most", bounds.max_length.map(|n| n.to_string()));
    limit("picks at least", bounds.min_items.map(|n| n.to_string()));
    limit("picks at most", bounds.max_items.map(|n| n.to_string()));
    limit("matching", bounds.pattern.clone());
    let default = item.default.as_ref().map(|texts| ItemAnswer::of_values(texts.clone(), item));
    limit("default", default.map(|default| picks_text(item, &default.shown(Some(item)).to_texts())));
    if item.secret {
        parts.push("secret".to_owned());
    }
    parts.push(if item.required { "required" } else { "may be skipped" }.to_owned());
    parts.join("; ")
}

fn ending(question: &Question, paint: Paint) -> String {
    let Some(outcome) = &question.outcome else {
        let modes: Vec<&str> = question.ask.reject_modes.iter().map(|mode| mode.as_str()).collect();
        let id = short(&question.id);
        let mut text = String::new();
        for (i, item) in question.ask.questions.iter().enumerate().filter(|(_, item)| is_list(item)) {
            let (name, n) = (item_name(item), i + 1);
            let how = if question.ask.questions.len() > 1 {
                format!("-i {n}=ONE -i {n}=TWO")
            } else {
                "ONE TWO".to_owned()
            };
            text.push_str(&format!("Several values for {name}: askd answer {id} {how}\n"));
        }
        text.push_str(&format!(
            "Answer it: askd answer {id}    Reject it ({}): askd reject {id}",
            modes.join(", ")
        ));
        return format!("\n{}\n", paint.dim(&text));
    };
    let mut out = format!("\n{}\n", paint.bold(&ended(outcome)));
    out.push_str(&answers(question, outcome));
    if let Some(plan) = &outcome.edited_plan {
        out.push_str(&format!("  the plan as it was changed:\n{}", indent(&clean(plan), "  │ ")));
    }
    if let Some(mode) = &outcome.next_mode {
        out.push_str(&format!("  goes on in mode {}\n", one_line(mode)));
    }
    out.push_str(&delivery(question.delivery.as_ref(), question.ask.session_id.is_some()));
    if let Some(received) = &outcome.agent_received {
        let got: Vec<String> = received
            .answers
            .iter()
            .zip(&question.ask.questions)
            .map(|(answer, item)| picks_text(item, &answer.to_texts()))
            .collect();
        let text = format!(
            "  the agent took another answer first ({}): {}\n",
            one_line(&received.via),
            got.join(" / ")
        );
        out.push_str(&paint.red(&text));
    }
    out
}

pub(super) fn indent(text: &str, with: &str) -> String {
    text.trim_end().lines().map(|line| format!("{with}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use askd_core::{Answer, By, Delivery, Outcome, QuestionId, Surface, Timestamp};

    use super::super::ending::conflict;
    use super::super::samples;
    use super::*;

    #[test]
    fn everything_is_shown_and_nothing_hostile() {
        let shown = question(&samples::two_items(), Paint::none());
        for wanted in [
            "que_00000000000000000000000007  open · claude · waited",
            "Auth work · /home/me/app",
            "> I looked at the code.",
            "1. Auth method",
            "1) JWT",
            "     Stateless tokens",
            "     │ let token = sign();",
            "[session-cookie]",
            "2. Extras",
            "(pick any number; or your own words; may be skipped)",
            "Answer it: askd answer 000007",
        ] {
            assert!(shown.contains(wanted), "no {wanted:?} in:\n{shown}");
        }
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }

    #[test]
    fn picks_are_not_taken_for_others() {
        let list = samples::two_items().ask.questions[1].clone();
        let text = |item: &Item, picks: &[&str]| {
            picks_text(item, &picks.iter().map(|pick| (*pick).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(text(&list, &["a", "b"]), "a, b");
        assert_eq!(text(&list, &["a, b"]), r#""a, b""#);
        assert_eq!(text(&list, &["a\nb", ""]), r#""a\nb", """#);
        let single = samples::two_items().ask.questions[0].clone();
        assert_eq!(text(&single, &["yes, do it"]), "yes, do it");
        assert_eq!(text(&single, &[""]), r#""""#);
        // Own words that read like an option and are none.
        assert_eq!(text(&single, &["N\u{200b}o"]), r#""N\u{200b}o""#);
        assert_eq!(text(&single, &["N\u{200d}o"]), r#""N\u{200d}o""#);
        assert_eq!(text(&single, &["No\u{3164}"]), r#""No\u{3164}""#);
        assert_eq!(text(&single, &["👩\u{200d}🔧 it's\nfine"]), "👩\u{200d}🔧 it's\nfine");
    }

    #[test]
    fn an_ending_says_who_where_and_what() {
        let mut settled = samples::two_items();
        let answer = Answer {
            answers: vec![ItemAnswer::picks(["session-cookie"]), ItemAnswer::default()],
            notes: vec![Some("as before".into()), None],
            edited_plan: None,
            next_mode: None,
        };
        let by = By { surface: Surface::Web, actor: Some("phone".into()) };
        settled.outcome = Some(Outcome::answered(&answer, &settled.ask.questions, by, now()));
        settled.status = Status::Answered;
        settled.delivery = Some(Delivery::queued(Timestamp::from_millis(0)));
        let shown = question(&settled, Paint::none());
        for wanted in [
            "Answered on web by phone 0s ago",
            "1. Session\n",
            "note: as before",
            "2. (skipped)",
            "stored; on its way",
        ] {
            assert!(shown.contains(wanted), "no {wanted:?} in:\n{shown}");
        }
        assert_eq!(
            conflict(&settled),
            "000007 was already answered on web by phone 0s ago: Session / (skipped); nothing was changed"
        );
        assert_eq!(settled.id, QuestionId::from_bits(7));
    }
}

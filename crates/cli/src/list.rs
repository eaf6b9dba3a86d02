//! `askd list`: the inbox as a table, or as the API's JSON.

use std::num::NonZeroUsize;

use askd_core::session::ActivityState;
use askd_core::{Question, QuestionId, Session, SessionId, Status, Timestamp};
use clap::Args;
use serde_json::Value;

use super::exit::{Failure, Outcome};
use super::ids;
use super::screen::{Screen, say};
use super::table::{Fit, table};
use super::text::one_line;
use super::when::{now, span};
use crate::client::{Client, Filter, ListQuery, QuestionList, Received};

/// Questions per page; more are fetched page by page.
const PAGE: usize = 200;

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only questions with this status: open, answered, rejected, cancelled or expired
    #[arg(long, value_name = "STATUS", value_parser = parse_status, conflicts_with = "all")]
    status: Option<Status>,
    /// Only questions of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only questions of this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Settled ones too, newest first
    #[arg(long)]
    all: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value = "100")]
    limit: NonZeroUsize,
}

fn parse_status(text: &str) -> Result<Status, String> {
    if text == "open" {
        return Ok(Status::Requested);
    }
    Status::parse(text).ok_or_else(|| "use open, answered, rejected, cancelled or expired".to_owned())
}

pub async fn list(args: ListArgs, client: &Client, screen: Screen) -> Outcome {
    let status = if args.all { None } else { Some(args.status.unwrap_or(Status::Requested)) };
    let open = status == Some(Status::Requested);
    let whole = open && args.agent.is_none() && args.session.is_none();
    let filter = Filter { status, agent: args.agent, session: args.session };
    // The longest wait comes first; history is read from its end.
    let query = ListQuery { filter, oldest_first: open, cursor: None, limit: None };
    let received = fetch(client, query, args.limit.get()).await?;
    if screen.json {
        return Ok(screen.json(&received.json)?);
    }
    let questions = &received.value.questions;
    if questions.is_empty() {
        say(if open { "No question is open." } else { "There are no such questions." });
        if whole {
            tell_who_waits(client, questions).await;
        }
        return Ok(());
    }
    screen.line(&show(questions, open, screen))?;
    if received.value.next_cursor.is_some() {
        say(&format!("There are more; this shows {}. See --limit.", questions.len()));
    } else if whole {
        tell_who_waits(client, questions).await;
    }
    Ok(())
}

/// Reports agents that wait in their terminals for something else than a question of askd, so that an empty
/// inbox does not look as if nothing waited.
async fn tell_who_waits(client: &Client, open: &[Question]) {
    // The inbox is shown already; a failure here loses only the addition.
    let Ok(live) = client.live_sessions().await else { return };
    for line in waits_in_terminal(&live, open, now()) {
        say(&line);
    }
}

/// A line for each session that waits in its terminal and has no open question here.
fn waits_in_terminal(live: &[Session], open: &[Question], now: Timestamp) -> Vec<String> {
    let is_here =
        |session: &Session| open.iter().any(|question| question.ask.session_id.as_ref() == Some(&session.id));
    let line = |session: &Session| {
        let activity = session.activity.as_ref()?;
        if activity.state != ActivityState::Waiting || is_here(session) {
            return None;
        }
        let place = session.cwd.as_deref().map(|cwd| format!(" in {}", folder(cwd))).unwrap_or_default();
        let what = activity.waiting_for.as_deref().map(|what| format!(" for: {}", one_line(what)));
        let since = activity.since.map(|since| format!(", {}", span(since, now))).unwrap_or_default();
        let (agent, what) = (one_line(&session.agent), what.unwrap_or_default());
        Some(format!("{agent}{place} waits in its own terminal{what}{since}. Answer it there."))
    };
    live.iter().filter_map(line).collect()
}

/// Loads pages until `limit` or the end. The JSON is that of one long page.
async fn fetch(client: &Client, mut query: ListQuery, limit: usize) -> Outcome<Received<QuestionList>> {
    query.limit = Some(limit.min(PAGE));
    let mut all = client.questions(&query).await?;
    while all.value.questions.len() < limit && all.value.next_cursor.is_some() {
        query.limit = Some((limit - all.value.questions.len()).min(PAGE));
        query.cursor = all.value.next_cursor.take();
        let page = client.questions(&query).await?;
        all.value.questions.extend(page.value.questions);
        all.value.next_cursor = page.value.next_cursor;
        append(&mut all.json, page.json)
            .ok_or_else(|| Failure::new(super::exit::Exit::Error, "the hub sent a page without questions"))?;
    }
    Ok(all)
}

fn append(all: &mut Value, mut page: Value) -> Option<()> {
    let more = page.get_mut("questions")?.as_array_mut()?;
    all.get_mut("questions")?.as_array_mut()?.append(more);
    *all.get_mut("nextCursor")? = page.get_mut("nextCursor")?.take();
    Some(())
}

fn show(questions: &[Question], open: bool, screen: Screen) -> String {
    let shorts = ids::shorts(&questions.iter().map(|question| &question.id).collect::<Vec<&QuestionId>>());
    let now = now();
    let mut columns = vec![("ID", Fit::Whole), ("AGENT", Fit::End)];
    if !open {
        columns.push(("STATUS", Fit::Whole));
    }
    columns.extend([("WAITED", Fit::Whole), ("QUESTION", Fit::End), ("FOLDER", Fit::Start)]);
    let rows: Vec<Vec<String>> = questions
        .iter()
        .zip(shorts)
        .map(|(question, short)| {
            let until = question.outcome.as_ref().map_or(now, |outcome| outcome.at);
            let mut row = vec![short, one_line(&question.ask.agent)];
            if !open {
                row.push(question.status.as_str().to_owned());
            }
            row.push(span(question.created_at, until));
            row.push(headline(question));
            row.push(question.ask.context.cwd.as_deref().map(folder).unwrap_or_default());
            row
        })
        .collect();
    table(&columns, &rows, screen.width, screen.paint)
}

/// The question in one line, with the header of the first item and the number of the others, or with the
/// number of its fields.
pub fn headline(question: &Question) -> String {
    let (items, text) = (&question.ask.questions, question.ask.headline());
    let Some(first) = items.first() else { return String::new() };
    if text != first.question {
        let fields = if items.len() == 1 { String::new() } else { format!(" ({} fields)", items.len()) };
        return format!("{}{fields}", one_line(text));
    }
    let header = first.header.as_deref().map(one_line).filter(|text| !text.is_empty());
    let header = header.map(|text| format!("{text}: ")).unwrap_or_default();
    let more = if items.len() > 1 { format!(" (+{})", items.len() - 1) } else { String::new() };
    format!("{header}{}{more}", one_line(text))
}

/// A folder as a person knows it.
pub fn folder(cwd: &str) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let text = one_line(cwd);
    match text.strip_prefix(&home) {
        Some(rest) if !home.is_empty() && (rest.is_empty() || rest.starts_with('/')) => format!("~{rest}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::screen::Paint;
    use super::*;

    #[test]
    fn the_table_has_short_ids_and_headlines() {
        let screen = Screen { json: false, width: None, paint: Paint::none() };
        let text = show(&[samples::two_items()], true, screen);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("ID"), "{text}");
        assert!(lines[1].starts_with("000007  claude"), "{text}");
        assert!(lines[1].contains("Auth method: Which auth method? (+1)  /home/me/app"), "{text}");
    }

    #[test]
    fn sessions_that_wait_for_no_question_here_are_told() {
        let session = |id: u128, activity: &str| -> Session {
            let source = askd_core::SourceId::from_bits(1);
            let text = format!(
                r#"{{"id":"{}","agent":"claude","sourceId":"{source}","nativeId":"s","cwd":"/w/app","live":true,"managed":false,
                    "startedAt":"1970-01-01T00:00:00.000Z","activity":{activity}}}"#,
                SessionId::from_bits(id)
            );
            serde_json::from_str(&text).unwrap()
        };
        let asks = r#"{"state":"waiting","waitingFor":"input needed"}"#;
        let live = [
            session(
                1,
                r#"{"state":"waiting","waitingFor":"permission prompt","since":"1970-01-01T00:00:00.000Z"}"#,
            ),
            session(2, r#"{"state":"working"}"#),
            session(3, asks),
        ];
        let mut open = samples::two_items();
        std::sync::Arc::make_mut(&mut open.ask).session_id = Some(SessionId::from_bits(3));
        assert_eq!(
            waits_in_terminal(&live, &[open], Timestamp::from_millis(120_000)),
            ["claude in /w/app waits in its own terminal for: permission prompt, 2m. Answer it there."]
        );
        assert_eq!(waits_in_terminal(&live, &[], Timestamp::from_millis(0)).len(), 2);
    }

    #[test]
    fn a_form_is_called_by_what_stands_above_its_fields() {
        let form = |key: &str, body: &str| {
            let body = serde_json::json!({ "format": "text", "text": body });
            let items =
                serde_json::json!([{ "question": "name", "key": key }, { "question": "age", "key": "age" }]);
            let asked = serde_json::json!({ "kind": "form", "questions": items, "body": body });
            headline(&samples::asked(&asked.to_string()))
        };
        assert_eq!(
            form("name", "\nTell me about yourself.\nAll of it."),
            "Tell me about yourself. (2 fields)"
        );
        assert_eq!(form(askd_core::ask::RAW_RESULT, "{}"), "name (+1)");
    }

    #[test]
    fn pages_become_one_list() {
        let mut all = serde_json::json!({ "questions": [1], "nextCursor": "a", "seq": 7 });
        let page = serde_json::json!({ "questions": [2, 3], "nextCursor": null, "seq": 9 });
        append(&mut all, page).unwrap();
        assert_eq!(all, serde_json::json!({ "questions": [1, 2, 3], "nextCursor": null, "seq": 7 }));
    }
}

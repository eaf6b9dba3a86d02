//! `askd watch`: events as they happen.
//!
//! In: the open questions, then the event log from exactly there. Out: a line for each event. A lost
//! connection is reported on stderr and resumed at the same event, so that none is missed or shown twice.

use askd_core::{Event, EventType, Question, SessionId, Status};
use clap::Args;

use super::exit::Outcome;
use super::list::{folder, headline};
use super::screen::{Screen, say, unread};
use super::text::{one_line, shorten};
use super::when::clock;
use super::{ending, ids};
use crate::client::{Client, ClientError, Events, Filter, Heard, ListQuery, RawEvent};

/// Open questions per page.
const PAGE: usize = 200;

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Only events of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only events of this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Go on after this place in the log, instead of starting with the open questions
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Ring the terminal's bell when a question is asked; not with --json
    #[arg(long)]
    bell: bool,
}

/// Ends when it is no longer read, as in `askd watch | head -1`: the next event may be hours away.
pub async fn watch(args: WatchArgs, client: &Client, screen: Screen) -> Outcome {
    tokio::select! {
        over = show_all(args, client, screen) => over,
        () = unread() => Ok(()),
    }
}

async fn show_all(args: WatchArgs, client: &Client, screen: Screen) -> Outcome {
    let filter = Filter { status: None, agent: args.agent, session: args.session };
    let after = match args.after {
        Some(after) => after,
        None => show_open(client, &filter, screen).await?,
    };
    let mut events = Events::new(client.clone(), filter, after);
    let mut lost = false;
    loop {
        match events.next().await? {
            Heard::Event(event) => show_event(&event, screen, args.bell)?,
            Heard::Connected if lost => {
                lost = false;
                say("askd: connected again");
            }
            Heard::Connected => {}
            Heard::Trimmed(json) if screen.json => screen.json_line(&json)?,
            Heard::Trimmed(_) => {
                say("askd: some events are missing here: the hub keeps them for a limited time only")
            }
            Heard::Lost(error) if !lost => {
                lost = true;
                let why = match error {
                    ClientError::Broken { detail, .. } => detail,
                    other => other.to_string(),
                };
                say(&format!("askd: the connection is lost ({}); trying again until Ctrl-C", one_line(&why)));
            }
            Heard::Lost(_) => {}
        }
    }
}

/// The open questions, oldest first, and their position in the event log.
async fn show_open(client: &Client, filter: &Filter, screen: Screen) -> Outcome<u64> {
    let filter = Filter { status: Some(Status::Requested), ..filter.clone() };
    let mut query = ListQuery { filter, oldest_first: true, cursor: None, limit: Some(PAGE) };
    let mut seq = None;
    loop {
        let page = client.questions(&query).await?;
        // The first page's position: changes during the other pages come again as events.
        let seq = *seq.get_or_insert(page.value.seq);
        for question in page.value.questions.into_iter().filter(|question| question.seq <= seq) {
            show_one_open(question, screen)?;
        }
        query.cursor = page.value.next_cursor;
        if query.cursor.is_none() {
            return Ok(seq);
        }
    }
}

fn show_one_open(question: Question, screen: Screen) -> Outcome {
    // In the form of its event, so that a program reads one kind of line only.
    let event = Event {
        seq: question.seq,
        kind: EventType::QuestionRequested,
        at: question.created_at,
        question: Some(question),
        session: None,
    };
    if screen.json {
        let json = serde_json::to_string(&event).map_err(std::io::Error::from)?;
        return Ok(screen.json_line(&json)?);
    }
    Ok(screen.line(&event_line(&event, screen))?)
}

fn show_event(raw: &RawEvent, screen: Screen, bell: bool) -> Outcome {
    if screen.json {
        return Ok(screen.json_line(&raw.json)?);
    }
    let Some(event) = raw.parse() else { return Ok(()) };
    let bell = if bell && event.kind == EventType::QuestionRequested { "\u{7}" } else { "" };
    let line = event_line(&event, screen);
    Ok(screen.line(&format!("{bell}{line}"))?)
}

fn event_line(event: &Event, screen: Screen) -> String {
    let paint = screen.paint;
    let (id, agent) = match (&event.question, &event.session) {
        (Some(question), _) => (ids::short(&question.id).to_owned(), question.ask.agent.as_str()),
        (None, Some(session)) => (session.id.to_string(), session.agent.as_str()),
        (None, None) => (String::new(), ""),
    };
    let (word, text) = words(event);
    let painted = match event.kind {
        EventType::QuestionRequested => paint.yellow(&format!("{word:<9}")),
        EventType::QuestionResolved => paint.green(&format!("{word:<9}")),
        _ => paint.dim(&format!("{word:<9}")),
    };
    let head = format!("{}  {word:<9}  {id}  {}  ", clock(event.at), one_line(agent));
    let room = screen.width.map(|width| width.saturating_sub(super::text::width(&head)).max(20));
    let text = room.map_or_else(|| text.clone(), |room| shorten(&text, room));
    format!(
        "{}  {painted}  {}  {}  {text}",
        paint.dim(&clock(event.at)),
        paint.bold(&id),
        paint.cyan(&one_line(agent))
    )
}

fn words(event: &Event) -> (&'static str, String) {
    let question = event.question.as_ref();
    let outcome = question.and_then(|question| question.outcome.as_ref());
    match event.kind {
        EventType::QuestionRequested => {
            let place = question.and_then(|question| question.ask.context.cwd.as_deref()).map(folder);
            let place = place.map(|place| format!("  ({place})")).unwrap_or_default();
            ("asked", format!("{}{place}", question.map(headline).unwrap_or_default()))
        }
        EventType::QuestionResolved => {
            let word = outcome.map_or("settled", |outcome| outcome.status.as_str());
            let answer = question.map(ending::answer_line).filter(|answer| !answer.is_empty());
            let how = outcome.map(|outcome| match &outcome.by.actor {
                Some(actor) => format!("on {} by {}", outcome.by.surface.as_str(), one_line(actor)),
                None => format!("on {}", outcome.by.surface.as_str()),
            });
            let text = answer
                .into_iter()
                .map(|answer| format!("{answer}  "))
                .chain(how.map(|how| format!("({how})")));
            (word, text.collect())
        }
        EventType::QuestionUpdated if question.is_some_and(|question| question.is_open()) => {
            let failed = question.and_then(|question| question.failed_tries.last());
            let error = failed.and_then(|failed| failed.delivery.error.as_ref());
            let why = error.and_then(|error| error.detail.as_deref());
            ("updated", why.map(|why| format!("open again: {}", one_line(why))).unwrap_or_default())
        }
        EventType::QuestionDelivered | EventType::QuestionUpdated => {
            let delivery = question.and_then(|question| question.delivery.as_ref());
            let word = if event.kind == EventType::QuestionDelivered { "delivered" } else { "updated" };
            (word, ending::delivery(delivery, true).trim().to_owned())
        }
        EventType::SessionStarted | EventType::SessionEnded => {
            let word = if event.kind == EventType::SessionStarted { "session" } else { "ended" };
            let session = event.session.as_ref();
            let title = session.and_then(|session| session.title.as_deref()).map(one_line);
            let place = session.and_then(|session| session.cwd.as_deref()).map(folder);
            (word, [title, place].into_iter().flatten().collect::<Vec<_>>().join("  "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::screen::Paint;
    use super::*;

    #[test]
    fn a_line_says_when_what_and_who() {
        let question = samples::two_items();
        let event = Event {
            seq: 1,
            kind: EventType::QuestionRequested,
            at: question.created_at,
            question: Some(question),
            session: None,
        };
        let screen = Screen { json: false, width: None, paint: Paint::none() };
        let wanted =
            "00:00:00Z  asked      000007  claude  Auth method: Which auth method? (+1)  (/home/me/app)";
        assert_eq!(event_line(&event, screen), wanted);
        let narrow = Screen { width: Some(60), ..screen };
        let line = event_line(&event, narrow);
        assert!(super::super::text::width(&line) <= 60, "{line}");
    }
}

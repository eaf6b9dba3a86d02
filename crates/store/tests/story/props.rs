//! What every chapter needs: moments, ids, questions and answers, made the same way each time.

use std::sync::Arc;

use askd_core::delivery::Delivery;
use askd_core::lifecycle::Elsewhere;
use askd_core::{
    Answer, Ask, AskInput, By, EventType, ItemAnswer, Question, QuestionId, RejectMode, Resolution, Seq,
    SessionId, Source, SourceId, SourceState, Surface, Timestamp, TokenId,
};
use askd_store::{
    Asked, Claim, ClaimedDelivery, LoggedEvent, NewQuestion, Origin, Record, Resolve, Resolved, SessionSeen,
    SourceRecord, Store,
};

/// Milliseconds into the story.
pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + millis)
}

pub(crate) fn question_id(n: u128) -> QuestionId {
    QuestionId::from_bits(n)
}

pub(crate) fn token(n: u128) -> TokenId {
    TokenId::from_bits(n)
}

pub(crate) fn ask_of(json: &str) -> Ask {
    serde_json::from_str::<AskInput>(json).unwrap().complete().unwrap()
}

/// One item, own words allowed.
pub(crate) fn plain() -> Ask {
    ask_of(r#"{"questions":[{"question":"Which auth method?","header":"Auth","options":["JWT","Session"]}]}"#)
}

/// A visible item and a secret one.
pub(crate) fn with_secret() -> Ask {
    ask_of(r#"{"questions":[{"question":"Which user?"},{"question":"Which password?","secret":true}]}"#)
}

/// A program's question.
pub(crate) fn by_api(n: u128, ask: Ask) -> NewQuestion {
    let origin = Origin::Api { asker: token(1) };
    NewQuestion { id: question_id(n), ask, at: at(0), origin, idempotency: None }
}

/// An agent and the conversation that it asks in.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) source: SourceId,
    pub(crate) session: SessionId,
}

impl Agent {
    /// Its question `n`, known to it as `toolu_n`.
    pub(crate) fn asks(&self, n: u128, ask: Ask) -> NewQuestion {
        let origin = Origin::Agent {
            source: self.source.clone(),
            native_id: format!("toolu_{n}"),
            is_new: false,
            road: "control".to_owned(),
            native: format!("{{\"id\": {n},  \"spaces\":\t\"kept ü\"}}"),
        };
        let ask = Ask { session_id: Some(self.session.clone()), agent: "claude".to_owned(), ..ask };
        NewQuestion { id: question_id(n), ask, at: at(0), origin, idempotency: None }
    }
}

pub(crate) fn source_record(n: u128) -> SourceRecord {
    let source = Source {
        id: SourceId::from_bits(n),
        kind: "managed".to_owned(),
        agent: "claude".to_owned(),
        label: format!("claude {n}"),
        state: SourceState::Connected,
        since: at(0),
        last_error: None,
    };
    SourceRecord { source, settings: r#"{"command":"claude"}"#.to_owned() }
}

pub(crate) fn session_seen(n: u128, source: &SourceId) -> SessionSeen {
    SessionSeen {
        id: SessionId::from_bits(n),
        source: source.clone(),
        agent: "claude".to_owned(),
        native_id: format!("native-{n}"),
        cwd: Some("/work".to_owned()),
        title: None,
        parent: None,
        pid: Some(4711),
        managed: true,
        at: at(0),
    }
}

/// A connected source `n` with a live session `n`.
pub(crate) async fn agent(store: &impl Store, n: u128) -> Agent {
    let source = SourceId::from_bits(n);
    store.add_source(source_record(n)).await.unwrap();
    let session = store.see_session(session_seen(n, &source)).await.unwrap().id;
    Agent { source, session }
}

/// Asks what must be new.
pub(crate) async fn ask(store: &impl Store, new: NewQuestion) -> Question {
    match store.ask(new).await.unwrap() {
        Asked::New(question) => question,
        other => panic!("not new: {other:?}"),
    }
}

/// What these questions offer is picked; all else is own words.
pub(crate) fn given(text: &str) -> ItemAnswer {
    if ["JWT", "Session", "approve"].contains(&text) {
        ItemAnswer::picks([text])
    } else {
        ItemAnswer::words([text])
    }
}

pub(crate) fn answer(picks: &[&str]) -> Answer {
    Answer {
        answers: picks.iter().map(|text| given(text)).collect(),
        notes: vec![None; picks.len()],
        edited_plan: None,
        next_mode: None,
    }
}

pub(crate) fn person() -> By {
    By { surface: Surface::Cli, actor: Some("laptop".to_owned()) }
}

pub(crate) fn resolving(id: &QuestionId, resolution: Resolution) -> Resolve {
    Resolve { id: id.clone(), resolution, by: person(), at: at(100), idempotency: None, claim: None }
}

pub(crate) async fn resolve(store: &impl Store, id: &QuestionId, resolution: Resolution) -> Resolved {
    store.resolve(resolving(id, resolution)).await.unwrap()
}

pub(crate) async fn reply(store: &impl Store, id: &QuestionId, picks: &[&str]) -> Resolved {
    resolve(store, id, Resolution::Answer(answer(picks))).await
}

pub(crate) fn decline(reason: Option<&str>) -> Resolution {
    Resolution::Reject { mode: RejectMode::Decline, reason: reason.map(str::to_owned) }
}

/// The agent's own screen took this answer.
pub(crate) fn elsewhere(picks: &[&str]) -> Resolution {
    let answers = picks.iter().map(|text| vec![(*text).to_owned()]).collect();
    let notes = vec![None; picks.len()];
    Resolution::Elsewhere(Elsewhere::Answered { answers, notes, via: "terminal".to_owned() })
}

/// The question of a resolution that settled it.
pub(crate) fn settled(resolved: Resolved) -> Question {
    match resolved {
        Resolved::Settled(question, _) => question,
        other => panic!("not settled: {other:?}"),
    }
}

/// The question of evidence that was noted.
pub(crate) fn noted(resolved: Resolved) -> Question {
    match resolved {
        Resolved::Noted(question) => question,
        other => panic!("not noted: {other:?}"),
    }
}

pub(crate) async fn stored(store: &impl Store, id: &QuestionId) -> Question {
    record(store, id).await.question
}

pub(crate) async fn record(store: &impl Store, id: &QuestionId) -> Record {
    store.question(id).await.unwrap().unwrap()
}

pub(crate) async fn delivery(store: &impl Store, id: &QuestionId) -> Delivery {
    stored(store, id).await.delivery.unwrap()
}

pub(crate) fn claim_of(owner: &str, sources: &[&SourceId], now: i64) -> Claim {
    Claim {
        owner: owner.to_owned(),
        sources: sources.iter().map(|source| (*source).clone()).collect(),
        now: at(now),
        until: at(now + 1000),
        limit: 100,
    }
}

pub(crate) async fn claim(store: &impl Store, source: &SourceId, now: i64) -> Vec<ClaimedDelivery> {
    store.claim(claim_of("hub-1", &[source], now)).await.unwrap()
}

/// Every event after `after`, page by page to the end.
pub(crate) async fn events(store: &impl Store, after: Seq) -> Vec<Arc<LoggedEvent>> {
    let mut all: Vec<Arc<LoggedEvent>> = Vec::new();
    loop {
        let cursor = all.last().map_or(after, |event| event.seq);
        let page = store.events_after(cursor).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// What happened after `after`, in order.
pub(crate) async fn happened(store: &impl Store, after: Seq) -> Vec<(EventType, Option<QuestionId>)> {
    events(store, after).await.iter().map(|event| (event.kind, event.question.clone())).collect()
}

//! Sources and sessions: ending one ends what stands on it, told in order.

use askd_core::delivery::{DeliveryInput, FailReason};
use askd_core::outcome::Outcome;
use askd_core::{By, Cause, EventType, Question, Session, Source, SourceState, Status};
use askd_store::{EventLog, SessionSeen, Sessions, SourceRecord, Store};

use super::props::*;
use super::stage::Stage;

fn exited() -> Cause {
    Cause::AgentExited { code: Some(3), signal: None, stderr: vec!["out of memory".to_owned()], resume: None }
}

fn as_session(seen: &SessionSeen) -> Session {
    Session {
        id: seen.id.clone(),
        agent: seen.agent.clone(),
        source_id: seen.source.clone(),
        native_id: seen.native_id.clone(),
        cwd: seen.cwd.clone(),
        title: seen.title.clone(),
        parent_id: seen.parent.clone(),
        live: true,
        pid: seen.pid,
        managed: seen.managed,
        started_at: seen.at,
        ended_at: None,
        end: None,
        tmux: false,
        activity: None,
    }
}

pub(crate) async fn sources_are_kept_with_their_state<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    assert_eq!(store.sources().await.unwrap(), []);
    let (first, second) = (source_record(1), source_record(2));
    store.add_source(first.clone()).await.unwrap();
    store.add_source(second.clone()).await.unwrap();
    assert_eq!(store.sources().await.unwrap(), [second, first.clone()]);

    let id = &first.source.id;
    let lost = Source {
        state: SourceState::Lost,
        since: at(10),
        last_error: Some("refused".to_owned()),
        ..first.source.clone()
    };
    let told =
        store.set_source_state(id, SourceState::Lost, Some("refused".to_owned()), at(10)).await.unwrap();
    assert_eq!(told, Some(lost.clone()));
    // Still lost: since when stays, the error is the newest.
    let still = Source { last_error: Some("timeout".to_owned()), ..lost.clone() };
    let told =
        store.set_source_state(id, SourceState::Lost, Some("timeout".to_owned()), at(20)).await.unwrap();
    assert_eq!(told, Some(still.clone()));
    let back = Source { state: SourceState::Connected, since: at(30), ..still };
    let told = store.set_source_state(id, SourceState::Connected, None, at(30)).await.unwrap();
    assert_eq!(told, Some(back.clone()));
    let kept = SourceRecord { source: back.clone(), ..first.clone() };
    assert_eq!(store.source(id).await.unwrap(), Some(kept));
    store.set_source_settings(id, "{\"learnt\":1}".to_owned()).await.unwrap();
    let learnt = SourceRecord { source: back, settings: "{\"learnt\":1}".to_owned() };
    assert_eq!(store.source(id).await.unwrap(), Some(learnt));

    let unknown = source_record(404).source.id;
    assert_eq!(store.source(&unknown).await.unwrap(), None);
    assert_eq!(store.set_source_state(&unknown, SourceState::Lost, None, at(1)).await.unwrap(), None);
    assert_eq!(store.end_source(&unknown, exited(), at(1), None).await.unwrap(), None);
    assert_eq!(store.newest(), 0, "sources have no events");
}

pub(crate) async fn an_ended_source_stays_ended<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let record = source_record(1);
    store.add_source(record.clone()).await.unwrap();
    let ended = store.end_source(&record.source.id, exited(), at(10), None).await.unwrap();
    let wanted = Source { state: SourceState::Ended, since: at(10), ..record.source.clone() };
    assert_eq!(ended, Some(wanted.clone()));
    // Its last task may speak after a person has detached it.
    let late =
        store.set_source_state(&record.source.id, SourceState::Lost, Some("eof".to_owned()), at(20)).await;
    assert_eq!(late.unwrap(), Some(wanted));
}

pub(crate) async fn a_session_is_told_once_and_then_updated<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let source = source_record(1).source.id;
    store.add_source(source_record(1)).await.unwrap();
    let seen = session_seen(1, &source);
    let started = store.see_session(seen.clone()).await.unwrap();
    assert_eq!(started, as_session(&seen));
    let told = events(&**store, 0).await;
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].kind, told[0].session.as_ref()), (EventType::SessionStarted, Some(&seen.id)));

    let again = SessionSeen {
        id: askd_core::SessionId::from_bits(99),
        title: Some("Fix the build".to_owned()),
        cwd: None,
        pid: None,
        at: at(50),
        ..seen.clone()
    };
    let updated = Session { title: Some("Fix the build".to_owned()), ..started };
    assert_eq!(store.see_session(again).await.unwrap(), updated);
    assert_eq!(store.session(&seen.id).await.unwrap(), Some(updated));
    assert_eq!(store.session(&askd_core::SessionId::from_bits(99)).await.unwrap(), None);
    assert_eq!(events(&**store, 0).await.len(), 1);
}

pub(crate) async fn a_session_that_comes_back_is_told_again<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let ended = store.end_session(&agent.session, exited(), at(10)).await.unwrap().unwrap();
    assert_eq!((ended.live, ended.ended_at, ended.end.clone()), (false, Some(at(10)), Some(exited())));
    let seen = SessionSeen { pid: None, at: at(20), ..session_seen(1, &agent.source) };
    let revived = store.see_session(seen).await.unwrap();
    // The old process is gone, and its number may be another's by now.
    assert_eq!(revived, Session { live: true, ended_at: None, end: None, pid: None, ..ended });
    let kinds: Vec<_> = events(&**store, 0).await.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventType::SessionStarted, EventType::SessionEnded, EventType::SessionStarted]);
}

pub(crate) async fn sessions_are_listed_newest_first<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let source = source_record(1).source.id;
    store.add_source(source_record(1)).await.unwrap();
    for n in [2, 3, 1] {
        store.see_session(session_seen(n, &source)).await.unwrap();
    }
    store.end_session(&session_seen(3, &source).id, exited(), at(9)).await.unwrap();
    let ids = async |live, limit| -> Vec<u128> {
        store.sessions(live, limit).await.unwrap().iter().map(|session| session.id.bits()).collect()
    };
    assert_eq!(ids(None, 10).await, [1, 3, 2]);
    assert_eq!(ids(None, 2).await, [1, 3]);
    assert_eq!(ids(Some(true), 10).await, [1, 2]);
    assert_eq!(ids(Some(false), 10).await, [3]);
    let wanted: Vec<_> = [3, 4, 1].map(|n| session_seen(n, &source).id).into();
    let found = store.sessions_by_id(&source, &wanted).await.unwrap();
    assert_eq!(found.iter().map(|session| session.id.bits()).collect::<Vec<_>>(), [3, 1]);
    let other = source_record(2).source.id;
    assert_eq!(store.sessions_by_id(&other, &wanted).await.unwrap(), []);
}

/// Of one session: an open question, one whose answer is queued, one whose answer was written, and one that
/// is over.
async fn busy(store: &impl Store, agent: &Agent, first: u128) -> [Question; 4] {
    let mut questions = Vec::new();
    for n in first..first + 4 {
        questions.push(ask(store, agent.asks(n, plain())).await);
    }
    let [open, queued, written, over] = questions.try_into().unwrap();
    for question in [&written, &over] {
        reply(store, &question.id, &["JWT"]).await;
    }
    claim(store, &agent.source, 100).await;
    for question in [&written, &over] {
        store.step(&question.id, DeliveryInput::Written, at(150)).await.unwrap().unwrap();
    }
    store.step(&over.id, DeliveryInput::Confirmed, at(160)).await.unwrap().unwrap();
    reply(store, &queued.id, &["JWT"]).await;
    let mut stand = Vec::new();
    for question in [open, queued, written, over] {
        stand.push(stored(store, &question.id).await);
    }
    stand.try_into().unwrap()
}

/// How they stand after the end; `reason` is that of the queued answer.
async fn assert_ended(
    store: &impl Store,
    [open, queued, written, over]: &[Question; 4],
    cause: Cause,
    reason: FailReason,
) {
    let outcome = Some(Outcome::cancelled(cause, By::hub(), at(500)));
    let cancelled = Question { status: Status::Cancelled, outcome, ..open.clone() };
    assert_eq!(stored(store, &open.id).await, cancelled);
    for (question, reason) in [(queued, reason), (written, FailReason::Unconfirmed)] {
        let now = stored(store, &question.id).await;
        assert_eq!(now.outcome, question.outcome, "an accepted answer stays");
        assert_eq!(now.delivery.unwrap().error.unwrap().reason, reason);
    }
    assert_eq!(stored(store, &over.id).await, *over);
}

pub(crate) async fn ending_a_session_ends_what_stands_on_it<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (mine, other) = (agent(&**store, 1).await, agent(&**store, 2).await);
    let questions = busy(&**store, &mine, 1).await;
    let untouched = ask(&**store, other.asks(10, plain())).await;
    let second_open = ask(&**store, mine.asks(5, plain())).await;
    let before = store.newest();
    let session = store.end_session(&mine.session, exited(), at(500)).await.unwrap().unwrap();
    assert_eq!((session.live, session.ended_at, session.end), (false, Some(at(500)), Some(exited())));
    assert_ended(&**store, &questions, exited(), FailReason::AgentGone).await;
    assert_eq!(stored(&**store, &untouched.id).await, untouched);
    let [open, queued, written, _] = &questions;
    let told = [
        (EventType::QuestionResolved, Some(open.id.clone())),
        (EventType::QuestionResolved, Some(second_open.id)),
        (EventType::QuestionDelivered, Some(queued.id.clone())),
        (EventType::QuestionDelivered, Some(written.id.clone())),
        (EventType::SessionEnded, None),
    ];
    assert_eq!(happened(&**store, before).await, told);
}

pub(crate) async fn ending_a_session_twice_is_harmless<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    busy(&**store, &agent, 1).await;
    let first = store.end_session(&agent.session, exited(), at(500)).await.unwrap();
    let newest = store.newest();
    let other = Cause::SessionEnded { detail: None };
    assert_eq!(store.end_session(&agent.session, other, at(600)).await.unwrap(), first);
    assert_eq!(store.newest(), newest);
    let unknown = askd_core::SessionId::from_bits(404);
    assert_eq!(store.end_session(&unknown, exited(), at(600)).await.unwrap(), None);
}

pub(crate) async fn a_question_of_an_ended_session_can_still_be_ended<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let ended = store.end_session(&agent.session, exited(), at(500)).await.unwrap();
    // The last words of an agent may be read after its end was seen; they must not stay open for ever.
    let late = ask(&**store, agent.asks(1, plain())).await;
    assert_eq!(store.end_session(&agent.session, exited(), at(600)).await.unwrap(), ended);
    assert_eq!(stored(&**store, &late.id).await.status, Status::Cancelled);
    assert_eq!(happened(&**store, late.seq).await, [(EventType::QuestionResolved, Some(late.id))]);
}

pub(crate) async fn ending_a_source_ends_its_sessions_and_questions<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (mine, other) = (agent(&**store, 1).await, agent(&**store, 2).await);
    let second = store.see_session(session_seen(3, &mine.source)).await.unwrap().id;
    let first_questions = busy(&**store, &mine, 1).await;
    let second_agent = Agent { source: mine.source.clone(), session: second.clone() };
    let second_questions = busy(&**store, &second_agent, 11).await;
    let untouched = ask(&**store, other.asks(20, plain())).await;
    let before = store.newest();
    let cause = Cause::SourceLost { detail: Some("connection refused".to_owned()) };
    let source = store.end_source(&mine.source, cause.clone(), at(500), None).await.unwrap().unwrap();
    assert_eq!((source.state, source.since), (SourceState::Ended, at(500)));
    // The second claim of the source's answers took the queued answer of the first session too.
    assert_ended(&**store, &first_questions, cause.clone(), FailReason::Unconfirmed).await;
    assert_ended(&**store, &second_questions, cause.clone(), FailReason::AgentGone).await;
    for session in [&mine.session, &second] {
        let session = store.session(session).await.unwrap().unwrap();
        assert_eq!((session.live, session.end), (false, Some(cause.clone())));
    }
    assert_eq!(stored(&**store, &untouched.id).await, untouched);
    assert!(store.session(&other.session).await.unwrap().unwrap().live);

    let mut told = Vec::new();
    for [open, queued, written, _] in [first_questions, second_questions] {
        told.push((EventType::QuestionResolved, Some(open.id)));
        told.push((EventType::QuestionDelivered, Some(queued.id)));
        told.push((EventType::QuestionDelivered, Some(written.id)));
        told.push((EventType::SessionEnded, None));
    }
    assert_eq!(happened(&**store, before).await, told);
    let newest = store.newest();
    assert_eq!(store.end_source(&mine.source, exited(), at(600), None).await.unwrap(), Some(source));
    assert_eq!(store.newest(), newest);
}

pub(crate) async fn a_session_learns_its_own_name<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (first, other) = (agent(&**store, 1).await, agent(&**store, 2).await);
    let second = store.see_session(session_seen(3, &first.source)).await.unwrap();
    let asked = ask(&**store, first.asks(1, plain())).await;
    let before = store.newest();
    let named = Session { native_id: "own-name".to_owned(), ..as_session(&session_seen(1, &first.source)) };
    assert_eq!(store.name_session(&first.session, "own-name").await.unwrap(), Some(named.clone()));
    assert_eq!(store.name_session(&askd_core::SessionId::from_bits(404), "x").await.unwrap(), None);
    assert_eq!(store.newest(), before);
    // What a person allowed stays when the session is seen again.
    let typed = Session { tmux: true, ..named.clone() };
    assert_eq!(store.set_tmux(&first.session, true).await.unwrap(), Some(typed.clone()));
    let seen = SessionSeen { native_id: "own-name".to_owned(), ..session_seen(99, &first.source) };
    assert_eq!(store.see_session(seen).await.unwrap(), typed);
    assert_eq!(store.set_tmux(&first.session, false).await.unwrap(), Some(named.clone()));
    assert_eq!(store.set_tmux(&askd_core::SessionId::from_bits(404), true).await.unwrap(), None);
    // It is found by that name from now on, and keeps its id and its questions.
    let seen = SessionSeen { native_id: "own-name".to_owned(), ..session_seen(99, &first.source) };
    assert_eq!(store.see_session(seen).await.unwrap(), named);
    assert_eq!(stored(&**store, &asked.id).await, asked);
    assert_eq!(store.sessions_of_source(&first.source).await.unwrap(), [named, second]);
    assert_eq!(store.sessions_of_source(&other.source).await.unwrap().len(), 1);
}

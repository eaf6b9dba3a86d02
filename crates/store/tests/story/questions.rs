//! Questions: asked once, listed by their place in the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use askd_core::{Ask, Context, Event, EventType, Question, QuestionId, SessionId, Status, ToolRef};
use askd_store::{Asked, EventLog, Order, QuestionFilter, Questions, Record, Resolved};

use super::props::*;
use super::stage::Stage;

pub(crate) async fn asking_gives_a_place_in_the_log_and_its_event_in_one_step<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let before = store.newest();
    let new = by_api(1, plain());
    let wanted = Question {
        id: question_id(1),
        ask: plain().into(),
        status: Status::Requested,
        outcome: None,
        delivery: None,
        created_at: at(0),
        seq: before + 1,
        failed_tries: Vec::new(),
        road: None,
        agent_times_out_at: None,
    };
    assert_eq!(store.ask(new).await.unwrap(), Asked::New(wanted.clone()));
    let record = Record { question: wanted.clone(), asker: Some(token(1)), source: None, native_id: None };
    assert_eq!(store.question(&wanted.id).await.unwrap(), Some(record));
    let told = events(&**store, before).await;
    let event = Event {
        seq: wanted.seq,
        kind: EventType::QuestionRequested,
        at: at(0),
        question: Some(wanted.clone()),
        session: None,
    };
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].json, serde_json::to_string(&event).unwrap());
    assert_eq!((store.newest(), *store.watch().borrow()), (wanted.seq, wanted.seq));
}

pub(crate) async fn what_an_agent_asked_is_kept_byte_for_byte<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = ask(&**store, agent.asks(1, plain())).await;
    let words = store.native(&question.id).await.unwrap();
    assert_eq!(words.as_deref(), Some("{\"id\": 1,  \"spaces\":\t\"kept ü\"}"));
    let kept = Record {
        question: question.clone(),
        asker: None,
        source: Some(agent.source),
        native_id: Some("toolu_1".to_owned()),
    };
    assert_eq!(record(&**store, &question.id).await, kept);
    ask(&**store, by_api(2, plain())).await;
    assert_eq!(store.native(&question_id(2)).await.unwrap(), None);
}

pub(crate) async fn an_unknown_question_is_nothing<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let id = question_id(404);
    assert_eq!(store.question(&id).await.unwrap(), None);
    assert_eq!(store.native(&id).await.unwrap(), None);
    assert_eq!(store.reveal(&id, at(1)).await.unwrap(), None);
    assert_eq!(reply(&**store, &id, &["JWT"]).await, Resolved::NotFound);
    assert_eq!(store.question_by_native(&SessionId::from_bits(1), "x").await.unwrap(), None);
    assert_eq!(store.newest(), 0);
}

/// All pages of a list, and whether each was full but the last.
async fn pages<S: Stage>(stage: &S, filter: &QuestionFilter, order: Order, limit: usize) -> Vec<QuestionId> {
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let page = stage.store().list(filter.clone(), order, after, limit).await.unwrap();
        assert!(page.questions.len() <= limit);
        assert_eq!(page.next, page.next.and(page.questions.last()).map(|question| question.seq));
        assert!(page.next.is_none() || page.questions.len() == limit);
        ids.extend(page.questions.into_iter().map(|question| question.id));
        after = page.next;
        if after.is_none() {
            return ids;
        }
    }
}

pub(crate) async fn a_list_pages_both_ways<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let empty = store.list(QuestionFilter::default(), Order::Desc, None, 3).await.unwrap();
    assert_eq!((empty.questions.len(), empty.next, empty.seq), (0, None, store.newest()));
    // Ids in another order than the log: the log decides.
    for n in [4, 1, 6, 2, 5, 3] {
        ask(&**store, by_api(n, plain())).await;
    }
    let oldest_first = [4, 1, 6, 2, 5, 3].map(question_id);
    let all = QuestionFilter::default();
    for limit in [1, 2, 3, 4, 6, 100] {
        assert_eq!(pages(&stage, &all, Order::Asc, limit).await, oldest_first, "{limit} at a time");
        let mut newest_first = pages(&stage, &all, Order::Desc, limit).await;
        newest_first.reverse();
        assert_eq!(newest_first, oldest_first, "{limit} at a time");
    }
    let page = store.list(all, Order::Asc, None, 100).await.unwrap();
    assert_eq!((page.next, page.seq), (None, store.newest()));
}

pub(crate) async fn a_restarted_hub_finds_the_open_questions_of_a_source<S: Stage>() {
    let mut stage = S::fresh().await;
    let (mine, other) = (agent(&**stage.store(), 1).await, agent(&**stage.store(), 2).await);
    for (agent, n) in [(&mine, 3), (&other, 4), (&mine, 1), (&mine, 2)] {
        ask(&**stage.store(), agent.asks(n, plain())).await;
    }
    reply(&**stage.store(), &question_id(1), &["JWT"]).await;
    stage.reopen().await;
    let store = stage.store();
    let wanted = [record(&**store, &question_id(3)).await, record(&**store, &question_id(2)).await];
    assert_eq!(store.open_of_source(&mine.source).await.unwrap(), wanted);
}

pub(crate) async fn a_list_can_be_filtered<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (first, second) = (agent(&**store, 1).await, agent(&**store, 2).await);
    let call =
        |id: &str| Ask { tool: Some(ToolRef { message_id: None, call_id: Some(id.to_owned()) }), ..plain() };
    ask(&**store, first.asks(1, call("a"))).await;
    ask(&**store, second.asks(2, call("a"))).await;
    ask(&**store, first.asks(3, call("b"))).await;
    ask(&**store, by_api(4, plain())).await;
    reply(&**store, &question_id(1), &["JWT"]).await;
    reply(&**store, &question_id(4), &["JWT"]).await;
    let any = QuestionFilter::default;
    let agent = |name: &str| Some(name.to_owned());
    let requested = Some(Status::Requested);
    for (filter, wanted) in [
        (QuestionFilter { status: requested, ..any() }, vec![2, 3]),
        (QuestionFilter { status: Some(Status::Answered), ..any() }, vec![1, 4]),
        (QuestionFilter { status: Some(Status::Expired), ..any() }, vec![]),
        (QuestionFilter { agent: agent("claude"), ..any() }, vec![1, 2, 3]),
        (QuestionFilter { agent: agent("api"), ..any() }, vec![4]),
        (QuestionFilter { agent: agent("claude"), status: requested, ..any() }, vec![2, 3]),
        (QuestionFilter { session: Some(first.session.clone()), ..any() }, vec![1, 3]),
        (QuestionFilter { session: Some(first.session.clone()), status: requested, ..any() }, vec![3]),
        (QuestionFilter { call_id: agent("a"), ..any() }, vec![1, 2]),
        (QuestionFilter { call_id: agent("a"), session: Some(second.session.clone()), ..any() }, vec![2]),
        (QuestionFilter { call_id: agent("' OR 1"), ..any() }, vec![]),
        (QuestionFilter { settled: Some(true), ..any() }, vec![1, 4]),
        (QuestionFilter { settled: Some(false), agent: agent("claude"), ..any() }, vec![2, 3]),
    ] {
        let wanted: Vec<_> = wanted.into_iter().map(question_id).collect();
        assert_eq!(pages(&stage, &filter, Order::Asc, 1).await, wanted, "{filter:?}");
    }
}

pub(crate) async fn a_list_can_be_searched<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let about = |cwd: &str, title: &str| {
        let context =
            Context { cwd: Some(cwd.to_owned()), title: Some(title.to_owned()), ..Context::default() };
        Ask { context, ..plain() }
    };
    ask(&**store, by_api(1, about("/home/me/shop", "100% \"done\"\\ now\0after"))).await;
    ask(&**store, by_api(2, about("/home/me/blog", "Grüße, 100 percent"))).await;
    reply(&**store, &question_id(2), &["Session"]).await;
    let moment = store.question(&question_id(1)).await.unwrap().unwrap().question.created_at;
    let any = QuestionFilter::default;
    let text = |words: &str| QuestionFilter { text: Some(words.to_owned()), ..any() };
    let project = |name: &str| QuestionFilter { project: Some(name.to_owned()), ..any() };
    for (filter, wanted) in [
        (text("grüße"), vec![2]),
        (text("GRÜSSE"), vec![2]),
        (text("percent"), vec![2]),
        (text("after"), vec![1]),
        (text("DONE"), vec![1]),
        (text("100%"), vec![1]),
        (text("\"done\"\\"), vec![1]),
        (text("10_"), vec![]),
        (text("auth"), vec![1, 2]),
        // Names of fields and words of the protocol are not what was said.
        (text("rejectModes"), vec![]),
        (text("decline"), vec![]),
        (text("answered"), vec![]),
        // Nor are names of agents and tokens, and the ways of answers.
        (text("claude"), vec![]),
        (text("api"), vec![]),
        (text("' OR 1"), vec![]),
        (project("/home/me/shop"), vec![1]),
        (project("/work"), vec![]),
        (QuestionFilter { since: Some(moment), ..any() }, vec![1, 2]),
        (QuestionFilter { since: Some(moment.plus_millis(1_000_000)), ..any() }, vec![]),
        (QuestionFilter { until: Some(moment), ..any() }, vec![]),
        (QuestionFilter { until: Some(moment.plus_millis(1_000_000)), ..any() }, vec![1, 2]),
    ] {
        let wanted: Vec<_> = wanted.into_iter().map(question_id).collect();
        assert_eq!(pages(&stage, &filter, Order::Asc, 1).await, wanted, "{filter:?}");
    }
}

pub(crate) async fn a_list_and_the_stream_after_it_have_no_gap<S: Stage>() {
    const WRITERS: u128 = 4;
    const QUESTIONS: u128 = 60;
    let stage = S::fresh().await;
    let store = stage.store();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for n in 0..QUESTIONS {
                    ask(&*store, by_api(writer * QUESTIONS + n, plain())).await;
                }
            })
        })
        .collect();
    let mut lists = Vec::new();
    while !writers.iter().all(|writer| writer.is_finished()) {
        let page = store.list(QuestionFilter::default(), Order::Asc, None, 1000).await.unwrap();
        // A stream may begin here at once: it is never beyond what the store says is its newest.
        assert!(page.seq <= store.newest(), "the list has seen {}, newest is {}", page.seq, store.newest());
        lists.push((page.seq, page.questions.into_iter().map(|question| question.id).collect::<Vec<_>>()));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let everything: BTreeSet<_> = (0..WRITERS * QUESTIONS).map(question_id).collect();
    for (seq, mut seen) in lists {
        seen.extend(events(&**store, seq).await.iter().filter_map(|event| event.question.clone()));
        assert_eq!(seen.len(), everything.len(), "a question twice or not at all");
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), everything);
    }
}

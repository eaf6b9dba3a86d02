//! The mock and the codec against each other in one thread: every word of the mock's prompt, answered, to the
//! end of the turn.
//!
//! Both are state machines without IO, so a whole conversation is a loop and a test takes microseconds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use askd_agents::mock::{Effect, Mock, Timer};
use askd_agents::{
    Asked, Begin, Codec, Heard, KnownSession, Pending, Registry, Settlement, Speech, Start, TurnEnd,
};
use askd_core::answer::Rejection;
use askd_core::{Kind, RejectMode, Reply};

#[derive(Default)]
struct Log {
    asked: Vec<Asked>,
    /// Native ids, in order.
    confirmed: Vec<String>,
    withdrawn: Vec<String>,
    answered_elsewhere: Vec<String>,
    not_taken: Vec<String>,
    said: String,
    ends: Vec<TurnEnd>,
    unrecognised: Vec<String>,
    closed: Vec<String>,
    failed: Vec<String>,
    effects: Vec<Effect>,
}

struct Duel {
    codec: Box<dyn Codec>,
    mock: Mock,
    log: Log,
}

fn codec() -> Box<dyn Codec> {
    Registry::built_in().get("mock").unwrap().conversation().unwrap()
}

impl Duel {
    fn new(prompt: &str) -> Self {
        let mut duel = Self { codec: codec(), mock: Mock::new(), log: Log::default() };
        let begin =
            Begin { cwd: "/home/dev/app".to_owned(), prompt: Some(prompt.to_owned()), ..Begin::default() };
        let heard = duel.codec.begin(begin);
        duel.take(heard);
        duel
    }

    fn take(&mut self, heard: Vec<Heard>) {
        for heard in heard {
            match heard {
                Heard::Write(speech) => self.say(&speech),
                Heard::Closing { bytes, .. } | Heard::FirstPrompt(bytes) => self.say(&Speech::Bytes(bytes)),
                Heard::Asked(asked) => self.log.asked.push(*asked),
                Heard::Confirmed { native_id } => self.log.confirmed.push(native_id),
                Heard::Withdrawn { native_id, .. } => self.log.withdrawn.push(native_id),
                Heard::AnsweredElsewhere { native_id, .. } => self.log.answered_elsewhere.push(native_id),
                Heard::NotTaken { native_id, .. } => self.log.not_taken.push(native_id),
                Heard::Chatter { text, .. } => self.log.said.push_str(&text.unwrap_or_default()),
                Heard::TurnEnded { end, .. } => self.log.ends.push(end),
                Heard::Unrecognised { why } => self.log.unrecognised.push(why),
                Heard::SessionEnded { native_id, .. } => self.log.closed.push(native_id),
                Heard::SessionStarted { .. } | Heard::SessionUpdated { .. } | Heard::Incomplete { .. } => {}
                Heard::Failed { step, detail } => self.log.failed.push(format!("{step}: {detail}")),
            }
        }
    }

    fn say(&mut self, speech: &Speech) {
        let text = String::from_utf8(speech.bytes().unwrap().to_vec()).unwrap();
        for line in text.lines() {
            let effects = self.mock.hear(line);
            self.perform(effects);
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Say(line) => {
                    let heard = self.codec.hear(line.as_bytes());
                    self.take(heard);
                }
                Effect::Raw(bytes) => {
                    for line in bytes.split(|byte| *byte == b'\n') {
                        let heard = self.codec.hear(line);
                        self.take(heard);
                    }
                }
                Effect::Repeat { line, count } => {
                    for _ in 0..count {
                        let heard = self.codec.hear(line.as_bytes());
                        self.take(heard);
                    }
                }
                other => self.log.effects.push(other),
            }
        }
    }

    fn ring(&mut self) {
        let at = self.log.effects.iter().position(|effect| matches!(effect, Effect::After { .. })).unwrap();
        let Effect::After { timer, .. } = self.log.effects.remove(at) else { unreachable!() };
        let effects = self.mock.rings(&timer);
        self.perform(effects);
    }

    fn settle(&mut self, at: usize, settled: &Settlement) {
        let asked = &self.log.asked[at];
        let speech = self.codec.speak(&asked.native, &asked.ask, settled).unwrap();
        let id = asked.native_id.clone();
        let heard = self.codec.delivered(&id, settled);
        self.say(&speech);
        self.take(heard);
    }

    fn answer(&mut self, at: usize, answers: &[&[&str]]) {
        let owned = |picks: &&[&str]| picks.iter().map(|pick| (*pick).to_owned()).collect::<Vec<String>>();
        let reply = Reply::of(answers.iter().map(owned));
        let answer = reply.check(&self.log.asked[at].ask).unwrap();
        self.settle(at, &Settlement::Answered(answer));
    }

    fn reject(&mut self, at: usize, mode: RejectMode) {
        let rejection = Rejection { mode: Some(mode), reason: None };
        let (mode, reason) = rejection.check(&self.log.asked[at].ask).unwrap();
        self.settle(at, &Settlement::Rejected { mode, reason });
    }
}

#[test]
fn every_kind_of_question_comes_back_as_it_was_answered() {
    let cases: [(&str, Kind, &[&[&str]], &str); 9] = [
        ("question", Kind::Choice, &[&["Option A"]], r#"{"status":"answered","answers":[["option-a"]]}"#),
        ("multi", Kind::Choice, &[&["Metrics, traces", "alerts"]], r#""answers":[["metrics","alerts"]]"#),
        ("two", Kind::Choice, &[&["Green"], &["S", "L"]], r#""answers":[["Green"],["S","L"]]"#),
        ("text", Kind::Choice, &[&["my \"name\"\n2"]], r#""answers":[["my \"name\"\n2"]]"#),
        ("secret", Kind::Choice, &[&["sk-1"]], r#""answers":[["sk-1"]]"#),
        (
            "form",
            Kind::Form,
            &[&["SQLite"], &["a", "C"], &["a@b.org"], &["7"], &[], &["true"], &["2026-11-15"]],
            r#"{"action":"accept","content":{"db":"sq","features":["a","c"],"owner":"a@b.org","replicas":7,"public":true,"since":"2026-11-15"}}"#,
        ),
        ("link", Kind::Form, &[&["opened"]], r#"{"action":"accept"}"#),
        ("permission", Kind::Permission, &[&["Allow"]], r#""optionId":"allow-once""#),
        ("plan", Kind::Plan, &[&["approve"]], r#""optionId":"default""#),
    ];
    for (word, kind, answers, received) in cases {
        let mut duel = Duel::new(word);
        assert_eq!((duel.log.asked.len(), duel.log.failed.len()), (1, 0), "{word}");
        assert_eq!(duel.log.asked[0].ask.kind, kind, "{word}");
        assert_eq!(duel.log.asked[0].ask.call_id(), Some("call-1"), "{word}");
        duel.answer(0, answers);
        assert!(duel.log.said.contains("received: "), "{word}");
        assert!(duel.log.said.contains(received), "{word}: {}", duel.log.said);
        assert_eq!(duel.log.confirmed, [duel.log.asked[0].native_id.clone()], "{word}");
        assert_eq!(duel.log.ends, [TurnEnd::Done], "{word}");
    }
}

#[test]
fn several_words_are_asked_one_after_another() {
    let mut duel = Duel::new("a question and then a plan, please");
    assert_eq!(duel.log.asked.len(), 1);
    duel.answer(0, &[&["option-b"]]);
    assert_eq!(duel.log.asked.len(), 2);
    duel.reject(1, RejectMode::Decline);
    assert!(duel.log.said.contains(r#""optionId":"plan""#));
    assert_eq!((duel.log.confirmed.len(), duel.log.ends.len()), (2, 1));
}

#[test]
fn the_demo_asks_five_real_looking_questions() {
    let mut duel = Duel::new("demo");
    let answers: [&[&[&str]]; 5] = [
        &[&["JWT"]],
        &[&["Logging", "Metrics, traces"]],
        &[&["askd"]],
        &[&["One server"], &["Lints", "Unit tests"]],
        &[&["approve"]],
    ];
    for (i, answers) in answers.into_iter().enumerate() {
        assert_eq!(duel.log.asked.len(), i + 1);
        assert!(
            duel.log.asked[i].ask.context.excerpt.is_some(),
            "a question carries what was said before it"
        );
        duel.answer(i, answers);
    }
    assert_eq!(duel.log.asked[4].ask.kind, Kind::Plan);
    assert!(duel.log.asked[0].ask.questions[0].options.iter().all(|option| option.preview.is_some()));
    assert_eq!(duel.log.said.matches("received: ").count(), 5);
    assert_eq!((duel.log.confirmed.len(), duel.log.ends.as_slice()), (5, [TurnEnd::Done].as_slice()));
}

#[test]
fn two_open_at_once_are_answered_in_any_order() {
    let mut duel = Duel::new("both");
    assert_eq!(duel.log.asked.len(), 2);
    duel.answer(1, &[&["logging"]]);
    assert_eq!(duel.log.confirmed, [duel.log.asked[1].native_id.clone()]);
    duel.answer(0, &[&["option-a"]]);
    assert_eq!((duel.log.confirmed.len(), duel.log.ends.len()), (2, 1));
}

#[test]
fn a_question_written_twice_is_one_question() {
    let mut duel = Duel::new("twice");
    assert_eq!(duel.log.asked.len(), 2);
    assert_eq!(duel.log.asked[0].native_id, duel.log.asked[1].native_id);
    duel.answer(0, &[&["option-a"]]);
    assert_eq!((duel.log.confirmed.len(), duel.log.ends.len()), (1, 1));
}

#[test]
fn a_question_that_is_heard_again_after_its_end_can_be_forgotten() {
    let mut duel = Duel::new("question text");
    duel.answer(0, &[&["option-a"]]);
    let again = duel.log.asked[0].native.get().to_owned();
    let heard = duel.codec.hear(again.as_bytes());
    duel.take(heard);
    duel.codec.forget("question-1");
    let heard = duel.codec.interrupt(None);
    duel.take(heard);
    assert_eq!(duel.log.withdrawn, ["question-2"], "what is forgotten gets no second response");
}

#[test]
fn a_withdrawn_question_is_over_and_its_request_has_its_response() {
    let mut duel = Duel::new("withdraw question");
    let timer = Effect::After { ms: 300, timer: Timer::Withdraw { request: "q-1".to_owned() } };
    assert_eq!(duel.log.effects, [timer]);
    duel.ring();
    assert_eq!(duel.log.withdrawn, ["question-1"]);
    assert_eq!(duel.log.asked.len(), 2, "and the mock goes on with its script");
}

#[test]
fn an_answer_that_comes_before_the_withdrawal_stands() {
    let mut duel = Duel::new("withdraw");
    duel.answer(0, &[&["option-a"]]);
    duel.ring();
    assert_eq!((duel.log.withdrawn.len(), duel.log.confirmed.len(), duel.log.ends.len()), (0, 1, 1));
}

#[test]
fn a_link_that_was_followed_elsewhere_is_answered_there() {
    let mut duel = Duel::new("link-done");
    duel.ring();
    assert_eq!(duel.log.answered_elsewhere.len(), 1);
    assert!(duel.log.said.contains(r#"received: {"action":"accept"}"#));
    assert_eq!((duel.log.withdrawn.len(), duel.log.ends.as_slice()), (0, [TurnEnd::Done].as_slice()));
}

#[test]
fn sessions_that_another_client_leads_do_not_disturb_each_other() {
    let mut duel = Duel { codec: codec(), mock: Mock::new(), log: Log::default() };
    duel.codec.begin(Begin { start: Start::Observed, ..Begin::default() });
    let new = r#"{"jsonrpc":"2.0","id":"c:1","method":"session/new","params":{"cwd":"/a"}}"#;
    let prompt = |id: u8, session: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":"{session}","prompt":[{{"type":"text","text":"text"}}]}}}}"#
        )
    };
    for line in [new, new, &prompt(7, "mock-1"), &prompt(8, "mock-2")] {
        duel.codec.overhear(line.as_bytes());
        duel.say(&Speech::Bytes(line.as_bytes().to_vec()));
    }
    let sessions: Vec<_> = duel.log.asked.iter().map(|asked| asked.native_session.clone().unwrap()).collect();
    assert_eq!(sessions, ["mock-1", "mock-2"]);
    duel.answer(1, &[&["second"]]);
    assert_eq!(
        (duel.log.confirmed.as_slice(), duel.log.ends.len()),
        (["question-2".to_owned()].as_slice(), 1)
    );
    duel.answer(0, &[&["first"]]);
    assert_eq!((duel.log.confirmed.len(), duel.log.ends.len()), (2, 2));
}

#[test]
fn every_reject_mode_reaches_the_agent() {
    let mut duel = Duel::new("question form permission");
    duel.reject(0, RejectMode::Decline);
    duel.reject(1, RejectMode::Cancel);
    assert!(
        duel.log.said.contains(r#"{"status":"rejected"}"#)
            && duel.log.said.contains(r#"{"action":"cancel"}"#)
    );
    duel.reject(2, RejectMode::Interrupt);
    assert_eq!(duel.log.ends, [TurnEnd::Cancelled]);
    assert_eq!((duel.log.confirmed.len(), duel.log.not_taken.len()), (3, 0));
}

#[test]
fn an_interrupt_ends_the_turn_and_all_its_questions() {
    let mut duel = Duel::new("both");
    let heard = duel.codec.interrupt(None);
    duel.take(heard);
    assert_eq!((duel.log.withdrawn.len(), duel.log.ends.as_slice()), (2, [TurnEnd::Cancelled].as_slice()));
    let heard = duel.codec.prompt(None, "text").unwrap();
    duel.take(heard);
    assert_eq!(duel.log.asked.len(), 3, "and the session can be talked to");
    let heard = duel.codec.close(None);
    duel.take(heard);
    assert_eq!((duel.log.withdrawn.len(), duel.log.closed.as_slice()), (3, ["mock-1".to_owned()].as_slice()));
}

#[test]
fn a_hub_that_is_killed_between_ask_and_answer_goes_on() {
    let mut duel = Duel::new("two question");
    let first = &duel.log.asked[0];
    let pending = Pending {
        native_id: first.native_id.clone(),
        native_session: first.native_session.clone(),
        native: first.native.clone(),
        written: None,
    };
    let session = KnownSession { native_id: "mock-1".to_owned(), cwd: None, title: None };
    duel.codec = codec();
    let begin = Begin {
        start: Start::Resumed,
        epoch: 1,
        sessions: vec![session],
        pending: vec![pending],
        prompt: Some("two question".to_owned()),
        ..Begin::default()
    };
    let heard = duel.codec.begin(begin);
    assert!(
        matches!(heard[..], [Heard::FirstPrompt(_)]),
        "no second greeting, and a prompt that is said once"
    );
    duel.answer(0, &[&["Red"], &[]]);
    duel.answer(1, &[&["option-a"]]);
    assert_eq!((duel.log.confirmed.len(), duel.log.ends.len()), (2, 1));
}

#[test]
fn noise_and_faults_are_had_on_demand() {
    let mut duel = Duel::new("garbage flood=3 question");
    assert_eq!(duel.log.unrecognised.len(), 5);
    assert_eq!(duel.log.said.matches("flood").count(), 3);
    assert_eq!(duel.log.asked.len(), 1);
    let crash = Duel::new("crash").log.effects;
    assert!(matches!(crash.last(), Some(Effect::Exit(3))) && crash.len() == 3);
    let crash = Duel::new("crash-while-asking").log;
    assert!(matches!(crash.effects.last(), Some(Effect::Exit(3))) && crash.asked.len() == 1);
    assert_eq!(Duel::new("ignore-term hang").log.effects, [Effect::IgnoreTerm, Effect::Hang]);
    assert_eq!(Duel::new("huge=2000").log.said.len(), 2000);
    duel = Duel::new("slow=50 text");
    assert_eq!(duel.log.asked.len(), 0);
    duel.ring();
    assert_eq!(duel.log.asked.len(), 1);
}

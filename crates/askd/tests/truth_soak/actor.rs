//! One actor: a conversation after the other, and in each of them a random deed at each question.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::conversation::{Conversation, Kind, STEP, Start, until};
use crate::random::Random;
use crate::world::{VERSIONS, World};

const LABELS: [&str; 3] = ["Red", "Green", "Blue"];
/// Rounds of one conversation: a long one would show no more.
const MAX_ROUNDS: u64 = 6;
/// How long a question may stay open after it was answered somewhere: a typed answer that fails is one more
/// look at its pane.
const SETTLES_WITHIN: Duration = Duration::from_secs(40);
/// How long the second of two alike calls may take to be seen after the first.
const SECOND_WITHIN: Duration = Duration::from_secs(5);

/// What is done at a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Inbox,
    OwnWords,
    Keys,
    BothAtOnce,
    Decline,
    Interrupt,
    Escape,
    Kill,
    Close,
    HubKilled,
    AnsweredWithoutHub,
    BothKilled,
    TakenUpElsewhere,
    Nothing,
}

const IN_TERMINALS: [Deed; 27] = {
    use Deed::*;
    [
        Inbox,
        Inbox,
        Inbox,
        Inbox,
        OwnWords,
        OwnWords,
        Keys,
        Keys,
        Keys,
        BothAtOnce,
        BothAtOnce,
        BothAtOnce,
        Decline,
        Decline,
        Interrupt,
        Escape,
        Kill,
        Kill,
        Close,
        HubKilled,
        HubKilled,
        AnsweredWithoutHub,
        BothKilled,
        BothKilled,
        TakenUpElsewhere,
        TakenUpElsewhere,
        Nothing,
    ]
};
const MANAGED: [Deed; 12] = {
    use Deed::*;
    [
        Inbox,
        Inbox,
        Inbox,
        OwnWords,
        OwnWords,
        Decline,
        Decline,
        Interrupt,
        Kill,
        Close,
        HubKilled,
        TakenUpElsewhere,
    ]
};

pub struct Actor<'a> {
    world: &'a World,
    number: usize,
    random: Random,
    /// Questions that were there in earlier rounds.
    known: HashSet<String>,
    /// Conversations that have ended and can be resumed.
    ended: Vec<String>,
    scenario: &'static str,
}

impl<'a> Actor<'a> {
    pub fn new(world: &'a World, number: usize, seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(number as u64));
        random.number();
        Self { world, number, random, known: HashSet::new(), ended: Vec::new(), scenario: "one" }
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let index = self.random.below(all.len() as u64);
        all[usize::try_from(index).unwrap_or_default()]
    }

    pub fn run(mut self, end: Instant) -> Result<()> {
        while Instant::now() < end {
            if let Err(error) = self.converse(end) {
                self.world.trouble(format!("actor {}: {error:#}", self.number));
            }
        }
        Ok(())
    }

    fn prompt(&mut self) -> String {
        self.scenario = self.one_of(&["one", "one", "one", "many", "both", "alike"]);
        format!("SCENARIO:{}{} go", self.scenario, self.number)
    }

    fn any_start(&mut self) -> Start {
        let kind = self.one_of(&[Kind::Hooked, Kind::Hooked, Kind::Unhooked, Kind::Managed]);
        let times_out = self.random.below(8) == 0;
        let is_resumed = self.random.below(3) == 0;
        let resume = if is_resumed { self.ended.pop() } else { None };
        Start { kind, version: self.one_of(&VERSIONS), prompt: self.prompt(), resume, times_out }
    }

    /// One conversation to its end.
    fn converse(&mut self, end: Instant) -> Result<()> {
        let start = self.any_start();
        let mut now = Some(Conversation::start(self.world, start)?);
        for _ in 0..=self.random.below(MAX_ROUNDS) {
            let Some(talk) = now.take() else { break };
            now = self.round(talk)?;
            let Some(talk) = &now else { break };
            if Instant::now() >= end || !talk.is_idle()? {
                break;
            }
            if !talk.is_managed() {
                match self.random.below(12) {
                    0 => talk.say("/clear")?,
                    1 => talk.say("/compact")?,
                    _ => {}
                }
                std::thread::sleep(Duration::from_secs(1));
                if !talk.is_idle()? {
                    break;
                }
            }
            talk.say(&self.prompt())?;
        }
        if let Some(talk) = now {
            self.forget(&talk)?;
            talk.close()?;
        }
        Ok(())
    }

    /// It can be resumed later.
    fn forget(&mut self, talk: &Conversation<'_>) -> Result<()> {
        let own = self.own("")?;
        // A call without a result keeps the results of the other calls of its turn from the model.
        for open in own.iter().filter(|question| question["status"] == "requested") {
            let message = &open["tool"]["messageId"];
            let is_of_turn = |other: &&Value| {
                other["id"] == open["id"] || (message.is_string() && other["tool"]["messageId"] == *message)
            };
            own.iter().filter(is_of_turn).for_each(|question| self.world.may_be_unheard(question));
        }
        self.ended.extend(talk.native()?);
        Ok(())
    }

    fn own(&self, query: &str) -> Result<Vec<Value>> {
        let own = format!("Actor {}:", self.number);
        let is_own = |question: &Value| {
            question["questions"][0]["question"].as_str().is_some_and(|text| text.starts_with(&own))
        };
        Ok(self.world.questions(query)?.into_iter().filter(is_own).collect())
    }

    /// This actor's open questions that are new in this round.
    fn open(&self) -> Result<Vec<Value>> {
        let is_new = |question: &Value| question["id"].as_str().is_some_and(|id| !self.known.contains(id));
        Ok(self.own("status=requested")?.into_iter().filter(is_new).collect())
    }

    fn appear(&mut self, talk: &Conversation<'_>, count: usize) -> Result<Vec<Value>> {
        let mut found =
            until(STEP, || Ok(Some(self.open()?).filter(|open| !open.is_empty())))?.unwrap_or_default();
        if found.len() < count {
            let all = until(SECOND_WITHIN, || Ok(Some(self.open()?).filter(|open| open.len() >= count)))?;
            found = all.unwrap_or(found);
        }
        self.known.extend(found.iter().filter_map(|question| question["id"].as_str().map(str::to_owned)));
        if found.is_empty() && talk.shows_dialog() && !talk.start.times_out {
            self.world.trouble(format!(
                "a dialog that the inbox does not have ({:?}):\n{}",
                talk.start,
                talk.screen()
            ));
        }
        Ok(found)
    }

    /// A question, a deed, and what comes of it; gives the conversation if it goes on.
    fn round(&mut self, talk: Conversation<'a>) -> Result<Option<Conversation<'a>>> {
        let count = if self.scenario == "alike" { 2 } else { 1 };
        let asked = self.appear(&talk, count)?;
        if asked.is_empty() {
            self.forget(&talk)?;
            talk.close()?;
            return Ok(None);
        }
        let deeds: &[Deed] = if talk.is_managed() { &MANAGED } else { &IN_TERMINALS };
        let deed = self.one_of(deeds);
        let talk = match self.act(talk, &asked, deed)? {
            Some(talk) => talk,
            None => return Ok(None),
        };
        self.finish(&talk, &asked)?;
        Ok(Some(talk))
    }

    fn act(
        &mut self,
        talk: Conversation<'a>,
        asked: &[Value],
        deed: Deed,
    ) -> Result<Option<Conversation<'a>>> {
        eprintln!(
            "actor {}: {:?} {} {}, {deed:?}",
            self.number, talk.start.kind, talk.start.version, self.scenario
        );
        match deed {
            Deed::Inbox | Deed::OwnWords => {
                for question in self.shuffled(asked) {
                    self.reply(&question, deed == Deed::OwnWords)?;
                }
            }
            Deed::Keys => self.press_answer(&talk, None)?,
            Deed::BothAtOnce => {
                let question = self.one_of(&asked.iter().collect::<Vec<_>>()).clone();
                self.press_answer(&talk, Some(&question))?;
            }
            Deed::Decline => {
                for question in asked {
                    self.end(question, "reject", &json!({ "reason": "not now" }))?;
                }
            }
            Deed::Interrupt | Deed::Escape => {
                asked.iter().for_each(|question| self.world.may_be_unheard(question));
                match deed {
                    Deed::Interrupt => {
                        drop(self.end(&asked[0], "reject", &json!({ "mode": "interrupt" }))?)
                    }
                    _ if talk.is_ready_for_keys()? => talk.press("Escape")?,
                    _ => {}
                }
            }
            Deed::Kill | Deed::Close => {
                asked.iter().for_each(|question| self.world.may_be_unheard(question));
                // Also while an answer is on its way.
                if self.random.below(2) == 0 {
                    self.reply(&asked[0], false)?;
                }
                self.forget(&talk)?;
                if deed == Deed::Kill {
                    talk.kill()?;
                }
                talk.close()?;
                return Ok(None);
            }
            Deed::HubKilled => {
                let pause = self.random.below(3000);
                if self.random.below(2) == 0 {
                    self.reply(&asked[0], false)?;
                }
                self.world.without_hub(|| {
                    std::thread::sleep(Duration::from_millis(pause));
                    Ok(())
                })?;
                for question in asked {
                    self.reply(question, false)?;
                }
            }
            Deed::AnsweredWithoutHub => {
                let (keys, last) = self.answer_keys();
                self.world.without_hub(|| {
                    if talk.is_ready_for_keys()? {
                        talk.keys(&keys)?;
                        talk.press(&last)?;
                        std::thread::sleep(Duration::from_secs(1));
                    }
                    Ok(())
                })?;
            }
            Deed::BothKilled => return self.both_killed(talk, asked).map(Some),
            Deed::TakenUpElsewhere => self.taken_up(&talk, asked)?,
            Deed::Nothing => {}
        }
        Ok(Some(talk))
    }

    /// Hub and Claude Code die together, and the conversation is taken up before the hub is back.
    fn both_killed(&mut self, talk: Conversation<'a>, asked: &[Value]) -> Result<Conversation<'a>> {
        asked.iter().for_each(|question| self.world.may_be_unheard(question));
        let resume = talk.native()?;
        let start = Start { resume, prompt: self.prompt(), ..talk.start.clone() };
        let mut next = None;
        self.world.without_hub(|| {
            talk.kill()?;
            talk.close()?;
            let second = Conversation::start(self.world, start)?;
            until(STEP, || Ok(second.shows_dialog().then_some(())))?;
            next = Some(second);
            Ok(())
        })?;
        let Some(next) = next else { anyhow::bail!("no second conversation") };
        let count = if self.scenario == "alike" { 2 } else { 1 };
        let other = self.appear(&next, count)?;
        for question in &other {
            self.reply(question, false)?;
        }
        self.finish(&next, &other)?;
        Ok(next)
    }

    /// `claude --resume` of the conversation in another terminal, while its question is open.
    fn taken_up(&mut self, talk: &Conversation<'a>, asked: &[Value]) -> Result<()> {
        let Some(resume) = talk.native()? else { return Ok(()) };
        let kind = self.one_of(&[Kind::Hooked, Kind::Unhooked]);
        let (scenario, prompt) = (self.scenario, self.prompt());
        let start = Start { kind, resume: Some(resume), prompt, times_out: false, ..talk.start.clone() };
        let second = Conversation::start(self.world, start)?;
        let count = if self.scenario == "alike" { 2 } else { 1 };
        let other = self.appear(&second, count)?;
        if self.random.below(2) == 0 {
            for question in asked {
                self.reply(question, false)?;
            }
        }
        for question in &other {
            self.reply(question, false)?;
        }
        self.finish(&second, &other)?;
        second.close()?;
        self.scenario = scenario;
        Ok(())
    }

    /// Brings the round to its end: what nobody has answered is answered where that can be done.
    fn finish(&mut self, talk: &Conversation<'a>, asked: &[Value]) -> Result<()> {
        for _ in 0..asked.len() + 1 {
            let open = |question: &Value| {
                self.world.question(&question["id"]).map(|now| now["status"] == "requested")
            };
            let settled = until(SETTLES_WITHIN, || {
                let mut is_open = false;
                for question in asked {
                    is_open |= open(question)?;
                }
                Ok((!is_open).then_some(()))
            })?;
            if settled.is_some() {
                break;
            }
            if !talk.is_managed() && talk.shows_dialog() {
                self.press_answer(talk, None)?;
                continue;
            }
            for question in asked {
                self.reply(question, false)?;
            }
        }
        // What was said goes to the model before anything else is done.
        until(Duration::from_secs(20), || {
            let told = self.world.model.tool_results();
            let is_told = |question: &Value| {
                self.world.is_unheard(question)
                    || told.iter().any(|result| question["tool"]["callId"] == result.call_id.as_str())
            };
            Ok(asked.iter().all(is_told).then_some(()))
        })?;
        Ok(())
    }

    fn shuffled(&mut self, asked: &[Value]) -> Vec<Value> {
        let mut asked = asked.to_vec();
        if self.random.below(2) == 0 {
            asked.reverse();
        }
        asked
    }

    /// Answers in the inbox. A refusal is told to the person and changes nothing.
    fn reply(&mut self, question: &Value, own_words: bool) -> Result<(u16, Value)> {
        let items = question["questions"].as_array().map_or(1, Vec::len);
        let answers: Vec<Value> = (0..items)
            .map(|_| match own_words {
                true => json!([format!("own words {}", self.random.below(1000))]),
                false => json!([self.one_of(&LABELS)]),
            })
            .collect();
        self.end(question, "reply", &json!({ "answers": answers }))
    }

    fn end(&self, question: &Value, how: &str, body: &Value) -> Result<(u16, Value)> {
        let id = question["id"].as_str().unwrap_or_default();
        let said = self.world.http("POST", &format!("/v1/questions/{id}/{how}"), Some(body))?;
        if !matches!(said.0, 200 | 409) {
            self.world.trouble(format!("{how} gave {}: {}", said.0, said.1));
        }
        Ok(said)
    }

    /// The keys of a random answer, and the one that decides.
    fn answer_keys(&mut self) -> (Vec<String>, String) {
        let mut pick = || (1 + self.random.below(LABELS.len() as u64)).to_string();
        match self.scenario {
            "many" => (vec![pick(), "Tab".to_owned()], "Enter".to_owned()),
            "both" => (vec![pick(), pick()], "Enter".to_owned()),
            _ => (vec![], pick()),
        }
    }

    /// Answers in the terminal; at the moment of the deciding key also in the inbox, if a question is given.
    fn press_answer(&mut self, talk: &Conversation<'a>, also: Option<&Value>) -> Result<()> {
        let (keys, last) = self.answer_keys();
        if !talk.is_ready_for_keys()? {
            return Ok(());
        }
        talk.keys(&keys)?;
        let Some(question) = also else { return talk.press(&last) };
        std::thread::scope(|scope| {
            let pressed = scope.spawn(|| talk.press(&last));
            let replied = self.reply(question, false);
            pressed.join().unwrap_or_else(|_| anyhow::bail!("a panic"))?;
            replied.map(drop)
        })
    }
}

//! The answer with which the agent continued, read from its own record of the call.
//!
//! In: the call's input, the result in `PostToolUse` or the transcript, and askd's stored answer, if any.
//! Out: [`Elsewhere`], in the form in which answers are compared.

use askd_core::ask::APPROVE;
use askd_core::lifecycle::Elsewhere;
use askd_core::{Answer, ItemAnswer};
use serde::Deserialize as _;
use serde_json::Value;

use super::question::Tool;
use crate::claude::question::{NOTHING, Picked, Reported, given, picked};
use crate::claude::{Takes, plan};

/// The channel of an answer that did not come from askd.
const VIA: &str = "terminal";
/// The same for the agent's own time-out.
const VIA_TIME_OUT: &str = "time-out";
/// The texts that a program writes as the result of an open call when it resumes a conversation: in place of
/// the asking process, which may still wait.
const CUT_OFF: [&str; 2] =
    ["[Tool call interrupted: the session ended before", "[Tool call result not in this copy:"];
/// The program's text for notes alone.
const NOTES_ONLY: &str = "(notes only)";
/// The report of a plan that was approved without askd's changes.
const APPROVED_UNCHANGED: &str = "approve, without the changes";

/// The end of a call as its record tells it.
#[derive(Debug, Clone, Copy)]
pub struct Went<'a> {
    pub is_error: bool,
    /// The structured result.
    pub result: Option<&'a Value>,
    /// The text that the model received.
    pub told: Option<&'a str>,
}

impl Went<'_> {
    /// True if another process wrote this in place of the call's result.
    pub fn is_cut_off(&self) -> bool {
        self.is_error && self.told.is_some_and(is_cut_off)
    }

    /// How long the program had waited, if it went on by itself.
    fn timed_out(&self) -> Option<&Value> {
        self.result?.get("afkTimeoutMs")
    }
}

pub(super) fn is_cut_off(told: &str) -> bool {
    CUT_OFF.iter().any(|start| told.starts_with(start))
}

pub fn went_on(tool: Tool, input: &Value, went: Went<'_>, ours: Option<&Answer>) -> Elsewhere {
    if let Some(waited) = went.timed_out() {
        let said = went.told.map(shorten);
        let waited = || waited.as_u64().map(|waited| format!("No response after {} s", waited / 1000));
        return Elsewhere::TimedOut { detail: said.or_else(waited), via: VIA_TIME_OUT.to_owned() };
    }
    let answered = match tool {
        Tool::ExitPlanMode if went.is_error => None,
        Tool::ExitPlanMode => {
            let ignored = ours.is_some_and(|ours| plan::ignored_edits(input, ours, went.result));
            let said = if ignored { APPROVED_UNCHANGED } else { APPROVE };
            Some(Picked { answers: vec![vec![said.to_owned()]], notes: vec![None] })
        }
        Tool::AskUserQuestion => answers_of(input, went, ours),
    };
    match answered {
        Some(Picked { answers, notes }) => Elsewhere::Answered { answers, notes, via: VIA.to_owned() },
        None => Elsewhere::Rejected { reason: went.told.map(shorten), via: VIA.to_owned() },
    }
}

fn shorten(text: &str) -> String {
    const SHOWN: usize = 2_000;
    text.chars().take(SHOWN).collect()
}

fn answers_of(input: &Value, went: Went<'_>, ours: Option<&Answer>) -> Option<Picked> {
    let as_ours = |ours: &Answer| Picked {
        answers: ours.answers.iter().map(ItemAnswer::to_texts).collect(),
        notes: ours.notes.clone(),
    };
    if went.is_error {
        // An answer with nothing in it is said so.
        let is_nothing = |ours: &&Answer| ours.answers.iter().all(ItemAnswer::is_empty);
        return ours.filter(|_| went.told == Some(NOTHING)).filter(is_nothing).map(as_ours);
    }
    let result = went.result?;
    let mut reported = Reported::deserialize(result).ok()?;
    reported.answers.as_mut()?.retain(|_, given| given != NOTES_ONLY);
    if let Some(ours) = ours {
        // With its notes beside the answers or in them, as the version takes them.
        let says =
            |notes: bool| given(input, Takes { notes, nothing: true }, ours).ok().map(|given| given.answers);
        if [says(true), says(false)].contains(&reported.answers) {
            return Some(as_ours(ours));
        }
    }
    picked(input, &reported)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claude_hook::{Tool, decision};
    use askd_core::Settlement;

    fn input() -> Value {
        let option =
            |label: &str| json!({"label": label, "description": "d", "preview": format!("p {label}")});
        json!({"questions":[
            {"question":"Many?","header":"H","multiSelect":true,"options":[option("Logging"),option("Metrics, traces"),option("The \"old\" one")]},
            {"question":"One?","header":"H","multiSelect":false,"options":[option("JWT"),option("Session cookies")]}]})
    }

    fn answer(many: &[&str], one: &[&str]) -> Answer {
        let known = ["Logging", "Metrics, traces", "The \"old\" one", "JWT", "Session cookies", APPROVE];
        let read = |texts: &[&str]| {
            let (picks, words) = texts
                .iter()
                .map(|text| (*text).to_owned())
                .partition(|text: &String| known.contains(&text.as_str()));
            ItemAnswer { picks, words }
        };
        Answer {
            answers: vec![read(many), read(one)],
            notes: vec![None, Some("soon".into())],
            edited_plan: None,
            next_mode: None,
        }
    }

    fn texts(answer: &Answer) -> Vec<Vec<String>> {
        answer.answers.iter().map(ItemAnswer::to_texts).collect()
    }

    fn decided(tool: Tool, input: &Value, notes: bool, settlement: &Settlement) -> Value {
        decision(tool, input, Takes { notes, nothing: false }, settlement).unwrap()
    }

    fn there_and_back(answer: &Answer, ours: Option<&Answer>) -> Elsewhere {
        let decided = decided(Tool::AskUserQuestion, &input(), true, &Settlement::Answered(answer.clone()));
        if decided["behavior"] == "deny" {
            let went = Went { is_error: true, result: None, told: decided["message"].as_str() };
            return went_on(Tool::AskUserQuestion, &input(), went, ours);
        }
        assert_eq!(decided["updatedInput"]["questions"], input()["questions"]);
        let went = Went { is_error: false, result: Some(&decided["updatedInput"]), told: None };
        went_on(Tool::AskUserQuestion, &input(), went, ours)
    }

    #[test]
    fn every_answer_comes_back_as_it_went() {
        for (many, one) in [
            (&["Logging"][..], &["JWT"][..]),
            (&["Metrics, traces"], &["use mTLS, please\n\"now\""]),
            (&["Logging", "Metrics, traces", "The \"old\" one"], &["own"]),
            (&["Logging", "own, words"], &["Session cookies"]),
        ] {
            let given = answer(many, one);
            for ours in [None, Some(&given)] {
                let Elsewhere::Answered { answers, notes, .. } = there_and_back(&given, ours) else {
                    panic!()
                };
                assert_eq!((answers, notes), (texts(&given), given.notes.clone()));
            }
        }
    }

    #[test]
    fn notes_and_nothing_come_back_as_ours_in_whichever_form_they_went() {
        let noted = answer(&["Logging"], &["JWT"]);
        let settled = Settlement::Answered(noted.clone());
        let old = decided(Tool::AskUserQuestion, &input(), false, &settled);
        assert_eq!(old["updatedInput"]["answers"]["One?"], "JWT (note: soon)");
        assert_eq!(old["updatedInput"]["annotations"]["One?"], json!({ "preview": "p JWT" }));
        let went = Went { is_error: false, result: Some(&old["updatedInput"]), told: None };
        let seen = went_on(Tool::AskUserQuestion, &input(), went, Some(&noted));
        assert_eq!(
            seen,
            Elsewhere::Answered { answers: texts(&noted), notes: noted.notes, via: VIA.to_owned() }
        );
        // A note alone is the answer in own words.
        let alone = answer(&["Logging"], &[]);
        let Elsewhere::Answered { answers, .. } = there_and_back(&alone, None) else { panic!() };
        assert_eq!(answers[1], ["soon"]);
        let nothing = Answer { notes: vec![None, None], ..answer(&[], &[]) };
        let Elsewhere::Answered { answers, .. } = there_and_back(&nothing, Some(&nothing)) else { panic!() };
        assert_eq!(answers, texts(&nothing));
        assert!(matches!(there_and_back(&nothing, None), Elsewhere::Rejected { .. }));
    }

    #[test]
    fn the_canonical_joint_is_the_one_of_the_dialog() {
        let given = answer(&["Logging", "Metrics, traces"], &["JWT"]);
        let decided = decided(Tool::AskUserQuestion, &input(), true, &Settlement::Answered(given));
        let updated = &decided["updatedInput"];
        assert_eq!(updated["answers"], json!({"Many?": "Logging, \"Metrics, traces\"", "One?": "JWT"}));
        assert_eq!(updated["annotations"], json!({"One?": {"preview": "p JWT", "notes": "soon"}}));
    }

    #[test]
    fn a_refusal_in_the_terminal_is_told_with_its_words() {
        let went = Went { is_error: true, result: None, told: Some("The user wants to clarify") };
        let Elsewhere::Rejected { reason, .. } = went_on(Tool::AskUserQuestion, &input(), went, None) else {
            panic!()
        };
        assert_eq!(reason.as_deref(), Some("The user wants to clarify"));
    }

    #[test]
    fn what_no_person_said_is_neither_an_answer_nor_a_refusal() {
        let result = json!({"questions": input()["questions"], "answers": {}, "afkTimeoutMs": 5000});
        let told = "No response after 5s \u{2014} the user may be away from keyboard.";
        for (said, detail) in [(Some(told), told), (None, "No response after 5 s")] {
            let went = Went { is_error: false, result: Some(&result), told: said };
            let seen = went_on(Tool::AskUserQuestion, &input(), went, None);
            let detail = Some(detail.to_owned());
            assert_eq!(seen, Elsewhere::TimedOut { detail, via: VIA_TIME_OUT.to_owned() });
        }
        let is_cut_off = |is_error, told| Went { is_error, result: None, told: Some(told) }.is_cut_off();
        let told = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]";
        assert!(is_cut_off(true, told));
        assert!(!is_cut_off(false, told) && !is_cut_off(true, "The user doesn't want to proceed"));
    }

    #[test]
    fn a_plan_is_approved_with_its_input_echoed_or_sent_back_with_the_reason() {
        let input = json!({"plan": "# A", "planFilePath": "/p"});
        let mut approval = answer(&["approve"], &[]);
        approval.answers.truncate(1);
        let allow = |input: &Value, answer: &Answer| {
            let takes = Takes { notes: true, nothing: false };
            decision(Tool::ExitPlanMode, input, takes, &Settlement::Answered(answer.clone()))
        };
        assert_eq!(allow(&input, &approval).unwrap()["updatedInput"], input);
        approval.edited_plan = Some("# B".into());
        let changed = json!({"plan": "# B", "planFilePath": "/p"});
        assert_eq!(allow(&input, &approval).unwrap()["updatedInput"], changed);
        assert!(allow(&json!({"plan": "# A"}), &approval).is_err(), "it would approve the old plan");
        for (plan, said) in [("# B", APPROVE), ("# A", APPROVED_UNCHANGED)] {
            let result = json!({ "plan": plan });
            let went = Went { is_error: false, result: Some(&result), told: None };
            let seen = went_on(Tool::ExitPlanMode, &input, went, Some(&approval));
            let answers = vec![vec![said.to_owned()]];
            assert_eq!(seen, Elsewhere::Answered { answers, notes: vec![None], via: VIA.to_owned() });
        }
        let rejected =
            Settlement::Rejected { mode: askd_core::RejectMode::Decline, reason: Some("smaller".into()) };
        let denied = decided(Tool::ExitPlanMode, &input, true, &rejected);
        assert!(denied["message"].as_str().unwrap().ends_with("and said:\nsmaller"));
        assert_eq!(denied["interrupt"], false);
    }
}

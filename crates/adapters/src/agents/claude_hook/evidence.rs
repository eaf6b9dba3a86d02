//! What the agent went on with, read from its own record of the call.
//!
//! In: the call's input, the result that `PostToolUse` or the transcript shows, and the answer that askd had stored, if any.
//! Out: [`Elsewhere`], in the arrays that answers are compared by.

use askd_core::Answer;
use askd_core::ask::APPROVE;
use askd_core::lifecycle::Elsewhere;
use serde_json::Value;

use super::answer::{questions, spoken};
use super::question::Tool;

/// By which way the agent got an answer that did not come from askd.
const VIA: &str = "terminal";
/// What the program writes where only notes were given.
const NOTES_ONLY: &str = "(notes only)";

/// The end of a call as its record tells it.
#[derive(Debug, Clone, Copy)]
pub struct Went<'a> {
    pub is_error: bool,
    /// The structured result.
    pub result: Option<&'a Value>,
    /// What the model was told.
    pub told: Option<&'a str>,
}

pub fn went_on(tool: Tool, input: &Value, went: Went<'_>, ours: Option<&Answer>) -> Elsewhere {
    let refused = || Elsewhere::Rejected { reason: went.told.map(shorten), via: VIA.to_owned() };
    if went.is_error {
        return refused();
    }
    match tool {
        // Whether the plan was edited is in the agent's record; the approval is what counts here.
        Tool::ExitPlanMode => Elsewhere::Answered {
            answers: vec![vec![APPROVE.to_owned()]],
            notes: vec![None],
            via: VIA.to_owned(),
        },
        Tool::AskUserQuestion => {
            let Some(given) = went.result.and_then(|result| result.get("answers")) else { return refused() };
            // Nobody was there: the program went on by itself.
            if went.result.is_some_and(|result| result.get("afkTimeoutMs").is_some()) {
                return refused();
            }
            let questions = questions(input);
            let answers = questions.iter().enumerate().map(|(i, question)| {
                let ours = ours.and_then(|ours| ours.answers.get(i)).map(Vec::as_slice);
                picks(question, given, ours)
            });
            let annotations = went.result.and_then(|result| result.get("annotations"));
            let notes = questions.iter().map(|question| note(question, annotations));
            Elsewhere::Answered { answers: answers.collect(), notes: notes.collect(), via: VIA.to_owned() }
        }
    }
}

fn shorten(text: &str) -> String {
    const SHOWN: usize = 2_000;
    text.chars().take(SHOWN).collect()
}

fn note(question: &Value, annotations: Option<&Value>) -> Option<String> {
    let text = question.get("question")?.as_str()?;
    annotations?.get(text)?.get("notes")?.as_str().map(str::to_owned)
}

fn picks(question: &Value, given: &Value, ours: Option<&[String]>) -> Vec<String> {
    let text = question.get("question").and_then(Value::as_str).unwrap_or_default();
    let given = match given.get(text) {
        Some(Value::String(given)) if given != NOTES_ONLY => given,
        Some(Value::Array(several)) => {
            return several.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        _ => return Vec::new(),
    };
    if let Some(ours) = ours
        && spoken(ours).as_deref() == Some(given)
    {
        return ours.to_vec();
    }
    let options = question.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let labels: Vec<&str> = options.iter().filter_map(|option| option.get("label")?.as_str()).collect();
    let multiple = question.get("multiSelect").and_then(Value::as_bool).unwrap_or(false);
    let picks = if !multiple || labels.contains(&given.as_str()) {
        vec![given.clone()]
    } else {
        split(given, &labels)
    };
    // The dialog lists picks in its own order.
    match ours {
        Some(ours) if is_same_set(ours, &picks) => ours.to_vec(),
        _ => picks,
    }
}

fn is_same_set(ours: &[String], picks: &[String]) -> bool {
    let sorted = |picks: &[String]| {
        let mut picks = picks.to_vec();
        picks.sort();
        picks
    };
    sorted(ours) == sorted(picks)
}

/// Takes a joined text apart: quoted labels, plain labels, and own words at the end.
fn split(text: &str, labels: &[&str]) -> Vec<String> {
    let mut picks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (pick, length) = first(rest, labels).unwrap_or_else(|| (rest.to_owned(), rest.len()));
        picks.push(pick);
        rest = rest[length..].strip_prefix(", ").unwrap_or(&rest[length..]);
    }
    picks
}

/// The first pick and how many bytes it takes, where it ends at a joint or at the end.
fn first(text: &str, labels: &[&str]) -> Option<(String, usize)> {
    let ends = |length: usize| text.len() == length || text[length..].starts_with(", ");
    if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        if let Some(Ok(label)) = values.next()
            && ends(values.byte_offset())
        {
            return Some((label, values.byte_offset()));
        }
    }
    let fits = |label: &&&str| text.starts_with(**label) && ends(label.len()) && !label.is_empty();
    labels.iter().filter(fits).max_by_key(|label| label.len()).map(|label| ((*label).to_owned(), label.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::claude_hook::{Tool, decision};
    use askd_core::Settlement;

    fn input() -> Value {
        let option =
            |label: &str| json!({"label": label, "description": "d", "preview": format!("p {label}")});
        json!({"questions":[
            {"question":"Many?","header":"H","multiSelect":true,"options":[option("Logging"),option("Metrics, traces"),option("The \"old\" one")]},
            {"question":"One?","header":"H","multiSelect":false,"options":[option("JWT"),option("Session cookies")]}]})
    }

    fn answer(many: &[&str], one: &[&str]) -> Answer {
        let own = |picks: &[&str]| picks.iter().map(|pick| (*pick).to_owned()).collect();
        Answer {
            answers: vec![own(many), own(one)],
            notes: vec![None, Some("soon".into())],
            edited_plan: None,
            next_mode: None,
        }
    }

    fn there_and_back(answer: &Answer, ours: Option<&Answer>) -> Elsewhere {
        let decided = decision(Tool::AskUserQuestion, &input(), &Settlement::Answered(answer.clone()));
        assert_eq!(decided["behavior"], "allow");
        assert_eq!(decided["updatedInput"]["questions"], input()["questions"]);
        let went = Went { is_error: false, result: Some(&decided["updatedInput"]), told: None };
        went_on(Tool::AskUserQuestion, &input(), went, ours)
    }

    #[test]
    fn every_answer_comes_back_as_it_went() {
        for (many, one) in [
            (&["Logging"][..], &["JWT"][..]),
            (&["Metrics, traces"], &["use mTLS, please\n\"now\""]),
            (&["Logging", "Metrics, traces", "The \"old\" one"], &[]),
            (&["Logging", "own, words"], &["Session cookies"]),
            (&[], &[]),
        ] {
            let given = answer(many, one);
            for ours in [None, Some(&given)] {
                let Elsewhere::Answered { answers, notes, .. } = there_and_back(&given, ours) else {
                    panic!()
                };
                assert_eq!((&answers, &notes), (&given.answers, &given.notes));
            }
        }
    }

    #[test]
    fn the_canonical_joint_is_the_one_of_the_dialog() {
        let given = answer(&["Logging", "Metrics, traces"], &["JWT"]);
        let decided = decision(Tool::AskUserQuestion, &input(), &Settlement::Answered(given));
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
    fn a_plan_is_approved_with_its_input_echoed_or_sent_back_with_the_reason() {
        let input = json!({"plan": "# A", "planFilePath": "/p"});
        let mut approval = answer(&["approve"], &[]);
        let allow =
            |answer: &Answer| decision(Tool::ExitPlanMode, &input, &Settlement::Answered(answer.clone()));
        assert_eq!(allow(&approval)["updatedInput"], input);
        approval.edited_plan = Some("# B".into());
        assert_eq!(allow(&approval)["updatedInput"], json!({"plan": "# B", "planFilePath": "/p"}));
        let rejected =
            Settlement::Rejected { mode: askd_core::RejectMode::Decline, reason: Some("smaller".into()) };
        let denied = decision(Tool::ExitPlanMode, &input, &rejected);
        assert!(denied["message"].as_str().unwrap().ends_with("the user said:\nsmaller"));
        assert_eq!(denied["interrupt"], false);
    }
}

//! Panopticon's two routes: the pending questions of an agent, and an answer as a flat list of labels.
//!
//! In: an agent's name (askd's session id, the agent's own, a tmux session, a Panopticon agent). Out:
//! Panopticon's shapes. Flat labels are given to the items left to right; where that can be done in more than
//! one way, nothing is guessed. A client that knows which answer belongs to which item says so, by a list for
//! each item or by the text of each question.

use std::collections::{BTreeMap, HashSet};

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::question::Item;
use askd_core::{Question, Reading, Reply, Right, Session, Timestamp};

use super::extract::{Json, Names};
use super::problem::{Code, Problem};
use super::state::AppState;
use super::wait::json as answer;
use askd_hub::{Caller, EngineError, Questions, Sessions};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(pending_questions)).routes(routes!(answer_question))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct PendingList {
    pending: bool,
    questions: Vec<PendingQuestion>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct PendingQuestion {
    /// The tool call's id, or askd's id for a call without one.
    tool_id: String,
    session_id: String,
    timestamp: Timestamp,
    questions: Vec<PendingItem>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
struct PendingItem {
    question: String,
    header: String,
    options: Vec<PendingOption>,
    multi_select: bool,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct PendingOption {
    label: String,
    description: String,
}

impl PendingQuestion {
    fn of(session: &Session, question: &Question) -> Self {
        let item = |item: &Item| PendingItem {
            question: item.question.clone(),
            header: item.header.clone().unwrap_or_default(),
            options: item
                .options
                .iter()
                .map(|option| PendingOption {
                    label: option.label.clone(),
                    description: option.description.clone().unwrap_or_default(),
                })
                .collect(),
            multi_select: item.multiple,
        };
        Self {
            tool_id: tool_id(question).to_owned(),
            session_id: session.native_id.clone(),
            timestamp: question.created_at,
            questions: question.ask.questions.iter().map(item).collect(),
        }
    }
}

fn tool_id(question: &Question) -> &str {
    question.ask.call_id().unwrap_or(question.id.as_str())
}

/// The open questions of an agent (Panopticon). An unknown agent has none.
#[utoipa::path(get, path = "/api/agents/{id}/pending-questions", operation_id = "listPendingQuestionsOfAgent", params(("id" = String, Path, description = "The agent: an askd session, its own session id, a tmux session, or a Panopticon agent")), tag = "panopticon",
    responses((status = 200, body = PendingList)))]
async fn pending_questions(
    State(sessions): State<Sessions>,
    State(questions): State<Questions>,
    caller: Caller,
    Names(id): Names<String>,
) -> Result<Response, Problem> {
    let sessions = sessions.called(&caller, &id).await?;
    let open = questions.open_of(&sessions).await?;
    let pending: Vec<_> =
        open.iter().map(|(session, question)| PendingQuestion::of(session, question)).collect();
    Ok(answer(StatusCode::OK, &PendingList { pending: !pending.is_empty(), questions: pending }))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AgentAnswer {
    answers: Answers,
    #[serde(default)]
    tool_id: Option<String>,
    /// True to skip items without an answer. Unless given, each item needs one.
    #[serde(default)]
    skip: bool,
}

/// Labels or own words.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(
    untagged,
    expecting = "answers must be a list of labels, a list of such lists, one for each question, or an object from question to label or labels"
)]
enum Answers {
    /// Of all items in order.
    #[schema(title = "Flat")]
    Flat(Vec<String>),
    /// One list for each item.
    #[schema(title = "Nested")]
    Nested(Vec<Vec<String>>),
    /// By the text of each question.
    #[schema(title = "ByQuestion")]
    ByQuestion(BTreeMap<String, Texts>),
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Answers {
    /// A list for each item; an omitted item has an empty one.
    fn by_item(self, items: &[Item]) -> Result<Vec<Vec<String>>, Problem> {
        let ambiguous = |why: &str| Problem::new(Code::AmbiguousAnswer, why);
        match self {
            Self::Nested(lists) => Ok(lists),
            Self::Flat(labels) if labels.is_empty() => Ok(vec![Vec::new(); items.len()]),
            Self::Flat(labels) => assign(&labels, items).ok_or_else(|| {
                ambiguous(
                    "these labels fit the items in no way or in several; give a list for each question, or an object from question to labels",
                )
            }),
            Self::ByQuestion(mut texts) => {
                let list = |item: &Item| match texts.remove(&item.question) {
                    None => Vec::new(),
                    Some(Texts::One(text)) => vec![text],
                    Some(Texts::Many(texts)) => texts,
                };
                let lists = items.iter().map(list).collect();
                match texts.into_keys().next() {
                    None if has_twins(items) => {
                        Err(ambiguous("two questions have the same text; give a list for each question"))
                    }
                    None => Ok(lists),
                    Some(other) => {
                        let why = format!("{other:?} is not the text of a question that was asked");
                        Err(Problem::field("answers", "unknown_question", why))
                    }
                }
            }
        }
    }
}

fn has_twins(items: &[Item]) -> bool {
    let mut seen = HashSet::new();
    !items.iter().all(|item| seen.insert(&item.question))
}

/// Refuses skips that the client does not declare: a dialog without a tick is no answer.
fn refuse_silent_skips(answers: &[Vec<String>], items: &[Item]) -> Result<(), Problem> {
    let pairs = answers.iter().zip(items);
    let skipped: Vec<&str> =
        pairs.filter(|(given, _)| given.is_empty()).map(|(_, item)| item.question.as_str()).collect();
    if skipped.is_empty() {
        return Ok(());
    }
    let why = format!("there is no answer to: {}. Answer it, or send \"skip\": true", skipped.join(" / "));
    Err(Problem::field("answers", "required", why))
}

/// The acceptance of an answer.
#[derive(Serialize, utoipa::ToSchema)]
struct Taken {
    success: bool,
}

/// Answer an agent's question by labels (Panopticon).
#[utoipa::path(post, path = "/api/agents/{id}/answer-question", operation_id = "answerQuestionOfAgent", params(("id" = String, Path, description = "The agent: an askd session, its own session id, a tmux session, or a Panopticon agent")), tag = "panopticon",
    request_body = AgentAnswer, responses((status = 200, body = Taken)))]
async fn answer_question(
    State(sessions): State<Sessions>,
    State(questions): State<Questions>,
    caller: Caller,
    Names(id): Names<String>,
    Json(input): Json<AgentAnswer>,
) -> Result<Response, Problem> {
    caller.needs(Right::Answer)?;
    let sessions = sessions.called(&caller, &id).await?;
    let mut open = questions.open_of(&sessions).await?;
    if let Some(wanted) = &input.tool_id {
        open.retain(|(_, question)| tool_id(question) == wanted || question.id.as_str() == wanted);
    }
    let settled = match &input.tool_id {
        Some(wanted) if open.is_empty() => questions.settled_of(&caller, &id, &sessions, wanted).await?,
        _ => None,
    };
    let question = match (&open[..], &settled) {
        ([], Some(settled)) => settled,
        ([], None) => return Err(Problem::new(Code::NotFound, "this agent has no such question")),
        ([(_, one)], _) => one,
        _ => {
            return Err(Problem::new(
                Code::AmbiguousAnswer,
                "several questions are open; say which with toolId",
            ));
        }
    };
    let items = &question.ask.questions;
    let answers = input.answers.by_item(items).and_then(|answers| match input.skip {
        true => Ok(answers),
        false => refuse_silent_skips(&answers, items).map(|()| answers),
    });
    let answers = match (answers, &settled) {
        (Ok(answers), _) => answers,
        // The meaning of the answer no longer matters.
        (Err(_), Some(settled)) => return Err(EngineError::Conflict(Box::new(settled.clone())).into()),
        (Err(problem), None) => return Err(problem),
    };
    let reply = Reply { reading: Reading::LabelsFirst, ..Reply::of(answers) };
    questions.reply(&caller, &question.id, reply, None).await?;
    Ok(answer(StatusCode::OK, &Taken { success: true }))
}

/// Gives flat labels to the items left to right, if there is one way to do it: every item answered, else some
/// skipped; each by labels, else some by own words, one text each. The label of an option is no own words,
/// for whatever item.
fn assign(labels: &[String], items: &[Item]) -> Option<Vec<Vec<String>>> {
    let known: HashSet<&str> =
        items.iter().flat_map(|item| &item.options).map(|option| option.label.as_str()).collect();
    for (skips, words) in [(false, false), (false, true), (true, false), (true, true)] {
        let known = words.then_some(&known);
        let mut search = Search { skips, known, dead: HashSet::new(), ways: Vec::new() };
        search.go_on(labels, items, &mut Vec::new());
        match search.ways.len() {
            0 => {}
            1 => return search.ways.pop(),
            _ => return None,
        }
    }
    None
}

/// Looks for ways to give labels to items. Two are as bad as many: it stops there.
struct Search<'a> {
    /// True if an item may stay without an answer.
    skips: bool,
    /// All labels of all items, if other texts may be own words.
    known: Option<&'a HashSet<&'a str>>,
    /// How many labels and items were left where no way led on; without this, many items make a search
    /// without end.
    dead: HashSet<(usize, usize)>,
    ways: Vec<Vec<Vec<String>>>,
}

impl Search<'_> {
    /// True if a text can be the next answer to an item that has `before`.
    fn fits(&self, text: &String, before: &[String], item: &Item) -> bool {
        let is_option = |text: &String| item.options.iter().any(|option| option.label == *text);
        if before.contains(text) {
            return false;
        }
        let is_words = self.known.is_some_and(|known| item.custom && !known.contains(text.as_str()));
        is_option(text) || (is_words && before.iter().all(is_option))
    }

    fn go_on(&mut self, labels: &[String], items: &[Item], so_far: &mut Vec<Vec<String>>) {
        let Some((item, rest)) = items.split_first() else {
            if labels.is_empty() {
                self.ways.push(so_far.clone());
            }
            return;
        };
        let place = (labels.len(), items.len());
        if self.dead.contains(&place) {
            return;
        }
        let before = self.ways.len();
        let most = if item.multiple { labels.len() } else { labels.len().min(1) };
        for taken in usize::from(!self.skips)..=most {
            let run = &labels[..taken];
            if run.split_last().is_some_and(|(label, before)| !self.fits(label, before, item)) {
                break;
            }
            so_far.push(run.to_vec());
            self.go_on(&labels[taken..], rest, so_far);
            so_far.pop();
            if self.ways.len() > 1 {
                return;
            }
        }
        if self.ways.len() == before {
            self.dead.insert(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(labels: &[&str], multiple: bool) -> Item {
        let input = json!({ "questions": [{ "question": "Q", "options": labels, "multiple": multiple }] });
        let asked: askd_core::AskInput = serde_json::from_value(input).unwrap();
        asked.complete().unwrap().questions.remove(0)
    }

    fn assigned(labels: &[&str], items: &[Item]) -> Option<Vec<Vec<String>>> {
        assign(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>(), items)
    }

    #[test]
    fn labels_go_left_to_right_where_there_is_one_way() {
        let items = [item(&["A", "B"], false), item(&["C", "D", "E"], true), item(&["F", "G"], false)];
        let own = |parts: &[&[&str]]| {
            Some(parts.iter().map(|p| p.iter().map(|s| (*s).to_owned()).collect()).collect())
        };
        assert_eq!(assigned(&["B", "C", "E", "F"], &items), own(&[&["B"], &["C", "E"], &["F"]]));
        assert_eq!(assigned(&["D"], &items), own(&[&[], &["D"], &[]]));
        assert_eq!(assigned(&["own words"], &items[..1]), own(&[&["own words"]]));
        assert_eq!(assigned(&["x", "y", "z"], &items), own(&[&["x"], &["y"], &["z"]]));
        assert_eq!(assigned(&["B", "my own", "F"], &items), own(&[&["B"], &["my own"], &["F"]]));
        assert_eq!(assigned(&["B", "C", "my own", "F"], &items), own(&[&["B"], &["C", "my own"], &["F"]]));
    }

    #[test]
    fn nothing_is_guessed() {
        let twins = [item(&["A", "B"], true), item(&["B", "C"], true)];
        assert_eq!(assigned(&["A", "B", "C"], &twins), None);
        assert_eq!(assigned(&["B"], &twins), None);
        assert_eq!(assigned(&["A", "nonsense", "B"], &twins), None);
        let other_order = [item(&["A", "B"], false), item(&["C", "D"], false)];
        assert_eq!(assigned(&["C", "A"], &other_order), None, "a label is no own words");
        assert!(assigned(&["A", "B", "B", "C"], &twins).is_some());
        let many = vec![item(&["A", "B", "C", "D"], true); 4];
        assert_eq!(assigned(&["A", "B", "C", "D", "A", "B"], &many), None, "and it ends");
        let many = vec![item(&["A", "B"], true); 60];
        let mut labels = ["A", "B"].repeat(30);
        labels.push("nonsense");
        assert_eq!(assigned(&labels, &many), None, "and it ends where every way is a dead end");
    }
}

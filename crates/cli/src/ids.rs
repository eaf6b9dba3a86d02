//! From a person's text to one question: the whole id, a unique beginning of it, or its last six characters
//! or more.
//!
//! In: the text, and the questions of the hub page by page. Out: one id, or an error with the candidates.
//! Open questions come first, because people mean those.

use askd_core::{Question, QuestionId, Status};

use super::exit::{Exit, Failure, Outcome};
use super::text::one_line;
use crate::client::{Client, Filter, ListQuery, Received};

/// Characters that lists show of an id: its end, because ids of the same hour begin alike.
pub const SHORT: usize = 6;
/// Questions per page when searching.
const PAGE: usize = 200;
/// The newest settled questions that are searched; an older one needs its whole id.
const MAX_SETTLED: usize = 1000;

/// The question with this name.
pub async fn find(client: &Client, text: &str) -> Outcome<Received<Question>> {
    if let Ok(id) = text.parse::<QuestionId>() {
        return client.question(&id).await.map_err(|error| match error.problem() {
            Some(problem) if problem.status == 404 => not_found(format!("there is no question {id}")),
            _ => error.into(),
        });
    }
    let Some(pattern) = Pattern::new(text) else {
        return Err(Failure::new(Exit::NotFound, format!("{text:?} is not an id; see: askd list")));
    };
    for (status, most) in [(Some(Status::Requested), usize::MAX), (None, MAX_SETTLED)] {
        let mut found = search(client, &pattern, status, most).await?;
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => return Ok(client.question(&only.id).await?),
            (Some(last), false) => {
                found.push(last);
                return Err(Failure::new(Exit::NotFound, ambiguous(text, &found)));
            }
            (None, _) => {}
        }
    }
    Err(not_found(format!(
        "no open question and none of the last {MAX_SETTLED} has an id that begins or ends with {text:?}"
    )))
}

/// The open question that has waited longest.
pub async fn oldest(client: &Client) -> Outcome<Received<Question>> {
    let filter = Filter { status: Some(Status::Requested), ..Filter::default() };
    let list = ListQuery { filter, oldest_first: true, cursor: None, limit: Some(1) };
    match client.questions(&list).await?.value.questions.into_iter().next() {
        Some(question) => Ok(client.question(&question.id).await?),
        None => Err(Failure::new(Exit::NotFound, "no question is open")),
    }
}

fn not_found(message: String) -> Failure {
    Failure::new(Exit::NotFound, format!("{message}; see: askd list --all"))
}

async fn search(
    client: &Client,
    pattern: &Pattern,
    status: Option<Status>,
    most: usize,
) -> Outcome<Vec<Question>> {
    let filter = Filter { status, ..Filter::default() };
    let mut list = ListQuery { filter, oldest_first: false, cursor: None, limit: Some(PAGE) };
    let mut found = Vec::new();
    let mut seen = 0;
    loop {
        let page = client.questions(&list).await?.value;
        seen += page.questions.len();
        found.extend(page.questions.into_iter().filter(|question| pattern.matches(question.id.as_str())));
        list.cursor = page.next_cursor;
        if list.cursor.is_none() || seen >= most {
            return Ok(found);
        }
    }
}

fn ambiguous(text: &str, found: &[Question]) -> String {
    let lines = found.iter().take(10).map(|question| {
        format!("\n  {}  {}  {}", question.id, question.ask.agent, one_line(question.ask.headline()))
    });
    let more = if found.len() > 10 { "\n  ..." } else { "" };
    format!(
        "{text:?} can mean {} questions; give more of the id:{}{more}",
        found.len(),
        lines.collect::<String>()
    )
}

/// The typed text, in the letters of an id.
struct Pattern(String);

impl Pattern {
    fn new(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("que_").unwrap_or(text).to_ascii_uppercase();
        let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_alphanumeric());
        valid.then_some(Self(digits))
    }

    fn matches(&self, id: &str) -> bool {
        let digits = id.strip_prefix("que_").unwrap_or(id);
        digits.starts_with(&self.0) || (self.0.len() >= SHORT && digits.ends_with(&self.0))
    }
}

/// The end of an id, which is enough to name it among open questions.
pub fn short(id: &QuestionId) -> &str {
    let text = id.as_str();
    text.get(text.len().saturating_sub(SHORT)..).unwrap_or(text)
}

/// The same for many at once: as much of the end as tells them apart.
pub fn shorts(ids: &[&QuestionId]) -> Vec<String> {
    let digits: Vec<&str> = ids.iter().map(|id| id.as_str().rsplit('_').next().unwrap_or("")).collect();
    let end =
        |text: &str, length: usize| text.get(text.len().saturating_sub(length)..).unwrap_or(text).to_owned();
    let longest = digits.iter().map(|text| text.len()).max().unwrap_or(0);
    let enough = (SHORT..=longest).find(|length| {
        let mut ends: Vec<String> = digits.iter().map(|text| end(text, *length)).collect();
        ends.sort_unstable();
        ends.windows(2).all(|pair| pair[0] != pair[1])
    });
    digits.iter().map(|text| end(text, enough.unwrap_or(longest))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, id: &QuestionId) -> bool {
        Pattern::new(pattern).is_some_and(|pattern| pattern.matches(id.as_str()))
    }

    #[test]
    fn a_beginning_or_a_long_enough_end_names_an_id() {
        let id: QuestionId = "que_01J9ZK3V4M5N6P7Q8R9S0TABCD".parse().unwrap();
        for good in ["que_01J9", "01j9zk", "0TABCD", "s0tabcd", "que_01J9ZK3V4M5N6P7Q8R9S0TABCD"] {
            assert!(matches(good, &id), "{good}");
        }
        for bad in ["ABCD", "TABCD", "que_1", "zzz", "", "que_", "../x", "que_01J9%"] {
            assert!(!matches(bad, &id), "{bad}");
        }
    }

    #[test]
    fn short_ids_are_long_enough_to_differ() {
        let ids =
            [QuestionId::from_bits(1), QuestionId::from_bits(1 << 40), QuestionId::from_bits((1 << 40) + 1)];
        let all: Vec<&QuestionId> = ids.iter().collect();
        assert_eq!(shorts(&all), ["000000001", "100000000", "100000001"]);
        assert_eq!(shorts(&all[..1]), ["000001"]);
        assert_eq!(short(&ids[0]), "000001");
        let same = [&ids[0], &ids[0]];
        assert_eq!(shorts(&same)[0].len(), 26);
    }
}

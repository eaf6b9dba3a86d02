//! The meaning of a screen: one of Claude Code's dialogs, or something else.
//!
//! In: the text of a pane, as tmux captures it. Out: [`Screen`], total on any text. The pane wraps and frames
//! lines, so texts are compared without blanks and frames ([`bare`]).

/// Claude Code writes this above the answers before they are sent, and, before 2.1.326 or so, [`READY`] below
/// them.
const REVIEW: &str = "Review your answers";
const READY: &str = "Ready to submit your answers?";
/// The last tab in the header of a dialog with such a page.
const SUBMIT_TAB: &str = "✔ Submit";
const PROCEED: &str = "Would you like to proceed?";
/// The last line of a question's dialog begins and ends with these.
const FOOTER: &str = "Enter to select";
const FOOTER_END: &str = "Esc to cancel";
/// Part of the last line if options have previews.
const NOTES: &str = "n to add notes";
/// The mark behind a row that was chosen before its question was left.
const CHOSEN: &str = " ✔";
/// Lines of a dialog's footer in a narrow pane.
const MAX_FOOTER_LINES: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Screen {
    /// One question of a call.
    Question(Dialog),
    /// The page after the last one of several.
    Review(Review),
    /// A page below the tabs of a call's questions that is neither of the two.
    UnknownPage,
    Plan(PlanDialog),
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// The question's text, bare.
    pub question: String,
    pub rows: Vec<Row>,
    /// True if the rows show labels only, with a preview beside them.
    pub has_previews: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// All questions and answers, bare.
    pub answers: String,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanDialog {
    /// Everything above the rows, bare: the end of the plan is in it.
    pub above: String,
    pub rows: Vec<Row>,
}

/// A selectable line, with its continuation lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// `None` for the row that continues after a question with several picks.
    pub number: Option<usize>,
    pub is_focused: bool,
    /// For several picks: true if this one is ticked.
    pub is_ticked: Option<bool>,
    /// Label and description, bare.
    pub text: String,
}

/// A text without everything that varies with the pane: blanks, frames, and characters that terminals drop or
/// replace.
pub fn bare(text: &str) -> String {
    let counts = |c: &char| {
        !c.is_whitespace() && !c.is_control() && !matches!(c, '│' | '\u{fffd}' | '\u{fe0f}' | '\u{200d}')
    };
    text.chars().filter(counts).collect()
}

impl Screen {
    pub fn read(text: &str) -> Self {
        let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
        question(&lines)
            .map(Self::Question)
            .or_else(|| review(&lines).map(Self::Review))
            .or_else(|| plan(&lines).map(Self::Plan))
            .or_else(|| has_tabs(&lines).then_some(Self::UnknownPage))
            .unwrap_or(Self::Other)
    }
}

fn question(lines: &[&str]) -> Option<Dialog> {
    let footer = lines.iter().rposition(|line| line.starts_with(FOOTER))?;
    let last = lines[footer..].join(" ");
    if lines.len() - footer > MAX_FOOTER_LINES || !last.ends_with(FOOTER_END) {
        return None;
    }
    let has_previews = last.contains(NOTES);
    let body = &lines[below_header(&lines[..footer])?..footer];
    let body: Vec<&str> =
        body.iter().map(|line| if has_previews { left_of_box(line) } else { line }).collect();
    let first = body.iter().position(|line| row(line, 1).is_some())?;
    Some(Dialog { question: bare(&body[..first].concat()), rows: rows(&body[first..]), has_previews })
}

fn review(lines: &[&str]) -> Option<Review> {
    let body = &lines[below_header(lines)?..];
    let start = body.iter().position(|line| line.trim() == REVIEW)?;
    // Own words among the answers may look like a row: the page's own rows are the last ones.
    let first = body.iter().rposition(|line| row(line, 1).is_some()).filter(|first| *first > start)?;
    let rows = rows(&body[first..]);
    let ready = body[..first].iter().rposition(|line| !line.trim().is_empty());
    let end = ready.filter(|at| *at > start && body[*at].trim() == READY).unwrap_or(first);
    (rows.len() == 2).then(|| Review { answers: bare(&body[start + 1..end].concat()), rows })
}

/// True if the tabs of a call's questions, with the page that submits them, are above everything else.
fn has_tabs(lines: &[&str]) -> bool {
    let header = below_header(lines).map(|below| lines[below - 1].trim_start());
    header.is_some_and(|line| line.starts_with('←') && line.contains(SUBMIT_TAB))
}

fn plan(lines: &[&str]) -> Option<PlanDialog> {
    let asks = lines.iter().rposition(|line| line.contains(PROCEED))?;
    let rows = rows(&lines[asks + 1..]);
    (rows.len() >= 2).then(|| PlanDialog { above: bare(&lines[..asks].concat()), rows })
}

/// The first line after the header with its boxes, one for each question.
fn below_header(lines: &[&str]) -> Option<usize> {
    let is_header = |line: &&str| line.trim_start().starts_with(['☐', '☒', '←']);
    lines.iter().rposition(is_header).map(|header| header + 1)
}

/// The part of a line before the box of a preview, or nothing of the line of notes below it.
fn left_of_box(line: &str) -> &str {
    let left =
        line.find(['┌', '│', '└']).filter(|at| line[..*at].ends_with("  ")).map_or(line, |at| &line[..at]);
    if left.trim_start().starts_with("Notes:") { "" } else { left.trim_end() }
}

/// Rows with their continuation lines; an empty line or a rule ends a row.
fn rows(lines: &[&str]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut is_open = false;
    for line in lines {
        let next = rows.iter().filter_map(|row| row.number).max().unwrap_or(0) + 1;
        if line.is_empty() || line.chars().all(|c| c == '─') {
            is_open = false;
        } else if let Some(row) = row(line, next).or_else(|| going_on(line, rows.last())) {
            rows.push(row);
            is_open = true;
        } else if let Some(last) = rows.last_mut().filter(|_| is_open) {
            last.text.push_str(&bare(line));
        }
    }
    rows
}

fn focus(line: &str) -> (bool, &str) {
    match line.trim_start().strip_prefix('❯') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, line.trim_start()),
    }
}

/// `❯ 2. [✔] Label`, if it has the wanted number.
fn row(line: &str, wanted: usize) -> Option<Row> {
    let (is_focused, rest) = focus(line);
    let (number, rest) = rest.split_once('.')?;
    if number.parse() != Ok(wanted) {
        return None;
    }
    let rest = rest.trim_start();
    let (is_ticked, text) = match (rest.strip_prefix("[ ]"), rest.strip_prefix("[✔]")) {
        (Some(text), _) => (Some(false), text),
        (_, Some(text)) => (Some(true), text),
        _ => (None, rest),
    };
    Some(Row { number: Some(wanted), is_focused, is_ticked, text: bare(unmarked(text)) })
}

/// A line without the mark of an earlier choice, which follows it in a question that was opened again.
pub(super) fn unmarked(text: &str) -> &str {
    let text = text.trim_end();
    text.strip_suffix(CHOSEN).unwrap_or(text)
}

/// The row without a number that continues after a question with several picks.
fn going_on(line: &str, above: Option<&Row>) -> Option<Row> {
    let (is_focused, text) = focus(line);
    let follows = above.is_some_and(|row| row.is_ticked.is_some());
    (follows && matches!(text, "Next" | "Submit")).then(|| Row {
        number: None,
        is_focused,
        is_ticked: None,
        text: text.to_owned(),
    })
}

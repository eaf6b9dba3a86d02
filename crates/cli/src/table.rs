//! A table for people: as narrow as its content, no wider than the terminal.
//!
//! In: clean one-line cells and which column may be cut first. Out: lines. Into a pipe nothing is cut.

use super::screen::Paint;
use super::text::{shorten, shorten_start, width};

/// The behaviour of a column in a narrow terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Never cut.
    Whole,
    /// Cut at its end.
    End,
    /// Cut at its beginning, as a path.
    Start,
}

/// The least width of a column that may be cut.
const MIN_CUT: usize = 12;
const GAP: usize = 2;

pub fn table(columns: &[(&str, Fit)], rows: &[Vec<String>], terminal: Option<usize>, paint: Paint) -> String {
    let cell = |row: &[String], i: usize| row.get(i).map_or(0, |text| width(text));
    let mut widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(i, (name, _))| rows.iter().map(|row| cell(row, i)).max().unwrap_or(0).max(width(name)))
        .collect();
    if let Some(terminal) = terminal {
        fit(columns, &mut widths, terminal);
    }
    let mut out = String::new();
    let heads: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    out.push_str(&paint.dim(&line(columns, &widths, &heads)));
    out.push('\n');
    for row in rows {
        out.push_str(&line(columns, &widths, row));
        out.push('\n');
    }
    out
}

/// Narrows the widest column that may be cut until all fit.
fn fit(columns: &[(&str, Fit)], widths: &mut [usize], terminal: usize) {
    let gaps = GAP * columns.len().saturating_sub(1);
    loop {
        let over = (widths.iter().sum::<usize>() + gaps).saturating_sub(terminal);
        let cuttable =
            columns.iter().enumerate().filter(|(i, (_, fit))| *fit != Fit::Whole && widths[*i] > MIN_CUT);
        let Some((widest, _)) = cuttable.max_by_key(|(i, _)| widths[*i]) else { return };
        if over == 0 {
            return;
        }
        // One at a time, so that equally wide columns share the cut.
        widths[widest] -= 1;
    }
}

fn line(columns: &[(&str, Fit)], widths: &[usize], cells: &[String]) -> String {
    let mut out = String::new();
    for (((_, fit), columns), text) in columns.iter().zip(widths).zip(cells) {
        let text = match fit {
            Fit::Whole => text.clone(),
            Fit::End => shorten(text, *columns),
            Fit::Start => shorten_start(text, *columns),
        };
        out.push_str(&text);
        out.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(&text)) + GAP));
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [(&str, Fit); 3] = [("id", Fit::Whole), ("question", Fit::End), ("folder", Fit::Start)];

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        vec![
            row(["ABC123", "Which auth method should we use?", "/home/me/projects/app"]),
            row(["X", "漢字?", ""]),
        ]
    }

    #[test]
    fn a_pipe_gets_everything() {
        let wanted = "\
id      question                          folder
ABC123  Which auth method should we use?  /home/me/projects/app
X       漢字?
";
        assert_eq!(table(&COLUMNS, &rows(), None, Paint::none()), wanted);
    }

    #[test]
    fn a_terminal_gets_what_fits() {
        for terminal in [40, 50, 60] {
            let text = table(&COLUMNS, &rows(), Some(terminal), Paint::none());
            assert!(text.lines().all(|line| width(line) <= terminal), "{text}");
            assert!(text.contains("ABC123") && text.contains('…'), "{text}");
        }
    }

    #[test]
    fn a_terminal_that_is_too_narrow_does_no_harm() {
        let text = table(&COLUMNS, &rows(), Some(1), Paint::none());
        assert!(text.contains("ABC123"), "{text}");
    }
}

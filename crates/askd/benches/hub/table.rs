//! Rows of results, printed as they come and once more as a whole.

#[derive(Default)]
pub struct Table(Vec<[String; 4]>);

impl Table {
    /// What was measured, the number, what it stands against, and whether the bar is held.
    pub fn row(&mut self, what: &str, number: String, against: String, bar: &str) {
        eprintln!("  {what}: {number}  {against}  {bar}");
        self.0.push([what.to_owned(), number, against, bar.to_owned()]);
    }

    pub fn text(&self) -> String {
        let head = ["what", "number", "against, same run", "bar"].map(str::to_owned);
        let rows: Vec<&[String; 4]> = std::iter::once(&head).chain(&self.0).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2), width(3)];
        let line = |row: &[String; 4]| {
            let cells: Vec<String> =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = widths.map(|width| "-".repeat(width));
        let mut text = line(&head);
        text.push_str(&line(&rule));
        rows.iter().skip(1).for_each(|row| text.push_str(&line(row)));
        text
    }
}

/// Whether a bar is held, in a word.
pub fn bar(held: bool, text: &str) -> String {
    format!("{text}: {}", if held { "held" } else { "MISSED" })
}

/// The value below which `part` (0 to 1) of the sorted samples are.
pub fn percentile(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let index = ((samples.len() as f64 * part) as usize).min(samples.len().saturating_sub(1));
    samples.get(index).copied().unwrap_or(f64::NAN)
}

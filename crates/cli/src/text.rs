//! Text made safe for a terminal: agents' text is hostile.
//!
//! In: any text. Out: the same text without escape sequences; line breaks and tabs stay. The content of a
//! terminal command (a title, a link, the clipboard) is shown in ‹›, and so is the number of each character
//! that reorders or hides others; a control character is shown as its picture. Nothing may be hidden from the
//! person who decides. `tests/hostile-text.json` is the rule for the terminal and the page. Also the width of
//! a text and its shortening, for tables of clean text.

pub use askd_core::unseen::is_invisible;

/// Text for a terminal, with its line breaks.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.peek() {
                Some('[') => {
                    chars.next();
                    show_csi(&mut chars, &mut out);
                }
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    chars.next();
                    show_string(&mut chars, &mut out);
                }
                _ => show_escape(&mut chars, &mut out),
            },
            '\u{9b}' => show_csi(&mut chars, &mut out),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => show_string(&mut chars, &mut out),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' | '\u{2028}' | '\u{2029}' | '\u{85}' => out.push('\n'),
            c => show_char(c, chars.peek(), &mut out),
        }
    }
    out
}

/// One character outside of sequences, as a person can see it.
fn show_char(c: char, next: Option<&char>, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        // Unicode has a small picture for each control character of ASCII.
        '\0'..='\u{1f}' => out.extend(char::from_u32(0x2400 + u32::from(c))),
        '\u{7f}' => out.push('\u{2421}'),
        c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
        // Emoji and keycaps are written with these.
        '\u{fe0e}' | '\u{fe0f}' if out.chars().next_back().is_some_and(is_pictograph) => out.push(c),
        '\u{fe0f}' if next == Some(&'\u{20e3}') && out.ends_with(|c| matches!(c, '#' | '*' | '0'..='9')) => {
            out.push(c);
        }
        c if is_invisible(c) || matches!(c, '\u{fe0e}' | '\u{fe0f}') => {
            out.push_str(&format!("‹U+{:04X}›", u32::from(c)));
        }
        c => out.push(c),
    }
}

/// Characters that may be drawn as emoji, in blocks; `safe-text.ts` has the same.
fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Text for one line: clean, and white space is one space.
pub fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True if a text has invisible characters, so that it may read like another one.
pub(super) fn hides(text: &str) -> bool {
    text.contains(is_invisible) || text.contains(JOINERS) && text.replace(JOINERS, "").is_ascii()
}

/// A text in quotes, with an escape for each invisible character.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in format!("{text:?}").chars() {
        match is_invisible(c) || JOINERS.contains(&c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

/// They are part of emoji and of some scripts; between letters of ASCII they show nothing.
const JOINERS: [char; 2] = ['\u{200c}', '\u{200d}'];

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn run(chars: &mut Chars<'_>, is_part: impl Fn(char) -> bool) -> String {
    std::iter::from_fn(|| chars.next_if(|c| is_part(*c))).collect()
}

/// A sequence of an escape character without a bracket. A reset or a character set vanishes.
fn show_escape(chars: &mut Chars<'_>, out: &mut String) {
    let mut ahead = chars.clone();
    let is_set = ahead.next_if(|c| matches!(c, '(' | ')')).is_some()
        && ahead.next_if(|c| c.is_ascii_uppercase() || c.is_ascii_digit()).is_some();
    if is_set {
        *chars = ahead;
    } else if chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '=').is_none() {
        let between = run(chars, |c| matches!(c, ' '..='?'));
        let last = chars.next_if(|c| matches!(c, '@'..='~'));
        show_unless(false, between, last, out);
    }
}

/// Parameters and intermediates, then one final character. Colours and movements vanish, because no word of a
/// shell fits into them.
fn show_csi(chars: &mut Chars<'_>, out: &mut String) {
    let between = run(chars, |c| matches!(c, ' '..='?'));
    let last = chars.next_if(|c| matches!(c, '@'..='~'));
    let numbers = between.strip_prefix('?').unwrap_or(&between);
    let is_paint = last.is_some_and(|c| c.is_ascii_alphabetic())
        && !numbers.starts_with([';', ':'])
        && numbers.bytes().all(|b| b.is_ascii_digit() || b";:".contains(&b));
    show_unless(is_paint, between, last, out);
}

fn show_unless(is_paint: bool, between: String, last: Option<char>, out: &mut String) {
    let is_nothing = between.is_empty() && last.is_none();
    if !(is_paint || is_nothing) {
        out.extend(['‹'].into_iter().chain(between.chars()).chain(last).chain(['›']));
    }
}

/// A string command goes on to BEL, ST or the end of the line.
fn show_string(chars: &mut Chars<'_>, out: &mut String) {
    out.push('‹');
    while let Some(c) = chars.next_if(|c| !matches!(c, '\n' | '\r')) {
        match c {
            '\u{7}' | '\u{9c}' => break,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                break;
            }
            '\u{2028}' | '\u{2029}' | '\u{85}' => out.push('\n'),
            c => show_char(c, chars.peek(), out),
        }
    }
    out.push('›');
}

/// Columns on a terminal; close enough for a table.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}'
        | '\u{200c}'
        | '\u{200d}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// At most `columns` wide, with an ellipsis for a cut.
pub fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += char_width(c);
        if used > columns {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    if columns > 0 {
        out.push('…');
    }
    out
}

/// The same for paths: the end says more than the beginning.
pub fn shorten_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 1;
    for c in text.chars().rev() {
        used += char_width(c);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Table {
        hidden: Vec<(String, String)>,
        rows: Vec<Row>,
    }

    #[derive(serde::Deserialize)]
    struct Row {
        text: String,
        shown: String,
    }

    /// The table that the page and the widget run as well.
    fn table() -> Table {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/hostile-text.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn hostile_text_is_shown_as_the_table_says() {
        for Row { text, shown } in table().rows {
            assert_eq!(clean(&text), shown, "{text:?}");
            assert_eq!(clean(&shown), shown, "what is shown is clean");
        }
    }

    #[test]
    fn each_character_that_is_drawn_as_nothing_is_shown_by_its_number() {
        let number = |text: &String| u32::from_str_radix(text, 16).unwrap();
        let hidden: Vec<_> = table().hidden.iter().map(|(a, b)| number(a)..=number(b)).collect();
        for c in ('\0'..=char::MAX).filter(|c| !c.is_control()) {
            let shown = if hidden.iter().any(|range| range.contains(&u32::from(c))) {
                format!("a‹U+{:04X}›b", u32::from(c))
            } else if matches!(c, '\u{2028}' | '\u{2029}') {
                "a\nb".to_owned()
            } else {
                format!("a{c}b")
            };
            assert_eq!(clean(&format!("a{c}b")), shown);
        }
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        // Every pair of the characters that mean something, so that removing one cannot make another.
        let parts = [
            "\u{1b}", "[", "]", "P", "\u{9b}", "\u{9d}", "\u{7}", "\\", "3", "m", "\r", "\u{202e}", " ", "\n",
        ];
        for a in parts {
            for b in parts {
                for c in parts {
                    let text = clean(&format!("{a}{b}{c}x"));
                    assert!(
                        text.chars()
                            .all(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c))),
                        "{a:?} {b:?} {c:?} gave {text:?}"
                    );
                    assert_eq!(clean(&text), text);
                }
            }
        }
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("  a\n\tb\u{1b}[1m \u{2028} c\u{85}d "), "a b c d");
    }

    #[test]
    fn short_is_short_also_in_wide_letters() {
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("abcd", 4), "abcd");
        assert_eq!(shorten("漢字漢字", 5), "漢字…");
        assert_eq!(shorten("abc", 0), "");
        assert_eq!(shorten_start("/home/me/app", 5), "…/app");
        assert_eq!(width("e\u{301}"), 1);
    }
}

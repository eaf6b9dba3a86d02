//! Characters that a person cannot see. In: text. Out: true if it shows nothing.

/// True for characters that reorder the shown text or carry invisible text.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// True if the text shows nothing.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

#[cfg(test)]
mod tests {
    use super::is_blank;

    #[test]
    fn what_shows_nothing_is_blank() {
        for text in ["", " \n\t", "\u{200b}\u{2060}", "\u{feff}", "\u{202e}", "\u{2800}\u{3164}", "\0"] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["a", "\u{200b}a", ".", "\u{1f600}", "\u{5d0}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}

//! The meaning of a line's bytes: text, or keys that write none.
//!
//! In: the terminal's bytes at Enter. Out: the text, without the marks of a paste; nothing if it contains
//! control bytes or an escape sequence, because such a line was not written to be sent.

/// The marks around a pasted text in a terminal with bracketed paste.
const PASTE_BEGINS: &str = "\u{1b}[200~";
const PASTE_ENDS: &str = "\u{1b}[201~";

/// The longest line that a terminal in its line mode delivers whole, with its end (N_TTY of Linux; other
/// systems refuse the keys instead). It silently drops the rest.
const LONGEST_LINE: usize = 4096;

/// True if the terminal may have dropped the end of this line.
pub(super) fn is_cut(part: &[u8]) -> bool {
    part.len() >= LONGEST_LINE && part.ends_with(b"\n")
}

/// True inside a pasted text: its line breaks are no Enter.
pub(super) fn paste_goes_on(bytes: &[u8]) -> bool {
    let last = |mark: &str| bytes.windows(mark.len()).rposition(|window| window == mark.as_bytes());
    last(PASTE_BEGINS) > last(PASTE_ENDS)
}

/// The text of a line; `None` if it contains keys that write no text.
pub(super) fn typed_line(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let mut rest = text.strip_suffix('\n').unwrap_or(&text);
    let mut line = String::new();
    while let Some((before, after)) = rest.split_once(PASTE_BEGINS) {
        let (pasted, later) = after.split_once(PASTE_ENDS)?;
        let pasted = pasted.replace("\r\n", "\n").replace('\r', "\n");
        // A pasted tab or line break is text.
        if before.contains(char::is_control)
            || pasted.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'))
        {
            return None;
        }
        line.push_str(before);
        line.push_str(&pasted);
        rest = later;
    }
    if rest.contains(char::is_control) {
        return None;
    }
    line.push_str(rest);
    // A copied line often brings its line break along.
    Some(line.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_write_no_text_spoil_a_line() {
        for (bytes, text) in [
            (&b"Sessions\n"[..], Some("Sessions")),
            (b"\n", Some("")),
            ("größer\n".as_bytes(), Some("größer")),
            // Down, Up in application mode, Home, End, F1, Alt-x, Escape, Ctrl-A, Tab, DEL, a byte that is no
            // text, C1.
            (b"\x1b[B\n", None),
            (b"\x1bOA\n", None),
            (b"\x1b[1~\n", None),
            (b"1\x1b[F\n", None),
            (b"\x1bOP\n", None),
            (b"\x1bx\n", None),
            (b"\x1b\n", None),
            (b"\x01\n", None),
            (b"JWT\t\n", None),
            (b"\x7f\n", None),
            (b"\xe1\n", None),
            ("\u{9b}B\n".as_bytes(), None),
            (b"\0\n", None),
        ] {
            assert_eq!(typed_line(bytes.to_vec()).as_deref(), text, "{bytes:?}");
        }
    }

    #[test]
    fn a_paste_is_text_without_its_marks() {
        for (bytes, text) in [
            (&b"\x1b[200~Sessions\x1b[201~\n"[..], Some("Sessions")),
            (b"\x1b[200~Sessions\n\x1b[201~\n", Some("Sessions")),
            (b"\x1b[200~Sessions\nyes\n\x1b[201~\n", Some("Sessions\nyes")),
            (b"a \x1b[200~b\r\n\tc\x1b[201~ d\n", Some("a b\n\tc d")),
            (b"\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~\n", Some("ab")),
            (b"\x1b[200~\x1b[31mred\x1b[201~\n", None),
            (b"\x1b[200~a\x1b[201~\x1b[A\n", None),
            // A mark that was rubbed out, or the end of a paste whose beginning was dropped.
            (b"\x1b[200~a\x1b[201\n", None),
            (b"yes\x1b[201~\n", None),
        ] {
            assert_eq!(typed_line(bytes.to_vec()).as_deref(), text, "{bytes:?}");
        }
        assert!(paste_goes_on(b"\x1b[200~Sessions\n"));
        assert!(paste_goes_on(b"\x1b[200~a\x1b[201~\x1b[200~b\n"));
        assert!(!paste_goes_on(b"\x1b[200~Sessions\nyes\n\x1b[201~\n"));
        assert!(!paste_goes_on(b"Sessions\n"));
    }

    #[test]
    fn a_line_that_fills_the_terminal_may_have_lost_its_end() {
        let line = |length: usize| [vec![b'a'; length], vec![b'\n']].concat();
        assert!(is_cut(&line(4095)) && !is_cut(&line(4094)));
    }
}

//! Finds the options that a typed text nearly names, so that a surface asks about a slip instead of sending
//! it as own words.
//!
//! In: an item and a text. Out: [`Named`]. [`name`] does the same for a list of names, such as agents.

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::question::{Choice, Item};
use crate::unseen::is_invisible;

/// Letters of the longer text for each allowed slip (a missing, extra, different or swapped letter), counted
/// from one letter fewer: three letters allow one slip, seven allow two. With more slips, short words of
/// another meaning would match.
const LETTERS_PER_SLIP: usize = 4;
/// The most slips between two texts of any length; with more they are two sentences.
const MAX_SLIPS: usize = 4;

/// The meaning of a text for the options of an item. Options are named by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// It is the value or the label of this option alone, as far as that can be seen, or becomes that in
    /// other letters: upper and lower case, and an accent as a letter of its own or in its letter.
    Option(usize),
    /// One of these options may be meant; never empty.
    Near(Vec<usize>),
    /// Own words.
    Other,
}

/// Tries the exact value or label, then ignores case, then beginnings and slips.
pub fn named(item: &Item, text: &str) -> Named {
    let options = item.options.iter().enumerate();
    let typed = fold(text);
    let all = |is: &dyn Fn(&Choice) -> bool| -> Vec<usize> {
        options.clone().filter(|(_, option)| is(option)).map(|(i, _)| i).collect()
    };
    let seen = seen(text);
    let is = |option: &Choice, text: &str| option.value == text || option.label == text;
    let reads = |option: &Choice| self::seen(&option.value) == seen || self::seen(&option.label) == seen;
    let tests: [&dyn Fn(&Choice) -> bool; 2] = [&reads, &|option| names(option).contains(&typed)];
    for test in tests {
        match all(test).as_slice() {
            [] => {}
            [only] => {
                let exact = item.options.get(*only).is_some_and(|option| is(option, text));
                // A person who typed invisible characters may not have meant the option.
                return if exact || seen == text { Named::Option(*only) } else { Named::Near(vec![*only]) };
            }
            several => return Named::Near(several.to_vec()),
        }
    }
    // A number may be the number of an option; the caller has a rule for that.
    let is_number = typed.bytes().all(|b| b.is_ascii_digit());
    if typed.is_empty() || is_number {
        return Named::Other;
    }
    let begun = all(&|option| names(option).iter().any(|name| name.starts_with(&typed)));
    if !begun.is_empty() {
        return Named::Near(begun);
    }
    let slips = |option: &Choice| names(option).iter().filter_map(|name| few_slips(&typed, name)).min();
    match item.options.iter().filter_map(slips).min() {
        Some(least) => Named::Near(all(&|option| slips(option) == Some(least))),
        None => Named::Other,
    }
}

/// The one name that `typed` misspells. `None` if no name is near, or two are equally near.
pub fn name<'a>(typed: &str, names: &[&'a str]) -> Option<&'a str> {
    let typed = fold(typed);
    let slips = |name: &str| few_slips(&typed, &fold(name));
    let least = names.iter().filter_map(|name| slips(name)).min()?;
    let mut near = names.iter().filter(|name| slips(name) == Some(least));
    near.next().filter(|_| near.next().is_none()).copied()
}

/// The visible part of a text: options with the same visible text look the same.
fn seen(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !is_invisible(*c)).collect()
}

/// Lower case, in Unicode normal form C, without hidden characters.
fn fold(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc().normalize(&seen(text).trim().to_lowercase()).into_owned()
}

fn names(option: &Choice) -> [String; 2] {
    [fold(&option.value), fold(&option.label)]
}

/// The slips between two texts, if they are few enough for the length.
fn few_slips(one: &str, other: &str) -> Option<usize> {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let longer = one.len().max(other.len());
    let allowed = ((longer + 1) / LETTERS_PER_SLIP).min(MAX_SLIPS);
    slips(&one, &other, allowed)
}

/// The edit distance with swapped neighbours (optimal string alignment), if it is at most `most`. It compares
/// only positions within that distance, so the work grows linearly with the length.
fn slips(one: &[char], other: &[char], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most {
        return None;
    }
    let (far, width) = (most + 1, 2 * most + 1);
    // Column `c` of the row for the first `i` letters stands for the first `i + c - most` letters of the
    // other text.
    let length = |i: usize, c: usize| (i + c).checked_sub(most).filter(|j| *j <= other.len());
    let mut before = vec![far; width];
    let mut last: Vec<usize> = (0..width).map(|c| length(0, c).unwrap_or(far)).collect();
    for i in 1..=one.len() {
        let mut row = vec![far; width];
        for c in 0..width {
            row[c] = match length(i, c) {
                None => far,
                Some(0) => i,
                Some(j) => {
                    let mut least = last[c] + usize::from(one[i - 1] != other[j - 1]);
                    if c + 1 < width {
                        least = least.min(last[c + 1] + 1);
                    }
                    if c > 0 {
                        least = least.min(row[c - 1] + 1);
                    }
                    if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                        least = least.min(before[c] + 1);
                    }
                    least
                }
            };
        }
        if row.iter().all(|slips| *slips > most) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.get((other.len() + most).checked_sub(one.len())?).copied().filter(|slips| *slips <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AskInput;

    /// `=x` is the option with the value x, `~x,y` are near ones, `-` is own words.
    fn said(options: &[&str], text: &str) -> String {
        let json = serde_json::json!({ "questions": [{ "question": "?", "options": options }] });
        let ask = serde_json::from_value::<AskInput>(json).unwrap().complete().unwrap();
        match named(&ask.questions[0], text) {
            Named::Option(i) => format!("={}", options[i]),
            Named::Near(near) => {
                format!("~{}", near.iter().map(|i| options[*i]).collect::<Vec<_>>().join(","))
            }
            Named::Other => "-".to_owned(),
        }
    }

    #[test]
    fn a_mistyped_name_is_told_if_it_is_near_one_alone() {
        let names = ["mock", "claude", "opencode", "codex", "codey"];
        assert_eq!(name("clude", &names), Some("claude"));
        assert_eq!(name("Opencdoe", &names), Some("opencode"));
        assert_eq!(name("code", &names), None, "two are as near");
        assert_eq!(name("gemini", &names), None);
    }

    #[test]
    fn a_slip_is_near_and_own_words_are_not() {
        let auth: &[&str] = &["JWT", "Sessions"];
        let deploy: &[&str] = &["Deploy now", "Deploy later", "Stop"];
        let yes: &[&str] = &["yes", "no"];
        for (options, text, meant) in [
            // The option itself, also in other letters and between blanks.
            (auth, "Sessions", "=Sessions"),
            (auth, "sessions", "=Sessions"),
            (auth, " JWT ", "=JWT"),
            // A letter missing, doubled, wrong, swapped.
            (auth, "Sesions", "~Sessions"),
            (auth, "Sesssions", "~Sessions"),
            (auth, "Sossions", "~Sessions"),
            (auth, "Sessinos", "~Sessions"),
            (auth, "sesions", "~Sessions"),
            (auth, "Sesion", "~Sessions"),
            (auth, "JTW", "~JWT"),
            (auth, "JWTs", "~JWT"),
            // A beginning that only one option has.
            (auth, "j", "~JWT"),
            (auth, "jw", "~JWT"),
            (auth, "Sess", "~Sessions"),
            (deploy, "deploy n", "~Deploy now"),
            // One that several have may be each of them.
            (deploy, "deploy", "~Deploy now,Deploy later"),
            (deploy, "D", "~Deploy now,Deploy later"),
            // Own words.
            (auth, "OAuth", "-"),
            (auth, "JWT, but with short lifetimes", "-"),
            (auth, "neither", "-"),
            (auth, "", "-"),
            (deploy, "Deploy not", "~Deploy now"),
            (deploy, "do not deploy", "-"),
            (deploy, "Shop", "~Stop"),
            (yes, "no way", "-"),
            (yes, "on", "-"),
            (yes, "ye", "~yes"),
            // Two options that differ in case only, or that are as near as each other.
            (&["JWT", "jwt"], "jwt", "=jwt"),
            (&["JWT", "jwt"], "Jwt", "~JWT,jwt"),
            // What cannot be seen makes no difference: not between a text and an option, nor between two
            // options.
            (&["N\u{200b}o", "Yes"], "No", "=N\u{200b}o"),
            (&["No", "Yes"], "N\u{200b}o", "~No"),
            (&["N\u{200b}o", "Yes"], "N\u{200b}o", "=N\u{200b}o"),
            (&["No", "N\u{200b}o"], "No", "~No,N\u{200b}o"),
            (&["cat one", "bat one"], "rat one", "~cat one,bat one"),
            // Numbers, and letters that are not ASCII.
            (&["10", "20"], "100", "-"),
            (&["10 minutes", "2 hours"], "2", "-"),
            (&["größer", "kleiner"], "grösser", "~größer"),
            (&["日本語です", "英語です"], "日本後です", "~日本語です"),
        ] {
            assert_eq!(said(options, text), meant, "{text:?} among {options:?}");
        }
    }

    #[test]
    fn the_value_counts_as_much_as_the_label() {
        let json = r#"{"questions":[{"question":"?","options":[{"label":"Yes, always","value":"allow_always"},{"label":"Deny"}]}]}"#;
        let ask = serde_json::from_str::<AskInput>(json).unwrap().complete().unwrap();
        let item = &ask.questions[0];
        assert_eq!(named(item, "alow_always"), Named::Near(vec![0]));
        assert_eq!(named(item, "ALLOW_ALWAYS"), Named::Option(0));
        assert_eq!(named(item, "Yes"), Named::Near(vec![0]));
    }

    #[test]
    fn a_label_that_two_options_share_names_both() {
        let json = r#"{"questions":[{"question":"?","options":[{"label":"S","value":"1"},{"label":"S","value":"2"}]}]}"#;
        let ask = serde_json::from_str::<AskInput>(json).unwrap().complete().unwrap();
        assert_eq!(named(&ask.questions[0], "S"), Named::Near(vec![0, 1]));
        assert_eq!(named(&ask.questions[0], "2"), Named::Option(1));
    }

    #[test]
    fn a_text_that_is_one_options_label_and_the_value_of_another_names_both() {
        let json = r#"{"questions":[{"question":"?","options":[{"label":"1","value":"0"},{"label":"2","value":"1"}]}]}"#;
        let ask = serde_json::from_str::<AskInput>(json).unwrap().complete().unwrap();
        assert_eq!(named(&ask.questions[0], "1"), Named::Near(vec![0, 1]));
        assert_eq!(named(&ask.questions[0], "0"), Named::Option(0));
        assert_eq!(named(&ask.questions[0], "2"), Named::Option(1));
    }

    #[test]
    fn a_slip_in_a_long_label_is_near_too() {
        let label = "may the agent go on with it ".repeat(100);
        let label = label.trim();
        let slip = label.replacen("agent", "agnet", 1);
        assert_eq!(said(&[label, "no"], &slip), format!("~{label}"));
        let slips = slip.replacen("with", "wiht", 3);
        assert_eq!(said(&[label, "no"], &slips), format!("~{label}"));
        assert_eq!(said(&[label, "no"], &slips.replacen("go", "og", 1)), "-", "these are five");
        assert_eq!(said(&[&"a".repeat(2000)], &"b".repeat(1999)), "-");
    }

    #[test]
    fn an_accent_of_its_own_is_the_same_letter() {
        assert_eq!(said(&["Caf\u{e9}", "Bar"], "cafe\u{301}"), "=Caf\u{e9}");
        assert_eq!(said(&["Cafe\u{301}", "Bar"], "Caf\u{e9}"), "=Cafe\u{301}");
        assert_eq!(said(&["Caf\u{e9}", "Bar"], "Cafe"), "~Caf\u{e9}");
        assert_eq!(said(&["Caf\u{e9}", "Caf\u{e8}"], "cafe\u{300}"), "=Caf\u{e8}");
    }

    proptest::proptest! {
        #[test]
        fn slips_are_counted_as_without_a_bound(one in "[abc]{0,9}", other in "[abc]{0,9}", most in 0usize..5) {
            let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
            let whole = Some(unbounded(&one, &other)).filter(|slips| *slips <= most);
            proptest::prop_assert_eq!(slips(&one, &other, most), whole);
        }
    }

    fn unbounded(one: &[char], other: &[char]) -> usize {
        let mut rows = vec![vec![0; other.len() + 1]; one.len() + 1];
        for i in 0..=one.len() {
            for j in 0..=other.len() {
                rows[i][j] = match (i, j) {
                    (0, j) => j,
                    (i, 0) => i,
                    (i, j) => {
                        let swapped =
                            i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
                        let other_letter = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                        let least = other_letter.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                        if swapped { least.min(rows[i - 2][j - 2] + 1) } else { least }
                    }
                };
            }
        }
        rows[one.len()][other.len()]
    }
}

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use super::*;
use crate::{AskInput, Reply};

/// Shared with the TypeScript side.
const TABLE: &str = include_str!("../../../tests/answers.json");

#[derive(Deserialize)]
struct Table {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    item: Value,
    #[serde(default)]
    reading: Option<String>,
    given: Value,
    #[serde(default)]
    answer: Option<ShownAnswer>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    field: Option<String>,
    #[serde(default)]
    says: Vec<String>,
}

#[test]
fn the_table_of_answers_is_kept() {
    let table: Table = serde_json::from_str(TABLE).unwrap();
    for row in table.rows {
        let name = row.name;
        let asked = serde_json::json!({ "questions": [row.item] });
        let ask = serde_json::from_value::<AskInput>(asked).unwrap().complete().unwrap();
        let mut reply: Reply = serde_json::from_value(serde_json::json!({ "answers": [row.given] })).unwrap();
        reply.reading = match row.reading.as_deref() {
            None | Some("valuesAndLabels") => Reading::ValuesAndLabels,
            Some("labelsFirst") => Reading::LabelsFirst,
            Some(other) => panic!("{name}: {other}"),
        };
        match (reply.check(&ask), row.answer) {
            (Ok(answer), Some(wanted)) => {
                assert_eq!(answer.answers[0].shown(ask.questions.first()), wanted, "{name}");
            }
            (Err(errors), None) => {
                let error = &errors.0[0];
                assert_eq!(Some(&error.code), row.code.as_ref(), "{name}: {error:?}");
                assert_eq!(Some(&error.field), row.field.as_ref(), "{name}: {error:?}");
                for said in row.says {
                    assert!(error.message.contains(&said), "{name}: {error:?}");
                }
            }
            (got, wanted) => panic!("{name}: {got:?} and not {wanted:?}"),
        }
    }
}

/// Texts that are each other's labels and values, numbers, the same in other letters, and the same to the
/// eye.
const TEXTS: [&str; 10] =
    ["1", "2", "3", "allow", "Allow", "Reject", "a", "a\u{200b}", " a", "no \"it\", then"];

fn item() -> impl Strategy<Value = Item> {
    let text = || prop::sample::select(&TEXTS[..]);
    let options = prop::collection::vec((text(), text()), 1..6);
    (options, any::<bool>()).prop_map(|(options, multiple)| {
        let mut values = std::collections::HashSet::new();
        let options: Vec<Value> = options
            .into_iter()
            .filter(|(value, _)| values.insert(*value))
            .map(|(value, label)| serde_json::json!({ "value": value, "label": label }))
            .collect();
        let asked = serde_json::json!({
            "questions": [{ "question": "?", "options": options, "multiple": multiple }]
        });
        serde_json::from_value::<AskInput>(asked).unwrap().complete().unwrap().questions.remove(0)
    })
}

/// How a surface says what its person did.
#[derive(Debug, Clone, Copy)]
enum Surface {
    /// The page, the widget, the prompt: they know which option was picked.
    Page,
    /// `askd show` and the API's own clients, by the label that was read.
    Label,
    /// The same by the value that was read.
    Value,
    /// A client that shows labels alone.
    LabelsAlone,
}

fn read_one(given: GivenAnswer, item: &Item, reading: Reading) -> Option<ItemAnswer> {
    read(given, item, reading).ok().map(|(answer, _)| answer)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn the_option_that_arrives_is_the_one_that_was_seen_or_it_is_refused(
        item in item(),
        at in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        surface in prop::sample::select(&[Surface::Page, Surface::Label, Surface::Value, Surface::LabelsAlone][..]),
    ) {
        let meant: std::collections::BTreeSet<usize> =
            at.iter().map(|at| at.index(item.options.len())).collect();
        // Picked in any order, each once.
        let mut picked: Vec<usize> = Vec::new();
        for at in &at {
            let i = at.index(item.options.len());
            if !picked.contains(&i) { picked.push(i); }
        }
        let value = |i: &usize| item.options[*i].value.clone();
        let label = |i: &usize| item.options[*i].label.clone();
        let (given, reading) = match surface {
            Surface::Page => (
                ItemAnswer::picks(picked.iter().map(value)).into(),
                Reading::ValuesAndLabels,
            ),
            Surface::Label => {
                (GivenAnswer::Texts(picked.iter().map(label).collect()), Reading::ValuesAndLabels)
            }
            Surface::Value => {
                (GivenAnswer::Texts(picked.iter().map(value).collect()), Reading::ValuesAndLabels)
            }
            Surface::LabelsAlone => {
                (GivenAnswer::Texts(picked.iter().map(label).collect()), Reading::LabelsFirst)
            }
        };
        match read_one(given, &item, reading) {
            Some(answer) => prop_assert_eq!(answer, ItemAnswer::picks(meant.iter().map(value))),
            None => prop_assert!(!matches!(surface, Surface::Page), "a pick is never unclear"),
        }
    }

    #[test]
    fn own_words_are_an_option_only_by_its_label(
        item in item(),
        words in prop::sample::select(&TEXTS[..]),
        reading in prop::sample::select(&[Reading::ValuesAndLabels, Reading::LabelsFirst][..]),
    ) {
        let is_label = item.options.iter().any(|option| option.label == words);
        let is_value = item.options.iter().any(|option| option.value == words);
        match read_one(ItemAnswer::words([words]).into(), &item, reading) {
            Some(answer) if answer.words.is_empty() => {
                let shown = answer.shown(Some(&item));
                prop_assert_eq!(shown.labels, [words]);
            }
            Some(answer) => {
                prop_assert!(!is_label && !is_value);
                prop_assert_eq!(answer, ItemAnswer::words([words]));
            }
            None => prop_assert!(is_value || is_label),
        }
    }
}

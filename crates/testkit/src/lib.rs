//! askd's test kit: what tests need and the product must not contain.
//!
//! In: scripts, and the binary under test. Out: a scripted model that real agents take for their provider
//! (`model`), the real agent programs, found and started in isolation (`programs`), a real terminal for them
//! (`terminal`), and a hub that really runs (`hub`), also behind a way that loses responses (`lossy`).

pub mod hub;
pub mod lossy;
pub mod model;
pub mod programs;
pub mod terminal;

/// The answers of an outcome as the texts that were given for each item: values of picks, then own words.
pub fn given(answers: &serde_json::Value) -> serde_json::Value {
    let texts = |answer: &serde_json::Value| {
        let list = |name: &str| answer[name].as_array().into_iter().flatten().cloned().collect::<Vec<_>>();
        assert_eq!(list("picks").len(), list("labels").len(), "each pick has its label: {answer}");
        serde_json::Value::from([list("picks"), list("words")].concat())
    };
    answers.as_array().map_or(serde_json::Value::Null, |answers| answers.iter().map(texts).collect())
}

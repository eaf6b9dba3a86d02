//! The walks of ARCHITECTURE.md: each function that they name is where they say.

use std::fs;
use std::path::Path;

/// Words in backticks of the form `folder/src/file.rs::function`.
fn places(text: &str) -> Vec<(&str, &str)> {
    text.split('`').skip(1).step_by(2).filter_map(|word| word.split_once(".rs::")).collect()
}

fn has_function(source: &str, name: &str) -> bool {
    source
        .match_indices(&format!("fn {name}"))
        .any(|(at, found)| source[at + found.len()..].starts_with(['(', '<']))
}

#[test]
fn each_function_of_the_walks_exists() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let places = places(&text);
    assert!(places.len() > 20, "the walks name functions: {places:?}");
    let missing: Vec<_> = places
        .into_iter()
        .filter(|(file, function)| {
            let source =
                fs::read_to_string(root.join("crates").join(format!("{file}.rs"))).unwrap_or_default();
            !has_function(&source, function)
        })
        .collect();
    assert_eq!(missing, [] as [(&str, &str); 0], "ARCHITECTURE.md names functions that are not there");
}

#[test]
fn a_function_that_is_gone_is_seen() {
    assert_eq!(places("see `a/src/b.rs::c` and `d`, `e.rs::f`"), [("a/src/b", "c"), ("e", "f")]);
    for (source, is_there) in
        [("pub fn c(x: u8)", true), ("fn c<T>(t: T)", true), ("fn cd()", false), ("c()", false)]
    {
        assert_eq!(has_function(source, "c"), is_there, "{source}");
    }
}

//! Finds and changes values inside a JSON text and leaves every other byte as it was.
//!
//! In: the text of an object, the names on the way to a value, the value's text. Out: the changed text, or a
//! tree that says where each value stands. Key order, spaces, unknown members and the spelling of numbers
//! survive, because nothing else is read and written again.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The position of a member's value in the text of an object; the last, if several have the same name.
fn place(object: &str, key: &str) -> Option<Range<usize>> {
    let mut reader = serde_json::Deserializer::from_str(object);
    let value = reader.deserialize_map(Member(key)).ok()?;
    reader.end().ok()?;
    span(object, value?)
}

/// Reads an object for the member of this name.
struct Member<'k>(&'k str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = members.next_key_seed(IsName(self.0))? {
            if is_it {
                found = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares a name while it is parsed.
struct IsName<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// The value of a member, as its source text.
pub fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    place(object, key).and_then(|range| object.get(range))
}

/// The value at the end of a path of members.
pub fn at<'a>(object: &'a str, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(object, |object, key| member(object, key))
}

/// The object with the value at `path` set; members on the way that are missing, or are no objects, are made.
pub fn set(object: &str, path: &[&str], value: &str) -> String {
    let Some((key, rest)) = path.split_first() else { return value.to_owned() };
    match place(object, key) {
        Some(range) => {
            let inner = set(&object[range.clone()], rest, value);
            format!("{}{inner}{}", &object[..range.start], &object[range.end..])
        }
        None => {
            let inner = set("{}", rest, value);
            let key = serde_json::Value::from(*key);
            match object.rfind('}').filter(|_| object.trim_start().starts_with('{')) {
                Some(end) => {
                    let comma = if object[..end].trim_end().ends_with('{') { "" } else { "," };
                    format!("{}{comma}{key}:{inner}{}", &object[..end], &object[end..])
                }
                None => format!("{{{key}:{inner}}}"),
            }
        }
    }
}

/// The same JSON on one line: a line feed can only stand between its parts.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let breaks = |byte: u8| matches!(byte, b'\n' | b'\r');
    if text.bytes().any(breaks) { text.replace(['\n', '\r'], " ").into() } else { text.into() }
}

/// The deepest nesting for [`parse`]; `serde_json` itself stops at 128.
const MAX_DEPTH: usize = 128;

/// A value and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub span: Range<usize>,
    pub shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Object(Vec<NamedNode>),
    Array(Vec<Node>),
    Other,
}

/// A member of an object and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedNode {
    pub key: String,
    /// From the key to the end of the value.
    pub span: Range<usize>,
    pub value: Node,
}

impl Node {
    pub fn members(&self) -> Option<&[NamedNode]> {
        if let Shape::Object(members) = &self.shape { Some(members) } else { None }
    }

    pub fn items(&self) -> Option<&[Node]> {
        if let Shape::Array(items) = &self.shape { Some(items) } else { None }
    }
}

/// The tree of a text; `None` for invalid JSON, or JSON that is nested too deeply.
pub fn parse(text: &str) -> Option<Node> {
    node(text, serde_json::from_str::<&RawValue>(text).ok()?, 0)
}

fn node(text: &str, value: &RawValue, depth: usize) -> Option<Node> {
    if depth > MAX_DEPTH {
        return None;
    }
    let shape = match value.get().as_bytes().first()? {
        b'{' => {
            let members = serde_json::Deserializer::from_str(value.get()).deserialize_map(AllMembers).ok()?;
            let named = |(key, value): (&RawValue, &RawValue)| {
                let value = node(text, value, depth + 1)?;
                let span = span(text, key)?.start..value.span.end;
                // Half of a surrogate pair cannot be held: such a name is none that is looked for.
                let key = serde_json::from_str(key.get()).unwrap_or_else(|_| key.get().to_owned());
                Some(NamedNode { key, span, value })
            };
            Shape::Object(members.into_iter().map(named).collect::<Option<_>>()?)
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
            Shape::Array(items.into_iter().map(|item| node(text, item, depth + 1)).collect::<Option<_>>()?)
        }
        _ => Shape::Other,
    };
    Some(Node { span: span(text, value)?, shape })
}

/// The position of a parsed part in the text.
fn span(text: &str, part: &RawValue) -> Option<Range<usize>> {
    let start = part.get().as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    Some(start..start + part.get().len())
}

/// Reads an object as the texts of its names and values.
struct AllMembers;

impl<'de> Visitor<'de> for AllMembers {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = members.next_entry()? {
            all.push(member);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_value_stays_as_it_was() {
        let text = r#"{ "z":1.50,"id" : "a\u0062" ,"_meta":{"b":[1, 2],"a":null}}"#;
        assert_eq!(set(text, &["id"], "7"), r#"{ "z":1.50,"id" : 7 ,"_meta":{"b":[1, 2],"a":null}}"#);
        assert_eq!(
            set(text, &["_meta", "x", "y"], "true"),
            r#"{ "z":1.50,"id" : "a\u0062" ,"_meta":{"b":[1, 2],"a":null,"x":{"y":true}}}"#
        );
        assert_eq!(
            set(text, &["z", "y"], "0"),
            r#"{ "z":{"y":0},"id" : "a\u0062" ,"_meta":{"b":[1, 2],"a":null}}"#
        );
        assert_eq!(set("{ }", &["a"], "1"), r#"{ "a":1}"#);
        assert_eq!(at(text, &["_meta", "b"]), Some("[1, 2]"));
        assert_eq!(at(text, &["_meta", "c"]), None);
        assert_eq!(member(r#"{"a":1,"b":2,"\u0061":3}"#, "a"), Some("3"));
    }

    #[test]
    fn text_that_is_no_object_has_no_members() {
        for text in ["", "[]", "7", "{", "null", r#"{"id":1,}"#, r#"{"id":1} x"#] {
            assert_eq!(member(text, "id"), None);
        }
        assert_eq!(set("null", &["a", "b"], "1"), r#"{"a":{"b":1}}"#);
    }

    #[test]
    fn a_tree_says_where_each_value_stands() {
        let text = " { \"a\" : [1e999, {}], \"\\ud800\":\"\\ud800\" , \"a\":-0.0 } ";
        let tree = parse(text).unwrap();
        assert_eq!(&text[tree.span.clone()], text.trim());
        let members = tree.members().unwrap();
        let told: Vec<_> = members
            .iter()
            .map(|one| (one.key.as_str(), &text[one.span.clone()], &text[one.value.span.clone()]))
            .collect();
        assert_eq!(
            told,
            [
                ("a", "\"a\" : [1e999, {}]", "[1e999, {}]"),
                ("\"\\ud800\"", "\"\\ud800\":\"\\ud800\"", "\"\\ud800\""),
                ("a", "\"a\":-0.0", "-0.0"),
            ]
        );
        let items = members[0].value.items().unwrap();
        assert_eq!(items.iter().map(|item| &text[item.span.clone()]).collect::<Vec<_>>(), ["1e999", "{}"]);
        assert_eq!(items[1].members(), Some(&[][..]));
        for broken in ["", "{", "[1,]", "{\"a\" 1}", "1 2"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
        assert!(parse(&format!("{}{}", "[".repeat(129), "]".repeat(129))).is_some());
        assert_eq!(parse(&format!("{}{}", "[".repeat(130), "]".repeat(130))), None);
    }
}

//! Where the values of a JSON text are, so that a part of it can be changed and the rest stays byte for byte.
//!
//! In: a text that `serde_json` has found to be valid. Out: a tree of spans.

use std::ops::Range;

/// Containers in containers; `serde_json` itself stops at 128.
const MAX_DEPTH: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub span: Range<usize>,
    pub shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub key: String,
    /// From the key to the end of the value.
    pub span: Range<usize>,
    pub value: Node,
}

impl Node {
    pub fn members(&self) -> Option<&[Member]> {
        if let Shape::Object(members) = &self.shape { Some(members) } else { None }
    }

    pub fn items(&self) -> Option<&[Node]> {
        if let Shape::Array(items) = &self.shape { Some(items) } else { None }
    }
}

/// The tree of a valid text; `None` where it is not valid after all.
pub(super) fn parse(text: &str) -> Option<Node> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.value(0)?;
    reader.space();
    (reader.at == text.len()).then_some(node)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        let start = self.at;
        let shape = match self.peek()? {
            b'{' => self.object(depth)?,
            b'[' => self.array(depth)?,
            b'"' => {
                self.string()?;
                Shape::Other
            }
            _ => {
                while self.peek().is_some_and(|b| !b.is_ascii_whitespace() && !b",]}".contains(&b)) {
                    self.at += 1;
                }
                Shape::Other
            }
        };
        Some(Node { span: start..self.at, shape })
    }

    fn object(&mut self, depth: usize) -> Option<Shape> {
        self.take(b'{')?;
        let mut members = Vec::new();
        if self.take(b'}').is_some() {
            return Some(Shape::Object(members));
        }
        loop {
            self.space();
            let start = self.at;
            let key = self.string()?;
            self.take(b':')?;
            let value = self.value(depth + 1)?;
            members.push(Member { key, span: start..value.span.end, value });
            if self.take(b',').is_none() {
                self.take(b'}')?;
                return Some(Shape::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Shape> {
        self.take(b'[')?;
        let mut items = Vec::new();
        if self.take(b']').is_some() {
            return Some(Shape::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b',').is_none() {
                self.take(b']')?;
                return Some(Shape::Array(items));
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.take(b'"')?;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let text = self.text.get(start..self.at)?;
        // Half of a surrogate pair cannot be held: such a name is none that is looked for.
        Some(serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()))
    }
}

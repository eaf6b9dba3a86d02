//! The client's folder: `?directory=`, else the header `x-opencode-directory`, raw or percent-encoded. In
//! place of the real server's own folder, the default is all folders.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;

use askd_core::Question;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope(Option<String>);

impl Scope {
    pub fn all() -> Self {
        Self(None)
    }

    pub fn has(&self, question: &Question) -> bool {
        let cwd = question.ask.context.cwd.as_deref().map(trim);
        self.0.as_deref().is_none_or(|directory| cwd == Some(directory))
    }
}

impl<S: Sync> FromRequestParts<S> for Scope {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let pairs = parts.uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        let mut directories = pairs.filter(|(name, _)| *name == "directory");
        let in_query = directories.next().map(|(_, value)| unescape(value));
        let in_header = || {
            let value = parts.headers.get("x-opencode-directory")?.to_str().ok()?;
            Some(percent(value))
        };
        let directory = in_query.or_else(in_header).filter(|directory| !directory.is_empty());
        Ok(Self(directory.map(|directory| trim(&directory).to_owned())))
    }
}

fn trim(directory: &str) -> &str {
    match directory.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed,
    }
}

/// A value of a query string.
pub fn unescape(value: &str) -> String {
    percent(&value.replace('+', " "))
}

fn percent(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| byte == b'%') {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_meant() {
        assert_eq!(unescape("%2Fhome%2Fdev+app"), "/home/dev app");
        assert_eq!(percent("/a%20b%zz%2"), "/a b%zz%2");
        assert_eq!((trim("/a/"), trim("/")), ("/a", "/"));
    }
}

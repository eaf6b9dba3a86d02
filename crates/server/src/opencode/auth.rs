//! The caller in OpenCode's form: HTTP Basic with an askd token as the password, or `?auth_token=` with the
//! same in base64 for browsers' EventSource. A bearer token works too.

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};

use askd_core::Surface;

use super::super::state::AppState;
use askd_hub::Caller;

pub struct Client(pub Caller);

/// The real server's refusal: no body, and the realm that its clients know.
pub struct Refused;

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let realm = HeaderValue::from_static("Basic realm=\"Secure Area\"");
        (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, realm)]).into_response()
    }
}

impl FromRequestParts<AppState> for Client {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Refused> {
        let token = token_of(parts).ok_or(Refused)?;
        let token = state.hub.access.authenticate(&token).await.ok_or(Refused)?;
        Ok(Self(Caller { token, surface: Surface::Api }))
    }
}

fn token_of(parts: &Parts) -> Option<String> {
    if let Some(given) = parts.headers.get(header::AUTHORIZATION) {
        let (scheme, value) = given.to_str().ok()?.split_once(' ')?;
        return match scheme.to_ascii_lowercase().as_str() {
            "basic" => password(value.trim()),
            "bearer" => Some(value.trim().to_owned()),
            _ => None,
        };
    }
    let pairs = parts.uri.query()?.split('&');
    let value = pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == "auth_token")?.1;
    password(&super::scope::unescape(value))
}

/// The password of `base64(user:password)`.
fn password(encoded: &str) -> Option<String> {
    let text = String::from_utf8(base64(encoded)?).ok()?;
    Some(text.split_once(':')?.1.to_owned())
}

/// Both alphabets, with or without padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut held, mut bits) = (0u32, 0u32);
    for c in text.trim_end_matches('=').bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(six)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_what_follows_the_first_colon() {
        assert_eq!(password("b3BlbmNvZGU6YTpiPz4="), Some("a:b?>".to_owned()));
        assert_eq!(password("b3BlbmNvZGU6YTpiPz4"), Some("a:b?>".to_owned()));
        assert_eq!(password("bm9jb2xvbg=="), None);
        assert_eq!(password("***"), None);
    }
}

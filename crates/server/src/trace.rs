//! A span for each request, so that every log line of its work names the request and its question.
//!
//! In: a request, next to its handler: the layers outside of it may move the handler into another task, and
//! the span goes with it. Out: the same response. Log lines of the store's commits carry the span too.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use askd_core::QuestionId;

/// Runs the handler in a span of the lowest level, so that every log filter keeps it.
pub async fn in_span(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let question = question_in(path);
    let span = tracing::error_span!("request", method = %request.method(), path, question);
    next.run(request).instrument(span).await
}

/// The question in a path, by askd's own id.
fn question_in(path: &str) -> Option<&str> {
    path.split('/').find(|part| part.parse::<QuestionId>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_names_the_question_of_the_path() {
        let id = QuestionId::from_bits(7);
        assert_eq!(question_in(&format!("/v1/questions/{id}/reply")), Some(id.as_str()));
        assert_eq!(question_in("/v1/sessions/ses_1/questions/toolu_1/reply"), None);
    }
}

//! What the parser of a connection cannot read never becomes a request: hyper refuses it by itself, with a bare status. Here that
//! answer gets the words that every other refusal has.
//!
//! In: the connection's stream, and the news that a request has begun. Out: the same stream, on which a bare refusal that belongs to
//! no request is written as a [`Problem`].

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::problem::{Code, Problem};

/// Whether the next head on a connection answers a request.
#[derive(Debug, Clone, Default)]
pub struct Begun(Arc<AtomicBool>);

impl Begun {
    /// A request was read; the next head is its answer.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A stream whose refusals speak.
#[derive(Debug)]
pub struct Spoken<S> {
    stream: S,
    begun: Begun,
    /// Our words that are not written yet.
    words: Bytes,
}

impl<S> Spoken<S> {
    pub fn new(stream: S, begun: Begun) -> Self {
        Self { stream, begun, words: Bytes::new() }
    }

    /// Our words for a head that is about to be written, if it is a bare refusal of hyper's own.
    fn words_for(&self, head: &[u8]) -> Option<Bytes> {
        if self.begun.0.load(Ordering::Relaxed) || !is_bare(head) {
            return None;
        }
        let (line, problem) = match status(head)? {
            b"400" => (
                "400 Bad Request",
                Problem::new(Code::MalformedRequest, "this is not a request of HTTP/1.0 or HTTP/1.1"),
            ),
            b"414" => (
                "414 URI Too Long",
                Problem::new(Code::UriTooLong, "the address is longer than any request's"),
            ),
            b"431" => (
                "431 Request Header Fields Too Large",
                Problem::new(
                    Code::HeaderTooLarge,
                    "the header is larger, or has more lines, than any request's",
                ),
            ),
            _ => return None,
        };
        let json = problem.to_json();
        let head = format!(
            "HTTP/1.1 {line}\r\ncontent-type: application/problem+json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            json.len()
        );
        Some([head.into_bytes(), json].concat().into())
    }
}

/// The status of a head that ends a request; not that of an interim one.
fn status(head: &[u8]) -> Option<&[u8]> {
    head.strip_prefix(b"HTTP/1.1 ")?.get(..3).filter(|status| !status.starts_with(b"1"))
}

/// Nothing but a head, and nothing said in it.
fn is_bare(head: &[u8]) -> bool {
    let has = |field: &[u8]| head.windows(field.len()).any(|bytes| bytes == field);
    head.ends_with(b"\r\n\r\n") && has(b"\r\ncontent-length: 0\r\n") && !has(b"\r\ncontent-type: ")
}

impl<S: AsyncWrite + Unpin> Spoken<S> {
    fn poll_words(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.words.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.words))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.words.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Spoken<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Spoken<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_words(cx))?;
        let first = bufs.first().map_or(&[][..], |first| first);
        if let Some(words) = self.words_for(first) {
            self.words = words;
            return Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs))?;
        if status(first).is_some() {
            self.begun.0.store(false, Ordering::Relaxed);
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_words(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_words(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

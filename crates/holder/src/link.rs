//! One connection to the holder's socket, never waiting. In: bytes of the socket, frames to send. Out:
//! frames, and whether the other side is still there.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
};

use super::protocol::{FrameDecoder, FrameError, MAX_UNGREETED_FRAME_BYTES, RawFrame, ToHub};

/// Lines are put into the connection up to here; more waits on disk.
pub(super) const SEND_TARGET_BYTES: usize = 256 * 1024;
/// Unread answers for a hub that asks and does not read. Past it the connection is closed.
const MAX_UNREAD_ANSWER_BYTES: usize = 4 * 1024 * 1024;
const READ_BYTES: usize = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("go on with a connection that was closed")]
    Closed,
    #[error("read or write the connection: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("keep more answers for a hub that does not read them")]
    Unread,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: UnixStream,
    decoder: FrameDecoder,
    /// The buffer of a read.
    chunk: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
    /// Bytes of answers put into `out` since it was last short enough for lines.
    answers: usize,
    /// The other side takes nothing any more. What it said before it went is still to be read.
    deaf: bool,
}

impl Link {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            decoder: FrameDecoder::new(MAX_UNGREETED_FRAME_BYTES),
            chunk: vec![0; READ_BYTES],
            out: Vec::new(),
            sent: 0,
            answers: 0,
            deaf: false,
        })
    }

    /// From here on the other side is the hub.
    pub(super) fn greeted(&mut self) {
        self.decoder.allow_writes();
    }

    /// Reads once; `false` if there was nothing. One read at a time, so that no connection can keep the
    /// holder busy.
    pub(super) fn receive(&mut self) -> Result<bool, LinkError> {
        match self.stream.read(&mut self.chunk) {
            Ok(0) => Err(LinkError::Closed),
            Ok(read) => {
                self.decoder.push(&self.chunk[..read]);
                Ok(true)
            }
            Err(error) if is_not_now(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn next_frame(&mut self) -> Result<Option<RawFrame>, LinkError> {
        Ok(self.decoder.pop()?)
    }

    /// Puts an answer into the connection.
    pub(super) fn send(&mut self, message: &ToHub) -> Result<(), LinkError> {
        if self.deaf {
            return Ok(());
        }
        // The holder's own frames can always be encoded; if one cannot, a closed connection serves the hub
        // better.
        let before = self.out.len();
        message.encode(&mut self.out).map_err(|error| LinkError::Io(io::Error::other(error)))?;
        self.answers += self.out.len() - before;
        if self.answers > MAX_UNREAD_ANSWER_BYTES {
            return Err(LinkError::Unread);
        }
        Ok(())
    }

    /// The buffer for frames of lines, if it has room.
    pub(super) fn room_for_lines(&mut self) -> Option<(usize, &mut Vec<u8>)> {
        let unsent = self.unsent();
        if unsent >= SEND_TARGET_BYTES || self.deaf {
            return None;
        }
        self.answers = 0;
        if self.sent > 0 {
            self.out.drain(..self.sent);
            self.sent = 0;
            self.out.shrink_to(2 * SEND_TARGET_BYTES);
        }
        Some((SEND_TARGET_BYTES - unsent, &mut self.out))
    }

    pub(super) fn unsent(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Writes as much as the other side takes. That it has gone is found by `receive`, after its last words.
    pub(super) fn flush(&mut self) {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(written) if written > 0 => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_not_now(&error) => return,
                Ok(_) | Err(_) => {
                    self.deaf = true;
                    break;
                }
            }
        }
        self.out.clear();
        self.sent = 0;
        self.answers = 0;
    }
}

fn is_not_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

//! Frames, without IO. In: bytes in pieces of any size. Out: frames of a kind and a payload, or the reason
//! why the stream cannot be one of ours. On the wire: the length of the rest (u32, little endian), the kind
//! (u8), the payload.

use bytes::{Buf as _, Bytes, BytesMut};

/// The longest line that a spec may allow, and so the largest frame towards the hub.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// Longest single write to an agent: a prompt with pictures.
pub const MAX_WRITE_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes for a connection before its `Hello`.
pub const MAX_UNGREETED_FRAME_BYTES: usize = 4 * 1024;
/// The bytes of a frame beside its line or write: numbers, a delivery id, or a JSON record with the `stderr`
/// tail.
const FRAME_OVERHEAD_BYTES: usize = 8 * 1024 * 1024;
/// Length and kind.
pub(crate) const HEADER_BYTES: usize = 5;

/// A frame before its payload is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFrame {
    pub kind: u8,
    pub payload: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("read a frame of {bytes} bytes, {most} are allowed")]
    TooLong { bytes: usize, most: usize },
    #[error("read a frame without a kind")]
    Empty,
}

/// Cuts a stream into frames. After an error the stream has no meaning any more: close it.
#[derive(Debug)]
pub struct FrameDecoder {
    buf: BytesMut,
    max_payload: usize,
}

impl FrameDecoder {
    pub fn new(max_payload: usize) -> Self {
        Self { buf: BytesMut::new(), max_payload }
    }

    /// For the hub: lines come in.
    pub fn of_holder() -> Self {
        Self::new(MAX_LINE_BYTES + FRAME_OVERHEAD_BYTES)
    }

    /// For the holder, once the hub has greeted: writes come in.
    pub fn allow_writes(&mut self) {
        self.max_payload = MAX_WRITE_BYTES + FRAME_OVERHEAD_BYTES;
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
    }

    /// The buffer that a reader appends to directly.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buf
    }

    /// The next whole frame, if there is one.
    pub fn pop(&mut self) -> Result<Option<RawFrame>, FrameError> {
        let Some((kind, payload)) = lengths(&self.buf, self.max_payload)? else { return Ok(None) };
        if self.buf.len() < HEADER_BYTES + payload {
            return Ok(None);
        }
        self.buf.advance(HEADER_BYTES);
        Ok(Some(RawFrame { kind, payload: self.buf.split_to(payload).freeze() }))
    }
}

/// Kind and payload length of the frame that begins here; `None` when not even its header is whole.
fn lengths(bytes: &[u8], max_payload: usize) -> Result<Option<(u8, usize)>, FrameError> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    let Some(payload) = length.checked_sub(1) else { return Err(FrameError::Empty) };
    if payload > max_payload {
        return Err(FrameError::TooLong { bytes: payload, most: max_payload });
    }
    Ok(rest.first().map(|kind| (*kind, payload)))
}

/// The first frame of a run of frames, and where the next begins. `Err(n)`: `n` bytes are needed to see it
/// whole.
pub(crate) fn split_frame(bytes: &[u8]) -> Result<(u8, &[u8], usize), usize> {
    let Ok(Some((kind, payload))) = lengths(bytes, usize::MAX / 2) else { return Err(HEADER_BYTES) };
    let end = HEADER_BYTES + payload;
    bytes.get(HEADER_BYTES..end).map(|payload| (kind, payload, end)).ok_or(end)
}

/// Appends a frame with a payload in pieces.
pub(super) fn encode(out: &mut Vec<u8>, kind: u8, pieces: &[&[u8]]) {
    let length = 1 + pieces.iter().map(|piece| piece.len()).sum::<usize>();
    // Every payload is bounded far below 4 GiB before it comes here.
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    out.push(kind);
    for piece in pieces {
        out.extend_from_slice(piece);
    }
}

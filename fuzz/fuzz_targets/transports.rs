//! The framings: lines, JSON-RPC, event streams and the holder's frames, over bytes that come in two parts.
#![no_main]

use askd_holder::protocol::{FrameDecoder, ToHub};
use askd_wire::jsonrpc::Message;
use askd_wire::lines::LineSplitter;
use askd_wire::sse::SseParser;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (first, second) = data.split_at(data.len() / 2);
    drop(Message::parse(data));
    let mut lines = LineSplitter::new(64);
    let mut events = SseParser::new(64);
    let mut frames = FrameDecoder::of_holder();
    for part in [first, second] {
        lines.push(part);
        while lines.pop().is_some() {}
        events.push(part);
        while events.pop().is_some() {}
        frames.push(part);
        while let Ok(Some(frame)) = frames.pop() {
            drop(ToHub::decode(frame));
        }
    }
    let _ = lines.finish();
});

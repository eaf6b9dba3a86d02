//! What every codec must bear: any bytes, in any order, with calls in between; and what must hold of a transcript, whatever is in it.
//!
//! Run with `cargo +nightly fuzz run acp` (or another target of `fuzz_targets`) in the repository's root.

use askd_agents::claude_hook::{Entry, TranscriptReader};
use askd_agents::{Begin, Heard, Registry, Start};

/// Lines in, whatever comes; what is asked is answered, so that the way back is walked too.
pub fn drive(agent: &str, data: &[u8]) {
    let registry = Registry::built_in();
    let Some(mut codec) = registry.get(agent).and_then(|adapter| adapter.codec().ok()) else { return };
    let start = match data.first() {
        Some(byte) if byte % 3 == 1 => Start::Resumed,
        Some(byte) if byte % 3 == 2 => Start::Observed,
        _ => Start::Fresh,
    };
    codec.begin(Begin { start, cwd: "/".to_owned(), prompt: Some("go".to_owned()), ..Begin::default() });
    codec.connected();
    for line in data.get(1..).unwrap_or_default().split(|byte| *byte == b'\n') {
        for heard in codec.hear(line) {
            if let Heard::Asked(asked) = heard {
                let settled = askd_agents::Settlement::Rejected {
                    mode: asked.ask.reject_modes.first().copied().unwrap_or(askd_core::RejectMode::Decline),
                    reason: None,
                };
                drop(codec.speak(&asked.native, &asked.ask, &settled));
                codec.delivered(&asked.native_id, &settled);
            }
        }
    }
    drop(codec.prompt(None, "on"));
    codec.interrupt(None);
    codec.close(None);
}

/// A block of lines tells the same questions as its lines one by one.
pub fn transcript(data: &[u8]) {
    let id = |entry: &Entry| match entry {
        Entry::Asked { call_id, .. } => (true, call_id.clone()),
        Entry::Ended { call_id, .. } => (false, call_id.clone()),
    };
    let (mut whole, mut single) = (TranscriptReader::default(), TranscriptReader::default());
    let at_once: Vec<_> = whole.lines(data).iter().map(id).collect();
    let lines = data.split(|byte| *byte == b'\n');
    let one_by_one: Vec<_> = lines.flat_map(|line| single.lines(line)).map(|entry| id(&entry)).collect();
    assert_eq!(at_once, one_by_one);
}

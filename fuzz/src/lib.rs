//! What every codec must bear: any bytes, in any order, with calls in between.
//!
//! Run with `cargo +nightly fuzz run acp` (or another target of `fuzz_targets`) in the repository's root.

use askd_adapters::{Begin, Heard, Registry, Start};

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
                let settled = askd_adapters::Settlement::Rejected {
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

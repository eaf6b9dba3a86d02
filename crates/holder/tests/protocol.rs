//! The frames between hub and holder: whatever was said is heard, over any split; whatever comes is survived.

use askd_holder::{
    Completed, ExitRecord, ExitWhy,
    process::ProcessExit,
    protocol::{
        Decoded, End, FrameDecoder, FrameError, Hello, ProbeResult, RawFrame, Refusal, StatusReport,
        ToHolder, ToHub, Welcome, WriteResult, Written,
    },
};
use bytes::Bytes;
use proptest::prelude::*;

fn bytes() -> impl Strategy<Value = Bytes> {
    proptest::collection::vec(any::<u8>(), 0..300).prop_map(Bytes::from)
}

fn to_holder() -> impl Strategy<Value = ToHolder> {
    prop_oneof![
        (any::<u32>(), any::<u32>(), any::<u64>())
            .prop_map(|(version, min_version, after)| ToHolder::Hello(Hello { version, min_version, after })),
        any::<u64>().prop_map(|through| ToHolder::Ack { through }),
        (any::<u64>(), proptest::option::of("[!-~]{1,40}"), bytes())
            .prop_map(|(tag, delivery, bytes)| ToHolder::Write { tag, delivery, bytes }),
        any::<String>().prop_map(|delivery| ToHolder::Probe { delivery }),
        any::<u32>().prop_map(|count| ToHolder::SetOpenQuestions { count }),
        (any::<Option<u64>>(), any::<bool>())
            .prop_map(|(grace_ms, discard)| ToHolder::End(End { grace_ms, discard })),
        Just(ToHolder::Status),
    ]
}

fn write_result() -> impl Strategy<Value = WriteResult> {
    prop_oneof![
        any::<bool>().prop_map(|repeated| WriteResult::Done { repeated }),
        Just(WriteResult::UnderWay),
        Just(WriteResult::Busy),
        (any::<String>(), any::<bool>())
            .prop_map(|(reason, repeated)| WriteResult::Failed { reason, repeated }),
        any::<String>().prop_map(|reason| WriteResult::Refused { reason }),
    ]
}

fn to_hub() -> impl Strategy<Value = ToHub> {
    let welcome = Welcome {
        version: 1,
        holder_pid: 2,
        agent_pid: 3,
        first_line: 4,
        next_line: u64::MAX,
        exited: true,
        open_questions: 6,
    };
    let status = StatusReport {
        version: 1,
        holder_pid: 2,
        agent_pid: 3,
        exited: false,
        hub_attached: true,
        first_line: 4,
        next_line: 5,
        acked_line: 3,
        buffered_bytes: 6,
        buffer_limit: 7,
        queued_write_bytes: 8,
        deliveries: 9,
        open_questions: 10,
        paused: true,
        buffer_error: Some("full".into()),
    };
    prop_oneof![
        Just(ToHub::Welcome(welcome)),
        (any::<u64>(), bytes()).prop_map(|(n, bytes)| ToHub::Line { n, bytes }),
        (any::<u64>(), any::<u64>(), bytes()).prop_map(|(n, total_bytes, prefix)| ToHub::Oversized {
            n,
            total_bytes,
            prefix
        }),
        (any::<u64>(), any::<Option<String>>(), write_result())
            .prop_map(|(tag, delivery, result)| ToHub::Written(Written { tag, delivery, result })),
        (any::<String>(), any::<bool>()).prop_map(|(delivery, journaled)| {
            ToHub::ProbeResult(ProbeResult { delivery, journaled, completed: Completed::Unknown })
        }),
        (any::<Option<i32>>(), any::<Option<i32>>(), any::<Vec<String>>()).prop_map(
            |(code, signal, stderr_tail)| {
                let exit = ProcessExit { code, signal };
                ToHub::Exited(ExitRecord { exit, why: ExitWhy::Linger, error: None, stderr_tail, at_ms: 1 })
            }
        ),
        Just(ToHub::Status(status)),
        any::<u8>().prop_map(|kind| ToHub::Unsupported { kind }),
        any::<u64>().prop_map(|after| ToHub::Refused(Refusal::AfterTheEnd { after, next_line: 1 })),
        Just(ToHub::Refused(Refusal::Version { version: 2, min_version: 1 })),
        Just(ToHub::Replaced),
    ]
}

fn frames(stream: &[u8], size: usize, max: usize) -> Result<Vec<RawFrame>, FrameError> {
    let mut decoder = FrameDecoder::new(max);
    let mut frames = Vec::new();
    for piece in stream.chunks(size) {
        decoder.push(piece);
        while let Some(frame) = decoder.pop()? {
            frames.push(frame);
        }
    }
    Ok(frames)
}

proptest! {
    #[test]
    fn what_the_hub_says_is_heard(said in proptest::collection::vec(to_holder(), 0..8), size in 1usize..64) {
        let mut stream = Vec::new();
        for message in &said {
            message.encode(&mut stream).unwrap();
        }
        let heard: Vec<_> =
            frames(&stream, size, 1 << 20).unwrap().into_iter().map(|frame| ToHolder::decode(frame).unwrap()).collect();
        prop_assert_eq!(heard, said.into_iter().map(Decoded::Known).collect::<Vec<_>>());
    }

    #[test]
    fn what_the_holder_says_is_heard(said in proptest::collection::vec(to_hub(), 0..8), size in 1usize..64) {
        let mut stream = Vec::new();
        for message in &said {
            message.encode(&mut stream).unwrap();
        }
        let heard: Vec<_> =
            frames(&stream, size, 1 << 20).unwrap().into_iter().map(|frame| ToHub::decode(frame).unwrap()).collect();
        prop_assert_eq!(heard, said.into_iter().map(Decoded::Known).collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_survived_and_any_split_is_the_same(
        stream in proptest::collection::vec(prop_oneof![Just(0u8), 0u8..80, any::<u8>()], 0..300),
        size in 1usize..40,
    ) {
        let by_pieces = frames(&stream, size, 100);
        prop_assert_eq!(by_pieces.is_ok(), frames(&stream, stream.len().max(1), 100).is_ok());
        for frame in by_pieces.unwrap_or_default() {
            let _ = ToHolder::decode(frame.clone());
            let _ = ToHub::decode(frame);
        }
    }
}

#[test]
fn a_frame_from_another_age_is_known_as_such() {
    let frame = RawFrame { kind: 200, payload: Bytes::from_static(b"whatever") };
    assert_eq!(ToHolder::decode(frame.clone()).unwrap(), Decoded::Unknown { kind: 200 });
    assert_eq!(ToHub::decode(frame).unwrap(), Decoded::Unknown { kind: 200 });
    // A newer hub may say more in a frame that is known.
    let payload = Bytes::from_static(br#"{"version":9,"minVersion":1,"after":3,"colour":"red"}"#);
    let hello = ToHolder::decode(RawFrame { kind: 1, payload }).unwrap();
    assert_eq!(hello, Decoded::Known(ToHolder::Hello(Hello { version: 9, min_version: 1, after: 3 })));
}

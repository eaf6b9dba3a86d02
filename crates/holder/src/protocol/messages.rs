//! The meaning of the frames. In: raw frames. Out: values, `Unknown` for a kind from another age, or an error
//! for a frame of a known kind that cannot be read. What is frequent or big is binary, the rest is JSON.

use bytes::{Buf as _, Bytes};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    super::{folder::ExitRecord, journal::Completed},
    frame::{MAX_WRITE_BYTES, RawFrame, encode},
};

/// The preferred version of this binary.
pub const PROTOCOL_VERSION: u32 = 1;
/// The oldest supported version.
pub const MIN_PROTOCOL_VERSION: u32 = 1;
/// Ids of deliveries are ours and short; they are kept in memory and in the journal.
pub const MAX_DELIVERY_ID_BYTES: usize = 128;

/// The hub takes over the connection to this holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The newest and the oldest version of the hub.
    pub version: u32,
    pub min_version: u32,
    /// The hub's last line; 0 for none. It frees nothing, only `Ack` does.
    pub after: u64,
}

/// The holder's answer to `Hello`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// The version of both sides from here on.
    pub version: u32,
    pub holder_pid: i32,
    pub agent_pid: i32,
    /// The oldest kept line; the stream begins there if `after` is older.
    pub first_line: u64,
    /// The number of the agent's next line.
    pub next_line: u64,
    /// The agent has ended (lines may still come; `Exited` comes after the last one).
    pub exited: bool,
    pub open_questions: u32,
}

/// Why a `Hello` was not answered with `Welcome`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", tag = "reason")]
pub enum Refusal {
    #[error("agree on a version: the holder speaks {min_version} to {version}")]
    #[serde(rename_all = "camelCase")]
    Version { version: u32, min_version: u32 },
    #[error("go on after line {after}: the holder's next line is {next_line}")]
    #[serde(rename_all = "camelCase")]
    AfterTheEnd { after: u64, next_line: u64 },
}

/// End the agent, and the holder with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// Between TERM and KILL; `None`: as the spec says.
    pub grace_ms: Option<u64>,
    /// Do not wait for the acknowledgement of the last lines.
    #[serde(default)]
    pub discard: bool,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum WriteResult {
    /// All bytes are in the agent's `stdin`, now or (`repeated`) at an earlier `Write` of the same delivery.
    #[serde(rename_all = "camelCase")]
    Done { repeated: bool },
    /// A `Write` of the same delivery is under way; its own result follows.
    UnderWay,
    /// The agent does not read, and the queue is full: try again. Nothing was journaled.
    Busy,
    /// The agent has ended or has closed its `stdin`.
    #[serde(rename_all = "camelCase")]
    Failed { reason: String, repeated: bool },
    /// The write cannot be taken: too long, an unusable delivery id, a full journal.
    Refused { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Written {
    /// The number that the hub gave to its `Write`; 0 when the write came over an earlier connection.
    pub tag: u64,
    pub delivery: Option<String>,
    #[serde(flatten)]
    pub result: WriteResult,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeResult {
    pub delivery: String,
    /// `false`: no byte of it was ever given to the agent.
    pub journaled: bool,
    pub completed: Completed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    pub version: u32,
    pub holder_pid: i32,
    pub agent_pid: i32,
    pub exited: bool,
    pub hub_attached: bool,
    pub first_line: u64,
    pub next_line: u64,
    pub acked_line: u64,
    pub buffered_bytes: u64,
    pub buffer_limit: u64,
    pub queued_write_bytes: u64,
    pub deliveries: u64,
    pub open_questions: u32,
    /// Back-pressure: the agent's `stdout` is not read until the hub acknowledges.
    pub paused: bool,
    /// Why the buffer cannot be written, if so.
    #[serde(default)]
    pub buffer_error: Option<String>,
}

/// Hub to holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToHolder {
    Hello(Hello),
    /// The hub keeps all lines up to this one; the holder may forget them.
    Ack {
        through: u64,
    },
    /// Bytes for the agent's `stdin`; with a delivery they are written at most once.
    Write {
        tag: u64,
        delivery: Option<String>,
        bytes: Bytes,
    },
    Probe {
        delivery: String,
    },
    SetOpenQuestions {
        count: u32,
    },
    End(End),
    /// Allowed without `Hello`: it does not take the connection from the hub.
    Status,
}

/// Holder to hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToHub {
    Welcome(Welcome),
    Line { n: u64, bytes: Bytes },
    Oversized { n: u64, total_bytes: u64, prefix: Bytes },
    Written(Written),
    ProbeResult(ProbeResult),
    Exited(ExitRecord),
    Status(StatusReport),
    Unsupported { kind: u8 },
    Refused(Refusal),
    Replaced,
}

/// A decoded frame: known, or of another version's kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded<T> {
    Known(T),
    Unknown { kind: u8 },
}

#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error("understand a frame of kind {kind}: {source}")]
    Json { kind: u8, source: serde_json::Error },
    #[error("understand a frame of kind {kind}: it is too short")]
    Short { kind: u8 },
    #[error("understand a frame of kind {kind}: the delivery id is no text")]
    Delivery { kind: u8 },
}

const HELLO: u8 = 1;
const ACK: u8 = 2;
const WRITE: u8 = 3;
const PROBE: u8 = 4;
const SET_OPEN_QUESTIONS: u8 = 5;
const END: u8 = 6;
const STATUS: u8 = 7;
const WELCOME: u8 = 65;
const LINE: u8 = 66;
const OVERSIZED: u8 = 67;
const WRITTEN: u8 = 68;
const PROBE_RESULT: u8 = 69;
const EXITED: u8 = 70;
const STATUS_REPORT: u8 = 71;
const UNSUPPORTED: u8 = 72;
const REFUSED: u8 = 73;
const REPLACED: u8 = 74;

#[derive(Serialize, Deserialize)]
struct DeliveryField {
    delivery: String,
}

#[derive(Serialize, Deserialize)]
struct CountField {
    count: u32,
}

#[derive(Serialize, Deserialize)]
struct KindField {
    kind: u8,
}

/// The common version, if there is one.
pub fn agree(hello: &Hello) -> Result<u32, Refusal> {
    let version = hello.version.min(PROTOCOL_VERSION);
    if version < MIN_PROTOCOL_VERSION || version < hello.min_version {
        return Err(Refusal::Version { version: PROTOCOL_VERSION, min_version: MIN_PROTOCOL_VERSION });
    }
    Ok(version)
}

impl ToHolder {
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), MessageError> {
        match self {
            Self::Hello(hello) => json(out, HELLO, hello)?,
            Self::Ack { through } => encode(out, ACK, &[&through.to_le_bytes()]),
            Self::Write { tag, delivery, bytes } => {
                let id = delivery.as_deref().unwrap_or_default().as_bytes();
                let length = u16::try_from(id.len()).map_err(|_| MessageError::Delivery { kind: WRITE })?;
                encode(out, WRITE, &[&tag.to_le_bytes(), &length.to_le_bytes(), id, bytes]);
            }
            Self::Probe { delivery } => json(out, PROBE, &DeliveryField { delivery: delivery.clone() })?,
            Self::SetOpenQuestions { count } => json(out, SET_OPEN_QUESTIONS, &CountField { count: *count })?,
            Self::End(end) => json(out, END, end)?,
            Self::Status => encode(out, STATUS, &[]),
        }
        Ok(())
    }

    pub fn decode(frame: RawFrame) -> Result<Decoded<Self>, MessageError> {
        let RawFrame { kind, mut payload } = frame;
        Ok(Decoded::Known(match kind {
            HELLO => Self::Hello(from_json(kind, &payload)?),
            ACK => Self::Ack { through: number(kind, &mut payload)? },
            WRITE => {
                let tag = number(kind, &mut payload)?;
                let length = payload.try_get_u16_le().map_err(|_| MessageError::Short { kind })?;
                if payload.len() < usize::from(length) {
                    return Err(MessageError::Short { kind });
                }
                let id = payload.split_to(usize::from(length));
                let id = std::str::from_utf8(&id).map_err(|_| MessageError::Delivery { kind })?;
                let delivery = (!id.is_empty()).then(|| id.to_owned());
                Self::Write { tag, delivery, bytes: payload }
            }
            PROBE => Self::Probe { delivery: from_json::<DeliveryField>(kind, &payload)?.delivery },
            SET_OPEN_QUESTIONS => {
                Self::SetOpenQuestions { count: from_json::<CountField>(kind, &payload)?.count }
            }
            END => Self::End(from_json(kind, &payload)?),
            STATUS => Self::Status,
            kind => return Ok(Decoded::Unknown { kind }),
        }))
    }

    /// True if the write is within the protocol's bounds.
    pub fn write_fits(delivery: Option<&str>, bytes: &[u8]) -> bool {
        let plain = |id: &str| {
            !id.is_empty()
                && id.len() <= MAX_DELIVERY_ID_BYTES
                && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        bytes.len() <= MAX_WRITE_BYTES && delivery.is_none_or(plain)
    }
}

impl ToHub {
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), MessageError> {
        match self {
            Self::Welcome(welcome) => json(out, WELCOME, welcome),
            Self::Line { n, bytes } => {
                encode_line(out, *n, bytes);
                Ok(())
            }
            Self::Oversized { n, total_bytes, prefix } => {
                encode_oversized(out, *n, *total_bytes, prefix);
                Ok(())
            }
            Self::Written(written) => json(out, WRITTEN, written),
            Self::ProbeResult(result) => json(out, PROBE_RESULT, result),
            Self::Exited(exit) => json(out, EXITED, exit),
            Self::Status(report) => json(out, STATUS_REPORT, report),
            Self::Unsupported { kind } => json(out, UNSUPPORTED, &KindField { kind: *kind }),
            Self::Refused(refusal) => json(out, REFUSED, refusal),
            Self::Replaced => {
                encode(out, REPLACED, &[]);
                Ok(())
            }
        }
    }

    pub fn decode(frame: RawFrame) -> Result<Decoded<Self>, MessageError> {
        let RawFrame { kind, mut payload } = frame;
        Ok(Decoded::Known(match kind {
            WELCOME => Self::Welcome(from_json(kind, &payload)?),
            LINE => Self::Line { n: number(kind, &mut payload)?, bytes: payload },
            OVERSIZED => {
                let n = number(kind, &mut payload)?;
                let total_bytes = number(kind, &mut payload)?;
                Self::Oversized { n, total_bytes, prefix: payload }
            }
            WRITTEN => Self::Written(from_json(kind, &payload)?),
            PROBE_RESULT => Self::ProbeResult(from_json(kind, &payload)?),
            EXITED => Self::Exited(from_json(kind, &payload)?),
            STATUS_REPORT => Self::Status(from_json(kind, &payload)?),
            UNSUPPORTED => Self::Unsupported { kind: from_json::<KindField>(kind, &payload)?.kind },
            REFUSED => Self::Refused(from_json(kind, &payload)?),
            REPLACED => Self::Replaced,
            kind => return Ok(Decoded::Unknown { kind }),
        }))
    }
}

/// A line as a frame; the disk buffer is a run of these.
pub(crate) fn encode_line(out: &mut Vec<u8>, n: u64, line: &[u8]) {
    encode(out, LINE, &[&n.to_le_bytes(), line]);
}

pub(crate) fn encode_oversized(out: &mut Vec<u8>, n: u64, total_bytes: u64, prefix: &[u8]) {
    encode(out, OVERSIZED, &[&n.to_le_bytes(), &total_bytes.to_le_bytes(), prefix]);
}

/// The number of the line in a frame of the disk buffer.
pub(crate) fn line_number(payload: &[u8]) -> Option<u64> {
    payload.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn number(kind: u8, payload: &mut Bytes) -> Result<u64, MessageError> {
    payload.try_get_u64_le().map_err(|_| MessageError::Short { kind })
}

fn json<T: Serialize>(out: &mut Vec<u8>, kind: u8, value: &T) -> Result<(), MessageError> {
    let text = serde_json::to_vec(value).map_err(|source| MessageError::Json { kind, source })?;
    encode(out, kind, &[&text]);
    Ok(())
}

fn from_json<T: DeserializeOwned>(kind: u8, payload: &[u8]) -> Result<T, MessageError> {
    serde_json::from_slice(payload).map_err(|source| MessageError::Json { kind, source })
}

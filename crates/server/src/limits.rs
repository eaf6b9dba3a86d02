//! Every limit of the HTTP door, with its reason. Past a limit there is a typed answer, never a hang or a
//! cut.

use std::time::Duration;

/// Bytes of a request's body: a question with a few large previews or a plan.
pub const MAX_BODY_BYTES: usize = 4 << 20;
/// Bytes of a message to an ACP agent: a prompt with pictures. About as much as both SDKs of the protocol
/// take; a holder writes 16 MiB at once, and the hub's own id and the end of the line need room there.
pub const MAX_ACP_BODY_BYTES: usize = (16 << 20) - (64 << 10);
/// Bytes of a request's header fields, names and values together.
pub const MAX_HEADER_BYTES: usize = 16 << 10;
/// Bytes of the request target.
pub const MAX_URI_BYTES: usize = 8 << 10;
/// The buffer of the connection's parser: above the two limits before, so that askd itself can answer them.
pub const CONNECTION_BUFFER_BYTES: usize = 64 << 10;
/// How long a client may take to send its header.
pub const HEADER_PATIENCE: Duration = Duration::from_secs(15);
/// How long a client may take to send its body: the largest one over a slow tunnel. Without it a client that
/// needs no token could take every place with half-sent log-ins.
pub const BODY_PATIENCE: Duration = Duration::from_secs(120);
/// Connections at one time, and changes without a client; file descriptors are the real limit.
pub const MAX_CONNECTIONS: usize = 8192;
/// The same for this user's own programs: a hook for each open question, and what scripts do beside.
pub const MAX_LOCAL_CONNECTIONS: usize = 4096;
/// Questions or sessions in one list.
pub const MAX_LIST: usize = 500;
pub const DEFAULT_LIST: usize = 50;
/// Characters of a search: each question is compared with them.
pub const MAX_SEARCH_CHARS: usize = 256;
/// Event streams at one time.
pub const MAX_STREAMS: usize = 4096;
/// Requests that wait for a human at one time.
pub const MAX_WAITS: usize = 8192;
/// The longest `wait` in seconds; a client that wants more asks again.
pub const MAX_WAIT_SECONDS: u64 = 86_400;
/// A waiting request sends its header after this long, because clients give up on silent ones.
pub const HEADERS_AFTER: Duration = Duration::from_secs(10);
/// White space or a comment on waiting requests and quiet streams, so that no proxy closes them.
pub const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Bytes of an Idempotency-Key.
pub const MAX_KEY_BYTES: usize = 255;
/// The time that a stopping hub gives to running requests.
pub const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(5);

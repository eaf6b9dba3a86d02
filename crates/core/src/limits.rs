//! The limits of a question, each with its reason. Each transport has its own limits for bytes.

/// Items of one question. Agents ask at most four; elicitation forms of real servers have a few dozen fields.
pub const MAX_ITEMS: usize = 64;
/// Options of one item: a person can still search a list of this length.
pub const MAX_OPTIONS: usize = 512;
/// Bytes of a single text: a person can still read a plan or diff of this size. The request body has a limit
/// of its own.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Bytes of a short text (name of an agent, reason, mode) in lists and logs.
pub const MAX_NAME_BYTES: usize = 256;
/// Bytes of a reason or note: typed in one go, with room for a paste.
pub const MAX_NOTE_BYTES: usize = 64 << 10;
/// Bytes of a pattern for answers: far more than people write, and cheap to compile.
pub const MAX_PATTERN_BYTES: usize = 4 << 10;
/// Picks in one item of an answer: all options and as many own words.
pub const MAX_PICKS: usize = 2 * MAX_OPTIONS;
/// Modes in which an agent can continue after a plan.
pub const MAX_NEXT_MODES: usize = 16;

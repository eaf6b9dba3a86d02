//! Every limit on the meaning of a question, with its reason. Limits of bytes on a wire live with their transport.

/// Items of one question. Agents ask at most four; elicitation forms of real servers have a few dozen fields.
pub const MAX_ITEMS: usize = 64;
/// Options of one item: a list that a person can still search.
pub const MAX_OPTIONS: usize = 512;
/// Bytes of any single text: a plan or a diff that a person can still read; the request body is bounded separately.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Bytes of short texts (names of agents, reasons, modes) that are shown in lists and logs.
pub const MAX_NAME_BYTES: usize = 256;
/// Bytes of a reject reason or a note: what a person types in one go, with room for a paste.
pub const MAX_NOTE_BYTES: usize = 64 << 10;
/// Bytes of a pattern that answers are checked against: far more than people write, and little to compile.
pub const MAX_PATTERN_BYTES: usize = 4 << 10;
/// Picks in one item of an answer: all options and as many own words.
pub const MAX_PICKS: usize = 2 * MAX_OPTIONS;
/// Modes in which an agent can go on after a plan.
pub const MAX_NEXT_MODES: usize = 16;

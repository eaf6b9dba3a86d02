//! Claude Code in a terminal of its user's: its hooks, its transcripts and its settings, without IO.
//!
//! In: what a hook is given on `stdin`, lines of a transcript, the text of a settings file. Out: questions,
//! the decision that a hook prints, what was answered in the terminal, and settings with askd's hooks put in
//! or taken out. Seen with 2.1.325.

mod answer;
mod evidence;
mod hook;
mod needle;
mod question;
mod settings;
mod time_out;
mod transcript;

pub use answer::decision;
pub use evidence::{Went, went_on};
pub use hook::{HookEvent, HookInput, hook_output};
pub use question::{AGENT, Seen, Tool, ask, likeness};
pub use settings::{
    FoundHook, SettingsError, found_hooks, hook_command, hook_parts, hooked_events, hooks_are_off, install,
    shell_word, uninstall,
};
pub use time_out::{TIME_OUT_VARIABLE, time_out};
pub use transcript::{Entry, TranscriptReader};

//! One folder per agent, with the same room names.

pub mod acp;
pub mod claude;
pub mod claude_hook;
pub mod claude_keys;
pub mod mock;
pub mod opencode;
pub mod opencode_acp;
pub mod unbuilt;

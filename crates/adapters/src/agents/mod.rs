//! One folder per agent, with the same room names.

pub mod acp;
pub mod claude;
pub mod claude_hook;
pub mod mock;
pub mod unbuilt;

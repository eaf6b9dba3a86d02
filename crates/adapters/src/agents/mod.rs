//! One folder per agent, with the same room names.

pub mod acp;
pub mod claude;
pub mod mock;
pub mod unbuilt;

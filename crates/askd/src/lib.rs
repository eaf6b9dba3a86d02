//! The house: one binary that catches questions, keeps them, shows them and hands the answers back.
//!
//! `engine` decides and persists through the store; `http` is its only public door; `cli` and `client` go through that door
//! like everybody else; `hub` puts the parts together; `data` is the folder on disk.

pub mod cli;
pub mod client;
pub mod data;
pub mod engine;
pub mod http;
pub mod hub;

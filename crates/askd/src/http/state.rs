//! What every handler shares.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::limits::{MAX_STREAMS, MAX_WAITS};
use super::port_watch::PortWatch;
use crate::engine::Engine;

#[derive(Clone)]
pub struct AppState {
    pub engine: Engine,
    pub doors: Arc<Doors>,
    /// Where people reach this hub, for log-in links.
    pub public_url: Arc<str>,
    pub streams: Arc<Semaphore>,
    pub waits: Arc<Semaphore>,
    pub port_watch: PortWatch,
}

/// Which names and origins are let in.
#[derive(Debug, Clone, Default)]
pub struct Doors {
    /// Host names, with or without port.
    pub hosts: Vec<String>,
    /// Origins of other pages, for CORS.
    pub origins: Vec<String>,
}

impl AppState {
    pub fn new(engine: Engine, doors: Doors, public_url: &str) -> Self {
        Self {
            engine,
            doors: Arc::new(doors),
            public_url: Arc::from(public_url),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            waits: Arc::new(Semaphore::new(MAX_WAITS)),
            port_watch: PortWatch::default(),
        }
    }
}

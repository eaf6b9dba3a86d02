//! The services that a connection to an agent uses. The task of a connection gets them by value; no service
//! holds the task.

use std::sync::Arc;

use askd_store::Store;

use super::catalog::AgentCatalog;
use super::outbox::{DeliveryTargets, Outbox};
use super::questions::Questions;
use super::sessions::Sessions;
use super::sources::Sources;
use super::tasks::Tasks;

#[derive(Clone)]
pub(super) struct ConnectionServices {
    pub(super) store: Arc<dyn Store>,
    pub(super) agents: AgentCatalog,
    pub(super) outbox: Outbox,
    pub(super) questions: Questions,
    pub(super) sessions: Sessions,
    pub(super) sources: Sources,
    pub(super) targets: DeliveryTargets,
    pub(super) tasks: Tasks,
}

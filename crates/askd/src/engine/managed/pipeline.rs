//! What an attendant has given to the store and not yet heard of: the lines of a batch share a commit instead of waiting for
//! one each.
//!
//! In: work for the store, stored in the order in which it is given. Out: what it means to the attendant, in the same order,
//! before the lines are acknowledged and before anything that has to know it.

use std::pin::Pin;
use std::task::Poll;

use askd_core::Question;

use super::attendant::Attendant;
use crate::engine::EngineError;

pub(in crate::engine) type UnderWay = Pin<Box<dyn Future<Output = Result<Stored, EngineError>> + Send>>;

/// What became of work for the store.
pub(in crate::engine) enum Stored {
    Done,
    /// A question under the agent's own name, and the request that it was for the clients of an ACP server.
    Question {
        native_id: String,
        request: Option<String>,
        taken: Box<Result<Question, EngineError>>,
    },
}

impl Attendant {
    /// Gives work to the store and does not wait for it.
    pub(in crate::engine) async fn submit<F>(&mut self, work: F)
    where
        F: Future<Output = Result<Stored, EngineError>> + Send + 'static,
    {
        let mut work: UnderWay = Box::pin(work);
        // Polled once, it stands in the store's queue, and its place there is its place in the order.
        let polled = futures_util::poll!(&mut work);
        self.under_way.push(match polled {
            Poll::Ready(done) => Box::pin(std::future::ready(done)),
            Poll::Pending => work,
        });
    }

    /// Waits until everything that was given to the store is stored.
    pub(in crate::engine) async fn stored(&mut self) -> Result<(), EngineError> {
        for work in std::mem::take(&mut self.under_way) {
            match work.await? {
                Stored::Done => {}
                Stored::Question { native_id, request, taken } => {
                    self.relay_took(request, &taken);
                    self.took_question(native_id, *taken)?;
                }
            }
        }
        Ok(())
    }
}

//! What an attendant has for the store: all that the lines of a batch mean shares a commit instead of waiting for one each.
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
    /// Work that is given to the store with all that follows until somebody waits for it.
    pub(in crate::engine) fn submit<F>(&mut self, work: F)
    where
        F: Future<Output = Result<Stored, EngineError>> + Send + 'static,
    {
        self.under_way.push(Box::pin(work));
    }

    /// Waits until everything that there is for the store is stored.
    pub(in crate::engine) async fn stored(&mut self) -> Result<(), EngineError> {
        let mut works = std::mem::take(&mut self.under_way);
        let mut polled = Vec::with_capacity(works.len());
        // Polled once, a work stands in the store's queue, and its place there is its place in the order.
        for work in &mut works {
            polled.push(futures_util::poll!(work));
        }
        for (work, polled) in works.into_iter().zip(polled) {
            let stored = match polled {
                Poll::Ready(stored) => stored,
                Poll::Pending => work.await,
            };
            match stored? {
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

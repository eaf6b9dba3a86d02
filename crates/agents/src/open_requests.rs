//! The requests of one connection that are not over, for every codec.
//!
//! In: requests as they are asked, and conditions. Out: those that fit, in the order in which they were asked.

/// Requests of one connection that are open or without evidence. Further ones are refused.
pub(crate) const MAX_OPEN: usize = 4096;

/// A request that the store knows by a name.
pub(crate) trait OpenRequest {
    fn native_id(&self) -> &str;
}

#[derive(Debug)]
pub(crate) struct OpenRequests<R>(Vec<R>);

impl<R> Default for OpenRequests<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R: OpenRequest> OpenRequests<R> {
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_OPEN
    }

    pub(crate) fn push(&mut self, request: R) {
        self.0.push(request);
    }

    pub(crate) fn by_native(&self, native_id: &str) -> Option<&R> {
        self.0.iter().find(|request| request.native_id() == native_id)
    }

    pub(crate) fn by_native_mut(&mut self, native_id: &str) -> Option<&mut R> {
        self.0.iter_mut().find(|request| request.native_id() == native_id)
    }

    pub(crate) fn uses(&self, native_id: &str) -> bool {
        self.by_native(native_id).is_some()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &R> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut R> {
        self.0.iter_mut()
    }

    /// Removes all requests that fulfil a condition, in the order of asking.
    pub(crate) fn take(&mut self, mut condition: impl FnMut(&R) -> bool) -> Vec<R> {
        self.0.extract_if(.., |request| condition(request)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl OpenRequest for &'static str {
        fn native_id(&self) -> &str {
            self
        }
    }

    #[test]
    fn requests_are_taken_in_the_order_in_which_they_were_asked() {
        let mut open = OpenRequests::default();
        for request in ["c", "a", "b", "a2"] {
            open.push(request);
        }
        assert_eq!(open.take(|request| request.starts_with('a')), ["a", "a2"]);
        assert!(open.uses("b") && !open.uses("a"));
        assert_eq!(open.iter().copied().collect::<Vec<_>>(), ["c", "b"]);
    }

    #[test]
    fn a_connection_has_a_limit() {
        let mut open = OpenRequests::default();
        for _ in 0..MAX_OPEN {
            assert!(!open.is_full());
            open.push("x");
        }
        assert!(open.is_full());
    }
}

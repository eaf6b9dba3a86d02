//! The search for a word in a block, only as far as its caller needs.

use memchr::memmem::Finder;

pub(super) struct Needle {
    word: Finder<'static>,
    found: Found,
}

enum Found {
    Unknown,
    At(usize),
    Nowhere,
}

impl Needle {
    pub(super) fn new(word: &str) -> Self {
        Self { word: Finder::new(word).into_owned(), found: Found::Unknown }
    }

    /// The next position of the word, at `from` or after it. The result is remembered: the same bytes are
    /// searched once, in whatever order several words are found.
    pub(super) fn next(&mut self, block: &[u8], from: usize) -> Option<usize> {
        match self.found {
            Found::At(at) if at >= from => return Some(at),
            Found::Nowhere => return None,
            _ => {}
        }
        let found = block.get(from..).and_then(|rest| self.word.find(rest)).map(|at| from + at);
        self.found = found.map_or(Found::Nowhere, Found::At);
        found
    }
}

//! A look at the end of a transcript, for the name of a call that a hook asks about without knowing it.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use askd_agents::claude_hook::{Entry, Tool, TranscriptReader, likeness};
use askd_data::regular::open_regular;

/// Bytes at the end of the file that are searched: the call is among the last lines.
const LOOKED_AT: u64 = 512 << 10;
/// Searches at one time, each on its own thread: a disk that hangs must not take all threads of the hub.
pub(super) const LOOKS: usize = 8;
/// The time for a search: the hook waits 300 ms for this hub, and the question can be stored without the id
/// of its call.
const PATIENCE: Duration = Duration::from_millis(100);

/// An open call in a transcript.
#[derive(Debug)]
pub(super) struct Peeked {
    pub call_id: String,
    pub message_id: Option<String>,
    pub excerpt: Option<String>,
}

/// The open calls of this session with this content, oldest first.
pub(super) async fn peek(
    places: &Arc<Semaphore>,
    path: &Path,
    session: &str,
    tool: Tool,
    like: &str,
) -> Vec<Peeked> {
    let (path, session, like) = (path.to_owned(), session.to_owned(), like.to_owned());
    let look = async {
        let place = Arc::clone(places).acquire_owned().await.ok()?;
        let looked = tokio::task::spawn_blocking(move || {
            let found = look(&path, &session, tool, &like);
            drop(place);
            found
        });
        looked.await.ok()?
    };
    tokio::time::timeout(PATIENCE, look).await.ok().flatten().unwrap_or_default()
}

fn look(path: &Path, session: &str, tool: Tool, like: &str) -> Option<Vec<Peeked>> {
    let mut file = open_regular(path).ok()?;
    let start = file.metadata().ok()?.len().saturating_sub(LOOKED_AT);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    let mut reader = TranscriptReader::default();
    // The first piece may be the end of a line; the last one may be half a line: neither is read as JSON
    // then.
    let entries: Vec<Entry> = reader.lines(&bytes);
    let open: Vec<&str> = reader.open().collect();
    let found = entries.iter().filter_map(|entry| match entry {
        Entry::Asked { tool: asked, call_id, message_id, input, session: of, excerpt, .. }
            if *asked == tool
                && of == session
                && open.contains(&call_id.as_str())
                && likeness(tool, input) == like =>
        {
            Some(Peeked {
                call_id: call_id.clone(),
                message_id: message_id.clone(),
                excerpt: excerpt.clone(),
            })
        }
        _ => None,
    });
    Some(found.collect())
}

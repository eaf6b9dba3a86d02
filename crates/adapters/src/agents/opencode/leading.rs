//! The session that askd starts in a server of its own, and what is said to it.

use serde_json::json;

use super::codec::{OpencodeCodec, is_plain, post, write};
use super::listing::Purpose;
use super::wire::SessionInfo;
use crate::heard::{Call, Heard, TurnEnd};

/// How often a session is asked for that did not come: a folder with plugins may take more than a minute to load where there is
/// no network. A session too many is an empty one.
const MAX_ATTEMPTS: u32 = 8;
/// Bytes of a refusal that are worth telling.
const MAX_SAID_BYTES: usize = 512;
/// The status of a call that had no reply.
const NO_REPLY: u16 = 0;

impl OpencodeCodec {
    pub(super) fn start_session(&mut self, attempt: u32, heard: &mut Vec<Heard>) {
        let tag = self.expect(Purpose::NewSession { attempt });
        let directory = Some(self.cwd.as_str()).filter(|cwd| !cwd.is_empty());
        let call = post("/session".to_owned(), directory, Some(b"{}".to_vec()));
        heard.push(write(Call { tag, ..call }));
    }

    pub(super) fn take_session(&mut self, attempt: u32, status: u16, body: &[u8], heard: &mut Vec<Heard>) {
        match serde_json::from_slice::<SessionInfo>(body).ok().filter(|_| status == 200) {
            Some(info) if is_plain(&info.id) => {
                let id = info.id.clone();
                heard.extend(self.sessions.learn(info));
                self.sessions.announce(&id, None, heard);
                self.main = Some(id.clone());
                for text in std::mem::take(&mut self.queued) {
                    heard.push(self.prompt_call(&id, &text));
                }
            }
            _ if status == NO_REPLY && attempt < MAX_ATTEMPTS => self.start_session(attempt + 1, heard),
            _ => heard.push(Heard::Failed { step: "create a session", detail: said(status, body) }),
        }
    }

    pub(super) fn prompt_call(&mut self, session: &str, text: &str) -> Heard {
        let tag = self.expect(Purpose::Prompt { session: session.to_owned() });
        let body = json!({ "parts": [{ "type": "text", "text": text }] });
        let path = format!("/session/{session}/prompt_async");
        let call = post(path, self.sessions.directory(session), Some(body.to_string().into_bytes()));
        write(Call { tag, ..call })
    }

    /// A prompt that was not taken is a turn that failed; of one that was, the events tell.
    pub(super) fn take_prompted(
        &mut self,
        session: String,
        status: u16,
        body: &[u8],
        heard: &mut Vec<Heard>,
    ) {
        if !(200..300).contains(&status) {
            let end = TurnEnd::Failed(format!("OpenCode did not take the prompt: {}", said(status, body)));
            heard.push(Heard::TurnEnded { native_session: Some(session), end });
        }
    }
}

/// What the server answered where it should have done something.
fn said(status: u16, body: &[u8]) -> String {
    let body = String::from_utf8_lossy(&body[..body.len().min(MAX_SAID_BYTES)]).into_owned();
    if status == NO_REPLY { body } else { format!("{status}: {body}") }
}

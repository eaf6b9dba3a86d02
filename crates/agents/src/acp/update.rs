//! `session/update`: the agent's messages while it works.
//!
//! In: the parameters of the notification. Out: the speaker, the text for people, and whether it shows
//! progress. Unknown kinds are chatter without a text.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::heard::Voice;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params<'a> {
    pub(crate) session_id: String,
    #[serde(borrow)]
    pub(crate) update: Update<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Update<'a> {
    session_update: String,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) tool_call_id: Option<String>,
    #[serde(default)]
    pub(crate) title: Option<String>,
    #[serde(default)]
    status: Option<String>,
}

impl Update<'_> {
    pub(crate) fn voice(&self) -> Voice {
        match self.session_update.as_str() {
            "agent_message_chunk" => Voice::Agent,
            "agent_thought_chunk" => Voice::Thought,
            "user_message_chunk" => Voice::User,
            "tool_call" | "tool_call_update" => Voice::Tool,
            _ => Voice::Other,
        }
    }

    pub(crate) fn text(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Block {
            text: String,
        }
        match self.voice() {
            Voice::Agent | Voice::Thought | Voice::User => {
                let block = serde_json::from_str::<Block>(self.content?.get());
                block.ok().map(|block| block.text)
            }
            Voice::Tool => self.title.clone(),
            Voice::Other => None,
        }
    }

    /// Book-keeping (usage, titles, commands, modes) can come while the agent waits; work cannot. A call that
    /// is pending waits.
    pub(crate) fn shows_progress(&self) -> bool {
        match self.voice() {
            Voice::Agent | Voice::Thought => true,
            Voice::Tool => self.status.as_deref() != Some("pending") || self.tool_call_id.is_none(),
            Voice::User => false,
            Voice::Other => self.session_update == "plan",
        }
    }

    pub(crate) fn new_title(&self) -> Option<&str> {
        self.title.as_deref().filter(|_| self.session_update == "session_info_update")
    }
}

//! askd's own session in a server that it started, and the messages to it.

use serde::de::IgnoredAny;
use serde_json::json;

use super::codec::{OpencodeCodec, in_directory, is_plain, post, write};
use super::folders::{last_one, messages_of};
use super::listing::Purpose;
use super::wire::SessionInfo;
use crate::heard::{Call, Heard, TurnEnd};

/// How often a session is asked for that did not come: a folder with plugins may take more than a minute to
/// load where there is no network. A session too many is an empty one.
const MAX_ATTEMPTS: u32 = 8;
/// Bytes of a refusal that are shown.
const MAX_SAID_BYTES: usize = 512;
/// Hexadecimal digits of the time in a name.
const TIME_DIGITS: usize = 12;
/// The status of a call without a reply.
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
                self.main = Some(id);
                self.say_queued(true, heard);
            }
            _ if status == NO_REPLY && attempt < MAX_ATTEMPTS => self.start_session(attempt + 1, heard),
            _ => heard.push(Heard::Failed { step: "create a session", detail: said(status, body) }),
        }
    }

    /// An earlier hub may have ended between the session's name and its first prompt: only the session knows.
    pub(super) fn ask_whether_begun(&mut self, attempt: u32, heard: &mut Vec<Heard>) {
        let Some(session) = self.main.clone().filter(|id| self.in_doubt && is_plain(id)) else { return };
        let mut query = in_directory(self.sessions.directory(&session));
        query.extend(last_one());
        self.get(messages_of(&session), query, Purpose::Begun { attempt }, heard);
    }

    pub(super) fn take_begun(&mut self, attempt: u32, status: u16, body: &[u8], heard: &mut Vec<Heard>) {
        let mut begins = false;
        match serde_json::from_slice::<Vec<IgnoredAny>>(body).ok().filter(|_| status == 200) {
            // It may have been said a moment ago and not be listed yet: it is said by the same name.
            Some(messages) if messages.is_empty() => begins = true,
            Some(_) => drop(self.queued.remove(0)),
            None if status == NO_REPLY && attempt < MAX_ATTEMPTS => {
                return self.ask_whether_begun(attempt + 1, heard);
            }
            // Rather not said than said twice.
            None => {
                self.queued.remove(0);
                let why = format!("OpenCode does not tell whether it was prompted: {}", said(status, body));
                heard.push(Heard::TurnEnded { native_session: self.main.clone(), end: TurnEnd::Failed(why) });
            }
        }
        self.in_doubt = false;
        self.say_queued(begins, heard);
    }

    /// `begins`: nothing was said to the session yet, as far as is known.
    fn say_queued(&mut self, begins: bool, heard: &mut Vec<Heard>) {
        let Some(session) = self.main.clone() else { return };
        let mut name = first_name(&session).filter(|_| begins);
        for text in std::mem::take(&mut self.queued) {
            heard.push(self.prompt_call(&session, &text, name.take()));
        }
    }

    /// `name`: of the message and its part; the server chooses one unless given.
    pub(super) fn prompt_call(&mut self, session: &str, text: &str, name: Option<String>) -> Heard {
        let tag = self.expect(Purpose::Prompt { session: session.to_owned() });
        let mut body = json!({ "parts": [{ "type": "text", "text": text }] });
        if let Some(name) = name {
            body["messageID"] = format!("msg_{name}").into();
            body["parts"][0]["id"] = format!("prt_{name}").into();
        }
        let path = format!("/session/{session}/prompt_async");
        let call = post(path, self.sessions.directory(session), Some(body.to_string().into_bytes()));
        write(Call { tag, ..call })
    }

    /// A refused prompt is a failed turn; the events report on an accepted one.
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

/// The id of a session's first message: a repeated one is the same message for the server, and no second
/// turn. Ids begin with the time in 48 bits, which orders messages; a session's id has it inverted, so this
/// is the time at which the session was made.
fn first_name(session: &str) -> Option<String> {
    let (inverted, rest) = session.strip_prefix("ses_")?.split_at_checked(TIME_DIGITS)?;
    let time = !u64::from_str_radix(inverted, 16).ok()? & ((1 << (4 * TIME_DIGITS)) - 1);
    Some(format!("{time:012x}{rest}"))
}

/// The server's refusal as text.
fn said(status: u16, body: &[u8]) -> String {
    let body = String::from_utf8_lossy(&body[..body.len().min(MAX_SAID_BYTES)]).into_owned();
    if status == NO_REPLY { body } else { format!("{status}: {body}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Begin, Codec as _, KnownSession, Start};
    use crate::heard::Speech;

    const SESSION: &str = "ses_e202e45a8ffe5Adbw6WyCiNEcl";
    /// What the real server took for the first message of that session, however often it was said.
    const FIRST: &str = "msg_1dfd1ba570015Adbw6WyCiNEcl";

    fn calls(heard: Vec<Heard>) -> Vec<Call> {
        let call = |heard| if let Heard::Write(Speech::Call(call)) = heard { Some(call) } else { None };
        heard.into_iter().filter_map(call).collect()
    }

    /// What is said to a session that an earlier hub had named, after the server told its messages.
    fn said_after(replies: &[(u16, &str)]) -> Vec<String> {
        let mut codec = OpencodeCodec::new("opencode");
        let known = KnownSession { native_id: SESSION.to_owned(), cwd: Some("/w".to_owned()), title: None };
        codec.begin(Begin {
            start: Start::Resumed,
            cwd: "/w".to_owned(),
            prompt: Some("first".to_owned()),
            sessions: vec![known],
            ..Begin::default()
        });
        let mut asked = calls(codec.connected());
        assert!(codec.prompt(Some(SESSION), "second").unwrap().is_empty(), "it waits for the first");
        for (status, body) in replies {
            let begun = asked
                .iter()
                .find(|call| call.path == format!("/session/{SESSION}/message"))
                .unwrap()
                .tag
                .clone();
            asked = calls(codec.replied(&begun, *status, body.as_bytes()));
        }
        asked.extend(calls(codec.connected()).into_iter().filter(|call| call.path.ends_with("/message")));
        let text = |call: Call| {
            assert_eq!(call.path, format!("/session/{SESSION}/prompt_async"));
            let body: serde_json::Value = serde_json::from_slice(&call.body.unwrap()).unwrap();
            let text = body["parts"][0]["text"].as_str().unwrap().to_owned();
            let named = body["messageID"] == FIRST && body["parts"][0]["id"] == FIRST.replace("msg", "prt");
            assert_eq!(named, text == "first", "{body}");
            text
        };
        asked.into_iter().map(text).collect()
    }

    #[test]
    fn the_first_prompt_is_said_after_a_restart_only_to_a_session_without_a_message() {
        assert_eq!(said_after(&[(200, "[]")]), ["first", "second"]);
        assert_eq!(said_after(&[(NO_REPLY, "gone"), (200, "[]")]), ["first", "second"]);
        assert_eq!(said_after(&[(200, "[{\"info\":{}}]")]), ["second"]);
        assert_eq!(said_after(&[(500, "no")]), ["second"]);
    }

    #[test]
    fn a_session_without_a_time_gives_its_first_message_no_name() {
        for session in
            ["ses_1", "ses_zzzzzzzzzzzz5Adbw6WyCiNEcl", "e202e45a8ffe5Adbw6WyCiNEcl", "ses_日本日本日本"]
        {
            assert_eq!(first_name(session), None, "{session}");
        }
    }
}

//! The meaning of the server's events.

use askd_core::lifecycle::Elsewhere;
use askd_core::{Ask, Cause, Settlement, ToolRef};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::codec::{OpencodeCodec, clean, is_plain, post, write};
use super::listing::Looking;
use super::open::{Open, Way};
use super::verdict::{self, VIA, answered, dismissed, ended, standing};
use super::wire::{
    AboutSession, AnyRequest, Disposed, Envelope, Part, PartDelta, PartUpdated, PermissionRequest,
    QuestionRequest, SessionChanged, Settled,
};
use super::{permission, question};
use crate::codec::Start;
use crate::heard::{Asked, Heard, Voice};

/// The first event of a stream. The server sends it before it listens to its own events; whatever comes after
/// shows that it does.
const CONNECTED: &str = "server.connected";

impl OpencodeCodec {
    pub(super) fn hear_event(&mut self, text: &str, heard: &mut Vec<Heard>) -> Result<(), String> {
        let Envelope { directory, payload } = Envelope::read(text)?;
        if payload.kind == CONNECTED {
            self.unsure = true;
        } else if std::mem::take(&mut self.unsure) {
            self.ask_again(heard);
        }
        match payload.kind.as_ref() {
            "permission.asked" if self.beside_acp => {}
            "question.asked" | "permission.asked" => {
                let way = Way::of_event(&payload.kind).ok_or("not a request")?;
                let native = RawValue::from_string(text.to_owned()).map_err(|error| error.to_string())?;
                let properties = payload.properties.ok_or("a request without properties")?;
                if self.start == Start::Observed {
                    self.use_again(properties);
                }
                self.hear_asked(way, directory, properties, native, heard)?;
            }
            "question.replied" => self.hear_answered(payload.read()?, heard),
            "question.rejected" => self.hear_dismissed(payload.read()?, heard),
            "permission.replied" => self.hear_permitted(payload.read()?, heard),
            "message.part.updated" => {
                let updated: PartUpdated = payload.read()?;
                self.hear_part(updated.part, heard);
            }
            "message.part.delta" => {
                let more: PartDelta = payload.read()?;
                self.hear_more(more, heard);
            }
            "message.updated" => {
                let updated: MessageUpdated = payload.read()?;
                if updated.info.role == "user" {
                    self.hear_prompted(&updated.info.session, updated.info.id);
                }
            }
            "session.created" | "session.updated" => {
                let changed: SessionChanged = payload.read()?;
                let (id, child) = (changed.info.id.clone(), changed.info.parent.is_some());
                heard.extend(self.sessions.learn(changed.info));
                // In a server of askd's own a subagent is shown as soon as it is there, with what it says.
                if child && self.start != Start::Observed {
                    self.sessions.announce(&id, directory.as_deref(), heard);
                }
            }
            "session.deleted" => {
                let about: AboutSession = payload.read()?;
                let id = match about.session {
                    Some(id) => id,
                    None => payload.read::<SessionChanged>()?.info.id,
                };
                self.hear_deleted(&id, heard);
            }
            "session.idle" | "session.error" => {
                let about: AboutSession = payload.read()?;
                let Some(session) = about.session else { return Ok(()) };
                self.sessions.get_mut(&session).rejected = None;
                self.look_at_session(&session, heard);
                self.hear_turn_over(session, about.error, heard);
            }
            "server.instance.disposed" => {
                let disposed: Disposed = payload.read()?;
                let directory = disposed.directory.or(directory);
                self.hear_disposed(|open| directory.is_none() || open.directory == directory, heard);
            }
            "global.disposed" => self.hear_disposed(|_| true, heard),
            _ => heard.push(Heard::Chatter { native_session: None, voice: Voice::Other, text: None }),
        }
        Ok(())
    }

    /// OpenCode makes each id once. An event that asks with the id of an ended request still asks something
    /// new, and the hub knows whether it does; a list may be older than the end.
    fn use_again(&mut self, properties: &RawValue) {
        if let Ok(request) = serde_json::from_str::<AnyRequest>(properties.get()) {
            self.open.forget_end(&request.id);
        }
    }

    /// A request, by its event or from a list.
    pub(super) fn hear_asked(
        &mut self,
        way: Way,
        directory: Option<String>,
        properties: &RawValue,
        native: Box<RawValue>,
        heard: &mut Vec<Heard>,
    ) -> Result<(), String> {
        let text = properties.get();
        let request: AnyRequest = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if !is_plain(&request.id) {
            return Err("a request whose id cannot be a part of a path".to_owned());
        }
        if self.open.why_ended(&request.id).is_some() {
            // The list is older than the end, or this is a server of askd's own, where no other client
            // answers.
            let why = "a request under the id of one that is over".to_owned();
            if self.start != Start::Observed && !self.beside_acp {
                heard.push(refuse(way, &request, directory.as_deref(), &why));
            }
            return Err(why);
        }
        if way == Way::Permission {
            self.sessions.get_mut(&request.session).rejected = None;
        }
        let message = request.tool.as_ref().map(|link| link.message.as_str());
        let context = self.sessions.context(&request.session, directory.as_deref(), message);
        let tool = request
            .tool
            .as_ref()
            .map(|link| ToolRef { message_id: Some(link.message.clone()), call_id: Some(link.call.clone()) });
        let checked = |ask: Ask| {
            let ask = Ask { context: context.clone(), tool: tool.clone(), ..ask };
            ask.check().map(|()| ask).map_err(|errors| format!("a request that askd cannot show: {errors}"))
        };
        let ask = match understood(&self.agent, way, text).and_then(checked) {
            Err(_) if way == Way::Question => checked(question::as_it_came(&self.agent, text)),
            understood => understood,
        };
        let ask = match ask {
            Ok(ask) => ask,
            Err(why) => {
                // A server that its user started has a screen of its own.
                if self.start != Start::Observed && !self.beside_acp {
                    heard.push(refuse(way, &request, directory.as_deref(), &why));
                }
                return Err(why);
            }
        };
        self.sessions.announce(&request.session, directory.as_deref(), heard);
        let (native_id, native_session) = (request.id.clone(), Some(request.session.clone()));
        if self.open.get(&native_id).is_none() {
            let since = self.tick();
            self.open.push(Open::new(way, directory, request, since));
        }
        let asked = Asked { native_id, native_session, ask, native, patience: None, likeness: None };
        heard.push(Heard::Asked(Box::new(asked)));
        Ok(())
    }

    fn hear_answered(&mut self, settled: Settled, heard: &mut Vec<Heard>) {
        let Some(open) = self.open.get_mut(&settled.request) else {
            return self.open.note_end(&settled.request, "it was answered in OpenCode");
        };
        let ours = matches!(&open.sent, Some(Settlement::Answered(answer)) if question::wire_answers(answer) == settled.answers);
        if ours {
            self.acknowledge(&settled.request, heard);
        } else {
            self.open.end(&settled.request, "it was answered in OpenCode");
            heard.push(answered(settled.request, settled.answers));
        }
    }

    fn hear_dismissed(&mut self, settled: Settled, heard: &mut Vec<Heard>) {
        let Some(open) = self.open.get(&settled.request) else {
            return self.open.note_end(&settled.request, "it was dismissed in OpenCode");
        };
        if matches!(open.sent, Some(Settlement::Rejected { .. })) {
            self.acknowledge(&settled.request, heard);
        } else {
            self.open.end(&settled.request, "it was dismissed in OpenCode");
            heard.push(dismissed(settled.request));
        }
    }

    fn hear_permitted(&mut self, settled: Settled, heard: &mut Vec<Heard>) {
        let reply = settled.reply.unwrap_or_default();
        let Some(open) = self.open.get(&settled.request) else {
            return self.open.note_end(&settled.request, "it was answered in OpenCode");
        };
        let session = self.sessions.get_mut(&open.session);
        let ours = open.sent.as_ref().and_then(|sent| permission::reply_of(sent).ok());
        let first = session.rejected.clone();
        if reply == permission::REJECT {
            session.rejected.get_or_insert_with(|| settled.request.clone());
        }
        if ours.is_some_and(|(word, _)| word == reply) {
            return self.acknowledge(&settled.request, heard);
        }
        let sent = open.sent.is_some();
        let native_id = settled.request;
        self.open.end(&native_id, "it was answered in OpenCode");
        heard.push(match (reply.as_str(), first) {
            (permission::REJECT, Some(first)) => {
                let why = format!("ended with the rejection of {first} in the same session");
                ended(native_id, Cause::TurnAborted { detail: Some(why.clone()) }, &why, sent)
            }
            (permission::REJECT, None) => {
                let how = Elsewhere::Rejected { reason: None, via: VIA.to_owned() };
                Heard::AnsweredElsewhere { native_id, how }
            }
            _ => answered(native_id, vec![vec![reply]]),
        });
    }

    /// The server has accepted askd's answer. The tool part, if there is one, shows whether the agent has it.
    fn acknowledge(&mut self, native_id: &str, heard: &mut Vec<Heard>) {
        let Some(open) = self.open.get_mut(native_id) else { return };
        open.acknowledged = true;
        if open.link.is_none() {
            self.open.end(native_id, "it was answered");
            heard.push(Heard::Confirmed { native_id: native_id.to_owned() });
        }
    }

    fn hear_part(&mut self, part: Part, heard: &mut Vec<Heard>) {
        self.hear_talk(&part, heard);
        if part.kind != "tool" {
            return;
        }
        let Some(open) = self.open.by_part(&part.message, &part.call) else { return };
        let id = open.native_id.clone();
        if let Some(verdict) = verdict::verdict(open, &part.tool, standing(part.state)) {
            self.conclude(&id, verdict, heard);
        }
    }

    /// A request is over. One that was taken back may be left in the server's list, and is taken out of it.
    pub(super) fn conclude(&mut self, native_id: &str, verdict: Heard, heard: &mut Vec<Heard>) {
        let why = match &verdict {
            Heard::Withdrawn { cause: Cause::TurnAborted { detail: Some(why) }, .. }
            | Heard::NotTaken { detail: why, .. } => why.clone(),
            Heard::Withdrawn { .. } => "its session or server is gone".to_owned(),
            _ => "it was answered".to_owned(),
        };
        let Some(open) = self.open.end(native_id, &why) else { return };
        let left_over = matches!(
            verdict,
            Heard::Withdrawn { cause: Cause::TurnAborted { .. } | Cause::SessionEnded { .. }, .. }
        );
        heard.push(verdict);
        if left_over {
            self.clean_up(&open, heard);
        }
    }

    /// A rejected permission takes the others of its session with it, so the last one goes for all.
    pub(super) fn clean_up(&self, left: &Open, heard: &mut Vec<Heard>) {
        let others = self.open.iter().any(|open| open.way == Way::Permission && open.session == left.session);
        if left.way == Way::Question || !others {
            heard.push(clean(left));
        }
    }

    fn hear_deleted(&mut self, session: &str, heard: &mut Vec<Heard>) {
        let ids: Vec<String> = self.ids(|open| open.session == session);
        for id in ids {
            let Some(open) = self.open.get(&id) else { continue };
            let cause = Cause::SessionEnded { detail: Some("it was deleted in OpenCode".to_owned()) };
            let verdict = ended(id.clone(), cause, "its session was deleted", open.sent.is_some());
            self.conclude(&id, verdict, heard);
        }
        if self.sessions.remove(session) {
            let cause = Cause::SessionEnded { detail: Some("it was deleted in OpenCode".to_owned()) };
            heard.push(Heard::SessionEnded { native_id: session.to_owned(), cause });
        }
    }

    fn hear_disposed(&mut self, about: impl Fn(&Open) -> bool, heard: &mut Vec<Heard>) {
        for id in self.ids(about) {
            let Some(open) = self.open.get(&id) else { continue };
            let why = "OpenCode has let go of this folder and of all that waited in it";
            let cause = Cause::SourceLost { detail: Some(why.to_owned()) };
            let verdict = ended(id.clone(), cause, why, open.sent.is_some());
            self.conclude(&id, verdict, heard);
        }
    }

    /// Looks at a session whose turn may have ended without an event for its waiting requests.
    fn look_at_session(&mut self, session: &str, heard: &mut Vec<Heard>) {
        for id in self.ids(|open| open.session == session) {
            self.look(&id, Looking::TurnOver, heard);
        }
    }

    fn ids(&self, about: impl Fn(&Open) -> bool) -> Vec<String> {
        self.open.iter().filter(|open| about(open)).map(|open| open.native_id.clone()).collect()
    }
}

/// The question of a request, if a form can show it.
fn understood(agent: &str, way: Way, text: &str) -> Result<Ask, String> {
    match way {
        Way::Question => {
            let request: QuestionRequest = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Ok(question::ask(agent, request))
        }
        Way::Permission => {
            let asked: PermissionRequest = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Ok(permission::ask(agent, &asked))
        }
    }
}

/// Rejects a request that no surface can show, with the reason if there is a place for it.
fn refuse(way: Way, request: &AnyRequest, directory: Option<&str>, why: &str) -> Heard {
    let id = &request.id;
    write(match way {
        Way::Question => post(format!("/question/{id}/reject"), directory, None),
        Way::Permission => {
            let body = json!({ "reply": permission::REJECT, "message": why }).to_string().into_bytes();
            post(format!("/permission/{id}/reply"), directory, Some(body))
        }
    })
}

#[derive(Debug, Deserialize)]
struct MessageUpdated {
    info: MessageInfo,
}

#[derive(Debug, Deserialize)]
struct MessageInfo {
    id: String,
    #[serde(rename = "sessionID", default)]
    session: String,
    #[serde(default)]
    role: String,
}

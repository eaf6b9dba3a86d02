//! The hub's routes as functions, one for each action of a person.

use askd_core::answer::{Rejection, Reply};
use askd_core::{Question, QuestionId, Right, Session, SessionId, Source, Status};
use reqwest::Method;
use serde_json::{Value, json};

use super::error::ClientError;
use super::http::{Client, Download, Patience, Received};
use super::wire::{CreatedToken, Health, LoginCode, QuestionList, TokenList};
use askd_wire::api::HeldAgent;

/// A filter for questions or events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    pub status: Option<Status>,
    pub agent: Option<String>,
    pub session: Option<SessionId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListQuery {
    pub filter: Filter,
    pub oldest_first: bool,
    pub cursor: Option<String>,
    pub limit: Option<usize>,
}

impl Filter {
    pub(super) fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = Vec::new();
        query.extend(self.status.map(|status| ("status", status.as_str().to_owned())));
        query.extend(self.agent.clone().map(|agent| ("agent", agent)));
        query.extend(self.session.as_ref().map(|session| ("session", session.to_string())));
        query
    }
}

/// The longest list in one response of the hub.
const MAX_LIST: usize = 500;
const NO_BODY: Option<&Value> = None;

impl Client {
    pub async fn health(&self) -> Result<Received<Health>, ClientError> {
        self.get("/v1/health", &[]).await
    }

    /// A copy of the hub's store, as it comes.
    pub async fn backup(&self) -> Result<Download, ClientError> {
        self.download("/v1/backup").await
    }

    pub async fn questions(&self, list: &ListQuery) -> Result<Received<QuestionList>, ClientError> {
        let mut query = list.filter.query();
        query.push(("order", if list.oldest_first { "asc" } else { "desc" }.to_owned()));
        query.extend(list.cursor.clone().map(|cursor| ("cursor", cursor)));
        query.extend(list.limit.map(|limit| ("limit", limit.to_string())));
        self.get("/v1/questions", &query).await
    }

    pub async fn question(&self, id: &QuestionId) -> Result<Received<Question>, ClientError> {
        self.get(&format!("/v1/questions/{id}"), &[]).await
    }

    /// The question when it is settled, or as it stands after `seconds`.
    pub async fn wait(&self, id: &QuestionId, seconds: u64) -> Result<Received<Question>, ClientError> {
        let query = [("wait", seconds.to_string())];
        self.call(Method::GET, &format!("/v1/questions/{id}"), &query, NO_BODY, Patience::Human).await
    }

    pub async fn reply(&self, id: &QuestionId, reply: &Reply) -> Result<Received<Question>, ClientError> {
        self.post(&format!("/v1/questions/{id}/reply"), reply).await
    }

    pub async fn reject(
        &self,
        id: &QuestionId,
        rejection: &Rejection,
    ) -> Result<Received<Question>, ClientError> {
        self.post(&format!("/v1/questions/{id}/reject"), rejection).await
    }

    /// Sends an answer that did not reach its agent as the next message; returns the session that received
    /// it.
    pub async fn send_as_message(&self, id: &QuestionId) -> Result<Received<Session>, ClientError> {
        let path = format!("/v1/questions/{id}/send-as-message");
        self.call(Method::POST, &path, &[], NO_BODY, Patience::Ordinary).await
    }

    /// The claims for each agent. Their form grows with the adapters, so they are parsed leniently.
    pub async fn agents(&self) -> Result<Received<Value>, ClientError> {
        self.get("/v1/agents", &[]).await
    }

    /// The sessions that can take an answer, newest first.
    pub async fn live_sessions(&self) -> Result<Vec<Session>, ClientError> {
        let received: Received<Value> =
            self.get("/v1/sessions", &[("live", "true".to_owned()), ("limit", MAX_LIST.to_string())]).await?;
        self.list(received.value, "sessions")
    }

    pub async fn start_session(&self, request: &Value) -> Result<Received<Session>, ClientError> {
        let started = self.post("/v1/sessions", request).await;
        started.map_err(|error| error.unsure("see the sessions on the page (askd open)"))
    }

    /// Says something to a managed session.
    pub async fn prompt(&self, id: &SessionId, text: &str) -> Result<(), ClientError> {
        let path = format!("/v1/sessions/{id}/messages");
        let told = self.post::<Value>(&path, &json!({ "text": text })).await.map(drop);
        told.map_err(|error| error.unsure("see what the session says"))
    }

    /// Lets answers be typed into a session's terminal, or no longer.
    pub async fn set_tmux(&self, id: &SessionId, tmux: bool) -> Result<Received<Session>, ClientError> {
        let (path, body) = (format!("/v1/sessions/{id}"), json!({ "tmux": tmux }));
        self.call(Method::PATCH, &path, &[], Some(&body), Patience::Ordinary).await
    }

    pub async fn session(&self, id: &SessionId) -> Result<Received<Session>, ClientError> {
        self.get(&format!("/v1/sessions/{id}"), &[]).await
    }

    pub async fn end_session(&self, id: &SessionId) -> Result<(), ClientError> {
        let path = format!("/v1/sessions/{id}");
        self.call::<Value>(Method::DELETE, &path, &[], NO_BODY, Patience::Ordinary).await.map(drop)
    }

    /// The agents with a holder.
    pub async fn holders(&self) -> Result<Vec<HeldAgent>, ClientError> {
        let received: Received<Value> = self.get("/v1/holders", &[]).await?;
        self.list(received.value, "holders")
    }

    /// Attaches the hub to a running server.
    pub async fn attach(&self, body: &Value) -> Result<Received<Source>, ClientError> {
        self.post("/v1/sources", body).await
    }

    pub async fn sources(&self) -> Result<Vec<Source>, ClientError> {
        let received: Received<Value> = self.get("/v1/sources", &[]).await?;
        self.list(received.value, "sources")
    }

    pub async fn tokens(&self) -> Result<Received<TokenList>, ClientError> {
        self.get("/v1/tokens", &[]).await
    }

    pub async fn create_token(
        &self,
        name: &str,
        rights: &[Right],
    ) -> Result<Received<CreatedToken>, ClientError> {
        let body = json!({ "name": name, "rights": rights });
        let created = self.post("/v1/tokens", &body).await;
        created
            .map_err(|error| error.unsure("see askd token list, and revoke the token that you did not get,"))
    }

    pub async fn revoke_token(&self, id: &str) -> Result<(), ClientError> {
        let path = format!("/v1/tokens/{id}");
        self.call::<Value>(Method::DELETE, &path, &[], NO_BODY, Patience::Ordinary).await.map(drop)
    }

    pub async fn login_code(&self) -> Result<Received<LoginCode>, ClientError> {
        self.call(Method::POST, "/v1/login-codes", &[], NO_BODY, Patience::Ordinary).await
    }

    async fn get<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<Received<T>, ClientError> {
        self.call(Method::GET, path, query, NO_BODY, Patience::Ordinary).await
    }

    async fn post<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        body: &impl serde::Serialize,
    ) -> Result<Received<T>, ClientError> {
        self.call(Method::POST, path, &[], Some(body), Patience::Ordinary).await
    }

    fn list<T: serde::de::DeserializeOwned>(
        &self,
        mut value: Value,
        name: &str,
    ) -> Result<Vec<T>, ClientError> {
        let list = value.get_mut(name).map(Value::take).unwrap_or(Value::Array(Vec::new()));
        serde_json::from_value(list).map_err(|error| self.unreadable(error.to_string()))
    }
}

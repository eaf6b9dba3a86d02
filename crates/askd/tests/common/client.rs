//! A client with one token, and what it gets back.

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{Events, within};

#[derive(Clone)]
pub struct Client {
    url: String,
    token: Option<String>,
    headers: HeaderMap,
    http: reqwest::Client,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The body as JSON, or null.
    pub json: Value,
}

impl Client {
    pub fn new(url: &str, token: Option<&str>) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url: url.to_owned(), token: token.map(str::to_owned), headers: HeaderMap::new(), http }
    }

    /// The same client with another token, or none.
    pub fn with_token(&self, token: Option<&str>) -> Self {
        Self { token: token.map(str::to_owned), ..self.clone() }
    }

    pub fn with_header(&self, name: &str, value: &str) -> Self {
        let mut next = self.clone();
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        next.headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value);
        next
    }

    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap()
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url)).headers(self.headers.clone());
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::DELETE, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(body)).await
    }

    pub async fn post_empty(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::POST, path)).await
    }

    /// Bytes that claim to be JSON.
    pub async fn post_bytes(&self, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.request(Method::POST, path).header("content-type", "application/json");
        Answer::of(request.body(body.into())).await
    }

    /// Asks and gives back the stored question.
    pub async fn ask(&self, body: &Value) -> Value {
        self.post("/v1/questions", body).await.ok(201)
    }

    /// Asks with one line of text and gives back the id.
    pub async fn ask_text(&self, text: &str) -> String {
        id(&self.ask(&json!({"questions": [{"question": text}]})).await)
    }

    pub async fn reply(&self, id: &str, answers: Value) -> Answer {
        self.post(&format!("/v1/questions/{id}/reply"), &json!({"answers": answers})).await
    }

    pub async fn question(&self, id: &str) -> Value {
        self.get(&format!("/v1/questions/{id}")).await.ok(200)
    }

    /// A new token with these rights, as another client.
    pub async fn token_with(&self, rights: &[&str]) -> Self {
        let made =
            self.post("/v1/tokens", &json!({"name": rights.join("+"), "rights": rights})).await.ok(201);
        self.with_token(made["token"].as_str())
    }

    pub async fn events(&self, query: &str) -> Events {
        let request = self.request(Method::GET, &format!("/v1/events{query}"));
        let response = within("the stream to open", request.send()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events::of(response)
    }

    /// Everything that a request could have changed: all questions, the newest event, the tokens, the
    /// sources.
    pub async fn everything(&self) -> Value {
        let mut questions = Vec::new();
        let mut path = "/v1/questions?order=asc&limit=500".to_owned();
        loop {
            let page = self.get(&path).await.ok(200);
            questions.extend(page["questions"].as_array().unwrap().iter().cloned());
            match page["nextCursor"].as_str() {
                Some(cursor) => path = format!("/v1/questions?order=asc&limit=500&cursor={cursor}"),
                None => {
                    return json!({"questions": questions, "seq": page["seq"],
                        "tokens": self.get("/v1/tokens").await.ok(200),
                        "sources": self.get("/v1/sources").await.ok(200)});
                }
            }
        }
    }
}

pub fn id(question: &Value) -> String {
    question["id"].as_str().unwrap().to_owned()
}

impl Answer {
    pub async fn of(request: reqwest::RequestBuilder) -> Self {
        within("an answer", async {
            let response = request.send().await.unwrap();
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = response.bytes().await.unwrap().to_vec();
            let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
            Self { status, headers, body, json }
        })
        .await
    }

    /// The JSON of a success.
    #[track_caller]
    pub fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self.json
    }

    /// A refusal in the one form that refusals have.
    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!((self.status, self.json["code"].as_str()), (status, Some(code)), "{text}");
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.json["status"], status);
        assert_eq!(self.json["type"], "about:blank");
        for part in ["title", "detail"] {
            assert!(
                self.json[part].as_str().is_some_and(|text| !text.is_empty()),
                "{part} is missing: {text}"
            );
        }
        self.json
    }

    /// A refusal that names the field.
    #[track_caller]
    pub fn names(self, field: &str, code: &str) -> Value {
        let problem = self.problem(400, "invalid_request");
        let errors = problem["errors"].as_array().cloned().unwrap_or_default();
        assert!(
            errors.iter().any(|error| error["field"] == field && error["code"] == code),
            "{field}: {code} is not in {problem}"
        );
        problem
    }
}

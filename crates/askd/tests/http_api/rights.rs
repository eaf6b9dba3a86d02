//! Which token may do what: every route with every right, with no token and with a wrong one.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Answer, Client, Hub, within};

/// What a request gets with each right.
struct Route {
    method: &'static str,
    path: String,
    body: Option<Value>,
    /// The rights that are enough; others get 403.
    enough: &'static [&'static str],
    /// What the request then gets.
    status: u16,
}

fn route(method: &'static str, path: &str, enough: &'static [&'static str], status: u16) -> Route {
    Route { method, path: path.to_owned(), body: None, enough, status }
}

impl Route {
    fn with(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    async fn send(&self, client: &Client) -> Answer {
        let mut request = client.request(Method::from_bytes(self.method.as_bytes()).unwrap(), &self.path);
        if let Some(body) = &self.body {
            request = request.json(body);
        }
        if self.path.starts_with("/v1/events") && self.status == 200 {
            let response = request.send().await.unwrap();
            let status = response.status().as_u16();
            if status == 200 {
                return Answer {
                    status,
                    headers: response.headers().clone(),
                    body: Vec::new(),
                    json: Value::Null,
                };
            }
            let headers = response.headers().clone();
            let body = response.bytes().await.unwrap().to_vec();
            let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
            return Answer { status, headers, body, json };
        }
        Answer::of(request).await
    }
}

#[tokio::test]
async fn every_route_wants_its_right_and_no_other() {
    let hub = Hub::start().await;
    let nothing = "0".repeat(26);
    let id = hub.owner.ask_text("Which?").await;
    let question = format!("/v1/questions/{id}");
    let ask = json!({"questions": [{"question": "x"}]});
    let routes = [
        route("GET", "/v1/questions", &["answer", "read"], 200),
        route("POST", "/v1/questions", &["ask"], 201).with(ask),
        route("GET", &question, &["answer", "read"], 200),
        route("GET", &format!("{question}?wait=0"), &["answer", "read"], 200),
        route("GET", &format!("{question}/native"), &["answer", "read"], 200),
        // Not its own question: for this asker there is none.
        route("POST", &format!("{question}/withdraw"), &["ask"], 404).with(json!({})),
        route("POST", &format!("{question}/reply"), &["answer"], 200).with(json!({"answers": [["x"]]})),
        route("POST", &format!("{question}/reject"), &["answer"], 409).with(json!({})),
        route("GET", "/v1/events", &["answer", "read"], 200),
        route("GET", "/v1/sessions", &["answer", "read"], 200),
        route("GET", &format!("/v1/sessions/ses_{nothing}"), &["answer", "read"], 404),
        route("GET", &format!("/v1/sessions/ses_{nothing}/transcript"), &["answer", "read"], 404),
        route("POST", "/v1/sessions", &["manage"], 404).with(json!({"agent": "nobody"})),
        route("POST", &format!("/v1/sessions/ses_{nothing}/messages"), &["manage"], 404)
            .with(json!({"text": "x"})),
        route("DELETE", &format!("/v1/sessions/ses_{nothing}"), &["manage"], 404),
        route("POST", "/v1/acp/nobody", &["manage"], 404)
            .with(json!({"jsonrpc": "2.0", "id": 1, "method": "session/new"})),
        route("GET", "/v1/acp/nobody", &["answer", "read"], 404),
        route("DELETE", "/v1/acp/nobody", &["manage"], 404),
        route("POST", "/v1/sessions/nobody/questions/none/reply", &["answer"], 404)
            .with(json!({"answers": [[]]})),
        route("POST", "/v1/sessions/nobody/questions/none/reject", &["answer"], 404),
        route("GET", "/v1/sessions/nobody/events/sse", &["answer", "read"], 404),
        route("GET", "/v1/holders", &["manage"], 200),
        route("GET", "/v1/agents", &["answer", "read"], 200),
        route("GET", "/v1/sources", &["manage"], 200),
        route("POST", "/v1/sources", &["manage"], 400).with(json!({"kind": "nobody"})),
        route("GET", "/api/agents/nobody/pending-questions", &["answer", "read"], 200),
        route("POST", "/api/agents/nobody/answer-question", &["answer"], 404).with(json!({"answers": ["x"]})),
        route("POST", &format!("/v1/hooks/claude/que_{nothing}/took"), &["ask"], 404)
            .with(json!({"hook": "0123456789abcdef"})),
        route("DELETE", &format!("/v1/sources/src_{nothing}"), &["manage"], 404),
        route("GET", "/v1/tokens", &["manage"], 200),
        route("POST", "/v1/tokens", &["manage"], 201).with(json!({"name": "x", "rights": ["manage"]})),
        route("DELETE", &format!("/v1/tokens/tok_{nothing}"), &["manage"], 404),
        route("POST", "/v1/login-codes", &["answer", "read"], 201),
    ];
    let mut holders = Vec::new();
    for right in ["ask", "answer", "read", "manage"] {
        holders.push((right, hub.owner.token_with(&[right]).await));
    }
    let nobody = hub.owner.with_token(None);
    let wrong = format!("{}0", hub.owner.token());
    for route in &routes {
        for stranger in [
            &nobody,
            &nobody.with_token(Some("")),
            &nobody.with_token(Some("askd_guess")),
            &nobody.with_token(Some(&wrong)),
        ] {
            let answer = route.send(stranger).await;
            assert_eq!(answer.headers["www-authenticate"], "Bearer", "{} {}", route.method, route.path);
            answer.problem(401, "unauthorized");
        }
        for (right, holder) in &holders {
            let answer = route.send(holder).await;
            if route.enough.contains(right) {
                assert_eq!(answer.status, route.status, "{right}: {} {}", route.method, route.path);
            } else {
                assert_eq!(answer.status, 403, "{right}: {} {}", route.method, route.path);
                answer.problem(403, "forbidden");
            }
        }
    }
    // The page, and every file that it names.
    let page = String::from_utf8(nobody.get("/").await.body).unwrap();
    let files = page.split('"').filter(|part| part.starts_with("/assets/")).map(str::to_owned);
    let open: Vec<String> = ["/v1/health".to_owned(), "/".to_owned()].into_iter().chain(files).collect();
    assert!(open.len() > 2, "{page}");
    for path in open {
        for client in [&nobody, &nobody.with_token(Some("askd_guess")), &hub.asker] {
            assert_eq!(client.get(&path).await.status, 200, "{path}");
        }
    }
}

#[tokio::test]
async fn only_bearer_tokens_are_understood() {
    let hub = Hub::start().await;
    let nobody = hub.owner.with_token(None);
    let token = hub.owner.token();
    for bad in [
        format!("Basic {token}"),
        token.to_owned(),
        format!("Bearer{token}"),
        "Bearer".to_owned(),
        String::new(),
    ] {
        nobody.with_header("Authorization", &bad).get("/v1/questions").await.problem(401, "unauthorized");
    }
    nobody.with_header("Authorization", &format!("bearer {token}")).get("/v1/questions").await.ok(200);
    nobody.get(&format!("/v1/events?token={token}")).await.problem(401, "unauthorized");
}

#[tokio::test]
async fn an_asker_sees_its_own_questions_and_no_others() {
    let hub = Hub::start().await;
    let other = hub.owner.token_with(&["ask"]).await;
    let mine = hub.asker.ask_text("Mine?").await;
    let theirs = other.ask_text("Theirs?").await;
    assert_eq!(hub.asker.question(&mine).await["id"], mine.as_str());
    let path = format!("/v1/questions/{theirs}");
    hub.asker.get(&path).await.problem(403, "forbidden");
    hub.asker.get(&format!("{path}?wait=1")).await.problem(403, "forbidden");
    hub.asker.post(&format!("{path}/withdraw"), &json!({})).await.problem(404, "not_found");
    hub.asker.reply(&mine, json!([["own answer"]])).await.problem(403, "forbidden");
    hub.owner.reply(&mine, json!([["x"]])).await.ok(200);
    assert_eq!(hub.asker.question(&mine).await["status"], "answered");
    assert_eq!(hub.owner.question(&theirs).await["status"], "requested");
    // With the right to read, but without that to ask, a question is nobody's own.
    let reader = hub.owner.token_with(&["read"]).await;
    reader.post(&format!("{path}/withdraw"), &json!({})).await.problem(403, "forbidden");
}

#[tokio::test]
async fn nobody_hands_out_a_right_that_he_lacks() {
    let hub = Hub::start().await;
    let manager = hub.owner.token_with(&["manage"]).await;
    for rights in [json!(["answer"]), json!(["ask"]), json!(["manage", "read"])] {
        let body = json!({"name": "x", "rights": rights});
        manager.post("/v1/tokens", &body).await.problem(403, "forbidden");
    }
    manager.post("/v1/tokens", &json!({"name": "x", "rights": ["manage"]})).await.ok(201);
    for (body, field, code) in [
        (json!({"name": "", "rights": ["ask"]}), "name", "empty"),
        (json!({"name": "x".repeat(257), "rights": ["ask"]}), "name", "too_long"),
        (json!({"name": "x", "rights": []}), "rights", "empty"),
    ] {
        hub.owner.post("/v1/tokens", &body).await.names(field, code);
    }
}

#[tokio::test]
async fn a_revoked_token_is_refused_at_once_and_after_a_restart() {
    let hub = Hub::start().await;
    let made = hub.owner.post("/v1/tokens", &json!({"name": "phone", "rights": ["answer"]})).await.ok(201);
    let phone = hub.owner.with_token(made["token"].as_str());
    phone.get("/v1/questions").await.ok(200);
    let list = hub.owner.get("/v1/tokens").await.ok(200);
    let listed = list["tokens"].as_array().unwrap().iter().find(|token| token["id"] == made["id"]).unwrap();
    let shown =
        json!({"id": made["id"], "name": "phone", "rights": ["answer"], "createdAt": made["createdAt"]});
    assert_eq!(*listed, shown, "a list shows no token");
    let gone = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(hub.owner.delete(&gone).await.status, 204);
    phone.get("/v1/questions").await.problem(401, "unauthorized");
    hub.owner.delete(&gone).await.problem(404, "not_found");
    let hub = hub.restarted().await;
    hub.owner.with_token(made["token"].as_str()).get("/v1/questions").await.problem(401, "unauthorized");
}

/// So that a new route cannot be forgotten here.
#[tokio::test]
async fn every_documented_operation_wants_a_token() {
    let hub = Hub::start().await;
    let document = serde_json::to_value(askd_server::openapi_document()).unwrap();
    let nobody = hub.owner.with_token(None);
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let concrete: Vec<&str> =
            path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
        for (method, operation) in operations.as_object().unwrap() {
            if operation["security"] == json!([{}]) {
                continue;
            }
            let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).unwrap();
            let answer =
                Answer::of(nobody.request(method.clone(), &concrete.join("/")).json(&json!({}))).await;
            assert_eq!(answer.status, 401, "{method} {path}");
            answer.problem(401, "unauthorized");
            asked += 1;
        }
    }
    assert!(asked > 20);
}

#[tokio::test]
async fn what_lasts_ends_when_its_token_is_revoked() {
    let hub = Hub::start().await;
    let made = hub.owner.post("/v1/tokens", &json!({"name": "phone", "rights": ["read"]})).await.ok(201);
    let phone = hub.owner.with_token(made["token"].as_str());
    let id = hub.asker.ask_text("Which?").await;
    let mut stream = phone.events("?after=0").await;
    assert_eq!(stream.next().await.0, 1);
    let (waiter, path) = (phone.clone(), format!("/v1/questions/{id}?wait=60"));
    let waiting = tokio::spawn(async move { waiter.get(&path).await });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(hub.owner.delete(&format!("/v1/tokens/{}", made["id"].as_str().unwrap())).await.status, 204);
    hub.owner.reply(&id, json!([["for other eyes"]])).await.ok(200);
    assert_eq!(within("the stream to end", stream.next_or_end()).await, None);
    waiting.await.unwrap().problem(401, "unauthorized");
}

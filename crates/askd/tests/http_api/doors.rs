//! Host and Origin: a page of another origin, or a name that only points at this machine, gets nothing.

use serde_json::json;

use crate::common::{Answer, Hub, Starting, raw};
use reqwest::Method;

fn request(target: &str, headers: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let hub = Hub::start().await;
    let token = hub.owner.token();
    for host in [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil",
        "",
        "[::2]",
        "127.0.0.1:x",
        "box.local",
    ] {
        for target in ["/", "/v1/health", "/v1/questions"] {
            let headers = format!("Host: {host}\r\nAuthorization: Bearer {token}\r\n");
            raw(&hub, &request(target, &headers)).await.problem(403, "host_not_allowed");
        }
    }
    raw(&hub, &request("/v1/health", "")).await.problem(403, "host_not_allowed");
    let port = hub.url.rsplit(':').next().unwrap();
    for host in
        ["localhost", "127.0.0.1", "[::1]", &format!("localhost:{port}"), &format!("127.0.0.1:{port}")]
    {
        assert_eq!(
            raw(&hub, &request("/v1/health", &format!("Host: {host}\r\n"))).await.status,
            200,
            "{host}"
        );
    }
    // The target of a request can name a host too; it must not go around the check.
    let absolute = raw(&hub, &request("http://localhost/v1/health", "Host: evil.example\r\n")).await;
    absolute.problem(403, "host_not_allowed");
    raw(&hub, &request("/v1/health", "Host: localhost\r\nHost: evil.example\r\n"))
        .await
        .problem(403, "host_not_allowed");
}

#[tokio::test]
async fn a_host_that_the_user_allowed_is_let_in() {
    let hub = Starting::fresh()
        .arg("--allow-host")
        .arg("box.local")
        .arg("--allow-host")
        .arg("askd.lan:8080")
        .start()
        .await;
    for host in ["box.local", "box.local:2753", "askd.lan:8080", "localhost"] {
        assert_eq!(
            raw(&hub, &request("/v1/health", &format!("Host: {host}\r\n"))).await.status,
            200,
            "{host}"
        );
    }
    for host in ["askd.lan", "askd.lan:1", "x.box.local", "evil.example"] {
        raw(&hub, &request("/v1/health", &format!("Host: {host}\r\n")))
            .await
            .problem(403, "host_not_allowed");
    }
}

#[tokio::test]
async fn another_page_cannot_use_the_hub() {
    let hub = Hub::start().await;
    let own = hub.owner.with_header("Origin", &hub.url);
    own.get("/v1/questions").await.ok(200);
    let port = hub.url.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let before = hub.owner.everything().await;
    for origin in [
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1",
        &format!("http://127.0.0.1:{}", port ^ 1),
        "file://",
    ] {
        let evil = hub.owner.with_header("Origin", origin);
        let answer = evil.get("/v1/questions").await;
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
        answer.problem(403, "origin_not_allowed");
        let body = json!({"questions": [{"question": "x"}]});
        evil.post("/v1/questions", &body).await.problem(403, "origin_not_allowed");
        let preflight =
            evil.request(Method::OPTIONS, "/v1/questions").header("Access-Control-Request-Method", "POST");
        let preflight = Answer::of(preflight).await;
        assert!(!preflight.headers.contains_key("access-control-allow-origin"));
        preflight.problem(403, "origin_not_allowed");
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn an_origin_that_the_user_allowed_gets_cors() {
    let hub = Starting::fresh().arg("--allow-origin").arg("https://inbox.example").start().await;
    let page = hub.owner.with_header("Origin", "https://inbox.example");
    let preflight = page
        .with_token(None)
        .request(Method::OPTIONS, "/v1/questions")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "authorization, content-type");
    let preflight = Answer::of(preflight).await;
    assert_eq!((preflight.status, preflight.body.len()), (204, 0));
    assert_eq!(preflight.headers["access-control-allow-origin"], "https://inbox.example");
    assert_eq!(preflight.headers["vary"], "origin");
    let allowed = preflight.headers["access-control-allow-headers"].to_str().unwrap().to_ascii_lowercase();
    for header in ["authorization", "content-type", "idempotency-key", "last-event-id", "askd-surface"] {
        assert!(allowed.contains(header), "{allowed}");
    }
    let methods = preflight.headers["access-control-allow-methods"].to_str().unwrap();
    for method in ["GET", "POST", "DELETE"] {
        assert!(methods.contains(method), "{methods}");
    }
    assert!(
        !preflight.headers.contains_key("access-control-allow-credentials"),
        "there is no cookie to send"
    );

    let answer = page.post("/v1/questions", &json!({"questions": [{"question": "x"}]})).await;
    assert_eq!(answer.headers["access-control-allow-origin"], "https://inbox.example");
    answer.ok(201);
    let refused = page.with_token(None).get("/v1/questions").await;
    assert_eq!(
        refused.headers["access-control-allow-origin"], "https://inbox.example",
        "a page must be able to read why"
    );
    refused.problem(401, "unauthorized");
    hub.owner
        .with_header("Origin", "https://inbox.example.evil")
        .get("/v1/questions")
        .await
        .problem(403, "origin_not_allowed");
}

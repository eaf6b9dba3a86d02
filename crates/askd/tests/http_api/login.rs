//! Log-in of a browser: a code in the fragment of a link, good once, exchanged for a token. No cookie
//! anywhere.

use serde_json::json;

use crate::common::Hub;

#[tokio::test]
async fn a_login_code_is_good_once() {
    let hub = Hub::start().await;
    let made = hub.owner.post_empty("/v1/login-codes").await.ok(201);
    let code = made["code"].as_str().unwrap();
    assert_eq!(made["url"], json!(format!("{}/#login={code}", hub.url)), "the code is in the fragment");
    let nobody = hub.owner.with_token(None);
    let answer = nobody.post("/v1/login", &json!({"code": code})).await;
    assert!(!answer.headers.contains_key("set-cookie"));
    let token = answer.ok(200)["token"].as_str().unwrap().to_owned();
    nobody.post("/v1/login", &json!({"code": code})).await.problem(401, "invalid_code");
    nobody.post("/v1/login", &json!({"code": "guess"})).await.problem(401, "invalid_code");
    nobody.post("/v1/login", &json!({"code": ""})).await.problem(401, "invalid_code");
    nobody.post("/v1/login", &json!({"code": token})).await.problem(401, "invalid_code");

    let browser = hub.owner.with_token(Some(&token));
    let id = hub.asker.ask_text("Which?").await;
    let answered = browser.with_header("Askd-Surface", "web").reply(&id, json!([["x"]])).await.ok(200);
    assert_eq!(answered["outcome"]["by"], json!({"surface": "web", "actor": "browser"}));
    let hub = hub.restarted().await;
    hub.owner.with_token(Some(&token)).get("/v1/questions").await.ok(200);
}

#[tokio::test]
async fn a_login_gives_no_more_rights_than_its_maker_has() {
    let hub = Hub::start().await;
    let reader = hub.owner.token_with(&["read"]).await;
    let code = reader.post_empty("/v1/login-codes").await.ok(201);
    let token = hub.owner.with_token(None).post("/v1/login", &json!({"code": code["code"]})).await.ok(200);
    let browser = hub.owner.with_token(token["token"].as_str());
    browser.get("/v1/questions").await.ok(200);
    let id = hub.asker.ask_text("Which?").await;
    browser.reply(&id, json!([["x"]])).await.problem(403, "forbidden");
    // What may not read has nothing to look at in a browser, and an agent's token must not push out a
    // person's code.
    hub.asker.post_empty("/v1/login-codes").await.problem(403, "forbidden");
}

#[tokio::test]
async fn what_a_token_asked_for_ends_with_it() {
    let hub = Hub::start().await;
    let made = hub.owner.post("/v1/tokens", &json!({"name": "lost", "rights": ["read"]})).await.ok(201);
    let lost = hub.owner.with_token(made["token"].as_str());
    let nobody = hub.owner.with_token(None);
    let log_in =
        async |code: &serde_json::Value| nobody.post("/v1/login", &json!({"code": code["code"]})).await;
    let kept = lost.post_empty("/v1/login-codes").await.ok(201);
    let token = log_in(&lost.post_empty("/v1/login-codes").await.ok(201)).await.ok(200);
    let of_owner = hub.owner.post_empty("/v1/login-codes").await.ok(201);
    hub.owner.delete(&format!("/v1/tokens/{}", made["id"].as_str().unwrap())).await.ok(204);
    log_in(&kept).await.problem(401, "invalid_code");
    let unused = hub.owner.with_token(token["token"].as_str());
    unused.get("/v1/questions").await.problem(401, "unauthorized");
    log_in(&of_owner).await.ok(200);
}

#[tokio::test]
async fn the_page_needs_no_token_and_lets_no_other_page_in() {
    let hub = Hub::start().await;
    let page = hub.owner.with_token(None).get("/").await;
    assert_eq!(page.status, 200);
    let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
    for rule in ["default-src 'none'", "frame-ancestors 'none'", "script-src 'self'", "base-uri 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert!(!page.headers.contains_key("set-cookie"));
    assert!(String::from_utf8_lossy(&page.body).contains("<html"));
}

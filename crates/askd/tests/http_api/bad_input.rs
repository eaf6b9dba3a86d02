//! Requests that do not fit are refused with a typed answer that names the field, and nothing changes.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Answer, Client, Hub, raw};

/// A hub with an open and a settled question, and what it looks like before a test does its worst.
async fn furnished() -> (Hub, String, Value) {
    let hub = Hub::start().await;
    let open = hub.owner.ask_text("Which way?").await;
    let settled = hub.owner.ask_text("Is it settled?").await;
    hub.owner.reply(&settled, json!([["yes"]])).await.ok(200);
    let before = hub.owner.everything().await;
    (hub, open, before)
}

async fn ask(client: &Client, body: impl Into<Vec<u8>>) -> Answer {
    client.post_bytes("/v1/questions", body).await
}

#[tokio::test]
async fn malformed_json_is_refused_and_changes_nothing() {
    let (hub, open, before) = furnished().await;
    let bodies: [&[u8]; 12] = [
        b"",
        b" ",
        b"{",
        b"nul",
        b"{\"questions\":[{\"question\":\"x\"}]} and more",
        b"{\"questions\":[{\"question\":\"x\"}]}{}",
        b"{\"questions\":[{\"question\":\"x\"},]}",
        b"{'questions':[]}",
        b"{\"questions\":[{\"question\":\"\xff\xfe\"}]}",
        b"{\"questions\":[{\"question\":\"\\ud800\"}]}",
        b"{\"questions\":[{\"question\":\"a\nb\"}]}",
        b"{\"questions\":NaN}",
    ];
    for body in bodies {
        ask(&hub.owner, body).await.problem(400, "malformed_request");
        let reply = format!("/v1/questions/{open}/reply");
        hub.owner.post_bytes(&reply, &body[..body.len().min(4)]).await.problem(400, "malformed_request");
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn wrong_types_are_refused_with_the_path_of_the_field() {
    let (hub, open, before) = furnished().await;
    for (body, field) in [
        (json!({"questions": "x"}), "questions"),
        (json!({"questions": {"question": "x"}}), "questions"),
        (json!({"questions": null}), "questions"),
        (json!({"questions": ["x"]}), "questions[0]"),
        (json!({"questions": [{"question": "x"}, 7]}), "questions[1]"),
        (json!({"questions": [{"question": 7}]}), "questions[0].question"),
        (json!({"questions": [{"question": null}]}), "questions[0].question"),
        (json!({"questions": [{"question": "x", "multiple": "yes"}]}), "questions[0].multiple"),
        (json!({"questions": [{"question": "x", "custom": 1}]}), "questions[0].custom"),
        (json!({"questions": [{"question": "x", "options": "A"}]}), "questions[0].options"),
        (json!({"questions": [{"question": "x", "options": ["A", 7]}]}), "questions[0].options[1]"),
        (
            json!({"questions": [{"question": "x", "options": [{"label": 7}]}]}),
            "questions[0].options[0].label",
        ),
        (json!({"questions": [{"question": "x", "input": "colour"}]}), "questions[0].input"),
        (
            json!({"questions": [{"question": "x", "bounds": {"minLength": -1}}]}),
            "questions[0].bounds.minLength",
        ),
        (json!({"questions": [{"question": "x"}], "kind": "riddle"}), "kind"),
        (json!({"questions": [{"question": "x"}], "deadline": "tomorrow"}), "deadline"),
        (json!({"questions": [{"question": "x"}], "deadline": 7}), "deadline"),
        (json!({"questions": [{"question": "x"}], "rejectModes": ["shout"]}), "rejectModes[0]"),
    ] {
        hub.owner.post("/v1/questions", &body).await.names(field, "wrong_type");
    }
    let reply = format!("/v1/questions/{open}/reply");
    for (body, field) in [
        (json!({"answers": "x"}), "answers"),
        (json!({"answers": ["x"]}), "answers[0]"),
        (json!({"answers": [[7]]}), "answers[0][0]"),
        (json!({"answers": [["x"]], "notes": "x"}), "notes"),
        (json!({"answers": [["x"]], "editedPlan": 7}), "editedPlan"),
    ] {
        hub.owner.post(&reply, &body).await.names(field, "wrong_type");
    }
    hub.owner
        .post(&format!("/v1/questions/{open}/reject"), &json!({"mode": "shout"}))
        .await
        .names("mode", "wrong_type");
    hub.owner
        .post(&format!("/v1/questions/{open}/withdraw"), &json!({"reason": 7}))
        .await
        .names("reason", "wrong_type");
    hub.owner
        .post("/v1/tokens", &json!({"name": "x", "rights": ["fly"]}))
        .await
        .names("rights[0]", "wrong_type");
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn missing_and_unknown_fields_are_named() {
    let (hub, open, before) = furnished().await;
    for (path, body, name) in [
        ("/v1/questions".to_owned(), json!({}), "questions"),
        ("/v1/questions".to_owned(), json!({"questions": [{}]}), "question"),
        ("/v1/questions".to_owned(), json!({"questions": [{"question": "x", "options": [{}]}]}), "label"),
        ("/v1/questions".to_owned(), json!({"questions": [{"question": "x", "colour": 1}]}), "colour"),
        ("/v1/questions".to_owned(), json!({"questions": [{"question": "x"}], "colour": 1}), "colour"),
        (format!("/v1/questions/{open}/reply"), json!({}), "answers"),
        (format!("/v1/questions/{open}/reply"), json!({"answers": [["x"]], "colour": 1}), "colour"),
        (format!("/v1/questions/{open}/reject"), json!({"colour": 1}), "colour"),
        ("/v1/tokens".to_owned(), json!({"name": "x"}), "rights"),
        ("/v1/login".to_owned(), json!({}), "code"),
    ] {
        let problem = hub.owner.post(&path, &body).await.problem(400, "invalid_request");
        let error = &problem["errors"][0];
        let named = error["field"].as_str().is_some_and(|field| field.contains(name))
            || error["message"].as_str().is_some_and(|text| text.contains(&format!("`{name}`")));
        assert!(named, "{path} {body} gave {problem}");
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn questions_that_nobody_could_answer_are_refused() {
    let (hub, _, before) = furnished().await;
    let many: Vec<Value> = (0..65).map(|i| json!({"question": format!("{i}?")})).collect();
    let options: Vec<Value> = (0..513).map(|i| json!(format!("option {i}"))).collect();
    let long = "x".repeat((1 << 20) + 1);
    for (body, field, code) in [
        (json!({"questions": []}), "questions", "empty"),
        (json!({"questions": many}), "questions", "too_many"),
        (json!({"questions": [{"question": ""}]}), "questions[0].question", "empty"),
        (json!({"questions": [{"question": "x"}, {"question": " \n"}]}), "questions[1].question", "empty"),
        (json!({"questions": [{"question": long}]}), "questions[0].question", "too_long"),
        (json!({"questions": [{"question": "x", "options": options}]}), "questions[0].options", "too_many"),
        (json!({"questions": [{"question": "x", "custom": false}]}), "questions[0].custom", "unanswerable"),
        (
            json!({"questions": [{"question": "x", "options": ["A", "A"]}]}),
            "questions[0].options[1].value",
            "duplicate",
        ),
        (
            json!({"questions": [{"question": "x", "options": [""]}]}),
            "questions[0].options[0].label",
            "empty",
        ),
        (
            json!({"questions": [{"question": "x", "bounds": {"minimum": 3, "maximum": 1}}]}),
            "questions[0].bounds",
            "contradiction",
        ),
        (json!({"questions": [{"question": "x", "input": "url"}]}), "questions[0].url", "missing"),
        (json!({"questions": [{"question": "x"}], "agent": "a b"}), "agent", "invalid_name"),
        (json!({"questions": [{"question": "x"}], "agent": ""}), "agent", "invalid_name"),
    ] {
        hub.owner.post("/v1/questions", &body).await.names(field, code);
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_hundred_thousand_levels_of_nesting_are_refused() {
    let (hub, open, before) = furnished().await;
    let deep = 100_000;
    let arrays = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    let objects = format!("{}1{}", r#"{"questions":"#.repeat(deep), "}".repeat(deep));
    let reply = format!("/v1/questions/{open}/reply");
    for nested in [&arrays, &objects] {
        for body in [
            nested.clone(),
            format!(r#"{{"questions":{nested}}}"#),
            format!(r#"{{"questions":[{{"question":"x","options":{nested}}}]}}"#),
            format!(r#"{{"questions":[{{"question":"x"}}],"context":{nested}}}"#),
            format!(r#"{{"answers":{nested}}}"#),
            format!(r#"{{"unknown":{nested}}}"#),
        ] {
            for path in ["/v1/questions", &reply] {
                let answer = hub.owner.post_bytes(path, body.clone()).await;
                let code = answer.json["code"].as_str().unwrap_or("").to_owned();
                assert!(code == "invalid_request" || code == "malformed_request", "{code}");
                answer.problem(400, &code);
            }
        }
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn unknown_ids_are_not_found() {
    let (hub, _, before) = furnished().await;
    let nobody = "0".repeat(26);
    let reply = json!({"answers": [["x"]]});
    for id in [format!("que_{nobody}"), format!("ses_{nobody}"), "que_7ZZZZZZZZZZZZZZZZZZZZZZZZZ".to_owned()]
    {
        hub.owner.get(&format!("/v1/questions/{id}")).await.problem(404, "not_found");
        hub.owner.get(&format!("/v1/questions/{id}?wait=1")).await.problem(404, "not_found");
        hub.owner.get(&format!("/v1/questions/{id}/native")).await.problem(404, "not_found");
        hub.owner.post(&format!("/v1/questions/{id}/reply"), &reply).await.problem(404, "not_found");
        hub.owner.post(&format!("/v1/questions/{id}/reject"), &json!({})).await.problem(404, "not_found");
        hub.owner.post(&format!("/v1/questions/{id}/withdraw"), &json!({})).await.problem(404, "not_found");
    }
    hub.owner.get(&format!("/v1/sessions/ses_{nobody}")).await.problem(404, "not_found");
    hub.owner.delete(&format!("/v1/sources/src_{nobody}")).await.problem(404, "not_found");
    hub.owner.delete(&format!("/v1/tokens/tok_{nobody}")).await.problem(404, "not_found");
    for path in
        ["/v1", "/v1/", "/v1/question", "/v2/questions", "/v1/questions/", "//v1/questions", "/favicon.ico"]
    {
        hub.owner.get(path).await.problem(404, "not_found");
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn odd_ids_are_not_found() {
    let (hub, open, before) = furnished().await;
    let lower = open.to_ascii_lowercase();
    let odd = [
        "%00",
        "%0a",
        "%20",
        "%2f",
        "%2e%2e%2f",
        "..",
        "%ff",
        "%f0%9f%98%80",
        "%zz",
        "%",
        "'%20OR%201=1--",
        "que_",
        "que_%27",
        "*",
        "?",
        "nul",
        "-1",
        "\u{e5}",
        "{id}",
        lower.as_str(),
    ];
    let long = "a".repeat(4000);
    let token = hub.owner.token();
    for id in odd.into_iter().map(str::to_owned).chain([
        format!("{open}%20"),
        format!("%20{open}"),
        format!("{open}x"),
        long,
    ]) {
        for (method, tail) in
            [("GET", ""), ("GET", "/native"), ("POST", "/reply"), ("POST", "/reject"), ("POST", "/withdraw")]
        {
            let body = r#"{"answers":[["x"]]}"#;
            let head = format!(
                "{method} /v1/questions/{id}{tail} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let answer = raw(&hub, head.as_bytes()).await;
            // What is no address at all is refused by the parser, before there is anybody to answer in JSON.
            if answer.status == 400 && answer.body.is_empty() && !id.is_ascii() {
                continue;
            }
            if id == "?" && tail.is_empty() {
                answer.problem(404, "not_found");
                continue;
            }
            assert!((400..500).contains(&answer.status), "{method} {id}{tail}: {}", answer.head);
            let status = answer.status;
            let code = if status == 405 { "method_not_allowed" } else { "not_found" };
            answer.problem(status, code);
        }
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn odd_names_are_not_found() {
    let (hub, _, before) = furnished().await;
    for name in ["%ff", "%00", "%2f", "%20", "%f0%9f%98%80", &"a".repeat(4000)] {
        for path in [format!("/v1/acp/{name}"), format!("/v1/sessions/{name}/events/sse")] {
            hub.owner.get(&path).await.problem(404, "not_found");
        }
        hub.owner.delete(&format!("/v1/acp/{name}")).await.problem(404, "not_found");
        let reply = format!("/v1/sessions/{name}/questions/{name}/reply");
        hub.owner.post(&reply, &json!({"answers": [["x"]]})).await.problem(404, "not_found");
        hub.owner
            .post_empty(&format!("/v1/sessions/{name}/questions/{name}/reject"))
            .await
            .problem(404, "not_found");
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn query_strings_that_do_not_fit_name_the_parameter() {
    let (hub, open, before) = furnished().await;
    for (path, field) in [
        ("/v1/questions?limit=0".to_owned(), "limit"),
        ("/v1/questions?limit=501".to_owned(), "limit"),
        ("/v1/questions?limit=-1".to_owned(), "limit"),
        ("/v1/questions?limit=many".to_owned(), "limit"),
        ("/v1/questions?limit=99999999999999999999".to_owned(), "limit"),
        ("/v1/questions?limit=1&limit=2".to_owned(), "limit"),
        ("/v1/questions?status=open".to_owned(), "status"),
        ("/v1/questions?order=up".to_owned(), "order"),
        ("/v1/questions?session=x".to_owned(), "session"),
        ("/v1/questions?colour=red".to_owned(), "colour"),
        ("/v1/sessions?live=maybe".to_owned(), "live"),
        ("/v1/sessions?limit=0".to_owned(), "limit"),
        ("/v1/sessions?colour=red".to_owned(), "colour"),
        ("/v1/events?after=-1".to_owned(), "after"),
        ("/v1/events?after=x".to_owned(), "after"),
        ("/v1/events?after=999999".to_owned(), "after"),
        ("/v1/events?status=open".to_owned(), "status"),
        ("/v1/events?colour=red".to_owned(), "colour"),
        (format!("/v1/questions/{open}?wait=-1"), "wait"),
        (format!("/v1/questions/{open}?wait=86401"), "wait"),
        (format!("/v1/questions/{open}?wait=soon"), "wait"),
        (format!("/v1/questions/{open}?colour=red"), "colour"),
    ] {
        let problem = hub.owner.get(&path).await.problem(400, "invalid_request");
        assert_eq!(problem["errors"][0]["field"], field, "{path} gave {problem}");
    }
    for path in ["/v1/questions?wait=86401", "/v1/questions?wait=x", "/v1/questions?colour=red"] {
        hub.owner
            .post(path, &json!({"questions": [{"question": "x"}]}))
            .await
            .problem(400, "invalid_request");
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_bad_last_event_id_is_named() {
    let (hub, _, before) = furnished().await;
    for bad in ["x", "-1", "1.5", "0x1", "18446744073709551616", "1 2", "\u{e5}", ""] {
        let answer = hub.owner.with_header("Last-Event-ID", bad).get("/v1/events").await;
        answer.names("Last-Event-ID", "invalid");
    }
    let beyond = hub.owner.with_header("Last-Event-ID", "999999").get("/v1/events?after=0").await;
    beyond.names("Last-Event-ID", "beyond_newest");
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_damaged_cursor_is_refused_wherever_it_is_damaged() {
    let (hub, _, before) = furnished().await;
    for order in ["asc", "desc"] {
        let page = hub.owner.get(&format!("/v1/questions?limit=1&order={order}")).await.ok(200);
        let cursor = page["nextCursor"].as_str().unwrap();
        // Its last letters are the place in the list, and another place is a good cursor.
        let place = cursor.len() - cursor.chars().rev().take_while(char::is_ascii_digit).count();
        let mut damaged =
            vec![format!("{cursor}-1"), format!("{cursor}%20"), format!("%2B{cursor}"), cursor.repeat(2)];
        damaged.extend((1..place).map(|end| cursor[..end].to_owned()));
        damaged.extend((0..place).map(|at| format!("{}!{}", &cursor[..at], &cursor[at + 1..])));
        damaged.extend((0..place).map(|at| format!("{}{}", &cursor[..at], &cursor[at + 1..])));
        damaged.extend(
            ["-1", "1.5", "99999999999999999999", "x"].map(|end| format!("{}{end}", &cursor[..place])),
        );
        for cursor in damaged {
            let path = format!("/v1/questions?limit=1&order={order}&cursor={cursor}");
            hub.owner.get(&path).await.problem(400, "invalid_cursor");
        }
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_cursor_of_another_store_is_refused() {
    let (hub, _, before) = furnished().await;
    let (other, _, _) = furnished().await;
    let page = other.owner.get("/v1/questions?limit=1").await.ok(200);
    let foreign = page["nextCursor"].as_str().unwrap();
    let own = hub.owner.get("/v1/questions?limit=1").await.ok(200);
    let own = own["nextCursor"].as_str().unwrap();
    let damaged = format!("{own}x");
    for (cursor, order) in
        [(foreign, "desc"), (own, "asc"), (&damaged, "desc"), ("", "desc"), ("%00", "desc"), ("d", "desc")]
    {
        let problem = hub.owner.get(&format!("/v1/questions?limit=1&order={order}&cursor={cursor}")).await;
        let problem = problem.problem(400, "invalid_cursor");
        assert_eq!(problem["errors"][0]["field"], "cursor");
    }
    hub.owner.get(&format!("/v1/questions?limit=1&cursor={own}")).await.ok(200);
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let (hub, open, before) = furnished().await;
    for (path, methods, allowed) in [
        ("/v1/questions".to_owned(), ["PUT", "DELETE", "PATCH"], "GET,HEAD,POST"),
        (format!("/v1/questions/{open}"), ["PUT", "POST", "DELETE"], "GET,HEAD"),
        (format!("/v1/questions/{open}/reply"), ["GET", "PUT", "DELETE"], "POST"),
        (format!("/v1/questions/{open}/reject"), ["GET", "PUT", "DELETE"], "POST"),
        ("/v1/events".to_owned(), ["POST", "PUT", "DELETE"], "GET,HEAD"),
        ("/v1/health".to_owned(), ["POST", "PUT", "DELETE"], "GET,HEAD"),
        ("/v1/tokens".to_owned(), ["PUT", "DELETE", "PATCH"], "GET,HEAD,POST"),
        ("/v1/login".to_owned(), ["GET", "PUT", "DELETE"], "POST"),
    ] {
        for method in methods {
            let request = hub.owner.request(Method::from_bytes(method.as_bytes()).unwrap(), &path);
            let answer = Answer::of(request).await;
            assert_eq!(answer.headers["allow"], allowed, "{method} {path}");
            answer.problem(405, "method_not_allowed");
        }
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_body_that_is_not_json_is_told_so() {
    let (hub, open, before) = furnished().await;
    let good = r#"{"questions":[{"question":"x"}]}"#;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonx",
        "json",
        "",
    ] {
        let request =
            hub.owner.request(Method::POST, "/v1/questions").header("content-type", kind).body(good);
        Answer::of(request).await.problem(415, "unsupported_media_type");
        for end in ["reply", "reject", "withdraw"] {
            let path = format!("/v1/questions/{open}/{end}");
            let request = hub.owner.request(Method::POST, &path).header("content-type", kind).body("{}");
            Answer::of(request).await.problem(415, "unsupported_media_type");
        }
    }
    let bare = hub.owner.request(Method::POST, "/v1/questions").body(good);
    Answer::of(bare).await.problem(415, "unsupported_media_type");
    assert_eq!(hub.owner.everything().await, before);
    let json = hub
        .owner
        .request(Method::POST, "/v1/questions")
        .header("content-type", "Application/JSON; charset=utf-8");
    Answer::of(json.body(good)).await.ok(201);
}

#[tokio::test]
async fn odd_headers_are_named() {
    let (hub, open, before) = furnished().await;
    let body = json!({"questions": [{"question": "x"}]});
    let long = "k".repeat(256);
    for key in ["", long.as_str(), "\u{e5}"] {
        hub.owner
            .with_header("Idempotency-Key", key)
            .post("/v1/questions", &body)
            .await
            .names("Idempotency-Key", "invalid");
    }
    for surface in ["phone", "", "agent", "hub"] {
        let client = hub.owner.with_header("Askd-Surface", surface);
        client.reply(&open, json!([["x"]])).await.names("Askd-Surface", "unknown");
    }
    assert_eq!(hub.owner.everything().await, before);
}

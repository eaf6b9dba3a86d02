//! Secret answers: the asker alone sees them; nobody finds them in a list, an event, a refusal, or on the
//! disk.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::common::{Hub, Starting};

const SECRET: &str = "correct-horse-battery-staple";

/// The files under `folder` that contain `wanted`.
fn files_with(folder: &Path, wanted: impl AsRef<[u8]>) -> Vec<String> {
    let wanted = wanted.as_ref();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, wanted));
        } else if fs::read(&path).unwrap_or_default().windows(wanted.len()).any(|bytes| bytes == wanted) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

#[tokio::test]
async fn a_secret_answer_is_for_its_asker_alone() {
    let logs = tempfile::tempdir().unwrap();
    let hub = Starting::fresh().log_all_to(&logs.path().join("log")).start().await;
    let asked = hub
        .asker
        .ask(&json!({"questions": [{"question": "Pass phrase?", "secret": true}, {"question": "Which host?"}]}))
        .await;
    let id = asked["id"].as_str().unwrap();
    let mut stream = hub.events("?after=0").await;
    let answerer = hub.owner.token_with(&["answer"]).await.with_header("Idempotency-Key", "k");
    let said = answerer.reply(id, json!([[SECRET], ["db1"]])).await.ok(200);
    assert_eq!(
        askd_testkit::given(&said["outcome"]["answers"]),
        json!([[], ["db1"]]),
        "not even who gave it gets it back"
    );
    assert_eq!(said["outcome"]["withheld"], json!([0]));

    let shown = hub.asker.question(id).await;
    assert_eq!(askd_testkit::given(&shown["outcome"]["answers"]), json!([[SECRET], ["db1"]]));
    assert!(shown["outcome"].get("withheld").is_none());

    let found = hub.owner.get(&format!("/v1/questions?text={SECRET}")).await.ok(200);
    assert_eq!(found["questions"], json!([]), "a search does not tell whether it was guessed");
    let list = hub.owner.get("/v1/questions").await;
    let one = hub.owner.get(&format!("/v1/questions/{id}")).await;
    let conflict = hub.owner.reply(id, json!([["another"], ["db1"]])).await;
    for answer in [&list, &one, &conflict] {
        assert!(!String::from_utf8_lossy(&answer.body).contains(SECRET));
    }
    conflict.problem(409, "already_settled");
    hub.owner.reply(id, json!([[SECRET], ["db1"]])).await.ok(200);
    let (_, requested) = stream.next().await;
    let (_, resolved) = stream.next().await;
    assert_eq!(
        (&requested["type"], &resolved["type"]),
        (&json!("question.requested"), &json!("question.resolved"))
    );
    assert!(!resolved.to_string().contains(SECRET));
    assert_eq!(files_with(&hub.data, SECRET), [] as [&str; 0], "not in clear on the disk");
    assert!(fs::metadata(logs.path().join("log")).unwrap().len() > 0, "there is a log");
    for unspeakable in [SECRET, hub.owner.token(), hub.asker.token(), answerer.token()] {
        assert_eq!(files_with(logs.path(), unspeakable), [] as [&str; 0], "not in the log");
    }
    // Nor as a hash that could be tried against a list of likely answers.
    let reply: askd_core::Reply = serde_json::from_value(json!({"answers": [[SECRET], ["db1"]]})).unwrap();
    let digest = blake3::hash(&serde_json::to_vec(&("reply", id, &reply)).unwrap());
    assert_eq!(files_with(&hub.data, digest.as_bytes()), [] as [&str; 0]);

    let hub = hub.restarted().await;
    assert_eq!(
        askd_testkit::given(&hub.asker.question(id).await["outcome"]["answers"]),
        json!([[SECRET], ["db1"]]),
        "a restart keeps it"
    );
    let (_, resolved) = hub.events("?after=1").await.next().await;
    assert!(!resolved.to_string().contains(SECRET), "the stored log does not have it either");
}

#[tokio::test]
async fn a_note_beside_a_secret_is_for_its_asker_alone() {
    let hub = Hub::start().await;
    let body =
        json!({"questions": [{"question": "Pass phrase?", "secret": true}, {"question": "Which host?"}]});
    let asked = hub.asker.ask(&body).await;
    let id = asked["id"].as_str().unwrap();
    let beside = format!("it is not {SECRET}");
    let reply = json!({"answers": [[], ["db1"]], "notes": [beside, "the old one"]});
    let said = hub.owner.post(&format!("/v1/questions/{id}/reply"), &reply).await.ok(200);
    assert_eq!(said["outcome"]["notes"], json!([null, "the old one"]));
    assert_eq!(said["outcome"]["withheld"], json!([0]));
    let reader = hub.owner.token_with(&["read"]).await;
    let (_, resolved) = hub.events("?after=1").await.next().await;
    for seen in [reader.question(id).await, reader.get("/v1/questions").await.ok(200), resolved] {
        assert!(!seen.to_string().contains(SECRET), "{seen}");
    }
    assert_eq!(files_with(&hub.data, SECRET), [] as [&str; 0], "not in clear on the disk");
    let shown = hub.asker.question(id).await;
    assert_eq!(shown["outcome"]["notes"], json!([beside, "the old one"]));
    assert!(shown["outcome"].get("withheld").is_none());
}

#[tokio::test]
async fn the_asker_that_waits_is_told_the_secret() {
    let hub = Hub::start().await;
    let asker = hub.asker.clone();
    let ask = json!({"questions": [{"question": "Pass phrase?", "secret": true}]});
    let waiting = tokio::spawn(async move { asker.post("/v1/questions?wait=60", &ask).await });
    let (_, event) = hub.events("?after=0").await.next().await;
    hub.owner.reply(event["question"]["id"].as_str().unwrap(), json!([[SECRET]])).await.ok(200);
    assert_eq!(askd_testkit::given(&waiting.await.unwrap().ok(201)["outcome"]["answers"]), json!([[SECRET]]));
}

#[tokio::test]
async fn a_refused_answer_does_not_repeat_a_secret() {
    let hub = Hub::start().await;
    let asked = hub
        .asker
        .ask(&json!({"questions": [{"question": "Pin?", "secret": true, "input": "integer", "bounds": {"maximum": 9}}]}))
        .await;
    let id = asked["id"].as_str().unwrap();
    for (given, code) in [("four-two", "wrong_type"), ("4242", "out_of_range")] {
        let refused = hub.owner.reply(id, json!([[given]])).await;
        assert!(!String::from_utf8_lossy(&refused.body).contains(given), "{}", refused.json);
        refused.names("answers[0][0]", code);
    }
}

#[tokio::test]
async fn tokens_are_kept_as_hashes_and_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let hub = Hub::start().await;
    let made = hub.owner.post("/v1/tokens", &json!({"name": "x", "rights": ["ask"]})).await.ok(201);
    let code = hub.owner.post_empty("/v1/login-codes").await.ok(201);
    let browser = hub.owner.with_token(None).post("/v1/login", &json!({"code": code["code"]})).await.ok(200);
    for (token, place) in [
        (hub.owner.token(), vec!["token"]),
        (hub.asker.token(), vec!["ask-token"]),
        (made["token"].as_str().unwrap(), vec![]),
        (browser["token"].as_str().unwrap(), vec![]),
    ] {
        assert_eq!(files_with(&hub.data, token), place);
    }
    assert_eq!(fs::metadata(&hub.data).unwrap().permissions().mode() & 0o777, 0o700);
    for entry in fs::read_dir(&hub.data).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}

//! `askd backup` and `askd restore`, with a real hub on both sides.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::os::unix::fs::PermissionsExt;

use askd_testkit::hub::{Hub, private_folder};
use serde_json::json;

const ASKD: &str = env!("CARGO_BIN_EXE_askd");

fn ask(hub: &Hub, text: &str) -> u64 {
    hub.ask(&json!({ "questions": [{ "question": text }] })).unwrap()["seq"].as_u64().unwrap()
}

#[test]
fn a_backup_is_restored_into_an_empty_folder_and_old_cursors_are_refused() {
    let (hub, folder) = (Hub::start(ASKD).unwrap(), private_folder().unwrap());
    ask(&hub, "Before the backup?");
    let (file, data) = (folder.path().join("copy.db"), folder.path().join("data"));
    let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let ran = hub.run(["backup", file]).unwrap();
    assert!(ran.code == 0 && ran.stdout.starts_with(&format!("Wrote {file} (")), "{ran:?}");
    assert!(ran.stderr.contains("Not in it: the file secret-key"), "{ran:?}");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let cursor = ask(&hub, "After the backup?");

    let restored = hub.run(["restore", file, "--data", data]).unwrap();
    assert!(
        restored.code == 0 && restored.stdout.contains(&format!("askd up --data {data}")),
        "{restored:?}"
    );
    assert!(restored.stderr.contains("secret-key"), "{restored:?}");
    let other = Hub::builder(ASKD).data(data).start().unwrap();
    let (status, list) = other.http("GET", "/v1/questions", None).unwrap();
    let asked: Vec<_> =
        list["questions"].as_array().unwrap().iter().map(|it| &it["questions"][0]["question"]).collect();
    assert_eq!((status, asked), (200, vec![&json!("Before the backup?")]));
    let (status, problem) = other.http("GET", &format!("/v1/events?after={cursor}"), None).unwrap();
    assert_eq!((status, &problem["errors"][0]["code"]), (400, &json!("beyond_newest")), "{problem}");
    let seq = ask(&other, "In the new life?");
    assert!(seq > cursor && seq < 1 << 53, "{seq}");
    let (status, problem) = other.http("GET", &format!("/v1/events?after={cursor}"), None).unwrap();
    assert_eq!((status, &problem["errors"][0]["code"]), (400, &json!("beyond_newest")), "{problem}");
}

#[test]
fn what_exists_already_is_not_written_over() {
    let (hub, folder) = (Hub::start(ASKD).unwrap(), private_folder().unwrap());
    let file = folder.path().join("copy.db");
    std::fs::write(&file, "mine").unwrap();
    let ran = hub.run(["backup", file.to_str().unwrap()]).unwrap();
    assert!(ran.code == 1 && ran.stderr.contains("cannot write"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    // The folder of this hub has a store, and so has one with any other file.
    let restored = hub.run(["restore", file.to_str().unwrap()]).unwrap();
    assert!(restored.code == 1 && restored.stderr.contains("is not empty"), "{restored:?}");
    let empty = folder.path().join("data");
    for _ in 0..2 {
        let restored =
            hub.run(["restore", file.to_str().unwrap(), "--data", empty.to_str().unwrap()]).unwrap();
        // What was refused has left nothing: another try is as the first.
        assert!(restored.code == 1 && restored.stderr.contains("file is not a database"), "{restored:?}");
    }
}

#[test]
fn only_who_may_manage_gets_a_backup() {
    let (hub, folder) = (Hub::start(ASKD).unwrap(), private_folder().unwrap());
    let file = folder.path().join("copy.db");
    for rights in [["ask", "read"], ["ask", "answer"]] {
        let wish = json!({ "name": "other", "rights": rights });
        let (_, made) = hub.http("POST", "/v1/tokens", Some(&wish)).unwrap();
        let token = made["token"].as_str().unwrap();
        let ran = hub.run(["--url", &hub.url, "--token", token, "backup", file.to_str().unwrap()]).unwrap();
        assert!(ran.code == 6 && !file.exists(), "{ran:?}");
    }
}

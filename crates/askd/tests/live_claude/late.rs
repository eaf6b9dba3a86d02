//! Answers that come too late, agents and hubs that die at the wrong moment.

use askd_testkit::hub::signal;
use serde_json::json;

use super::{Claude, asked};
use crate::live::{Stage, eventually};

fn pid(value: &serde_json::Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

/// The holder dies while the agent asks: its standard input closes and it ends. The cause says how to go on.
pub fn holder_killed() {
    let claude = Claude::new("claude");
    let (stage, session, id) = asked(&claude, "single");
    let native = stage.session(&session)["nativeId"].as_str().unwrap().to_owned();
    let agent = pid(&stage.session(&session)["pid"]);
    signal(pid(&stage.holders()[0]["holderPid"]), "KILL").unwrap();
    let question = eventually("the cancelled question", || {
        Some(stage.question(&id)).filter(|question| question["status"] == "cancelled")
    });
    let cause = &question["outcome"]["cause"];
    assert_eq!(cause["type"], "sourceLost", "{question}");
    assert!(cause["detail"].as_str().unwrap().contains(&format!("claude --resume {native}")), "{question}");
    eventually("the end of the agent", || (!crate::live::is_alive(i64::from(agent))).then_some(()));
}

/// An answer is accepted and its agent dies before it gets it. Resumed, the conversation gets it as a
/// message.
pub fn sent_as_message() {
    let claude = Claude::new("claude");
    let (stage, session, id) = asked(&claude, "single");
    let native = stage.session(&session)["nativeId"].as_str().unwrap().to_owned();
    let early =
        |id: &str| stage.hub.http("POST", &format!("/v1/questions/{id}/send-as-message"), None).unwrap();
    assert_eq!(early(&id).0, 409, "it is still open");
    // Claude Code writes its record a moment later; killed before that, there would be nothing to resume.
    let projects = claude.env.config_dir().join("projects");
    eventually("the record of the question", || {
        let folders = std::fs::read_dir(&projects).ok()?.flatten();
        let mut records = folders.map(|folder| folder.path().join(format!("{native}.jsonl")));
        records
            .any(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("AskUserQuestion")))
            .then_some(())
    });
    // The holder stands still, so that the answer is on its way when the agent dies.
    let holder = pid(&stage.holders()[0]["holderPid"]);
    signal(holder, "STOP").unwrap();
    stage.answer(&id, &json!([["Session cookies"]]));
    signal(pid(&stage.session(&session)["pid"]), "KILL").unwrap();
    signal(holder, "KILL").unwrap();
    let question = eventually("the failed delivery", || {
        Some(stage.question(&id)).filter(|question| question["delivery"]["state"] == "failed")
    });
    assert_eq!(question["status"], "answered", "{question}");
    let (status, problem) = early(&id);
    assert_eq!(status, 409, "{problem}");
    assert!(problem["detail"].as_str().unwrap().ends_with("Which auth? Session cookies"), "{problem}");
    let mut request = claude.request("talk");
    request["args"] = json!(["--resume", native]);
    let resume = || {
        let again = stage.start(&request);
        eventually("the resumed conversation", || {
            (stage.session(&again)["nativeId"] == native.as_str()).then_some(())
        });
        again
    };
    let [one, other] = [resume(), resume()];
    let (status, problem) = early(&id);
    assert_eq!(status, 409, "two go on with it: {problem}");
    assert_eq!(stage.hub.http("DELETE", &format!("/v1/sessions/{one}"), None).unwrap().0, 204);
    // This one dies too, and its holder, which stands still, cannot tell yet.
    let of_other = |holder: &&serde_json::Value| holder["sessionId"] == other.as_str();
    let holder = pid(&stage.holders().iter().find(of_other).unwrap()["holderPid"]);
    signal(holder, "STOP").unwrap();
    let agent = pid(&stage.session(&other)["pid"]);
    signal(agent, "KILL").unwrap();
    // A signal that was sent has not ended it yet: while one thread lives, words still go into its pipe.
    eventually("the end of every thread of the agent", || {
        let threads = std::fs::read_dir(format!("/proc/{agent}/task")).into_iter().flatten().flatten();
        let mut ids = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
        (!ids.any(crate::live::is_alive)).then_some(())
    });
    let before = stage.question(&id)["delivery"].clone();
    let refusals = std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let (tell, id, early) = (tell.clone(), &id, &early);
            scope.spawn(move || tell.send(early(id)).unwrap());
        }
        // Of two wishes one waits for the holder. Which of them is not known; the other is refused at once.
        let second = told.recv().unwrap();
        signal(holder, "CONT").unwrap();
        [second, told.recv().unwrap()]
    });
    for (status, problem) in refusals {
        assert_eq!(status, 409, "its agent is dead: {problem}");
    }
    eventually("the end of the session", || (stage.session(&other)["live"] == false).then_some(()));
    assert_eq!(stage.question(&id)["delivery"], before, "it was not said, and can be said again");
    let again = resume();
    let data = stage.hub.data.to_string_lossy().into_owned();
    let sent = stage.hub.run(["--data", &data, "answer", &id, "--as-message"]).unwrap();
    assert_eq!(
        (sent.code, sent.stdout.trim()),
        (0, format!("sent as the next message of {again}").as_str()),
        "{sent:?}"
    );
    assert_eq!(early(&id).0, 409, "it is said once");
    assert_eq!(stage.question(&id)["delivery"]["error"]["reason"], "sentAsMessage");
    eventually("the message at the model", || {
        let has_it = |body: &serde_json::Value| body.to_string().contains("Which auth? Session cookies");
        claude
            .model
            .requests()
            .iter()
            .any(|request| request.body.as_ref().is_some_and(|body| has_it(body)))
            .then_some(())
    });
}

/// The hub dies at once after it has started an agent: the next one says the first prompt, and it is said
/// once.
pub fn prompt_survives() {
    let claude = Claude::new("claude");
    let mut stage = Stage::new();
    let session = stage.start(&claude.request("single"));
    stage.hub.kill().unwrap();
    stage.hub.restart().unwrap();
    let id = stage.open_question(&session);
    stage.answer(&id, &json!([["JWT"]]));
    stage.confirmed(&id);
    assert!(claude.told(1).0.contains("\"Which auth?\"=\"JWT\""));
    let prompts = |request: &askd_testkit::model::Request| {
        request.body.as_ref().map_or(0, |body| body.to_string().matches("SCENARIO:single go").count())
    };
    assert_eq!(claude.model.requests().iter().map(prompts).max(), Some(1), "said twice");
}

//! Real OpenCode through the whole hub: asked at its server, answered in askd, seen by the model, and the
//! truth about the lost ones.

mod opencode;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use askd_testkit::programs::live::Live;
use reqwest::Method;
use serde_json::{Value, json};

use opencode::{Stage, id, passwords, rows, servers, wires};

fn main() -> ExitCode {
    Live::new()
        .test("answers_reach_the_model_as_they_were_given", &["opencode"], answers)
        .test("a_rejection_ends_the_turn_and_says_so", &["opencode"], rejections)
        .test("permissions_are_given_once_refused_with_words_and_end_together", &["opencode"], permissions)
        .test("what_another_client_answers_is_answered_here", &["opencode"], elsewhere)
        .test("aborted_deleted_and_disposed_questions_end_with_their_cause", &["opencode"], lost)
        .test(
            "a_wrong_password_is_told_and_mended_and_a_source_can_be_let_go",
            &["opencode"],
            passwords::credentials,
        )
        .test("a_password_comes_by_a_pipe_or_is_typed_unseen", &["opencode"], passwords::given)
        .test("a_killed_server_ends_its_questions_when_it_is_back", &["opencode"], server_killed)
        .test("a_killed_hub_finds_the_question_and_delivers", &["opencode"], hub_killed)
        .test("answers_that_do_not_fit_are_refused_and_none_is_one", &["opencode"], rows::misfits)
        .test("requests_of_one_message_end_one_by_one", &["opencode"], rows::together)
        .test("a_subagent_ends_with_its_rejection_or_its_parent", &["opencode"], rows::subagents)
        .test("a_plan_waits_for_a_yes", &["opencode"], rows::plan)
        .test("a_wire_that_breaks_loses_nothing", &["opencode"], wires::cut)
        .test("a_port_that_does_not_answer_is_tried_again", &["opencode"], wires::silent)
        .test("two_servers_and_their_folders_do_not_mix", &["opencode"], servers::two_servers)
        .test("what_waits_is_found_among_many_folders", &["opencode"], servers::many_folders)
        .test("a_server_is_found_and_its_end_is_told", &["opencode"], servers::discovered)
        .test("a_found_password_needs_leave", &["opencode"], servers::discovered_with_a_password)
        .run()
}

async fn answers() -> Result<()> {
    let stage = Stage::start().await?;
    let (session, question) = stage.ask("single").await?;
    assert_eq!(question["context"]["cwd"], stage.directory.as_str());
    assert_eq!(question["context"]["excerpt"], "One question.");
    assert_eq!(question["rejectModes"], json!(["interrupt"]));
    let (_, seen) = stage.hub.http(
        "GET",
        &format!("/v1/sessions/{}", question["sessionId"].as_str().unwrap_or("")),
        None,
    )?;
    assert_eq!(seen["nativeId"], session.as_str());

    // Five at once: one wins, the others learn who.
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let (stage, question) = (&stage, &question);
        let clients: Vec<_> = ["Red", "Green", "Blue", "Grey", "Teal"]
            .map(|word| scope.spawn(move || stage.settle(question, "reply", &json!({ "answers": [[word]] }))))
            .into_iter()
            .collect();
        clients.into_iter().filter_map(|client| client.join().ok()?.ok()).map(|(status, _)| status).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409]);
    let confirmed = stage.confirmed(&question).await?;
    // Three of the five are own words: OpenCode offered no option of that name.
    let answer = &confirmed["outcome"]["answers"][0];
    let won = answer["picks"][0].as_str().or(answer["words"][0].as_str());
    let won = won.with_context(|| format!("nothing was answered: {confirmed}"))?;
    ensure!(stage.last_result(1).await?.contains(&format!("\"Which colour?\"=\"{won}\"")));

    // Several items, one of them with several picks; a note is one more word.
    let (_, question) = stage.ask("several").await?;
    let reply = json!({ "answers": [["Red"], ["Red", "Green"]], "notes": [null, "both, please"] });
    assert_eq!(stage.settle(&question, "reply", &reply)?.0, 200);
    stage.confirmed(&question).await?;
    let result = stage.last_result(2).await?;
    ensure!(
        result.contains(r#""Which colour?"="Red", "Which sizes?"="Red, Green, both, please""#),
        "{result}"
    );
    assert_eq!(stage.settle(&question, "reply", &json!({ "answers": [["Red", "Green"], []] }))?.0, 400);

    // Own words as they were typed.
    let (_, question) = stage.ask("single").await?;
    let words = "my own \"words\",\nwith a line feed";
    stage.answer(&question, json!([[words]]))?;
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(3).await?.contains(words));

    // Two folders of one server, and a subagent with its parent.
    stage.prompt("single").await?;
    stage.prompt_in(&stage.other, "single").await?;
    let both = stage.open(2).await?;
    let mut folders: Vec<&str> =
        both.iter().filter_map(|question| question["context"]["cwd"].as_str()).collect();
    folders.sort_unstable();
    assert_eq!(folders, [stage.other.as_str(), stage.directory.as_str()]);
    for question in &both {
        stage.answer(question, json!([["Green"]]))?;
        stage.confirmed(question).await?;
    }
    let (parent, question) = stage.ask("subagent").await?;
    let session =
        |id: &Value| stage.hub.http("GET", &format!("/v1/sessions/{}", id.as_str().unwrap_or("")), None);
    let child = session(&question["sessionId"])?.1;
    assert_eq!(session(&child["parentId"])?.1["nativeId"], parent.as_str());
    stage.answer(&question, json!([["Red"]]))?;
    stage.confirmed(&question).await?;
    Ok(())
}

async fn rejections() -> Result<()> {
    let stage = Stage::start().await?;
    let (_, question) = stage.ask("single").await?;
    assert_eq!(stage.settle(&question, "reject", &json!({ "mode": "decline" }))?.0, 400);
    assert_eq!(stage.settle(&question, "reject", &json!({}))?.0, 200);
    let confirmed = stage.confirmed(&question).await?;
    assert_eq!(confirmed["outcome"]["mode"], "interrupt");
    assert_eq!(stage.model.tool_results(), []);
    stage.nothing_listed("/question").await
}

async fn permissions() -> Result<()> {
    let stage = Stage::start().await?;
    let (_, question) = stage.ask("bash").await?;
    assert_eq!((&question["kind"], &question["body"]["text"]), (&json!("permission"), &json!("echo hi")));
    stage.answer(&question, json!([["once"]]))?;
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(1).await?.contains("hi"));

    let (_, question) = stage.ask("bash").await?;
    let decline = json!({ "mode": "decline", "reason": "use printf instead" });
    assert_eq!(stage.settle(&question, "reject", &decline)?.0, 200);
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(2).await?.contains("use printf instead"));

    stage.prompt("two-bash").await?;
    let both = stage.open(2).await?;
    assert_eq!(stage.settle(&both[0], "reject", &json!({ "mode": "interrupt" }))?.0, 200);
    stage.confirmed(&both[0]).await?;
    let ended = stage.until(&both[1], "the other one ended", "/status", "cancelled").await?;
    let detail = ended["outcome"]["cause"]["detail"].as_str().unwrap_or_default().to_owned();
    ensure!(detail.contains("ended with the rejection"), "{ended}");

    let (_, question) = stage.ask("bash").await?;
    stage.answer(&question, json!([["always"]]))?;
    stage.confirmed(&question).await?;
    Ok(())
}

async fn elsewhere() -> Result<()> {
    let stage = Stage::start().await?;
    let (_, question) = stage.ask("several").await?;
    let (_, listed) = stage.opencode(Method::GET, "/question", None).await?;
    let path = format!("/question/{}/reply", id(&listed[0]));
    let answers = json!({ "answers": [["Green"], ["Red", "own words"]] });
    assert_eq!(stage.opencode(Method::POST, &path, Some(answers)).await?, (200, json!(true)));
    let answered = stage.until(&question, "answered elsewhere", "/status", "answered").await?;
    assert_eq!(answered["outcome"]["by"]["surface"], "agent");
    assert_eq!(
        askd_testkit::given(&answered["outcome"]["answers"]),
        json!([["Green"], ["Red", "own words"]])
    );
    assert_eq!(stage.settle(&question, "reply", &json!({ "answers": [["Red"], []] }))?.0, 409);

    let (_, question) = stage.ask("single").await?;
    let (_, listed) = stage.opencode(Method::GET, "/question", None).await?;
    let path = format!("/question/{}/reject", id(&listed[0]));
    assert_eq!(stage.opencode(Method::POST, &path, None).await?.0, 200);
    let rejected = stage.until(&question, "dismissed elsewhere", "/status", "rejected").await?;
    assert_eq!(rejected["outcome"]["by"]["surface"], "agent");

    // A permission, by the newer route and by the older one.
    for older in [false, true] {
        let (session, question) = stage.ask("bash").await?;
        let (_, listed) = stage.opencode(Method::GET, "/permission", None).await?;
        let (path, key) = match older {
            true => (format!("/session/{session}/permissions/{}", id(&listed[0])), "response"),
            false => (format!("/permission/{}/reply", id(&listed[0])), "reply"),
        };
        assert_eq!(stage.opencode(Method::POST, &path, Some(json!({ key: "once" }))).await?.0, 200);
        let answered = stage.until(&question, "permitted elsewhere", "/status", "answered").await?;
        assert_eq!(askd_testkit::given(&answered["outcome"]["answers"]), json!([["once"]]));
    }
    Ok(())
}

async fn lost() -> Result<()> {
    let stage = Stage::start().await?;
    for (scenario, list) in [("single", "/question"), ("bash", "/permission")] {
        let (session, question) = stage.ask(scenario).await?;
        stage.opencode(Method::POST, &format!("/session/{session}/abort"), None).await?;
        let ended = stage.until(&question, "the aborted one ended", "/status", "cancelled").await?;
        assert_eq!(ended["outcome"]["cause"]["type"], "turnAborted", "{ended}");
        let (status, late) = stage.settle(&question, "reply", &json!({ "answers": [["once"]] }))?;
        assert_eq!((status, &late["question"]["status"]), (409, &json!("cancelled")), "{late}");
        // OpenCode itself would have kept it for ever.
        stage.nothing_listed(list).await?;
    }
    let (session, question) = stage.ask("single").await?;
    stage.opencode(Method::DELETE, &format!("/session/{session}"), None).await?;
    let ended = stage.until(&question, "the deleted one ended", "/status", "cancelled").await?;
    assert_eq!(ended["outcome"]["cause"]["type"], "sessionEnded", "{ended}");
    stage.nothing_listed("/question").await?;

    let (_, question) = stage.ask("single").await?;
    stage.opencode(Method::POST, "/instance/dispose", None).await?;
    let ended = stage.until(&question, "the disposed one ended", "/status", "cancelled").await?;
    let cause = ended["outcome"]["cause"]["type"].as_str().unwrap_or_default().to_owned();
    ensure!(["turnAborted", "sourceLost"].contains(&cause.as_str()), "{ended}");

    // A question whose turn was aborted while nobody was attached is not shown at all, and cleaned.
    let stage = Stage::apart().await?;
    let session = stage.prompt("single").await?;
    stage.listed("/question").await?;
    stage.opencode(Method::POST, &format!("/session/{session}/abort"), None).await?;
    ensure!(stage.opencode(Method::GET, "/question", None).await?.1 != json!([]), "no zombie");
    stage.attach()?;
    stage.nothing_listed("/question").await?;
    stage.open(0).await?;
    Ok(())
}

async fn server_killed() -> Result<()> {
    let mut stage = Stage::start().await?;
    let (_, question) = stage.ask("single").await?;
    stage.kill_server_and_start_again().await?;
    stage.source_is("connected").await?;
    let ended = stage.until(&question, "the forgotten one ended", "/status", "cancelled").await?;
    assert_eq!(ended["outcome"]["cause"]["type"], "sourceLost", "{ended}");
    assert_eq!(stage.settle(&question, "reply", &json!({ "answers": [["Red"]] }))?.0, 409);
    let (_, question) = stage.ask("single").await?;
    stage.answer(&question, json!([["Red"]]))?;
    stage.confirmed(&question).await?;
    Ok(())
}

async fn hub_killed() -> Result<()> {
    let mut stage = Stage::start().await?;
    let (_, question) = stage.ask("single").await?;
    stage.hub.kill()?;
    stage.hub.restart()?;
    assert_eq!(id(&stage.open(1).await?[0]), id(&question), "the same question");
    stage.answer(&question, json!([["Green"]]))?;
    stage.confirmed(&question).await?;
    ensure!(stage.last_result(1).await?.contains("\"Green\""));
    // Answered in OpenCode while the hub was dead: the answer is found.
    let (_, question) = stage.ask("single").await?;
    let (_, listed) = stage.opencode(Method::GET, "/question", None).await?;
    stage.hub.kill()?;
    let path = format!("/question/{}/reply", id(&listed[0]));
    stage.opencode(Method::POST, &path, Some(json!({ "answers": [["Red"]] }))).await?;
    stage.last_result(2).await?;
    stage.hub.restart()?;
    let answered = stage.until(&question, "the answer found", "/status", "answered").await?;
    assert_eq!(askd_testkit::given(&answered["outcome"]["answers"]), json!([["Red"]]));
    ensure!(!stage.hub.log().contains("dummy-password"), "the password is in the log");
    Ok(())
}

//! The hook road without Claude Code: reports over HTTP as the hook sends them, the hook program itself, and
//! its installation.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::{Hub, PATIENCE, run, wait};
use serde_json::{Value, json};

fn hub() -> Result<Hub> {
    Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--no-observe").start()
}

fn questions() -> Value {
    json!({ "questions": [{ "question": "Which?", "header": "H", "multiSelect": false,
        "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }] }] })
}

fn input(event: &str, call: Option<&str>) -> Value {
    let mut input = json!({ "session_id": "s-1", "transcript_path": "/nowhere/s-1.jsonl", "cwd": "/w/app",
        "hook_event_name": event, "tool_name": "AskUserQuestion", "tool_input": questions() });
    if let Some(call) = call {
        input["tool_use_id"] = json!(call);
    }
    input
}

fn report(hub: &Hub, hook: &str, input: Value) -> Result<Value> {
    report_of(hub, std::process::id(), hook, input)
}

/// From the Claude Code that has this process.
fn report_of(hub: &Hub, pid: u32, hook: &str, input: Value) -> Result<Value> {
    let body = json!({ "hook": format!("{hook:0>32}"), "pid": pid, "input": input });
    let (status, word) = hub.http_as(&hub.ask_token()?, "POST", "/v1/hooks/claude", Some(&body))?;
    ensure!(status == 200, "{status}: {word}");
    Ok(word)
}

fn open(hub: &Hub) -> Result<Vec<Value>> {
    let (_, list) = hub.http("GET", "/v1/questions?status=requested&order=asc", None)?;
    Ok(list["questions"].as_array().cloned().unwrap_or_default())
}

fn reply(hub: &Hub, id: &Value, pick: &str) -> Result<()> {
    let path = format!("/v1/questions/{}/reply", id.as_str().context("no id")?);
    let (status, said) = hub.http("POST", &path, Some(&json!({ "answers": [[pick]] })))?;
    ensure!(status == 200, "{said}");
    Ok(())
}

fn show(hub: &Hub, id: &Value) -> Result<Value> {
    Ok(hub.http("GET", &format!("/v1/questions/{}", id.as_str().context("no id")?), None)?.1)
}

#[test]
fn every_sighting_of_one_call_is_one_question() -> Result<()> {
    let hub = hub()?;
    // The hook first, its name later.
    let first = report(&hub, "1", input("PermissionRequest", None))?;
    assert_eq!(first["state"], "open");
    assert_eq!(report(&hub, "1", input("PermissionRequest", None))?, first, "the same hook again");
    assert_eq!(report(&hub, "2", input("PermissionRequest", None))?, first, "a second hook of the same call");
    report(&hub, "3", input("PreToolUse", Some("toolu_1")))?;
    // Now a second, equal call, whose name is known before.
    report(&hub, "4", input("PreToolUse", Some("toolu_2")))?;
    let second = report(&hub, "5", input("PermissionRequest", None))?;
    assert_ne!(second["questionId"], first["questionId"]);
    let all = open(&hub)?;
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[1]["tool"]["callId"], "toolu_2");
    // The terminal answers the second one.
    let mut done = input("PostToolUse", Some("toolu_2"));
    done["tool_response"] = json!({ "questions": [], "answers": { "Which?": "B" } });
    report(&hub, "6", done.clone())?;
    let settled = show(&hub, &second["questionId"])?;
    assert_eq!(settled["status"], "answered");
    assert_eq!(askd_testkit::given(&settled["outcome"]["answers"]), json!([["B"]]));
    assert_eq!(settled["outcome"]["by"]["surface"], "agent");
    assert_eq!(report(&hub, "5", input("PermissionRequest", None))?["state"], "over");
    assert_eq!(show(&hub, &first["questionId"])?["status"], "requested");
    // The inbox answers the first one; its record confirms it under the name that came late.
    reply(&hub, &first["questionId"], "A")?;
    let word = report(&hub, "1", input("PermissionRequest", None))?;
    assert_eq!(word["state"], "decided");
    let decision = &word["output"]["hookSpecificOutput"]["decision"];
    assert_eq!(decision["updatedInput"]["answers"], json!({ "Which?": "A" }));
    let took = |hook: &str| {
        let path = format!("/v1/hooks/claude/{}/took", first["questionId"].as_str().unwrap_or_default());
        hub.http_as(&hub.ask_token()?, "POST", &path, Some(&json!({ "hook": format!("{hook:0>32}") })))
    };
    assert_eq!(took("9")?.0, 404, "a hook that never waited for it");
    assert_eq!(took("1")?.0, 204);
    assert_eq!(show(&hub, &first["questionId"])?["delivery"]["state"], "sent");
    done["tool_use_id"] = json!("toolu_1");
    done["tool_response"]["answers"]["Which?"] = json!("A");
    report(&hub, "7", done)?;
    assert_eq!(show(&hub, &first["questionId"])?["delivery"]["state"], "confirmed");
    Ok(())
}

/// The hook is gone and there is no tmux: nothing can arrive, and that is said before an answer is accepted.
#[test]
fn an_answer_that_nobody_can_take_is_refused_and_its_question_stays_open() -> Result<()> {
    let hub = hub()?;
    let word = report(&hub, "1", input("PermissionRequest", None))?;
    let id = &word["questionId"];
    let end = Instant::now() + PATIENCE;
    while show(&hub, id)?["road"] != "terminal" {
        ensure!(Instant::now() < end, "{}", show(&hub, id)?);
        std::thread::sleep(Duration::from_millis(50));
    }
    let path = |how: &str| format!("/v1/questions/{}/{how}", id.as_str().unwrap_or_default());
    for (how, body) in [("reply", json!({ "answers": [["B"]] })), ("reject", json!({}))] {
        let (status, problem) = hub.http("POST", &path(how), Some(&body))?;
        assert_eq!((status, &problem["code"]), (409, &json!("channel_cannot_carry")), "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("tmux")), "{problem}");
    }
    let (status, said) =
        hub.http("POST", "/api/agents/s-1/answer-question", Some(&json!({ "answers": ["B"] })))?;
    assert_eq!(status, 409, "{said}");
    let question = show(&hub, id)?;
    assert_eq!(
        (&question["status"], &question["outcome"]),
        (&json!("requested"), &Value::Null),
        "{question}"
    );
    Ok(())
}

/// The hook that was expected back did not come: the answer is no outcome but a failed try, and the next
/// answer is brought.
#[test]
fn an_answer_that_did_not_arrive_opens_its_question_again() -> Result<()> {
    let mut hub = hub()?;
    let word = report(&hub, "1", input("PermissionRequest", Some("toolu_1")))?;
    let id = &word["questionId"];
    reply(&hub, id, "B")?;
    let end = Instant::now() + PATIENCE;
    let question = loop {
        let question = show(&hub, id)?;
        if question["status"] == "requested" {
            break question;
        }
        ensure!(Instant::now() < end, "{question}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let failed = &question["failedTries"][0];
    assert_eq!((&question["outcome"], &question["delivery"]), (&Value::Null, &Value::Null), "{question}");
    assert_eq!(askd_testkit::given(&failed["outcome"]["answers"]), json!([["B"]]), "{question}");
    assert!(
        failed["delivery"]["error"]["detail"].as_str().is_some_and(|why| why.contains("no hook waits")),
        "{question}"
    );
    // Everywhere, also after a crash.
    hub.kill()?;
    hub.restart()?;
    let all_open = open(&hub)?;
    assert_eq!((all_open.len(), &all_open[0]["failedTries"]), (1, &question["failedTries"]));
    // A late receipt of the failed try is none of the question.
    let took = format!("/v1/hooks/claude/{}/took", id.as_str().context("no id")?);
    let hook = json!({ "hook": format!("{:0>32}", "1") });
    let (status, said) = hub.http_as(&hub.ask_token()?, "POST", &took, Some(&hook))?;
    assert_eq!(status, 204, "{said}");
    assert_eq!(show(&hub, id)?["status"], "requested");
    // The hook is back, and brings the second answer.
    let again = || report(&hub, "1", input("PermissionRequest", Some("toolu_1")));
    assert_eq!((&again()?["state"], &again()?["questionId"]), (&json!("open"), id));
    reply(&hub, id, "A")?;
    let word = again()?;
    assert_eq!(
        word["output"]["hookSpecificOutput"]["decision"]["updatedInput"]["answers"],
        json!({ "Which?": "A" }),
        "{word}"
    );
    let mut done = input("PostToolUse", Some("toolu_1"));
    done["tool_response"] = json!({ "questions": questions()["questions"], "answers": { "Which?": "A" } });
    report(&hub, "2", done)?;
    let question = show(&hub, id)?;
    assert_eq!(question["delivery"]["state"], "confirmed", "{question}");
    assert_eq!(question["failedTries"].as_array().map(Vec::len), Some(1), "{question}");
    Ok(())
}

#[test]
fn panopticon_answers_by_labels() -> Result<()> {
    let hub = hub()?;
    let none = hub.http("GET", "/api/agents/nobody/pending-questions", None)?;
    assert_eq!(none, (200, json!({ "pending": false, "questions": [] })));
    report(&hub, "1", input("PreToolUse", Some("toolu_1")))?;
    let word = report(&hub, "2", input("PermissionRequest", None))?;
    let (_, list) = hub.http("GET", "/api/agents/s-1/pending-questions", None)?;
    assert_eq!(list["pending"], true);
    assert_eq!(list["questions"][0]["toolId"], "toolu_1");
    assert_eq!(list["questions"][0]["sessionId"], "s-1");
    assert_eq!(list["questions"][0]["questions"], questions()["questions"]);
    let answer = |body: Value| hub.http("POST", "/api/agents/s-1/answer-question", Some(&body));
    assert_eq!(answer(json!({ "answers": ["A"], "toolId": "toolu_9" }))?.0, 404);
    assert_eq!(answer(json!({ "answers": ["A", "B"] }))?.0, 409);
    // A dialog in which nothing is ticked is no answer.
    let (status, refused) = answer(json!({ "answers": [] }))?;
    assert_eq!((status, &refused["code"]), (400, &json!("invalid_request")), "{refused}");
    assert!(refused.to_string().contains("Which?") && refused.to_string().contains("skip"), "{refused}");
    assert_eq!(answer(json!({ "answers": [[]] }))?.0, 400);
    assert_eq!(answer(json!({ "answers": { "What?": "A" } }))?.0, 400);
    assert_eq!(answer(json!({ "answers": 7 }))?.0, 400);
    assert_eq!(open(&hub)?.len(), 1, "nothing was settled");
    assert_eq!(answer(json!({ "answers": ["B"], "toolId": "toolu_1" }))?, (200, json!({ "success": true })));
    assert_eq!(askd_testkit::given(&show(&hub, &word["questionId"])?["outcome"]["answers"]), json!([["B"]]));
    assert_eq!(answer(json!({ "answers": ["B"] }))?.0, 404);
    // It is settled: another answer is told by whom and with what, the same one is the same again.
    for late in
        [json!({ "answers": ["A"], "toolId": "toolu_1" }), json!({ "answers": [], "toolId": "toolu_1" })]
    {
        let (status, settled) = answer(late)?;
        assert_eq!((status, &settled["code"]), (409, &json!("already_settled")), "{settled}");
        assert!(settled["detail"].as_str().unwrap_or_default().contains("answered by"), "{settled}");
        assert_eq!(
            askd_testkit::given(&settled["question"]["outcome"]["answers"]),
            json!([["B"]]),
            "{settled}"
        );
    }
    assert_eq!(answer(json!({ "answers": ["B"], "toolId": "toolu_1" }))?.0, 200);
    Ok(())
}

#[test]
fn panopticon_answers_several_items_by_lists_and_by_questions() -> Result<()> {
    let hub = hub()?;
    let item = |question: &str, labels: &[&str], multiple: bool| {
        let options: Vec<Value> =
            labels.iter().map(|label| json!({ "label": label, "description": "d" })).collect();
        json!({ "question": question, "header": "H", "multiSelect": multiple, "options": options })
    };
    let all = json!([
        item("One?", &["A", "B"], false),
        item("Two?", &["B", "C"], true),
        item("Three?", &["D", "E"], false)
    ]);
    let ask = |number: u32| -> Result<Value> {
        let mut asks = input("PermissionRequest", None);
        asks["session_id"] = json!(format!("s-{number}"));
        asks["tool_input"]["questions"] = all.clone();
        Ok(report(&hub, &number.to_string(), asks)?["questionId"].clone())
    };
    let answer = |number: u32, body: Value| {
        hub.http("POST", &format!("/api/agents/s-{number}/answer-question"), Some(&body))
    };
    let (first, wanted) = (ask(1)?, json!([["A"], ["B", "C"], ["my own words"]]));
    let (status, refused) = answer(1, json!({ "answers": ["D"] }))?;
    assert!(status == 400 && refused.to_string().contains("One? / Two?"), "{refused}");
    assert_eq!(answer(1, json!({ "answers": [["A"], ["B"]] }))?.0, 400, "a list for each item");
    assert_eq!(answer(1, json!({ "answers": wanted.clone() }))?.0, 200);
    let by_question = json!({ "One?": "A", "Two?": ["B", "C"], "Three?": "my own words" });
    let second = ask(2)?;
    assert_eq!(answer(2, json!({ "answers": by_question }))?.0, 200);
    // Own words for one of several.
    let third = ask(3)?;
    assert_eq!(answer(3, json!({ "answers": ["A", "B", "C", "my own words"] }))?.0, 200);
    for id in [first, second, third] {
        assert_eq!(askd_testkit::given(&show(&hub, &id)?["outcome"]["answers"]), wanted);
    }
    let fourth = ask(4)?;
    assert_eq!(answer(4, json!({ "answers": { "Three?": "D" } }))?.0, 400);
    assert_eq!(answer(4, json!({ "answers": { "Three?": "D" }, "skip": true }))?.0, 200);
    assert_eq!(askd_testkit::given(&show(&hub, &fourth)?["outcome"]["answers"]), json!([[], [], ["D"]]));
    Ok(())
}

fn start_hook(hub: &Hub, patience: &str) -> Result<Child> {
    let mut command = hub.command(["hook", "claude"]);
    command
        .env("ASKD_HOOK_PATIENCE_MS", patience)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    stdin.write_all(input("PermissionRequest", None).to_string().as_bytes())?;
    Ok(child)
}

#[test]
fn the_hook_prints_the_decision_also_after_a_crash_of_the_hub() -> Result<()> {
    let mut hub = hub()?;
    let mut hook = start_hook(&hub, "60000")?;
    let end = Instant::now() + PATIENCE;
    let asked = loop {
        if let Some(asked) = open(&hub)?.pop() {
            break asked;
        }
        ensure!(Instant::now() < end, "no question");
        std::thread::sleep(Duration::from_millis(20));
    };
    std::thread::sleep(Duration::from_millis(500));
    hub.kill()?;
    hub.restart()?;
    reply(&hub, &asked["id"], "B")?;
    wait(&mut hook, PATIENCE)?;
    let out = hook.wait_with_output()?;
    let printed: Value = serde_json::from_slice(&out.stdout)?;
    assert_eq!(
        printed["hookSpecificOutput"]["decision"]["updatedInput"]["answers"],
        json!({ "Which?": "B" })
    );
    assert!(out.stderr.is_empty() && out.status.success());
    assert_eq!(show(&hub, &asked["id"])?["delivery"]["state"], "sent");
    Ok(())
}

#[test]
fn the_end_of_a_terminal_is_seen_by_this_hub_and_by_the_next() -> Result<()> {
    for restarts in [false, true] {
        let mut hub = hub()?;
        let mut terminal = Command::new("sleep").arg("600").spawn()?;
        let word = report_of(&hub, terminal.id(), "1", input("PermissionRequest", None))?;
        if restarts {
            hub.kill()?;
            hub.restart()?;
        }
        assert_eq!(open(&hub)?.len(), 1);
        terminal.kill()?;
        terminal.wait()?;
        let end = Instant::now() + PATIENCE;
        while !open(&hub)?.is_empty() {
            ensure!(Instant::now() < end, "the question of a terminal that is gone is open");
            std::thread::sleep(Duration::from_millis(100));
        }
        let over = show(&hub, &word["questionId"])?;
        assert_eq!(over["outcome"]["cause"]["type"], "agentExited", "{over}");
    }
    Ok(())
}

/// The same command in a PID namespace of its own, as in a container, below a program that stands for Claude
/// Code.
fn in_container(hook: &Command, own_proc: bool) -> Result<Child> {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child"]);
    if own_proc {
        command.arg("--mount-proc");
    }
    let as_root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
    if !as_root {
        command.args(["--user", "--map-current-user"]);
    }
    command.args(["timeout", "600"]).arg(hook.get_program()).args(hook.get_args()).env_clear();
    command.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    stdin.write_all(input("PermissionRequest", None).to_string().as_bytes())?;
    Ok(child)
}

fn asked(hub: &Hub, hook: &mut Child) -> Result<Value> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(asked) = open(hub)?.pop() {
            return Ok(asked);
        }
        ensure!(hook.try_wait()?.is_none(), "the hook has ended");
        ensure!(Instant::now() < end, "no question");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_hook_in_a_container_asks_and_the_end_of_its_agent_is_seen() -> Result<()> {
    for own_proc in [true, false] {
        let hub = hub()?;
        let mut command = hub.command(["hook", "claude"]);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("ASKD_HOOK_PATIENCE_MS", "60000");
        let mut hook = in_container(&command, own_proc)?;
        let question = asked(&hub, &mut hook)?;
        // The hub knows the process by the number that it has outside.
        let (_, sessions) = hub.http("GET", "/v1/sessions", None)?;
        let pid = sessions["sessions"][0]["pid"].as_u64().with_context(|| sessions.to_string())?;
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"))?;
        assert_eq!(name.trim(), "timeout", "{sessions}");
        reply(&hub, &question["id"], "B")?;
        wait(&mut hook, PATIENCE)?;
        let out = hook.wait_with_output()?;
        let printed: Value = serde_json::from_slice(&out.stdout)?;
        let answers = &printed["hookSpecificOutput"]["decision"]["updatedInput"]["answers"];
        assert_eq!(*answers, json!({ "Which?": "B" }));

        let mut hook = in_container(&command, own_proc)?;
        let question = asked(&hub, &mut hook)?;
        hook.kill()?;
        hook.wait()?;
        let end = Instant::now() + PATIENCE;
        while !open(&hub)?.is_empty() {
            ensure!(Instant::now() < end, "the question of a container that is gone is open");
            std::thread::sleep(Duration::from_millis(100));
        }
        let over = show(&hub, &question["id"])?;
        assert_eq!(over["outcome"]["cause"]["type"], "agentExited", "{over}");
    }
    Ok(())
}

#[test]
fn a_question_ends_when_the_only_sign_of_its_agent_has_gone() -> Result<()> {
    let hub = hub()?;
    // A process of a namespace that this hub cannot see: only its hook shows that it lives, and no hook
    // waits.
    let body = json!({ "hook": format!("{:0>32}", 1), "pid": 7, "pidNamespace": 1, "input": input("PermissionRequest", None) });
    let (status, word) = hub.http_as(&hub.ask_token()?, "POST", "/v1/hooks/claude", Some(&body))?;
    ensure!(status == 200, "{word}");
    let (_, sessions) = hub.http("GET", "/v1/sessions", None)?;
    assert_eq!(sessions["sessions"][0]["pid"], Value::Null, "the number 7 is another process here");
    let end = Instant::now() + 2 * PATIENCE;
    while !open(&hub)?.is_empty() {
        ensure!(Instant::now() < end, "the question of a container that is gone is open");
        std::thread::sleep(Duration::from_millis(200));
    }
    let over = show(&hub, &word["questionId"])?;
    assert_eq!(over["status"], "cancelled", "{over}");
    assert_eq!(over["outcome"]["cause"]["type"], "sourceLost", "{over}");
    let (_, sessions) = hub.http("GET", "/v1/sessions?live=true", None)?;
    assert_eq!(sessions["sessions"], json!([]), "it is not known to live");
    Ok(())
}

#[test]
fn a_hook_reaches_the_hub_that_the_environment_names_with_a_token_that_may_only_ask() -> Result<()> {
    let hub = hub()?;
    let empty = tempfile::tempdir()?;
    let mut command = hub.command(["hook", "claude"]);
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("ASKD_HOOK_PATIENCE_MS", "60000")
        .env("ASKD_DATA", empty.path().join("no-hub-here"))
        .env("ASKD_URL", &hub.url);
    // The token of the data folder is shown to no address.
    let ran = run(&mut command, &input("PermissionRequest", None).to_string())?;
    assert!(ran.code == 0 && ran.stdout.is_empty() && open(&hub)?.is_empty(), "{ran:?}");
    command.env("ASKD_TOKEN", hub.ask_token()?);
    let mut hook = in_container(&command, true)?;
    let question = asked(&hub, &mut hook)?;
    reply(&hub, &question["id"], "A")?;
    wait(&mut hook, PATIENCE)?;
    let printed: Value = serde_json::from_slice(&hook.wait_with_output()?.stdout)?;
    let answers = &printed["hookSpecificOutput"]["decision"]["updatedInput"]["answers"];
    assert_eq!(*answers, json!({ "Which?": "A" }));
    assert_eq!(show(&hub, &question["id"])?["delivery"]["state"], "sent");
    Ok(())
}

/// A program that is reached by a socket in the file system, for a network that leads nowhere else.
fn door_to(hub: &Hub, socket: &std::path::Path) -> Result<()> {
    let listener = std::os::unix::net::UnixListener::bind(socket)?;
    let address = hub.url.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for inside in listener.incoming().flatten() {
            let Ok(outside) = std::net::TcpStream::connect(&address) else { return };
            let (Ok(mut from), Ok(mut to)) = (inside.try_clone(), outside.try_clone()) else { return };
            std::thread::spawn(move || {
                drop(std::io::copy(&mut from, &mut to));
                drop(to.shutdown(std::net::Shutdown::Write));
            });
            std::thread::spawn(move || {
                let (mut from, mut to) = (outside, inside);
                drop(std::io::copy(&mut from, &mut to));
                drop(to.shutdown(std::net::Shutdown::Both));
            });
        }
    });
    Ok(())
}

/// The same command where processes, mounts and network are others, and the hub's folder is empty: as in a
/// container on a bridge.
#[test]
fn a_hook_in_a_container_with_a_network_of_its_own_asks_at_the_address_that_it_is_given() -> Result<()> {
    const CONTAINER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/truth/container.pl");
    let hub = hub()?;
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("hub");
    door_to(&hub, &socket)?;
    let port = hub.url.rsplit(':').next().context("no port")?;
    let start = |token: Option<String>| -> Result<Child> {
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--net",
            "--mount",
            "--uts",
            "--ipc",
            "--pid",
            "--fork",
            "--kill-child",
        ]);
        command
            .args(["--mount-proc", "sh", "-c", "mount -t tmpfs none \"$0\" && exec perl \"$@\""])
            .arg(&hub.data);
        command.arg(CONTAINER).arg(&socket).args([
            port,
            "timeout",
            "600",
            env!("CARGO_BIN_EXE_askd"),
            "hook",
            "claude",
        ]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", folder.path()).env("ASKD_HOOK_PATIENCE_MS", "60000").env("ASKD_DATA", &hub.data);
        command.env("ASKD_URL", &hub.url).envs(token.map(|token| ("ASKD_TOKEN", token)));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().context("no stdin")?;
        stdin.write_all(input("PermissionRequest", None).to_string().as_bytes())?;
        Ok(child)
    };
    // There is no way to the hub but the address, and no token in the folder.
    let mut silent = start(None)?;
    wait(&mut silent, PATIENCE)?;
    let silent = silent.wait_with_output()?;
    ensure!(silent.status.success() && silent.stdout.is_empty() && open(&hub)?.is_empty(), "{silent:?}");
    let mut hook = start(Some(hub.ask_token()?))?;
    let question = asked(&hub, &mut hook)?;
    reply(&hub, &question["id"], "B")?;
    wait(&mut hook, PATIENCE)?;
    let out = hook.wait_with_output()?;
    let printed: Value = serde_json::from_slice(&out.stdout).with_context(|| format!("{out:?}"))?;
    let answers = &printed["hookSpecificOutput"]["decision"]["updatedInput"]["answers"];
    assert_eq!(*answers, json!({ "Which?": "B" }));
    assert_eq!(show(&hub, &question["id"])?["delivery"]["state"], "sent");
    Ok(())
}

#[test]
fn the_hook_is_silent_where_it_has_nothing_to_say() -> Result<()> {
    let mut hub = hub()?;
    let asks = input("PermissionRequest", None).to_string();
    let silent = |hub: &Hub, text: &str, env: &[(&str, &str)]| -> Result<()> {
        let ran = run(hub.command(["hook", "claude"]).envs(env.iter().copied()), text)?;
        ensure!(ran.code == 0 && ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
        Ok(())
    };
    silent(&hub, &asks, &[("ASKD_SESSION", "ses_1")])?;
    silent(&hub, "not JSON", &[])?;
    silent(&hub, &input("Stop", None).to_string(), &[])?;
    silent(&hub, &asks.replace("AskUserQuestion", "Bash"), &[])?;
    silent(&hub, &asks.replace("\"options\"", "\"opinions\"").replace("\"question\":", "\"q\":"), &[])?;
    assert!(open(&hub)?.is_empty());
    hub.kill()?;
    silent(&hub, &asks, &[])?;
    let doctor = run(&mut hub.command(["doctor", "--json"]), "")?.json()?;
    let checks = doctor["checks"].as_array().context("no checks")?;
    let missed = checks.iter().find(|check| check["name"] == "missed questions").context("none missed")?;
    let detail = missed["detail"].as_str().context("no detail")?;
    assert!(detail.starts_with("1 in 7 days") && detail.ends_with(": Which?"), "{detail}");
    Ok(())
}

#[test]
fn installing_and_uninstalling_leave_no_trace() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let askd = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_askd"));
        command
            .env_clear()
            .env("HOME", folder.path())
            .env("ASKD_DATA", &data)
            .current_dir(folder.path())
            .args(args);
        run(&mut command, "")
    };
    let user = folder.path().join(".claude/settings.json");
    // No file: made, and removed again.
    let ran = askd(&["install", "claude", "--dry-run"])?;
    assert!(ran.code == 0 && ran.stdout.contains("+ ") && !user.exists(), "{ran:?}");
    assert_eq!(askd(&["install", "claude"])?.code, 0);
    let installed = std::fs::read_to_string(&user)?;
    for word in ["PermissionRequest", "PreToolUse", "PostToolUse", "hook claude", "604800"] {
        assert!(installed.contains(word), "{word} is not in {installed}");
    }
    let again = askd(&["install", "claude", "--json"])?;
    assert_eq!(again.json()?["state"], "unchanged");
    assert_eq!(std::fs::read_to_string(&user)?, installed);
    assert_eq!(askd(&["uninstall", "claude"])?.code, 0);
    assert!(!folder.path().join(".claude").exists());
    // A file of the user's, written in an odd way: restored to the byte, also where only its parts can tell.
    let odd = "{ \"hooks\" : {\"PreToolUse\":[ ] ,\"PermissionRequest\":[]},\n\t\"model\":\"opus\"}";
    std::fs::create_dir(folder.path().join(".claude"))?;
    std::fs::write(&user, odd)?;
    std::fs::set_permissions(&user, std::fs::Permissions::from_mode(0o640))?;
    assert_eq!(askd(&["install", "claude"])?.code, 0);
    assert_eq!(std::fs::metadata(&user)?.permissions().mode() & 0o777, 0o640);
    assert_eq!(askd(&["uninstall", "claude"])?.code, 0);
    assert_eq!(std::fs::read_to_string(&user)?, odd);
    // Changed in between: only our lines go.
    std::fs::write(&user, "{\n  \"a\": 1\n}\n")?;
    assert_eq!(askd(&["install", "claude"])?.code, 0);
    let changed = std::fs::read_to_string(&user)?.replace("\"a\": 1", "\"a\": 2");
    std::fs::write(&user, changed)?;
    assert_eq!(askd(&["uninstall", "claude"])?.code, 0);
    assert_eq!(std::fs::read_to_string(&user)?, "{\n  \"a\": 2\n}\n");
    // Not understood: refused and unchanged.
    std::fs::write(&user, "{ oops")?;
    let refused = askd(&["install", "claude"])?;
    assert!(refused.code == 1 && refused.stderr.contains("nothing was changed"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&user)?, "{ oops");
    assert_eq!(askd(&["install", "claude", "--local"])?.code, 0);
    assert!(folder.path().join(".claude/settings.local.json").exists());
    Ok(())
}

#[test]
fn a_transcript_shows_a_question_and_a_hook_that_is_slower_than_the_answer_still_brings_it() -> Result<()> {
    const SESSION: &str = "3337aed3-e7c1-49cf-a370-4ff895702544";
    let config = tempfile::tempdir()?;
    let project = config.path().join("projects/-w-app");
    std::fs::create_dir_all(&project)?;
    let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("CLAUDE_CONFIG_DIR", config.path()).start()?;
    // A hook is waited for only where one is installed.
    let settings = config.path().join("settings.json");
    let installed = hub.run(["install", "claude", "--settings", &settings.to_string_lossy()])?;
    ensure!(installed.code == 0, "{installed:?}");
    let path = project.join(format!("{SESSION}.jsonl"));
    let append = |line: Value| -> Result<()> {
        let mut file = std::fs::File::options().create(true).append(true).open(&path)?;
        Ok(file.write_all(format!("{line}\n").as_bytes())?)
    };
    let until = |what: &str, look: &dyn Fn() -> Result<Option<Value>>| -> Result<Value> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            ensure!(Instant::now() < end, "no {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let asks = |call: &str| {
        let block =
            json!({ "type": "tool_use", "id": call, "name": "AskUserQuestion", "input": questions() });
        json!({ "type": "assistant", "isSidechain": false, "sessionId": SESSION, "cwd": "/w/app",
            "message": { "id": "msg_1", "role": "assistant", "content": [block] } })
    };
    let result = |kind: &str, call: &str, pick: &str| {
        let block = json!({ "type": "tool_result", "tool_use_id": call, "content": "told" });
        let mut line =
            json!({ "type": kind, "sessionId": SESSION, "message": { "role": "user", "content": [block] } });
        if kind == "user" {
            line["toolUseResult"] = json!({ "answers": { "Which?": pick } });
        }
        line
    };
    append(asks("toolu_1"))?;
    let asked = until("question", &|| Ok(open(&hub)?.pop()))?;
    assert_eq!((&asked["tool"]["callId"], &asked["context"]["cwd"]), (&json!("toolu_1"), &json!("/w/app")));
    let mut given = input("PermissionRequest", None);
    given["session_id"] = json!(SESSION);
    given["transcript_path"] = json!(path);
    // The answer is held until its hook has come.
    std::thread::scope(|scope| -> Result<()> {
        let replied = scope.spawn(|| reply(&hub, &asked["id"], "B"));
        let word = until("decision", &|| {
            let word = report(&hub, "1", given.clone())?;
            Ok(Some(word).filter(|word| word["state"] == "decided"))
        })?;
        assert_eq!(word["questionId"], asked["id"]);
        replied.join().map_err(|_| anyhow::anyhow!("the reply panicked"))?
    })?;
    // A record of the request repeats the result without its structure; only the result itself is evidence.
    append(result("api-request-blob", "toolu_1", "B"))?;
    append(result("user", "toolu_1", "B"))?;
    let confirmed =
        |question: Value| Some(question).filter(|question| question["delivery"]["state"] == "confirmed");
    until("confirmation", &|| Ok(confirmed(show(&hub, &asked["id"])?)))?;
    // The next one is answered in the terminal before any hook has come; the hook has nothing to do then.
    append(asks("toolu_2"))?;
    let second = until("second question", &|| Ok(open(&hub)?.pop()))?;
    append(result("user", "toolu_2", "own words"))?;
    let over = |question: Value| Some(question).filter(|question| question["status"] != "requested");
    let settled = until("end", &|| Ok(over(show(&hub, &second["id"])?)))?;
    assert_eq!(askd_testkit::given(&settled["outcome"]["answers"]), json!([["own words"]]));
    assert_eq!(report(&hub, "2", given)?["state"], "over");
    assert!(open(&hub)?.is_empty());
    // Another folder in its place is watched too.
    std::fs::remove_dir_all(config.path().join("projects"))?;
    std::fs::create_dir_all(&project)?;
    append(asks("toolu_3"))?;
    until("question in another folder", &|| Ok(open(&hub)?.pop()))?;
    append(result("user", "toolu_3", "A"))?;
    until("end of it", &|| Ok(open(&hub)?.is_empty().then_some(Value::Null)))?;
    Ok(())
}

//! Two alike calls in one turn: when the agent's record shows that an answer went to the other call, the two
//! are exchanged.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "truth/stage.rs"]
mod stage;

use anyhow::Result;
use serde_json::{Value, json};

use stage::{Claude, Stage, questions, until};

/// How the record of a call comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Channel {
    Hook,
    Transcript,
}

fn goes_on(stage: &Stage, claude: &Claude, channel: Channel, call: &str, label: &str) -> Result<()> {
    let result = json!({ "questions": questions()["questions"], "answers": { "Which?": label } });
    match channel {
        Channel::Hook => {
            let done = json!({ "tool_use_id": call, "tool_response": result });
            stage.hook(claude, &format!("9{call}"), "PostToolUse", &done).map(drop)
        }
        Channel::Transcript => stage.result(call, "told", false, &result),
    }
}

fn confirmed(stage: &Stage, id: &Value) -> Result<Value> {
    until("confirmation", || {
        Ok(Some(stage.question(id)?).filter(|question| question["delivery"]["state"] == "confirmed"))
    })
}

#[test]
fn an_answer_that_went_to_the_other_call_is_confirmed_and_the_other_question_stays_open() -> Result<()> {
    for channel in [Channel::Hook, Channel::Transcript] {
        for restarts in [false, true] {
            let mut stage = Stage::new()?;
            let claude = Claude::start()?;
            stage.registers(&claude)?;
            stage.asks("toolu_1")?;
            stage.asks("toolu_2")?;
            let (one, two) = (stage.asked("toolu_1")?["id"].clone(), stage.asked("toolu_2")?["id"].clone());
            // The hook of the second call comes first, and is taken for one of the first call.
            assert_eq!(stage.waits(&claude, "b")?["questionId"], one);
            assert_eq!(stage.waits(&claude, "a")?["questionId"], two);
            stage.reply(&one, "B")?;
            assert_eq!(stage.waits(&claude, "b")?["state"], "decided");
            stage.took(&one, "b")?;
            if restarts {
                stage.hub.kill()?;
                stage.hub.restart()?;
                assert_eq!(stage.waits(&claude, "a")?["questionId"], two);
            }
            goes_on(&stage, &claude, channel, "toolu_2", "B")?;
            let question = confirmed(&stage, &one)?;
            assert_eq!(question["tool"]["callId"], "toolu_2", "{channel:?}: {question}");
            let question = stage.question(&two)?;
            assert_eq!(
                (&question["status"], &question["tool"]["callId"]),
                (&json!("requested"), &json!("toolu_1")),
                "{question}"
            );
            let (_, found) = stage.hub.http("GET", "/v1/questions?callId=toolu_1", None)?;
            assert_eq!(found["questions"][0]["id"], two, "{found}");
            // The same record again, by the other channel, changes nothing.
            let other = if channel == Channel::Hook { Channel::Transcript } else { Channel::Hook };
            goes_on(&stage, &claude, other, "toolu_2", "B")?;
            stage.reply(&two, "B")?;
            assert_eq!(stage.waits(&claude, "a")?["state"], "decided");
            stage.took(&two, "a")?;
            assert_eq!(stage.question(&two)?["delivery"]["state"], "sent");
            goes_on(&stage, &claude, channel, "toolu_1", "B")?;
            confirmed(&stage, &two)?;
            assert!(stage.open()?.is_empty());
        }
    }
    Ok(())
}

#[test]
fn two_answers_that_went_crosswise_are_both_confirmed() -> Result<()> {
    let stage = Stage::new()?;
    let claude = Claude::start()?;
    stage.registers(&claude)?;
    stage.asks("toolu_1")?;
    stage.asks("toolu_2")?;
    let (one, two) = (stage.asked("toolu_1")?["id"].clone(), stage.asked("toolu_2")?["id"].clone());
    assert_eq!(stage.waits(&claude, "b")?["questionId"], one);
    assert_eq!(stage.waits(&claude, "a")?["questionId"], two);
    stage.reply(&one, "A")?;
    stage.reply(&two, "B")?;
    for (id, hook) in [(&one, "b"), (&two, "a")] {
        assert_eq!(stage.waits(&claude, hook)?["state"], "decided");
        stage.took(id, hook)?;
    }
    stage.picked("toolu_1", "B")?;
    stage.picked("toolu_2", "A")?;
    assert_eq!(confirmed(&stage, &one)?["tool"]["callId"], "toolu_2");
    assert_eq!(confirmed(&stage, &two)?["tool"]["callId"], "toolu_1");
    Ok(())
}

#[test]
fn an_answer_of_the_terminal_that_is_nobodys_is_the_terminals() -> Result<()> {
    let stage = Stage::new()?;
    let claude = Claude::start()?;
    stage.registers(&claude)?;
    stage.asks("toolu_1")?;
    stage.asks("toolu_2")?;
    let (one, two) = (stage.asked("toolu_1")?["id"].clone(), stage.asked("toolu_2")?["id"].clone());
    stage.waits(&claude, "a")?;
    stage.waits(&claude, "b")?;
    stage.reply(&two, "B")?;
    stage.picked("toolu_1", "A")?;
    let settled = stage.settled(&one)?;
    assert_eq!(settled["outcome"]["by"]["surface"], "agent");
    assert_eq!(askd_testkit::given(&settled["outcome"]["answers"]), json!([["A"]]));
    assert_eq!(settled["tool"]["callId"], "toolu_1");
    assert_eq!(stage.question(&two)?["tool"]["callId"], "toolu_2");
    Ok(())
}

/// Two processes hold one conversation and ask the very same: neither is taken for a call of the other's
/// turn.
#[test]
fn alike_calls_of_two_processes_are_never_exchanged() -> Result<()> {
    let stage = Stage::new()?;
    let (first, second) = (Claude::start()?, Claude::start()?);
    stage.registers(&first)?;
    stage.asks("toolu_1")?;
    let one = stage.asked("toolu_1")?["id"].clone();
    assert_eq!(stage.waits(&first, "a")?["questionId"], one);
    stage.registers(&second)?;
    stage.cut_off("toolu_1")?;
    stage.asks("toolu_2")?;
    let two = stage.waits(&second, "b")?["questionId"].clone();
    assert_ne!(two, one);
    stage.reply(&one, "B")?;
    assert_eq!(stage.waits(&first, "a")?["state"], "decided");
    stage.took(&one, "a")?;
    // The second terminal answers its own dialog in the same way, and is heard first.
    stage.picked("toolu_2", "B")?;
    let settled = stage.settled(&two)?;
    assert_eq!(settled["outcome"]["by"]["surface"], "agent", "{settled}");
    assert_eq!(stage.question(&one)?["delivery"]["state"], "sent");
    goes_on(&stage, &first, Channel::Hook, "toolu_1", "B")?;
    assert_eq!(confirmed(&stage, &one)?["tool"]["callId"], "toolu_1");
    Ok(())
}

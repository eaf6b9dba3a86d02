//! A conversation that two processes hold, or that another one takes up: text that Claude Code itself writes
//! into a transcript is no person's word, and only what the process that has gone had asked is over.

#[path = "truth/stage.rs"]
mod stage;

use anyhow::Result;
use serde_json::json;

use stage::{Claude, Stage, until};

#[test]
fn a_conversation_taken_up_elsewhere_leaves_the_first_dialog_answerable() -> Result<()> {
    for is_hooked in [true, false] {
        let stage = Stage::new()?;
        let (first, second) = (Claude::start()?, Claude::start()?);
        stage.registers(&first)?;
        stage.asks("toolu_1")?;
        let asked = stage.asked("toolu_1")?;
        if is_hooked {
            assert_eq!(stage.waits(&first, "1")?["questionId"], asked["id"]);
        }
        // `claude --resume ID "go on"` in another terminal.
        stage.registers(&second)?;
        stage.cut_off("toolu_1")?;
        stage.asks_in(
            "toolu_2",
            &json!({ "questions": [{ "question": "And?", "header": "H", "options": [] }] }),
        )?;
        stage.asked("toolu_2")?;
        assert_eq!(stage.question(&asked["id"])?["status"], "requested", "hooked: {is_hooked}");
        if is_hooked {
            stage.reply(&asked["id"], "B")?;
            assert_eq!(stage.waits(&first, "1")?["state"], "decided");
            stage.took(&asked["id"], "1")?;
            stage.picked("toolu_1", "B")?;
            until("confirmation", || {
                Ok((stage.question(&asked["id"])?["delivery"]["state"] == "confirmed").then_some(()))
            })?;
        } else {
            // The first terminal answers: its own result stands in the file after the other process's text.
            stage.picked("toolu_1", "B")?;
            let settled = stage.settled(&asked["id"])?;
            assert_eq!(askd_testkit::given(&settled["outcome"]["answers"]), json!([["B"]]), "{settled}");
        }
        assert_eq!(stage.open()?.len(), 1, "the question of the other terminal");
    }
    Ok(())
}

#[test]
fn a_conversation_taken_up_after_its_process_was_killed_ends_the_question_with_that_cause() -> Result<()> {
    let stage = Stage::new()?;
    let (mut first, second) = (Claude::start()?, Claude::start()?);
    stage.registers(&first)?;
    stage.asks("toolu_1")?;
    let asked = stage.asked("toolu_1")?;
    assert_eq!(stage.waits(&first, "1")?["questionId"], asked["id"]);
    first.kill()?;
    stage.registers(&second)?;
    stage.cut_off("toolu_1")?;
    let settled = stage.settled(&asked["id"])?;
    assert_eq!(settled["status"], "cancelled", "{settled}");
    assert_eq!(settled["outcome"]["cause"]["type"], "agentExited", "{settled}");
    Ok(())
}

#[test]
fn the_end_of_one_process_ends_its_own_question_and_not_that_of_another() -> Result<()> {
    for first_ends in [true, false] {
        let stage = Stage::new()?;
        let (mut first, mut second) = (Claude::start()?, Claude::start()?);
        stage.registers(&first)?;
        stage.asks("toolu_1")?;
        let one = stage.asked("toolu_1")?;
        assert_eq!(stage.waits(&first, "1")?["questionId"], one["id"]);
        stage.registers(&second)?;
        stage.cut_off("toolu_1")?;
        // It asks the very same, and its hook is not taken for one of the first.
        stage.asks("toolu_2")?;
        let other = stage.waits(&second, "2")?;
        assert_ne!(other["questionId"], one["id"]);
        let (gone, stays) = match first_ends {
            true => (&one["id"], &other["questionId"]),
            false => (&other["questionId"], &one["id"]),
        };
        if first_ends {
            first.kill()?
        } else {
            second.kill()?
        }
        let settled = stage.settled(gone)?;
        assert_eq!(settled["outcome"]["cause"]["type"], "agentExited", "{settled}");
        assert_eq!(stage.question(stays)?["status"], "requested");
        let (_, sessions) = stage.hub.http("GET", "/v1/sessions?live=true", None)?;
        let live = sessions["sessions"].as_array().map(Vec::len);
        assert_eq!(live, Some(1), "the conversation goes on: {sessions}");
    }
    Ok(())
}

#[test]
fn hub_and_claude_died_and_the_conversation_went_on_before_the_next_hub() -> Result<()> {
    let mut stage = Stage::new()?;
    let (mut first, second) = (Claude::start()?, Claude::start()?);
    stage.registers(&first)?;
    stage.asks("toolu_1")?;
    let one = stage.asked("toolu_1")?;
    stage.waits(&first, "1")?;
    stage.hub.kill()?;
    first.kill()?;
    // Its entry in the list stays beside that of the process that goes on.
    stage.registers(&second)?;
    stage.cut_off("toolu_1")?;
    stage.asks_in(
        "toolu_2",
        &json!({ "questions": [{ "question": "And?", "header": "H", "options": [] }] }),
    )?;
    stage.hub.restart()?;
    let other = stage.asked("toolu_2")?;
    let settled = stage.settled(&one["id"])?;
    assert_eq!(settled["outcome"]["cause"]["type"], "agentExited", "{settled}");
    // The next death that the hub sees comes after all that it had to say about the first one.
    let (_, sessions) = stage.hub.http("GET", "/v1/sessions?live=true", None)?;
    assert_eq!(sessions["sessions"][0]["pid"], second.pid(), "{sessions}");
    assert_eq!(stage.question(&other["id"])?["status"], "requested");
    drop(second);
    let settled = stage.settled(&other["id"])?;
    assert_eq!(settled["outcome"]["cause"]["type"], "agentExited", "{settled}");
    Ok(())
}

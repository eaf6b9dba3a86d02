//! Answers that are typed, where the deciding key is pressed and its effect is not seen: nothing is burned,
//! nothing is answered twice, and nothing is left in the dialog. The program in the terminal is one that
//! draws Claude Code's dialog and does on purpose what the real one does rarely.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "truth/stage.rs"]
mod stage;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use askd_testkit::terminal::Terminal;
use serde_json::{Value, json};

use stage::{SESSION, Stage, until};

const DIALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/truth/dialog.sh");

/// The stage with a dialog in tmux, and its question.
struct Typed {
    stage: Stage,
    terminal: Terminal,
    asked: Value,
    chosen: PathBuf,
}

impl Typed {
    /// `stands_still`: from the first deciding key on, until `goes_on`.
    fn start(ignores: &str, stands_still: bool) -> Result<Self> {
        let stage = Stage::new()?;
        let terminal = Terminal::new();
        let chosen = stage.config.join("chosen");
        let chosen_path = chosen.to_string_lossy();
        let stops = if stands_still { format!("{chosen_path}.go") } else { String::new() };
        let env = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
            ("CHOSEN", &chosen_path),
            ("IGNORES", ignores),
            ("STOPS", &stops),
        ];
        let env: Vec<(String, String)> = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        terminal.open(&stage.config, &env, std::path::Path::new("bash"), &[DIALOG])?;
        until("the dialog", || Ok(terminal.screen().contains("Enter to select").then_some(())))?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis();
        let pid = terminal.pid()?;
        let entry = json!({ "pid": pid, "sessionId": SESSION, "cwd": "/w/app", "startedAt": now, "updatedAt": now,
            "status": "waiting" });
        std::fs::write(stage.config.join(format!("sessions/{pid}.json")), entry.to_string())?;
        stage.asks("toolu_1")?;
        let asked = stage.asked("toolu_1")?["id"].clone();
        until("the road of keys", || Ok((stage.question(&asked)?["road"] == "keys").then_some(())))?;
        Ok(Self { stage, terminal, asked, chosen })
    }

    fn goes_on(&self) -> Result<()> {
        Ok(std::fs::write(self.chosen.with_extension("go"), "")?)
    }

    fn open_again(&self) -> Result<Value> {
        until("the question that is open again", || {
            let question = self.stage.question(&self.asked)?;
            let is_it = question["status"] == "requested" && question["failedTries"].is_array();
            Ok(Some(question).filter(|_| is_it))
        })
    }

    fn delivered(&self, state: &str) -> Result<Value> {
        until(state, || {
            Ok(Some(self.stage.question(&self.asked)?)
                .filter(|question| question["delivery"]["state"] == state))
        })
    }

    /// What the dialog has taken, once it has.
    fn taken(&self) -> Result<String> {
        until("the choice", || {
            Ok(std::fs::read_to_string(&self.chosen).ok().filter(|text| text.ends_with('\n')))
        })
    }

    fn shows(&self, text: &str) -> Result<()> {
        until(text, || Ok(self.terminal.screen().contains(text).then_some(())))
            .with_context(|| self.terminal.screen())
    }
}

#[test]
fn a_deciding_key_that_the_dialog_does_not_take_opens_the_question_again() -> Result<()> {
    let it = Typed::start("1", false)?;
    it.stage.reply(&it.asked, "B")?;
    let question = it.open_again()?;
    let failed = &question["failedTries"][0];
    assert_eq!(askd_testkit::given(&failed["outcome"]["answers"]), json!([["B"]]));
    let detail = failed["delivery"]["error"]["detail"].as_str().unwrap_or_default();
    ensure!(detail.contains("has not taken the last key") && detail.contains("Which?"), "{detail}");
    // The next answer is typed, and is the only one that the dialog takes.
    it.stage.reply(&it.asked, "A")?;
    assert_eq!(it.taken()?.trim(), "1");
    it.stage.picked("toolu_1", "A")?;
    let question = it.delivered("confirmed")?;
    assert_eq!(askd_testkit::given(&question["outcome"]["answers"]), json!([["A"]]));
    assert_eq!(question["failedTries"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[test]
fn own_words_that_were_typed_are_taken_back_when_the_answer_fails() -> Result<()> {
    let it = Typed::start("1", false)?;
    it.stage.reply(&it.asked, "words of my own")?;
    it.open_again()?;
    it.shows("3. Type something.")?;
    ensure!(!it.terminal.screen().contains("words of my own"), "{}", it.terminal.screen());
    it.stage.reply(&it.asked, "other words")?;
    assert_eq!(it.taken()?.trim(), "3 other words");
    it.stage.picked("toolu_1", "other words")?;
    it.delivered("confirmed")?;
    Ok(())
}

#[test]
fn words_that_somebody_has_typed_there_are_left_alone() -> Result<()> {
    let it = Typed::start("0", false)?;
    for key in ["Down", "Down", "m", "i", "n", "e"] {
        it.terminal.key(key)?;
    }
    it.shows("3. mine")?;
    let path = format!("/v1/questions/{}/reply", it.asked.as_str().context("no id")?);
    let (status, problem) =
        it.stage.hub.http("POST", &path, Some(&json!({ "answers": [["words of my own"]] })))?;
    ensure!(status == 409 && problem["code"] == "channel_cannot_carry", "{status}: {problem}");
    ensure!(
        problem["detail"].as_str().is_some_and(|detail| detail.contains("has other words in it")),
        "{problem}"
    );
    it.shows("❯ 3. mine")
}

/// The key is in a terminal that stands still: nobody may answer a second time, and what came of it is told
/// when it is known.
#[test]
fn a_terminal_that_stands_still_at_the_deciding_key_keeps_its_answer_in_doubt() -> Result<()> {
    for takes_it in [true, false] {
        let ignores = if takes_it { "0" } else { "1" };
        let it = Typed::start(ignores, true)?;
        it.stage.reply(&it.asked, "B")?;
        let question = it.delivered("failed")?;
        assert_eq!(question["delivery"]["error"]["reason"], "unknown", "{question}");
        let path = format!("/v1/questions/{}/reply", it.asked.as_str().context("no id")?);
        let other = json!({ "answers": [["A"]] });
        assert_eq!(it.stage.hub.http("POST", &path, Some(&other))?.0, 409, "a second answer was taken");
        it.goes_on()?;
        if takes_it {
            assert_eq!(it.taken()?.trim(), "2");
            it.stage.picked("toolu_1", "B")?;
            it.delivered("confirmed")?;
        } else {
            it.open_again()?;
            it.stage.reply(&it.asked, "A")?;
            assert_eq!(it.taken()?.trim(), "1");
            it.stage.picked("toolu_1", "A")?;
            let question = it.delivered("confirmed")?;
            assert_eq!(askd_testkit::given(&question["outcome"]["answers"]), json!([["A"]]));
        }
    }
    Ok(())
}

/// A hub that is restarted meanwhile follows the terminal again.
#[test]
fn an_answer_in_doubt_that_was_not_taken_is_opened_again_by_the_next_hub() -> Result<()> {
    for goes_on_without_a_hub in [false, true] {
        let mut it = Typed::start("1", true)?;
        it.stage.reply(&it.asked, "B")?;
        it.delivered("failed")?;
        it.stage.hub.kill()?;
        if goes_on_without_a_hub {
            it.goes_on()?;
            it.shows("❯ 1. A")?;
        }
        it.stage.hub.restart()?;
        if !goes_on_without_a_hub {
            it.goes_on()?;
        }
        it.open_again()?;
        it.stage.reply(&it.asked, "A")?;
        assert_eq!(it.taken()?.trim(), "1");
        it.stage.picked("toolu_1", "A")?;
        it.delivered("confirmed")?;
    }
    Ok(())
}

/// What the agent went on with is told in the end, also of an answer of which nothing was known.
#[test]
fn an_answer_in_doubt_that_was_overtaken_says_what_the_agent_received() -> Result<()> {
    let it = Typed::start("0", true)?;
    it.stage.reply(&it.asked, "B")?;
    it.delivered("failed")?;
    it.stage.picked("toolu_1", "A")?;
    let question = until("what the agent received", || {
        let question = it.stage.question(&it.asked)?;
        Ok(Some(question).filter(|question| question["outcome"]["agentReceived"].is_object()))
    })?;
    assert_eq!(question["delivery"]["error"]["reason"], "overtaken", "{question}");
    assert_eq!(askd_testkit::given(&question["outcome"]["agentReceived"]["answers"]), json!([["A"]]));
    Ok(())
}

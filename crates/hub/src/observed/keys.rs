//! The last road: an answer typed into Claude Code's own dialog, in its tmux pane.
//!
//! In: a session and what is to be done in its dialog. Out: that the deciding key was pressed, or why it was not, with the screen.
//! The pane is looked at before and after every key; what the screens mean and which key comes next is known to
//! `claude_keys`, this is only the hand. Nothing is typed while the screen does not show the very question.

use std::time::Duration;

use tokio::time::Instant;

use askd_agents::claude_keys::{Goal, Key, Screen, Steering, Step, Stop};
use askd_agents::process_names::agent_of;
use askd_agents::tmux::{Pane, TmuxError, is_in_tmux, pane_of};
use askd_core::Session;
use askd_holder::process;

/// Keys that come right after a dialog are dropped by Claude Code.
const GRACE: Duration = Duration::from_millis(1_000);
/// Between two looks at the pane; two alike mean that it is drawn.
const LOOK: Duration = Duration::from_millis(150);
/// How long a key may take to show.
const REACTION: Duration = Duration::from_secs(5);
/// How long all of it may take; a claim of a delivery lasts a minute.
const WHOLE: Duration = Duration::from_secs(45);
/// Keys on the way back from the last page: four questions, each with four ticks and a few steps.
const MAX_BACK: usize = 40;
/// Characters of a screen that go into an error.
const SHOWN_CHARS: usize = 8_000;

/// What is known of a dialog that an answer was not typed into to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaves {
    /// Nothing was decided here, and the dialog was seen.
    Open,
    /// Nothing was decided here, but the dialog was not seen: it is hidden, or was answered at that very moment.
    Hidden,
    /// The key that decides was pressed.
    Unknown,
}

/// Why an answer was not typed to its end.
#[derive(Debug)]
pub(super) struct NotTyped {
    pub leaves: Leaves,
    pub why: String,
    pub screen: Option<String>,
}

impl NotTyped {
    /// Nothing was decided in the dialog.
    fn before(why: impl ToString, screen: Option<&str>) -> Self {
        Self { leaves: Leaves::Open, why: why.to_string(), screen: screen.map(str::to_owned) }
    }

    /// For a person, with the end of the screen.
    pub(super) fn detail(&self) -> String {
        let Some(screen) = &self.screen else { return self.why.clone() };
        let count = screen.trim_end().chars().count();
        let shown: String = screen.trim_end().chars().skip(count.saturating_sub(SHOWN_CHARS)).collect();
        format!("{}. The terminal showed:\n{shown}", self.why)
    }
}

/// Whether an answer could be typed for this session: it runs in tmux. Looks through processes: not for an async thread.
pub(super) fn can_type(session: &Session) -> bool {
    session.live && process_of(session).is_some_and(is_in_tmux)
}

/// The process of a session; not for an async thread either. Versions before 2.1.75 keep no list of theirs: then the only one in that folder that is in tmux.
fn process_of(session: &Session) -> Option<u32> {
    if session.pid.is_some() {
        return session.pid;
    }
    let cwd = std::path::Path::new(session.cwd.as_deref()?);
    let is_it = |pid: i32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let arguments = process::command_line(pid).ok().flatten().unwrap_or_default();
        let agent = agent_of([session.agent.as_str()], name.trim(), &arguments);
        agent.as_deref() == Some(session.agent.as_str())
            && std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == cwd)
    };
    let all = process::descendants(0).ok()?;
    let mut found =
        all.iter().filter(|process| is_it(process.pid)).filter_map(|process| u32::try_from(process.pid).ok());
    let mut found = found.by_ref().filter(|pid| is_in_tmux(*pid));
    found.next().filter(|_| found.next().is_none())
}

/// Looks whether the dialog of a session is as it must be for the first key. Nothing is pressed.
pub(super) async fn look_at(session: &Session, goal: Goal) -> Result<(), NotTyped> {
    let hand = Hand::of(session).await?;
    let text = hand.still().await.map_err(|error| NotTyped::before(error, None))?;
    match Steering::new(goal).next(&Screen::read(&text)) {
        Step::Stop(stop) => Err(NotTyped::before(stop, Some(&text))),
        Step::Press(_) | Step::Type(_) | Step::Decide(_) => Ok(()),
    }
}

/// Does in the dialog of a session what is wanted.
pub(super) async fn type_answer(session: &Session, goal: Goal) -> Result<(), NotTyped> {
    let mut hand = Hand::of(session).await?;
    tokio::time::sleep(GRACE).await;
    hand.go(Steering::new(goal)).await
}

struct Hand {
    pane: Pane,
    until: Instant,
}

impl Hand {
    /// At the pane of a session.
    async fn of(session: &Session) -> Result<Self, NotTyped> {
        let looked_for = session.clone();
        let found = tokio::task::spawn_blocking(move || process_of(&looked_for)).await;
        let Ok(Some(pid)) = found else {
            return Err(NotTyped::before("its process was not found in tmux", None));
        };
        let pane = pane_of(pid).await.map_err(|error| NotTyped::before(error, None))?;
        Ok(Self { pane, until: Instant::now() + WHOLE })
    }

    async fn go(&mut self, mut steering: Steering) -> Result<(), NotTyped> {
        let mut text = self.still().await.map_err(|error| NotTyped::before(error, None))?;
        loop {
            let screen = Screen::read(&text);
            let before = |error: TmuxError| NotTyped::before(error, Some(&text));
            let step = steering.next(&screen);
            if Instant::now() >= self.until {
                return Err(NotTyped::before("it took too long", Some(&text)));
            }
            match step {
                Step::Press(key) => self.pane.press(&name(key)).await.map_err(before)?,
                Step::Type(words) => self.pane.type_text(&words).await.map_err(before)?,
                Step::Decide(key) => {
                    let unknown = |why: String, text: String| NotTyped {
                        leaves: Leaves::Unknown,
                        why,
                        screen: Some(text),
                    };
                    self.pane
                        .press(&name(key))
                        .await
                        .map_err(|error| unknown(error.to_string(), text.clone()))?;
                    return match self.changed(&screen).await {
                        // The program may have ended with its last answer.
                        Ok(Some(_)) | Err(_) => Ok(()),
                        Ok(None) => Err(unknown("the last key has changed nothing".to_owned(), text)),
                    };
                }
                Step::Stop(stop) => {
                    self.go_back(&steering, screen).await.map_err(before)?;
                    let why = NotTyped::before(stop, Some(&text));
                    return Err(match stop {
                        Stop::NotShown => NotTyped { leaves: Leaves::Hidden, ..why },
                        _ => why,
                    });
                }
            }
            match self.changed(&screen).await.map_err(|error| NotTyped::before(error, Some(&text)))? {
                Some(next) => text = next,
                None => return Err(NotTyped::before("the terminal does not react to keys", Some(&text))),
            }
        }
    }

    /// Leaves the dialog as it was found: a page that was opened here must not stay one Enter from being sent.
    async fn go_back(&mut self, steering: &Steering, mut screen: Screen) -> Result<(), TmuxError> {
        for _ in 0..MAX_BACK {
            let Some(key) = steering.back(&screen) else { break };
            self.pane.press(&name(key)).await?;
            let Some(text) = self.changed(&screen).await? else { break };
            screen = Screen::read(&text);
        }
        Ok(())
    }

    /// The screen when it is drawn.
    async fn still(&self) -> Result<String, TmuxError> {
        let mut last = self.pane.screen().await?;
        let until = Instant::now() + REACTION;
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.pane.screen().await?;
            if now == last || Instant::now() >= until {
                return Ok(now);
            }
            last = now;
        }
    }

    /// The screen when it shows something else than before; none where it does not.
    async fn changed(&self, before: &Screen) -> Result<Option<String>, TmuxError> {
        let until = Instant::now() + REACTION;
        loop {
            let text = self.still().await?;
            if Screen::read(&text) != *before {
                return Ok(Some(text));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
        }
    }
}

/// tmux's name of a key.
fn name(key: Key) -> String {
    match key {
        Key::Digit(digit) => digit.to_string(),
        key => format!("{key:?}"),
    }
}

//! The last channel: an answer typed into Claude Code's own dialog, in its tmux pane.
//!
//! In: a session and the goal in its dialog. Out: that the deciding key was pressed, or the reason why not,
//! with the screen. The pane is read before and after every key; `claude_keys` knows the meaning of screens
//! and the next key. No key is pressed while the screen does not show the very question.

use std::time::Duration;

use tokio::time::Instant;

use askd_agents::claude_keys::{Goal, Key, Screen, Steering, Step, Stop};
use askd_agents::process_names::agent_of;
use askd_agents::tmux::{Pane, TmuxError, is_in_tmux, pane_of};
use askd_core::Session;
use askd_holder::process;

/// Claude Code drops keys that come right after a dialog appears.
const GRACE: Duration = Duration::from_millis(1_000);
/// The pause between two looks at the pane; two equal screens mean that it is drawn.
const LOOK: Duration = Duration::from_millis(150);
/// The time for a key to show its effect.
const REACTION: Duration = Duration::from_secs(5);
/// The time for the whole dialog; a claim of a delivery lasts a minute.
const WHOLE: Duration = Duration::from_secs(45);
/// Keys on the way back from the last page: four questions, each with four ticks, a few steps and some lines
/// of own words.
const MAX_BACK: usize = 80;
/// Characters of a screen in an error.
const SHOWN_CHARS: usize = 8_000;

/// The state of a dialog after an answer that was not typed to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaves {
    /// Nothing was decided here, and the dialog was seen.
    Open,
    /// Nothing was decided here, but the dialog was not seen: it is hidden, or was answered at that very
    /// moment.
    Hidden,
    /// The deciding key was pressed.
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

/// True if an answer can be typed for this session: it runs in tmux. It walks through processes: do not call
/// it on an async thread.
pub(super) fn can_type(session: &Session) -> bool {
    session.live && process_of(session).is_some_and(is_in_tmux)
}

/// The process of a session; not for an async thread either. Versions before 2.1.75 keep no list: then the
/// only process in that folder that runs in tmux.
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

/// Checks that the dialog of a session is ready for the first key. Presses nothing.
pub(super) async fn look_at(session: &Session, goal: Goal) -> Result<(), NotTyped> {
    let hand = Hand::of(session).await?;
    let text = hand.still().await.map_err(|error| NotTyped::before(error, None))?;
    match Steering::new(goal).next(&Screen::read(&text)) {
        Step::Stop(stop) => Err(NotTyped::before(stop, Some(&text))),
        Step::Press(_) | Step::Type(_) | Step::Decide(_) => Ok(()),
    }
}

/// Reaches the goal in the dialog of a session, up to the deciding key.
pub(super) async fn type_answer(session: &Session, goal: Goal) -> Result<Decided, NotTyped> {
    let mut hand = Hand::of(session).await?;
    tokio::time::sleep(GRACE).await;
    let mut steering = Steering::new(goal);
    let text = hand.go(&mut steering).await?;
    Ok(Decided { hand, steering, text })
}

/// The dialog of a session in which an earlier hub has pressed the deciding key, as it stands now.
pub(super) async fn decided_before(session: &Session, goal: Goal) -> Result<Decided, NotTyped> {
    let hand = Hand::of(session).await?;
    let text = hand.still().await.map_err(|error| NotTyped::before(error, None))?;
    Ok(Decided { hand, steering: Steering::decided(goal), text })
}

/// The deciding key was pressed.
pub(super) struct Decided {
    hand: Hand,
    steering: Steering,
    /// The text of the pane then.
    text: String,
}

impl Decided {
    /// The state of the dialog in the pane now. Presses nothing.
    pub(super) async fn look(&self) -> Standing {
        match self.hand.still().await {
            Ok(text) => {
                let screen = Screen::read(&text);
                match self.steering.is_about(&screen) {
                    true if screen == Screen::read(&self.text) => Standing::AsBefore,
                    true => Standing::Changed(text),
                    false => Standing::Gone,
                }
            }
            // The program may have ended with its last answer.
            Err(TmuxError::Dead | TmuxError::NoPane) => Standing::Gone,
            Err(_) => Standing::Hidden,
        }
    }

    /// Finds out whether a dialog that still stands has taken the key. A terminal hands keys on in their
    /// order: if it reacts to a later key, it has read the deciding one and decided nothing by it. Then the
    /// dialog is left as it was found.
    pub(super) async fn probe(&self) -> NotTyped {
        let taken = |text: Option<&str>| NotTyped {
            leaves: Leaves::Unknown,
            why: "the last key has changed nothing".to_owned(),
            screen: Some(text.unwrap_or(&self.text).to_owned()),
        };
        let Ok(text) = self.hand.still().await else { return taken(None) };
        let screen = Screen::read(&text);
        let Some(key) = Steering::probe(&screen).filter(|_| self.steering.is_about(&screen)) else {
            return taken(Some(&text));
        };
        if self.hand.pane.press(&name(key)).await.is_err() {
            return taken(Some(&text));
        }
        match self.hand.changed(&screen).await {
            Ok(Some(after)) if self.steering.is_about(&Screen::read(&after)) => self.not_taken(after).await,
            _ => taken(Some(&text)),
        }
    }

    /// The dialog reacts and stands on: it is left as it was found.
    pub(super) async fn not_taken(&self, text: String) -> NotTyped {
        let is_clean = self.hand.go_back(&self.steering, Screen::read(&text)).await.unwrap_or(false);
        NotTyped::before(format!("the dialog has not taken the last key{}", left(is_clean)), Some(&text))
    }
}

/// The state of a dialog after its deciding key.
pub(super) enum Standing {
    Gone,
    /// A person scrolls in the pane, or tmux does not answer.
    Hidden,
    AsBefore,
    /// It stands and shows something else; with the screen.
    Changed(String),
}

/// The message for a dialog that could not be restored.
fn left(is_clean: bool) -> &'static str {
    if is_clean { "" } else { ", and what was typed there could not be taken back: look at its terminal" }
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

    /// Goes up to the deciding key; returns the pane's text then.
    async fn go(&mut self, steering: &mut Steering) -> Result<String, NotTyped> {
        let mut text = self.still().await.map_err(|error| NotTyped::before(error, None))?;
        loop {
            let screen = Screen::read(&text);
            let before = |error: TmuxError| NotTyped::before(error, Some(&text));
            let step = steering.next(&screen);
            if Instant::now() >= self.until {
                let is_clean = self.go_back(steering, screen).await.unwrap_or(false);
                return Err(NotTyped::before(format!("it took too long{}", left(is_clean)), Some(&text)));
            }
            match step {
                Step::Press(key) => self.pane.press(&name(key)).await.map_err(before)?,
                Step::Type(words) => self.pane.type_text(&words).await.map_err(before)?,
                Step::Decide(key) => {
                    return match self.pane.press(&name(key)).await {
                        Ok(()) => Ok(text),
                        // tmux may have pressed it before it failed.
                        Err(error) => Err(NotTyped {
                            leaves: Leaves::Unknown,
                            why: error.to_string(),
                            screen: Some(text),
                        }),
                    };
                }
                Step::Stop(stop) => {
                    let is_clean = self.go_back(steering, screen).await.map_err(before)?;
                    let why = NotTyped::before(format!("{stop}{}", left(is_clean)), Some(&text));
                    return Err(match stop {
                        Stop::NotShown => NotTyped { leaves: Leaves::Hidden, ..why },
                        _ => why,
                    });
                }
            }
            match self.changed(&screen).await.map_err(|error| NotTyped::before(error, Some(&text)))? {
                Some(next) => text = next,
                None => {
                    let why = "the terminal does not react to keys; those that were pressed may still change its dialog later";
                    return Err(NotTyped::before(why, Some(&text)));
                }
            }
        }
    }

    /// Restores the dialog: a page that was opened here must not stay one Enter from being sent, and typed
    /// words must not be sent with another answer. True if it is restored.
    async fn go_back(&self, steering: &Steering, mut screen: Screen) -> Result<bool, TmuxError> {
        for _ in 0..MAX_BACK {
            let Some(key) = steering.back(&screen) else { return Ok(true) };
            self.pane.press(&name(key)).await?;
            if key == Key::ClearLine {
                // The first takes the line and the second its break, which alone would show nothing.
                tokio::time::sleep(LOOK).await;
                self.pane.press(&name(key)).await?;
            }
            let Some(text) = self.changed(&screen).await? else { break };
            screen = Screen::read(&text);
        }
        Ok(false)
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

    /// The screen, if it differs from `before`.
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
        Key::ClearLine => "C-u".to_owned(),
        key => format!("{key:?}"),
    }
}

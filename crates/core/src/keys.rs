//! Which keys may decide: a key that was meant for something else is never an answer.
//!
//! In: what the person has done with a question, a key, and how long the question has been in view. Out: what the key does. It is
//! the rule of `tests/keys.json`, which every surface runs, for a surface without a focus.

use std::time::Duration;

/// A question that has just appeared takes no input for so long: a hand needs about a quarter of a second to see that something
/// changed and to stop. What is typed before or in that time is dropped, not queued.
pub const APPEARED: Duration = Duration::from_millis(500);

/// A plan that was on the screen as a whole counts as seen after so long.
pub const PLAN_SEEN: Duration = Duration::from_secs(1);

/// What the person has done with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing was picked or written, or not for every item.
    Open,
    /// It is being asked whether an item, or the whole question, is to have no answer.
    Skipping,
    /// No item is without a pick or own words.
    Picked,
    /// All answers are shown once more.
    Review,
    /// The ways not to answer are shown.
    Refusing,
    /// The answer is on its way to the hub.
    Sending,
    /// The question has ended otherwise, under the person's hands.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Pressed on its own, or after what it confirms.
    Enter,
    /// Repeated by the keyboard.
    HeldEnter,
    /// The key of an option.
    Option,
    /// The key of the ways not to answer.
    Skip,
    /// A key without a meaning.
    Other,
}

/// How much of a plan was on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Its end was not.
    Unread,
    /// All of it, from the beginning.
    Fits,
    /// Its end, later.
    Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing, and nothing is kept for later.
    Drop,
    /// The key has no meaning here.
    None,
    /// Picks the option and sends nothing.
    Pick,
    /// Sends nothing, and says what is missing.
    Say,
    Send,
    /// Shows the ways not to answer.
    Refuse,
}

/// `plan` is how much of it was seen, where the question is one; `since_shown` is about what is on the screen now.
pub fn effect(state: State, key: Key, plan: Option<Sight>, since_shown: Duration) -> Effect {
    match (state, key) {
        (State::Sending | State::Lost, _) | (_, Key::HeldEnter) => Effect::Drop,
        _ if since_shown < APPEARED => Effect::Drop,
        (_, Key::Other) => Effect::None,
        (State::Picked | State::Review, Key::Enter) if is_seen(plan, since_shown) => Effect::Send,
        (_, Key::Enter) => Effect::Say,
        (State::Refusing, _) => Effect::None,
        (_, Key::Option) => Effect::Pick,
        (_, Key::Skip) => Effect::Refuse,
    }
}

fn is_seen(plan: Option<Sight>, since_shown: Duration) -> bool {
    match plan {
        None | Some(Sight::Read) => true,
        Some(Sight::Fits) => since_shown >= PLAN_SEEN,
        Some(Sight::Unread) => false,
    }
}

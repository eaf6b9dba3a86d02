//! The keys that may decide: a key that was pressed for another purpose is never an answer.
//!
//! In: the [`State`] of a question, a [`Key`], the time since the question appeared. Out: the [`Effect`] of
//! the key. `tests/keys.json` is the table of the rule; each surface runs it. This implementation is for
//! surfaces without a focus.

use std::time::Duration;

/// A question that has just appeared ignores input for this long: a hand needs about a quarter of a second to
/// notice a change and to stop. Input before the end of that time is dropped, not queued.
pub const APPEARED: Duration = Duration::from_millis(500);

/// A plan that fits the screen counts as seen after this time.
pub const PLAN_SEEN: Duration = Duration::from_secs(1);

/// The person's progress with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Some item has neither a pick nor own words.
    Open,
    /// The surface asks whether to skip an item or the whole question.
    Skipping,
    /// Each item has a pick or own words.
    Picked,
    /// The surface shows all answers once more.
    Review,
    /// The surface shows the reject modes.
    Refusing,
    /// The answer is on its way to the hub.
    Sending,
    /// The question ended in another way while the person worked on it.
    Lost,
}

/// A key, as far as it matters to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Pressed by itself, or after the key that it confirms.
    Enter,
    /// Repeated by the keyboard.
    HeldEnter,
    /// The key of an option.
    Option,
    /// The key that shows the reject modes.
    Skip,
    /// A key without a meaning.
    Other,
}

/// The part of a plan that was on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The end was not.
    Unread,
    /// The whole plan, from the beginning.
    Fits,
    /// The end, after scrolling.
    Read,
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing; the key is dropped, not queued.
    Drop,
    /// The key has no meaning here.
    None,
    /// Picks the option and sends nothing.
    Pick,
    /// Sends nothing, and shows what is missing.
    Say,
    Send,
    /// Shows the reject modes.
    Refuse,
}

/// The effect of `key`. `plan` is the part of a plan that was seen; `since_shown` counts from the last change
/// on the screen.
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

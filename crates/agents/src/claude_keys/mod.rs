//! Claude Code's dialogs on the screen of a terminal, and the keys that answer them, without IO: the last
//! road, for questions that no hook and no channel of askd's own can answer.
//!
//! In: the text of a screen, a question and what a person decided. Out: the next key. Every step is taken
//! from the screen as it is at that moment, and the key that submits is pressed only where the screen shows
//! exactly the wanted choice. Rows are picked by moving to them and pressing Enter, never by a digit that
//! submits at once, and nothing is pasted: before 2.1.314 a bracketed paste picks the first option. Seen with
//! 2.1.328, 2.1.325, 2.1.120 and 2.0.76; their screens are in `captures/`.

mod goal;
mod screen;
mod steer;
#[cfg(test)]
mod tests;

pub use goal::{Goal, Untypable};
pub use screen::Screen;
pub use steer::{Key, Steering, Step, Stop};

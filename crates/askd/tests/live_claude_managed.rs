//! Real Claude Code through the whole hub: askd starts it, a scripted model makes it ask, answers go in over
//! HTTP, and what counts is what the model received, word by word. What holds for every agent is in
//! `live_conformance`.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
mod live;
mod live_claude;

use std::process::ExitCode;

use askd_testkit::programs::live::Live;
use live_claude::{answers, late, roads};

/// A name, the programs that it needs, and the test.
type Test = (&'static str, &'static [&'static str], fn());

fn main() -> ExitCode {
    let tests: [Test; 27] = [
        ("a_question_is_answered_and_the_session_goes_on", &["claude"], answers::single),
        ("several_picks_and_items_with_commas_and_quotes", &["claude"], answers::several_picks),
        ("own_words_previews_and_notes", &["claude"], answers::own_words_and_notes),
        ("own_words_that_read_like_labels", &["claude"], answers::own_words_like_labels),
        ("nothing_picked_is_said_as_such", &["claude"], answers::nothing_picked),
        ("a_changed_plan_arrives_changed", &["claude"], answers::plan_edited),
        ("a_plan_goes_on_in_the_chosen_mode", &["claude"], answers::plan_modes),
        ("a_plan_is_sent_back_with_feedback", &["claude"], answers::plan_sent_back),
        ("a_permission_is_denied_and_given", &["claude"], answers::permission),
        ("a_decline_says_why", &["claude"], answers::declined),
        ("an_interrupt_ends_the_other_question_too", &["claude"], answers::interrupted_with_another_open),
        ("an_elicitation_is_a_form", &["claude", "node"], roads::elicitation),
        ("four_questions_of_four_options", &["claude"], answers::four_by_four),
        ("no_questions_where_nobody_is_to_be_asked", &["claude"], roads::asking_nobody),
        ("modes_2_1_120", &["claude-2.1.120"], || roads::older_modes("claude-2.1.120")),
        ("modes_2_0_76", &["claude-2.0.76"], || roads::older_modes("claude-2.0.76")),
        ("own_hooks_are_silent", &["claude"], roads::own_hooks_are_silent),
        ("a_conversation_is_resumed", &["claude"], roads::resumed),
        ("a_killed_holder_is_told_with_the_way_to_go_on", &["claude"], late::holder_killed),
        ("a_late_answer_is_sent_as_a_message", &["claude"], late::sent_as_message),
        ("the_first_prompt_survives_a_killed_hub", &["claude"], late::prompt_survives),
        (
            "the_roads_of_the_installed_version",
            &["claude", "claude-2.1.120", "claude-2.0.76"],
            roads::versions,
        ),
        ("a_version_that_cannot_ask_is_refused", &["claude"], roads::too_old),
        ("portable_2_1_120", &["claude-2.1.120"], || roads::older("claude-2.1.120")),
        ("portable_2_0_76", &["claude-2.0.76"], || roads::older("claude-2.0.76")),
        ("plan_2_1_120", &["claude-2.1.120"], || roads::older_plan("claude-2.1.120")),
        ("plan_2_0_76", &["claude-2.0.76"], || roads::older_plan("claude-2.0.76")),
    ];
    let mut live = Live::new();
    for (name, needs, body) in tests {
        live = live.test(name, needs, move || async move {
            body();
            Ok(())
        });
    }
    for args in roads::ASKING {
        let name = args.trim_start_matches('-').replace([' ', '-'], "_");
        live = live.test(&format!("asks_with_{name}"), &["claude"], move || async move {
            roads::asks_with("claude", args);
            Ok(())
        });
    }
    live.run()
}

//! The story that every store must be able to tell, generic over the trait [`askd_store::Store`].
//!
//! In: a [`story::stage::Stage`] that makes a fresh store and opens the same one again. Out: one test per
//! scene and stage. A chapter is a noun, a scene is a promise. To add a store: implement `Stage`, add one
//! `tell!` line at the end.

#[cfg(test)]
mod story {
    pub(crate) mod stage;

    pub(crate) mod props;

    pub(crate) mod answers;
    pub(crate) mod deadlines;
    pub(crate) mod deliveries;
    pub(crate) mod evidence;
    pub(crate) mod keys;
    pub(crate) mod log;
    pub(crate) mod questions;
    pub(crate) mod retention;
    pub(crate) mod secrets;
    pub(crate) mod sessions;
    pub(crate) mod sightings;
    pub(crate) mod tokens;
    pub(crate) mod transcripts;
    pub(crate) mod whole;
}

/// Makes one test of every scene listed, on one stage.
macro_rules! scenes {
    ($stage:ty; $($chapter:ident { $($scene:ident)* })*) => {
        $(mod $chapter {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $scene() {
                crate::story::$chapter::$scene::<$stage>().await;
            })*
        })*
    };
}

/// The whole story on one stage. A scene that is not listed here is dead code, and the linter says so.
macro_rules! tell {
    ($name:ident, $stage:ty) => {
        #[cfg(test)]
        mod $name {
            scenes! { $stage;
                questions {
                    asking_gives_a_place_in_the_log_and_its_event_in_one_step
                    what_an_agent_asked_is_kept_byte_for_byte
                    an_unknown_question_is_nothing
                    a_list_pages_both_ways
                    a_restarted_hub_finds_the_open_questions_of_a_source
                    a_list_can_be_filtered
                    a_list_can_be_searched
                    a_list_and_the_stream_after_it_have_no_gap
                }
                sightings {
                    a_second_sighting_is_the_same_question
                    another_road_joins_its_name_to_the_question
                    a_name_that_is_known_stays_where_it_is
                    a_question_seen_on_two_roads_at_once_is_stored_once
                }
                answers {
                    answer_given_twice_keeps_the_first
                    a_different_answer_conflicts_and_shows_the_winner
                    a_note_makes_it_another_answer
                    reject_given_twice_is_the_same_success
                    the_asker_may_withdraw
                    a_late_cancel_changes_nothing
                    of_64_different_answers_at_once_exactly_one_wins
                    the_answer_of_an_edited_plan_is_kept_whole
                }
                deadlines {
                    only_what_is_due_expires
                    an_answer_before_the_deadline_stays
                    an_answer_past_the_deadline_finds_it_expired
                }
                keys {
                    asking_again_with_the_same_key_is_the_same_question
                    answering_again_with_the_same_key_is_the_same_success
                    a_key_means_one_request
                    a_key_belongs_to_its_token
                    a_key_of_another_question_is_not_a_success
                }
                deliveries {
                    an_answer_to_an_agent_is_queued_with_it
                    a_program_reads_its_outcome_itself
                    a_rejection_is_delivered_too
                    a_cancelled_question_has_nothing_to_deliver
                    each_delivery_is_claimed_once
                    a_source_named_twice_is_claimed_once
                    only_the_wanted_sources_are_claimed_oldest_first
                    an_outcome_can_be_claimed_as_it_is_stored
                    claims_of_a_lost_worker_are_found
                    the_next_delivery_is_known
                    a_lost_claim_goes_back_to_the_queue_where_that_is_safe
                    what_was_not_written_comes_back_after_a_pause
                    written_and_confirmed_are_two_facts
                    what_was_decided_by_nobody_is_opened_again
                    what_was_written_or_is_over_is_not_opened_again
                    a_refused_delivery_fails_with_its_reason
                    a_gone_agent_leaves_the_truth_about_its_answer
                    steps_of_what_is_not_there_change_nothing
                }
                evidence {
                    answered_elsewhere_needs_no_delivery
                    rejected_elsewhere_needs_no_delivery
                    the_same_answer_after_the_agents_own_is_the_same_success
                    the_same_answer_elsewhere_confirms
                    another_answer_elsewhere_overtakes
                    another_answer_after_a_doubtful_end_is_told
                    evidence_after_a_doubtful_end_confirms
                    evidence_after_an_end_changes_nothing
                }
                sessions {
                    sources_are_kept_with_their_state
                    an_ended_source_stays_ended
                    a_session_is_told_once_and_then_updated
                    a_session_that_comes_back_is_told_again
                    sessions_are_listed_newest_first
                    a_session_learns_its_own_name
                    ending_a_session_ends_what_stands_on_it
                    ending_a_session_twice_is_harmless
                    a_question_of_an_ended_session_can_still_be_ended
                    ending_a_source_ends_its_sessions_and_questions
                }
                secrets {
                    a_secret_answer_is_nowhere_in_plain
                    a_secret_answer_is_compared
                    a_secret_answer_is_revealed_to_its_asker_until_pruned
                    a_secret_answer_reaches_the_agent_and_is_then_forgotten
                    a_secret_answer_elsewhere_is_compared_and_never_shown
                    a_secret_answer_overtaken_is_never_shown
                    a_secret_answer_is_compared_after_a_doubtful_end
                }
                retention {
                    everything_is_kept_unless_told_otherwise
                    only_what_is_settled_and_finished_is_removed
                    forgotten_keys_can_be_used_again
                    sources_that_came_and_went_are_forgotten
                    sessions_that_ended_long_ago_go_with_their_words
                }
                log {
                    events_read_the_same_from_memory_and_from_the_store
                    no_event_is_lost_or_repeated_while_writers_run
                    whoever_is_told_can_read_it
                    the_watch_wakes_at_every_commit
                }
                tokens {
                    tokens_are_found_by_their_hash_until_revoked
                    an_abandoned_revocation_is_all_or_nothing
                    an_abandoned_creation_is_all_or_nothing
                }
                transcripts {
                    what_was_said_is_numbered_per_session
                    a_line_that_is_stored_is_not_stored_again
                    the_oldest_words_go_first
                    a_full_transcript_is_not_trimmed_for_every_word
                    a_page_of_long_words_is_short
                    readers_hear_of_words_whose_writer_has_gone_away
                    what_asks_an_open_question_outlives_the_retention
                    however_a_question_ends_it_is_told_where_it_was_asked
                    a_question_and_its_line_are_stored_together_and_once
                    the_end_is_told_where_a_question_was_asked_at_the_last_moment
                    sessions_that_share_a_transcript_are_read_apart
                }
                whole {
                    opening_again_keeps_everything
                    a_closed_store_writes_nothing
                    closing_waits_for_what_is_under_way
                    a_store_can_be_probed
                }
            }
        }
    };
}

tell!(sqlite, crate::story::stage::SqliteStage);

-- What is asked at once stands together: agents count their questions up, so their names of them come before the session in a
-- key, and a commit changes a few pages instead of one for each session.

CREATE TABLE named (
  native_id TEXT NOT NULL, session_id TEXT NOT NULL, question_id TEXT NOT NULL, road TEXT NOT NULL,
  PRIMARY KEY (native_id, session_id)
) STRICT, WITHOUT ROWID;
INSERT INTO named SELECT native_id, session_id, question_id, road FROM sightings;
DROP TABLE sightings;
ALTER TABLE named RENAME TO sightings;
CREATE INDEX sightings_by_question ON sightings (question_id);

DROP INDEX transcript_questions;
CREATE INDEX transcript_questions ON transcript_entries (asks, about) WHERE asks IS NOT NULL;

-- A delivery is called as its question is; what is to do is found among what is under way.
CREATE TABLE outbox (
  question_id TEXT PRIMARY KEY, source_id TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL,
  claim_owner TEXT, claim_until INTEGER, not_before INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO outbox SELECT question_id, source_id, state, body, claim_owner, claim_until, not_before FROM deliveries;
DROP TABLE deliveries;
ALTER TABLE outbox RENAME TO deliveries;
CREATE INDEX deliveries_pending ON deliveries (source_id) WHERE state IN ('queued', 'sent');

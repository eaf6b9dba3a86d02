-- What is told of a session alone is found when the retention deletes the session.
CREATE INDEX events_by_session ON events (session_id) WHERE question_id IS NULL AND session_id IS NOT NULL;

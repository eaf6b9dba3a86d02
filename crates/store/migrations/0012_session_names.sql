-- Hooks and transcripts name a session by the agent's own id, without its source.
CREATE INDEX sessions_by_name ON sessions (native_id);

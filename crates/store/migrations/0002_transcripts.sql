-- What managed agents say, in the order in which they said it, with a stated retention.

CREATE TABLE transcripts (
  session_id TEXT PRIMARY KEY, next_number INTEGER NOT NULL, last_line INTEGER NOT NULL,
  bytes INTEGER NOT NULL, trimmed_through INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE transcript_entries (
  session_id TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, voice TEXT NOT NULL, text TEXT, raw TEXT,
  PRIMARY KEY (session_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX questions_open_by_source ON questions (source_id) WHERE status = 'requested';

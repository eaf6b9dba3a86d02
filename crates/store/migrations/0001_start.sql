-- Questions, their outcomes and deliveries, the sessions and sources they come from, and the log of events.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, agent TEXT NOT NULL, label TEXT NOT NULL, state TEXT NOT NULL,
  since INTEGER NOT NULL, last_error TEXT, settings TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source_id TEXT NOT NULL, agent TEXT NOT NULL,
  native_id TEXT NOT NULL, cwd TEXT, title TEXT, parent_id TEXT, live INTEGER NOT NULL, pid INTEGER,
  managed INTEGER NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER, ending TEXT,
  UNIQUE (source_id, native_id)
) STRICT;

-- A question's place in the log is its key, so lists and streams share one order.
CREATE TABLE questions (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, agent TEXT NOT NULL,
  session_id TEXT, source_id TEXT, call_id TEXT, native_id TEXT, asker TEXT,
  created_at INTEGER NOT NULL, deadline INTEGER, settled_at INTEGER,
  ask TEXT NOT NULL, native TEXT, outcome TEXT,
  -- Keyed hashes of the whole answer and of its picks alone: people repeat the one, agents show the other.
  answer_mac BLOB, picks_mac BLOB
) STRICT;
CREATE INDEX questions_by_status ON questions (status, seq);
CREATE INDEX questions_by_agent ON questions (agent, seq);
CREATE INDEX questions_by_session ON questions (session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX questions_by_call ON questions (call_id, seq) WHERE call_id IS NOT NULL;
CREATE INDEX questions_by_deadline ON questions (deadline) WHERE deadline IS NOT NULL AND status = 'requested';
CREATE INDEX questions_by_settling ON questions (settled_at) WHERE settled_at IS NOT NULL;

-- Roads are sightings of one question: every name by which a session knows it.
CREATE TABLE sightings (
  session_id TEXT NOT NULL, native_id TEXT NOT NULL, question_id TEXT NOT NULL, road TEXT NOT NULL,
  PRIMARY KEY (session_id, native_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sightings_by_question ON sightings (question_id);

-- The outbox: one delivery for one outcome.
CREATE TABLE deliveries (
  question_id TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, source_id TEXT NOT NULL, state TEXT NOT NULL,
  body TEXT NOT NULL, claim_owner TEXT, claim_until INTEGER, not_before INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_to_do ON deliveries (source_id, not_before) WHERE state = 'queued';
CREATE INDEX deliveries_pending ON deliveries (source_id) WHERE state IN ('queued', 'sent');

-- Secret answers, sealed; deleted once they have arrived.
CREATE TABLE secrets (question_id TEXT PRIMARY KEY, sealed BLOB NOT NULL, read_at INTEGER) STRICT, WITHOUT ROWID;

-- Numbers are given by the one writer, in the order of the commits; the retention notes the newest that it deletes.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL,
  question_id TEXT, session_id TEXT, detail TEXT NOT NULL
) STRICT;
-- The event that begins a question has the question's own number.
CREATE INDEX events_by_question ON events (question_id) WHERE question_id IS NOT NULL AND kind <> 'question.requested';

CREATE TABLE tokens (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, rights TEXT NOT NULL, hash BLOB NOT NULL UNIQUE, created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  token_id TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, question_id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (token_id, key)
) STRICT, WITHOUT ROWID;

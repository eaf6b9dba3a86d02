-- A transcript that several sessions share: which of them an entry is about, and the question that it asks, by the agent's own
-- name of it and by the request that readers know it by.

ALTER TABLE transcript_entries ADD COLUMN about TEXT;
ALTER TABLE transcript_entries ADD COLUMN asks TEXT;
ALTER TABLE transcript_entries ADD COLUMN request TEXT;
CREATE INDEX transcript_questions ON transcript_entries (about, asks) WHERE asks IS NOT NULL;

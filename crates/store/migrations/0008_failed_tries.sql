-- Outcomes that did not get to their agents while their calls waited on: their questions were opened again.
ALTER TABLE questions ADD COLUMN failed_tries TEXT;

-- From here on changes are in the redo log before they are here: an askd that does not know it must not open this store. Records are
-- numbered from anywhere, so that the log of another store is recognised.
INSERT INTO meta (key, value) VALUES ('folded_through', CAST(abs(random() >> 2) AS TEXT));

-- From here on SQLite alone keeps every change: an askd with a redo log before it must not open this store.
DELETE FROM meta WHERE key = 'folded_through';

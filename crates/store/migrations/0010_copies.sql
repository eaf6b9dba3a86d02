-- A store that was opened from a copy goes on far behind the numbers that the original may have given since: those after `after` and
-- before `through` belong to no event here.
CREATE TABLE skipped (after INTEGER PRIMARY KEY, through INTEGER NOT NULL) STRICT;

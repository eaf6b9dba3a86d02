-- Whether answers may be typed into the terminal of a session where its hook fails to bring them.
ALTER TABLE sessions ADD COLUMN tmux INTEGER NOT NULL DEFAULT 0;

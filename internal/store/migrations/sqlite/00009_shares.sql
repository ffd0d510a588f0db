-- +goose Up

-- When a call began to count among its principal's, of which there may be so many in all supervisors of a server together: in
-- microseconds since the Unix epoch by the database's clock. 0 for a call that does not count, as none does in a file.
ALTER TABLE calls ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 9;

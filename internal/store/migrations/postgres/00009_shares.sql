-- +goose Up

-- When a call began to count among its principal's, of which there may be so many in all supervisors of a server together: in
-- microseconds since the Unix epoch by the database's clock. 0 for a call that does not count.
ALTER TABLE calls ADD COLUMN counted BIGINT NOT NULL DEFAULT 0;
CREATE INDEX calls_counted ON calls (principal, counted) WHERE counted > 0;

-- +goose Up

-- A call. Times are microseconds since the Unix epoch; ended is 0 while the call is in flight. What can be told of a call
-- is JSON in view, its answer is JSON in answer; the other columns are those that are searched.
CREATE TABLE calls (
  n         INTEGER PRIMARY KEY,
  id        TEXT    NOT NULL UNIQUE,
  req_id    TEXT    NOT NULL,
  principal TEXT    NOT NULL,
  agent     TEXT    NOT NULL,
  digest    TEXT    NOT NULL,
  instance  TEXT    NOT NULL,
  accepted  INTEGER NOT NULL,
  ended     INTEGER NOT NULL DEFAULT 0,
  again     INTEGER NOT NULL DEFAULT 0,
  view      BLOB    NOT NULL,
  answer    BLOB
);
CREATE INDEX calls_by_request  ON calls (req_id, n);
CREATE INDEX calls_by_age      ON calls (accepted);
CREATE INDEX calls_in_flight   ON calls (n) WHERE ended = 0;

-- The first answer stands for ever.
-- +goose StatementBegin
CREATE TRIGGER calls_one_answer BEFORE UPDATE ON calls WHEN OLD.ended <> 0
BEGIN
  SELECT RAISE(ABORT, 'this call has its answer already');
END;
-- +goose StatementEnd

-- What a skill said, as it went over the wire: the events from first to last without a gap, one a line. at is when the
-- first was journalled.
CREATE TABLE events (
  n        INTEGER PRIMARY KEY,
  call     INTEGER NOT NULL,
  first    INTEGER NOT NULL,
  last     INTEGER NOT NULL,
  artifact INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  data     BLOB    NOT NULL
);
CREATE UNIQUE INDEX events_by_call ON events (call, first);
CREATE INDEX events_by_age         ON events (artifact, at);

PRAGMA user_version = 1;

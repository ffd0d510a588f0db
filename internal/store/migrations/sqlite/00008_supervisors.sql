-- +goose Up

-- The supervisors that share a store through a server: who beats lives. Times are microseconds since the Unix epoch by the
-- database's clock; dead is 0 for one that nobody has declared dead.
CREATE TABLE supervisors (
  instance TEXT    PRIMARY KEY,
  host     TEXT    NOT NULL,
  started  INTEGER NOT NULL,
  beat     INTEGER NOT NULL,
  dead     INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Calls that somebody wants cancelled who is not their supervisor. operator is 1 where it was no caller. at is by the
-- database's clock.
CREATE TABLE cancels (
  call     TEXT    PRIMARY KEY,
  operator INTEGER NOT NULL,
  at       INTEGER NOT NULL
) WITHOUT ROWID;

PRAGMA user_version = 8;

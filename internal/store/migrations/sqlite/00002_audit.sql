-- +goose Up

-- What calls used outside of their cells, in the order in which it was told. call is a call's id, at is microseconds since
-- the Unix epoch, data is JSON.
CREATE TABLE audit (
  n    INTEGER PRIMARY KEY,
  call TEXT    NOT NULL,
  at   INTEGER NOT NULL,
  kind TEXT    NOT NULL,
  data BLOB    NOT NULL
);
CREATE INDEX audit_by_call ON audit (call, n);
CREATE INDEX audit_by_age  ON audit (at);

PRAGMA user_version = 2;

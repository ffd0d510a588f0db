-- +goose Up

-- The audit: how calls ended and what operators did. Each row has the hash of the one before and its own; seal is keyed, and NULL
-- where there was no key. at is microseconds since the Unix epoch, data is JSON.
CREATE TABLE chain (
  n         INTEGER PRIMARY KEY,
  at        INTEGER NOT NULL,
  kind      TEXT    NOT NULL,
  call      TEXT    NOT NULL,
  principal TEXT    NOT NULL,
  agent     TEXT    NOT NULL,
  door      TEXT    NOT NULL,
  skill     TEXT    NOT NULL,
  data      BLOB    NOT NULL,
  prev      BLOB    NOT NULL,
  hash      BLOB    NOT NULL,
  seal      BLOB
);

-- Its two ends. head is the last row; start is the last one that was trimmed, 0 for none. bytes is what the rows between them
-- take, about.
CREATE TABLE chain_marks (
  name  TEXT    PRIMARY KEY CHECK (name IN ('start', 'head')),
  n     INTEGER NOT NULL,
  hash  BLOB    NOT NULL,
  at    INTEGER NOT NULL,
  seal  BLOB,
  bytes INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
INSERT INTO chain_marks (name, n, hash, at) VALUES ('start', 0, x'', 0), ('head', 0, x'', 0);

-- Rows are only ever added at the end, and taken from the front once that is noted.
-- +goose StatementBegin
CREATE TRIGGER chain_no_update BEFORE UPDATE ON chain
BEGIN
  SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER chain_no_delete BEFORE DELETE ON chain WHEN OLD.n > (SELECT n FROM chain_marks WHERE name = 'start')
BEGIN
  SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- +goose StatementEnd

-- What a call used is numbered, and each entry has a hash that covers the one before of the same call. The chain's row about the
-- call's end has the last. Entries of earlier versions have neither.
ALTER TABLE audit ADD COLUMN nth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN hash BLOB;

PRAGMA user_version = 6;

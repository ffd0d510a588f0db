-- +goose Up

-- Who may call. digest is the sha-256 of the token's text, which is nowhere. Times are microseconds since the Unix epoch;
-- expires is 0 for never, revoked is 0 for not. groups_ and scopes are JSON.
CREATE TABLE tokens (
  id        TEXT    PRIMARY KEY,
  digest    BLOB    NOT NULL UNIQUE,
  note      TEXT    NOT NULL,
  principal TEXT    NOT NULL,
  groups_   BLOB    NOT NULL,
  agent     TEXT    NOT NULL,
  scopes    BLOB    NOT NULL,
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL,
  revoked   INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- A principal sees its own calls alone.
CREATE INDEX calls_by_principal ON calls (principal, n) WHERE principal <> '';

PRAGMA user_version = 3;

-- +goose Up

-- Who may call. digest is the sha-256 of the token's text, which is nowhere. Times are microseconds since the Unix epoch;
-- expires is 0 for never, revoked is 0 for not. groups_ and scopes are JSON.
CREATE TABLE tokens (
  id        TEXT COLLATE "C" PRIMARY KEY,
  digest    BYTEA NOT NULL UNIQUE,
  note      TEXT COLLATE "C" NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  groups_   BYTEA NOT NULL,
  agent     TEXT COLLATE "C" NOT NULL,
  scopes    BYTEA NOT NULL,
  created   BIGINT NOT NULL,
  expires   BIGINT NOT NULL,
  revoked   BIGINT NOT NULL DEFAULT 0
);

-- A principal sees its own calls alone.
CREATE INDEX calls_by_principal ON calls (principal, n) WHERE principal <> '';

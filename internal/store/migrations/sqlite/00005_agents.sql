-- +goose Up

-- Agents that call skills. tools is a JSON object: by name whether a tool is on. allowed is the allowed_skills of the tool
-- skill, as a JSON list or as a string that holds one; null: not set. revision is the catalog's version of the last change.
-- Times are microseconds since the Unix epoch.
CREATE TABLE agents (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  principal INTEGER NOT NULL REFERENCES principals (id),
  name      TEXT    NOT NULL,
  tools     BLOB    NOT NULL,
  allowed   BLOB,
  created   INTEGER NOT NULL,
  updated   INTEGER NOT NULL,
  revision  INTEGER NOT NULL,
  UNIQUE (principal, name)
);

-- What the agents of a principal may use where they have no list of their own.
CREATE TABLE agent_defaults (
  principal INTEGER PRIMARY KEY REFERENCES principals (id),
  allowed   BLOB    NOT NULL,
  revision  INTEGER NOT NULL
);

-- Writes that agents asked for. digest tells requests apart. deciding: somebody is carrying it out. decided and decided_by
-- are 0 before that. Times are microseconds since the Unix epoch.
CREATE TABLE approvals (
  n          INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT    NOT NULL UNIQUE,
  principal  INTEGER NOT NULL REFERENCES principals (id),
  agent      TEXT    NOT NULL,
  tool       TEXT    NOT NULL,
  action     TEXT    NOT NULL,
  skill      TEXT    NOT NULL,
  arguments  BLOB    NOT NULL,
  digest     BLOB    NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN ('pending', 'deciding', 'approved', 'denied', 'failed')),
  why        TEXT    NOT NULL DEFAULT '',
  created    INTEGER NOT NULL,
  expires    INTEGER NOT NULL,
  decided    INTEGER NOT NULL DEFAULT 0,
  decided_by INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX approvals_by_principal ON approvals (principal, n);

-- What principals used within slices of a day, so that a restart does not give it back. slice is its number since the Unix
-- epoch, cpu is nanoseconds, memory is bytes times seconds.
CREATE TABLE spent (
  principal TEXT    NOT NULL,
  slice     INTEGER NOT NULL,
  cpu       INTEGER NOT NULL,
  memory    INTEGER NOT NULL,
  PRIMARY KEY (principal, slice)
) WITHOUT ROWID;
CREATE INDEX spent_by_slice ON spent (slice);

PRAGMA user_version = 5;

-- +goose Up

-- Who owns custom skills and agents. A number is given once and for ever. changed is the catalog's version at which what
-- the principal owns changed last.
CREATE TABLE principals (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  kind    TEXT    NOT NULL CHECK (kind IN ('user', 'group')),
  name    TEXT    NOT NULL,
  changed INTEGER NOT NULL DEFAULT 0,
  UNIQUE (kind, name)
);
CREATE INDEX principals_by_change ON principals (changed);

-- One row. version grows with each change to what principals own, so that every process notices those of others.
CREATE TABLE catalog (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL
);
INSERT INTO catalog (one, version) VALUES (1, 1);

-- Skills that have no folder. metadata is JSON; previous is what the skill was before its last change, as JSON, or null.
-- revision is the catalog's version of that change. Times are microseconds since the Unix epoch; created_by and updated_by
-- are principals.
CREATE TABLE custom_skills (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  principal     INTEGER NOT NULL REFERENCES principals (id),
  name          TEXT    NOT NULL,
  description   TEXT    NOT NULL,
  license       TEXT    NOT NULL,
  compatibility TEXT    NOT NULL,
  allowed_tools TEXT,
  metadata      BLOB    NOT NULL,
  body          BLOB    NOT NULL,
  provenance    TEXT    NOT NULL,
  created_by    INTEGER NOT NULL,
  updated_by    INTEGER NOT NULL,
  created       INTEGER NOT NULL,
  updated       INTEGER NOT NULL,
  revision      INTEGER NOT NULL,
  previous      BLOB,
  UNIQUE (principal, name)
);

-- Their files beside SKILL.md, which is made from the row.
CREATE TABLE custom_files (
  skill   INTEGER NOT NULL REFERENCES custom_skills (id),
  path    TEXT    NOT NULL,
  content BLOB    NOT NULL,
  PRIMARY KEY (skill, path)
);

PRAGMA user_version = 4;

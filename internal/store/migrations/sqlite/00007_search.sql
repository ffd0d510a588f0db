-- +goose Up

-- The calls that have ended, as they are searched and counted, each written once with its answer. accepted and ended are as in
-- calls. verdict is 'ok', 'canceled' or the code of an error. seq grows with each one: it is the number of the audit's row about
-- the end, and is negative for those of earlier versions.
CREATE TABLE ended (
  accepted  INTEGER NOT NULL,
  id        TEXT    NOT NULL,
  ended     INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  principal TEXT    NOT NULL,
  agent     TEXT    NOT NULL,
  skill     TEXT    NOT NULL,
  door      TEXT    NOT NULL,
  verdict   TEXT    NOT NULL,
  PRIMARY KEY (accepted, id)
) WITHOUT ROWID;

INSERT INTO ended (accepted, id, ended, seq, principal, agent, skill, door, verdict)
SELECT accepted, id, ended, n - (SELECT max(n) FROM calls) - 1, principal, agent,
  substr(coalesce(view ->> '$.skill', ''), 1, 256), coalesce(view ->> '$.door', ''),
  CASE view ->> '$.state' WHEN 'Succeeded' THEN 'ok' WHEN 'Canceled' THEN 'canceled' ELSE coalesce(view ->> '$.code', '') END
FROM (SELECT n, accepted, id, ended, principal, agent, CASE WHEN json_valid(CAST(view AS TEXT)) THEN CAST(view AS TEXT) ELSE '{}' END AS view
  FROM calls WHERE ended <> 0);

CREATE INDEX ended_by_seq       ON ended (seq);
CREATE INDEX ended_by_skill     ON ended (skill, accepted, id, principal, agent, door, verdict);
CREATE INDEX ended_by_principal ON ended (principal, accepted, id, agent, door, verdict) WHERE principal <> '';
CREATE INDEX ended_badly        ON ended (accepted, id, verdict, principal, skill, agent, door) WHERE verdict <> 'ok';

-- One principal's calls are found there, and those in flight are few: the acceptance of a call has an index less to write.
DROP INDEX calls_by_principal;

-- What calls were asked, as JSON. call is the n of calls, at is when it was journalled.
CREATE TABLE requests (
  call INTEGER PRIMARY KEY,
  at   INTEGER NOT NULL,
  data BLOB    NOT NULL
);

-- The policies that calls ran under, as JSON. Which one a call had is in its view. used is the acceptance of the latest call that had
-- it, or up to an hour before that.
CREATE TABLE policies (
  digest TEXT    PRIMARY KEY,
  used   INTEGER NOT NULL,
  data   BLOB    NOT NULL
) WITHOUT ROWID;

PRAGMA user_version = 7;

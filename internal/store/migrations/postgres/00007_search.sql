-- +goose Up

-- The calls that have ended, as they are searched and counted, each written once with its answer. accepted and ended are as in
-- calls. verdict is 'ok', 'canceled' or the code of an error. seq grows with each one: it is the number of the audit's row about
-- the end, and is negative for those of earlier versions.
CREATE TABLE ended (
  accepted  BIGINT NOT NULL,
  id        TEXT COLLATE "C" NOT NULL,
  ended     BIGINT NOT NULL,
  seq       BIGINT NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  agent     TEXT COLLATE "C" NOT NULL,
  skill     TEXT COLLATE "C" NOT NULL,
  door      TEXT COLLATE "C" NOT NULL,
  verdict   TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (accepted, id)
);

CREATE INDEX ended_by_seq       ON ended (seq);
CREATE INDEX ended_by_skill     ON ended (skill, accepted, id);
CREATE INDEX ended_by_principal ON ended (principal, accepted, id) WHERE principal <> '';
CREATE INDEX ended_badly        ON ended (accepted, id, verdict) WHERE verdict <> 'ok';

-- One principal's calls are found there, and those in flight are few: the acceptance of a call has an index less to write.
DROP INDEX calls_by_principal;

-- What calls were asked, as JSON. call is the n of calls, at is when it was journalled.
CREATE TABLE requests (
  call BIGINT PRIMARY KEY,
  at   BIGINT NOT NULL,
  data BYTEA NOT NULL
);

-- The policies that calls ran under, as JSON. Which one a call had is in its view. used is the acceptance of the latest call that had
-- it, or up to an hour before that.
CREATE TABLE policies (
  digest TEXT COLLATE "C" PRIMARY KEY,
  used   BIGINT NOT NULL,
  data   BYTEA NOT NULL
);

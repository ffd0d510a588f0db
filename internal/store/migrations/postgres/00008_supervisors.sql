-- +goose Up

-- The supervisors that share a store through a server: who beats lives. Times are microseconds since the Unix epoch by the
-- database's clock; dead is 0 for one that nobody has declared dead.
CREATE TABLE supervisors (
  instance TEXT COLLATE "C" PRIMARY KEY,
  host     TEXT COLLATE "C" NOT NULL,
  started  BIGINT NOT NULL,
  beat     BIGINT NOT NULL,
  dead     BIGINT NOT NULL DEFAULT 0
);

-- Calls that somebody wants cancelled who is not their supervisor. operator is 1 where it was no caller. at is by the
-- database's clock.
CREATE TABLE cancels (
  call     TEXT COLLATE "C" PRIMARY KEY,
  operator BIGINT NOT NULL,
  at       BIGINT NOT NULL
);

-- +goose Up

-- The audit: how calls ended and what operators did. Each row has the hash of the one before and its own; seal is keyed, and NULL
-- where there was no key. at is microseconds since the Unix epoch, data is JSON.
CREATE TABLE chain (
  n         BIGINT PRIMARY KEY,
  at        BIGINT NOT NULL,
  kind      TEXT COLLATE "C" NOT NULL,
  call      TEXT COLLATE "C" NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  agent     TEXT COLLATE "C" NOT NULL,
  door      TEXT COLLATE "C" NOT NULL,
  skill     TEXT COLLATE "C" NOT NULL,
  data      BYTEA NOT NULL,
  prev      BYTEA NOT NULL,
  hash      BYTEA NOT NULL,
  seal      BYTEA
);

-- Its two ends. head is the last row; start is the last one that was trimmed, 0 for none. bytes is what the rows between them
-- take, about.
CREATE TABLE chain_marks (
  name  TEXT COLLATE "C" PRIMARY KEY CHECK (name IN ('start', 'head')),
  n     BIGINT NOT NULL,
  hash  BYTEA NOT NULL,
  at    BIGINT NOT NULL,
  seal  BYTEA,
  bytes BIGINT NOT NULL DEFAULT 0
);
INSERT INTO chain_marks (name, n, hash, at) VALUES ('start', 0, '', 0), ('head', 0, '', 0);

-- Rows are only ever added at the end, and taken from the front once that is noted.
CREATE TRIGGER chain_no_update BEFORE UPDATE ON chain FOR EACH ROW EXECUTE FUNCTION hotcell_refuse('the audit is append-only');
-- +goose StatementBegin
CREATE FUNCTION hotcell_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.n > (SELECT n FROM chain_marks WHERE name = 'start') THEN
    RAISE EXCEPTION 'the audit is append-only';
  END IF;
  RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER chain_no_delete BEFORE DELETE ON chain FOR EACH ROW EXECUTE FUNCTION hotcell_keep();

-- What a call used is numbered, and each entry has a hash that covers the one before of the same call. The chain's row about the
-- call's end has the last. Entries of earlier versions have neither.
ALTER TABLE audit ADD COLUMN nth BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN hash BYTEA;

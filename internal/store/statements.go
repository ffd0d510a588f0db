package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const columns = "digest, instance, again, answer, " + viewColumns

// selectEarlier finds the call of a request that was sent before.
const selectEarlier = `SELECT ` + columns + ` FROM calls WHERE req_id = ? AND principal = ? AND agent = ? AND (ended > ? OR ended = 0) AND again = 0 ORDER BY n DESC LIMIT 1`

// statements are what the writer does for each call.
type statements struct {
	earlier, accept, end, file, stands, note, say, asked, audit *sql.Stmt
	used, head, chain, move, mark                               *sql.Stmt
	share                                                       *sql.Stmt // nil for a file
	all                                                         []*sql.Stmt
}

func (st *statements) prepare(ctx context.Context, db *sql.DB, shared bool) error {
	type statement struct {
		to  **sql.Stmt
		sql string
	}
	all := []statement{
		{&st.earlier, selectEarlier},
		{&st.accept, `INSERT INTO calls (id, req_id, principal, agent, digest, instance, accepted, view, counted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO NOTHING`},
		{&st.end, `INSERT INTO calls (id, req_id, principal, agent, digest, instance, accepted, view, ended, again, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET view = excluded.view, ended = excluded.ended, again = excluded.again, answer = excluded.answer WHERE calls.ended = 0`},
		{&st.file, `INSERT INTO ended (accepted, id, ended, principal, agent, skill, door, verdict, seq)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT n FROM chain_marks WHERE name = 'head'))
			ON CONFLICT (accepted, id) DO UPDATE SET ended = excluded.ended, principal = excluded.principal, agent = excluded.agent, skill = excluded.skill,
			door = excluded.door, verdict = excluded.verdict, seq = excluded.seq`},
		{&st.stands, `SELECT ` + columns + ` FROM calls WHERE id = ?`},
		{&st.note, `UPDATE calls SET view = ? WHERE id = ? AND ended = 0`},
		{&st.say, `INSERT INTO events (call, first, last, artifact, at, data) SELECT n, ?, ?, ?, ?, ? FROM calls WHERE id = ? ON CONFLICT DO NOTHING`},
		{&st.asked, `INSERT INTO requests (call, at, data) SELECT n, ?, ? FROM calls WHERE id = ? ON CONFLICT DO NOTHING`},
		{&st.audit, `INSERT INTO audit (call, at, kind, data, nth, hash) VALUES (?, ?, ?, ?, ?, ?)`},
		{&st.used, `SELECT nth, hash FROM audit WHERE call = ? ORDER BY n DESC LIMIT 1`},
		{&st.head, `SELECT n, hash, bytes, coalesce((SELECT max(n) FROM chain), 0) FROM chain_marks WHERE name = 'head'`},
		{&st.move, `UPDATE chain_marks SET n = ?, hash = ?, at = ?, seal = ?, bytes = ? WHERE name = ?`},
		{&st.chain, `INSERT INTO chain (` + rowColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&st.mark, `INSERT INTO chain_marks (name, n, hash, at, seal, bytes) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET n = excluded.n, hash = excluded.hash, at = excluded.at, seal = excluded.seal, bytes = excluded.bytes`},
	}
	if shared {
		all = append(all, statement{&st.share, countShare})
	}
	for _, s := range all {
		stmt, err := db.PrepareContext(ctx, s.sql)
		if err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		*s.to = stmt
		st.all = append(st.all, stmt)
	}
	return nil
}

func (st *statements) close() error {
	var errs []error
	for _, s := range st.all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

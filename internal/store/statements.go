package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const columns = "view, digest, instance, again, answer"

// statements are what the writer does for each call.
type statements struct {
	earlier, accept, end, stands, note, say, audit *sql.Stmt
	all                                            []*sql.Stmt
}

func (st *statements) prepare(ctx context.Context, db *sql.DB) error {
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&st.earlier, `SELECT ` + columns + ` FROM calls WHERE req_id = ? AND principal = ? AND agent = ? AND (ended > ? OR ended = 0) AND again = 0 ORDER BY n DESC LIMIT 1`},
		{&st.accept, `INSERT INTO calls (id, req_id, principal, agent, digest, instance, accepted, view) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`},
		{&st.end, `INSERT INTO calls (id, req_id, principal, agent, digest, instance, accepted, view, ended, again, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET view = excluded.view, ended = excluded.ended, again = excluded.again, answer = excluded.answer WHERE ended = 0`},
		{&st.stands, `SELECT ` + columns + ` FROM calls WHERE id = ?`},
		{&st.note, `UPDATE calls SET view = ? WHERE id = ? AND ended = 0`},
		{&st.say, `INSERT OR IGNORE INTO events (call, first, last, artifact, at, data) SELECT n, ?, ?, ?, ?, ? FROM calls WHERE id = ?`},
		{&st.audit, `INSERT INTO audit (call, at, kind, data) VALUES (?, ?, ?, ?)`},
	} {
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

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

var _ control.Auditor = (*Store)(nil)

// mostRows is the most that [Store.AuditRows] returns.
const mostRows = 1000

func scanRow(row interface{ Scan(...any) error }) (control.AuditRow, error) {
	var r control.AuditRow
	var at int64
	err := row.Scan(&r.N, &at, &r.Kind, &r.Call, &r.Principal, &r.Agent, &r.Door, &r.Skill, (*[]byte)(&r.Data), (*[]byte)(&r.Prev), (*[]byte)(&r.Hash), (*[]byte)(&r.Seal))
	r.At = time.UnixMicro(at).UTC()
	return r, err
}

// AuditRows implements [control.Auditor].
func (s *Store) AuditRows(ctx context.Context, q control.AuditQuery) (all []control.AuditRow, err error) {
	if q.Limit <= 0 || q.Limit > mostRows {
		q.Limit = mostRows
	}
	all = []control.AuditRow{}
	return all, s.EachAuditRow(ctx, q, func(r *control.AuditRow) error { all = append(all, *r); return nil })
}

// EachAuditRow tells the rows of the chain that are meant, as they are at one moment, until tell fails. A row is tell's as long as
// that runs.
func (s *Store) EachAuditRow(ctx context.Context, q control.AuditQuery, tell func(r *control.AuditRow) error) error {
	if err := s.present(); err != nil {
		return err
	}
	where, args := wanted(q, "principal", "skill")
	order := "ORDER BY n"
	if q.Newest {
		order = "ORDER BY n DESC"
	}
	if q.Limit > 0 {
		order += " LIMIT ?"
		args = append(args, q.Limit)
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+rowColumns+` FROM chain `+where+order, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return fmt.Errorf("a row of the audit can't be read: %w", err)
		}
		if !json.Valid(r.Data) { // somebody wrote it: it is shown, and verify says which it is
			r.Data, _ = json.Marshal(string(r.Data))
		}
		if err := tell(&r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// wanted puts a query into SQL. Names of columns are the caller's own.
func wanted(q control.AuditQuery, principal, skill string) (where string, args []any) {
	var parts []string
	add := func(part string, arg any) { parts, args = append(parts, part), append(args, arg) }
	if q.After > 0 {
		add("n > ?", q.After)
	}
	if q.Before > 0 {
		add("n < ?", q.Before)
	}
	if !q.Since.IsZero() {
		add("at >= ?", q.Since.UnixMicro())
	}
	if !q.Until.IsZero() {
		add("at < ?", q.Until.UnixMicro())
	}
	if q.Call != "" {
		add("call = ?", q.Call)
	}
	for _, f := range []struct{ column, is string }{{principal, q.Principal}, {skill, q.Skill}, {"kind", q.Kind}} {
		if f.is != "" {
			add(f.column+" = ?", f.is)
		}
	}
	if parts == nil {
		return "", nil
	}
	return "WHERE " + strings.Join(parts, " AND ") + " ", args
}

// AuditUses returns the newest entries of what calls used, oldest first, at most limit and at most 10,000.
func (s *Store) AuditUses(ctx context.Context, q control.AuditQuery) ([]control.AuditRow, error) {
	if q.Limit <= 0 || q.Limit > mostListed {
		q.Limit = mostListed
	}
	q.After, q.Before = 0, 0
	where, args := wanted(q, "principal", "skill")
	rows, err := s.read.QueryContext(ctx, `SELECT at, kind, call, principal, skill, data FROM (
		SELECT audit.n AS n, audit.at AS at, audit.kind AS kind, audit.call AS call, coalesce(calls.principal, '') AS principal,
			coalesce(`+s.engine.field("calls.view", "skill")+`, '') AS skill, audit.data AS data
		FROM audit LEFT JOIN calls ON calls.id = audit.call) AS used `+where+`ORDER BY n DESC LIMIT ?`, append(args, q.Limit)...)
	if err != nil {
		return nil, err
	}
	return scanAll(rows, func(row interface{ Scan(...any) error }) (control.AuditRow, error) {
		var r control.AuditRow
		var at int64
		err := row.Scan(&at, &r.Kind, &r.Call, &r.Principal, &r.Skill, (*[]byte)(&r.Data))
		r.At = time.UnixMicro(at).UTC()
		return r, err
	})
}

// AuditHead returns the end of the chain, as rows say it.
func (s *Store) AuditHead(ctx context.Context) (control.AuditHead, error) {
	if err := s.present(); err != nil {
		return control.AuditHead{}, err
	}
	m, _, err := readMark(ctx, s.read, markHead)
	return m.AuditHead, err
}

// readMark reads one of the two ends.
func readMark(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, name string) (m audit.Mark, bytes int64, err error) {
	var at int64
	err = db.QueryRowContext(ctx, `SELECT n, hash, at, seal, bytes FROM chain_marks WHERE name = ?`, name).
		Scan(&m.N, (*[]byte)(&m.Hash), &at, (*[]byte)(&m.Seal), &bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return m, 0, nil // somebody took it away: it is as if nothing had been written
	}
	m.At = moment(at)
	return m, bytes, err
}

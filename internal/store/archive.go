package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/hotcell/hotcell/internal/control"
)

// Bounds on one answer.
const (
	mostListed = 10_000
	mostInPage = 10_000  // events
	pageLen    = 1 << 20 // bytes of events, which whoever reads slowly holds
)

// scan reads a row of columns.
func scan(row interface{ Scan(...any) error }) (control.Record, error) {
	var r control.Record
	var v viewRow
	var answer []byte
	err := row.Scan(append([]any{&r.Digest, &r.Instance, &r.Again, &answer}, v.places()...)...)
	if err != nil {
		return r, err
	}
	r.Answer, r.Call = answer, v.call()
	return r, nil
}

// Find returns the call with this id, or the newest with this request id, or [control.ErrNotFound]; of one principal if
// only that one's calls are meant.
func (s *Store) Find(ctx context.Context, id string, whose control.Whose) (control.Record, error) {
	s.freshen(ctx)
	also, args := "", []any{id}
	if p, only := whose.One(); only {
		also, args = " AND principal = ?", []any{id, p}
	}
	r, err := scan(s.read.QueryRowContext(ctx, `SELECT `+columns+` FROM calls WHERE id = ?`+also, args...))
	if errors.Is(err, sql.ErrNoRows) {
		r, err = scan(s.read.QueryRowContext(ctx, `SELECT `+columns+` FROM calls WHERE req_id = ?`+also+` ORDER BY n DESC LIMIT 1`, args...))
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = control.ErrNotFound
	}
	return r, err
}

// listOwn lists one principal's calls: its latest that have ended, and those in flight. Nobody has none.
const listOwn = `SELECT ` + viewColumns + ` FROM calls WHERE id IN (
	SELECT id FROM (SELECT id FROM ended INDEXED BY ended_by_principal WHERE principal = ?2 AND principal <> '' ORDER BY accepted DESC, id DESC LIMIT ?1) AS latest
	UNION ALL SELECT id FROM calls INDEXED BY calls_in_flight WHERE ended = 0 AND principal = ?2 AND principal <> '') ORDER BY n DESC LIMIT ?1`

// List returns the calls, or those of one principal, newest first: at most limit, and at most 10,000.
func (s *Store) List(ctx context.Context, limit int, whose control.Whose) ([]control.Call, error) {
	if limit <= 0 || limit > mostListed {
		limit = mostListed
	}
	query, args := `SELECT `+viewColumns+` FROM calls ORDER BY n DESC LIMIT ?1`, []any{limit}
	if p, only := whose.One(); only {
		query, args = listOwn, []any{limit, p}
	}
	s.freshen(ctx)
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var calls []control.Call
	for rows.Next() {
		var v viewRow
		if err := rows.Scan(v.places()...); err != nil {
			return nil, err
		}
		calls = append(calls, v.call())
	}
	return calls, rows.Err()
}

// Events returns events of the call with this id in order, from the sequence number from on. It stops when an answer is
// large enough, but not before the first.
func (s *Store) Events(ctx context.Context, id string, from int) ([]json.RawMessage, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT first, data FROM events WHERE call = (SELECT n FROM calls WHERE id = ?) AND last >= ?
		ORDER BY first`, id, from)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var events []json.RawMessage
	for size := 0; size < s.page && len(events) < mostInPage && rows.Next(); {
		var first int
		var data []byte
		if err := rows.Scan(&first, &data); err != nil {
			return nil, err
		}
		size += len(data)
		for line := range bytes.SplitSeq(data, []byte{'\n'}) {
			if first >= from {
				events = append(events, line)
			}
			first++
		}
	}
	return events, rows.Err()
}

// InFlight returns the calls without an answer, whoever runs them, oldest first.
func (s *Store) InFlight(ctx context.Context) ([]control.Record, error) {
	s.freshen(ctx)
	rows, err := s.read.QueryContext(ctx, `SELECT `+columns+` FROM calls WHERE ended = 0 ORDER BY n`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var records []control.Record
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

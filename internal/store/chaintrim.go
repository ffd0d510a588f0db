package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	trimRows     = 500            // of the audit in one transaction
	slackPart    = 50             // rows are kept longer by this part of their time, so that few rows are about trims
	mostSlack    = 24 * time.Hour // and by no more than this
	slackPercent = 5              // of the bound that a trim by size makes free
)

// trimChain takes rows from the front of the audit: those that are too old, and the oldest while there are too many bytes.
func (s *Store) trimChain(ctx context.Context, now time.Time) error {
	if s.keep.Audit > 0 {
		cutoff := now.Add(-s.keep.Audit)
		due := cutoff.Add(-min(s.keep.Audit/slackPart, mostSlack))
		if oldest, err := s.oldestRow(ctx); err != nil || !oldest.Before(due) {
			cutoff = time.Time{}
			if err != nil {
				return err
			}
		}
		if err := s.repeat(ctx, s.dropRows("age", func(r *control.AuditRow, _ int64) bool { return r.At.Before(cutoff) })); err != nil {
			return err
		}
	}
	if s.keep.AuditMax == 0 {
		return nil
	}
	_, bytes, err := readMark(ctx, s.read, markHead)
	if err != nil || bytes <= s.keep.AuditMax {
		return err
	}
	s.log.Warn("the audit is larger than audit.max: its oldest rows go, however young they are", "bytes", bytes)
	least := s.keep.AuditMax / 100 * (100 - slackPercent)
	return s.repeat(ctx, s.dropRows("size", func(_ *control.AuditRow, left int64) bool { return left > least }))
}

// oldestRow returns the time of the first row, far in the future where there is none.
func (s *Store) oldestRow(ctx context.Context) (time.Time, error) {
	var at int64
	err := s.read.QueryRowContext(ctx, `SELECT at FROM chain ORDER BY n LIMIT 1`).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return s.now().Add(time.Hour), nil
	}
	return time.UnixMicro(at), err
}

// dropRows takes rows from the front as long as drop says so of the next one and of the bytes that are left. What is gone stays in
// the chain as the number and hash of the last of it.
func (s *Store) dropRows(why string, drop func(r *control.AuditRow, left int64) bool) trimStep {
	return func(tx *sql.Tx) (bool, error) {
		_, left, err := readMark(context.Background(), tx, markHead)
		if err != nil {
			return false, err
		}
		var last control.AuditHead
		n := int64(0)
		rows, err := tx.Query(`SELECT `+rowColumns+` FROM chain ORDER BY n LIMIT ?`, trimRows)
		if err != nil {
			return false, err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanRow(rows)
			if err != nil {
				return false, err
			}
			if !drop(&r, left) {
				break
			}
			n, last, left = n+1, control.AuditHead{N: r.N, Hash: r.Hash, At: r.At}, max(0, left-rowSize(&r))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || n == 0 {
			return false, err
		}
		return n == trimRows, s.cut(tx, last, n, left, why)
	}
}

// cut removes the rows through last, n of them, after which left bytes are kept.
func (s *Store) cut(tx *sql.Tx, last control.AuditHead, n, left int64, why string) error {
	if err := s.setMark(tx, markStart, last, 0); err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM chain WHERE n <= ?`, last.N); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE chain_marks SET bytes = ? WHERE name = 'head'`, left); err != nil {
		return err
	}
	return s.link(tx, control.AuditRow{At: s.now(), Kind: audit.Trimmed}, audit.Trim{Through: last.N, Hash: last.Hash, Rows: n, Why: why})
}

package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

// VerifyAudit implements [control.Auditor]. It looks at the file as it is at one moment: others may write meanwhile.
func (s *Store) VerifyAudit(ctx context.Context, anchor control.AuditHead) (control.AuditReport, error) {
	return s.verify(ctx, s.key, anchor)
}

// VerifyAuditWithoutKey is VerifyAudit that looks at no seal: for a file whose key is not here.
func (s *Store) VerifyAuditWithoutKey(ctx context.Context, anchor control.AuditHead) (control.AuditReport, error) {
	return s.verify(ctx, audit.Key{}, anchor)
}

func (s *Store) verify(ctx context.Context, key audit.Key, anchor control.AuditHead) (control.AuditReport, error) {
	if err := s.present(); err != nil {
		return control.AuditReport{}, err
	}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return control.AuditReport{}, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	start, _, err := readMark(ctx, tx, markStart)
	if err != nil {
		return control.AuditReport{}, err
	}
	head, _, err := readMark(ctx, tx, markHead)
	if err != nil {
		return control.AuditReport{}, err
	}
	check := audit.NewChecker(key, &start, anchor)
	v := &verification{ctx: ctx, tx: tx, check: check, untyped: s.engine.untyped()}
	for after, more := int64(minRow), true; more && !check.Failed(); {
		if after, more, err = v.page(after); err != nil {
			return control.AuditReport{}, err
		}
	}
	if err := v.stored(); err != nil {
		return control.AuditReport{}, err
	}
	report := check.End(&head)
	report.Uses = v.uses
	return report, nil
}

const (
	minRow     = -1 << 63 // numbers that no writer gives are looked at, too
	verifyRows = 1000     // at a time
)

type verification struct {
	ctx   context.Context
	tx    *sql.Tx
	check *audit.Checker
	uses  int64

	untyped string // the condition for texts that are none
}

// page looks at some rows behind a number.
func (v *verification) page(after int64) (last int64, more bool, err error) {
	rows, err := v.tx.QueryContext(v.ctx, `SELECT `+rowColumns+` FROM chain WHERE n > ? ORDER BY n LIMIT ?`, after, verifyRows)
	if err != nil {
		return after, false, err
	}
	page, err := scanAll(rows, scanRow)
	if err != nil && v.ctx.Err() == nil && rows.Err() == nil {
		v.check.Fail(after+1, "row %d or one of the %d behind it can't be read: %v", after+1, verifyRows, err)
		return after, false, nil
	}
	if err != nil {
		return after, false, err
	}
	for i := range page {
		r := &page[i]
		if v.check.Next(r); v.check.Failed() {
			return r.N, false, nil
		}
		if err := v.used(r); err != nil {
			return r.N, false, err
		}
		after = r.N
	}
	return after, len(page) == verifyRows, nil
}

// stored looks for texts that are stored as bytes: they read like texts, and who asks for them finds them not.
func (v *verification) stored() error {
	if v.check.Failed() || v.untyped == "" {
		return nil
	}
	var n int64
	err := v.tx.QueryRowContext(v.ctx, `SELECT n FROM chain WHERE `+v.untyped+` ORDER BY n LIMIT 1`).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		v.check.Fail(n, "row %d was edited: a text in it is stored as something else, so that nobody finds it", n)
	}
	return err
}

// used looks at what a call used by its end, as long as the call is kept: it goes with it.
func (v *verification) used(r *control.AuditRow) error {
	if r.Kind != audit.CallEnd || !bytes.Contains(r.Data, []byte(`"used":`)) {
		return nil
	}
	var data struct {
		Used sealed `json:"used"`
	}
	if err := json.Unmarshal(r.Data, &data); err != nil || data.Used.Rows == 0 {
		return nil // nothing that could be compared
	}
	// A trim takes away what a call used from the front, bit by bit, and then the call. It takes the call that was accepted first
	// of those that had ended by some time: one before which another came and had ended is not its next.
	var first int64
	var going bool
	err := v.tx.QueryRowContext(v.ctx, `SELECT (SELECT coalesce(min(nth), 0) FROM audit WHERE call = c.id AND nth > 0),
		NOT EXISTS (SELECT 1 FROM calls WHERE ended <> 0 AND (accepted, n) < (c.accepted, c.n) AND ended <= c.ended) FROM calls AS c WHERE id = ?`, r.Call).Scan(&first, &going)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil || going && first != 1 {
		return err
	}
	return v.compare(r, data.Used)
}

func (v *verification) compare(r *control.AuditRow, want sealed) error {
	rows, err := v.tx.QueryContext(v.ctx, `SELECT nth, at, kind, data FROM audit WHERE call = ? AND nth > 0 ORDER BY n LIMIT ?`, r.Call, want.Rows)
	if err != nil {
		return err
	}
	defer rows.Close()
	var sum control.Sum
	n := int64(0)
	for rows.Next() {
		var nth, at int64
		var kind string
		var data []byte
		if err := rows.Scan(&nth, &at, &kind, &data); err != nil {
			return err
		}
		if n++; nth != n {
			v.check.Fail(r.N, "what call %s used: entry %d is missing or out of order", r.Call, n)
			return nil
		}
		sum = audit.HashUse(r.Call, nth, time.UnixMicro(at), kind, data, sum)
	}
	v.uses += n
	switch {
	case rows.Err() != nil:
		return rows.Err()
	case n < want.Rows:
		v.check.Fail(r.N, "what call %s used: entries %d to %d are missing", r.Call, n+1, want.Rows)
	case !bytes.Equal(sum, want.Hash):
		v.check.Fail(r.N, "what call %s used: one of its %d entries was edited", r.Call, n)
	}
	return nil
}

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
)

var _ audit.Log = (*Store)(nil)

// maxEntry bounds the data of an entry, as JSON. What is longer is replaced by a word about that.
const maxEntry = 64 << 10

// Write implements [audit.Log]: the entry is kept some time soon, as long as its call is. What skills say leaves it room.
func (s *Store) Write(e audit.Entry) {
	data, err := json.Marshal(e.Data)
	if err != nil || len(data) > maxEntry {
		data = []byte(`{"dropped":"the entry is too long, or has no JSON form"}`)
	}
	at := e.At
	if at.IsZero() {
		at = s.now()
	}
	s.queue.put(&op{late: true, audit: true, size: len(data) + opOverhead, do: func(tx *sql.Tx) error {
		nth, prev, err := s.usedSoFar(tx, e.Call)
		if err != nil {
			return err
		}
		_, err = tx.Stmt(s.stmts.audit).Exec(e.Call, at.UnixMicro(), e.Kind, data, nth+1, []byte(audit.HashUse(e.Call, nth+1, at, e.Kind, data, prev)))
		return err
	}})
}

// Audit returns the entries of the call with this id, oldest first, or the newest ones of all calls for "". There are at
// most 10,000.
func (s *Store) Audit(ctx context.Context, call string) ([]audit.Entry, error) {
	which, args := "", []any{mostListed}
	if call != "" {
		which, args = "WHERE audit.call = ?", []any{call, mostListed}
	}
	rows, err := s.read.QueryContext(ctx, `SELECT audit.call, coalesce(`+s.engine.field("calls.view", "skill")+`, ''), audit.at, audit.kind, audit.data
		FROM audit LEFT JOIN calls ON calls.id = audit.call `+which+` ORDER BY audit.n DESC LIMIT ?`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var entries []audit.Entry
	for rows.Next() {
		var e audit.Entry
		var at int64
		var data []byte
		if err := errors.Join(rows.Scan(&e.Call, &e.Skill, &at, &e.Kind, &data), json.Unmarshal(data, &e.Data)); err != nil {
			return nil, err
		}
		e.At = time.UnixMicro(at).UTC()
		entries = append(entries, e)
	}
	slices.Reverse(entries)
	return entries, rows.Err()
}

// dropAudit takes away what was told before a time of calls that are not kept: the others go with theirs, or one that took long
// would lose what it used first.
func dropAudit(before time.Time) trimStep {
	return func(tx *sql.Tx) (bool, error) {
		n, err := affected(tx.Exec(`DELETE FROM audit WHERE n IN (SELECT n FROM audit WHERE at < ?
			AND NOT EXISTS (SELECT 1 FROM calls WHERE id = audit.call) ORDER BY at LIMIT ?)`, before.UnixMicro(), trimEvents))
		return n == trimEvents, err
	}
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

var _ audit.Recorder = (*Store)(nil)

const rowColumns = "n, at, kind, call, principal, agent, door, skill, data, prev, hash, seal"

// rowOverhead is about what a row costs beside its texts and its data: bytes.
const rowOverhead = 160

// maxRow bounds the data of a row, as JSON. What callers and cells choose of it is bounded such that no row about a call is longer.
const maxRow = 32 << 10

// Record implements [audit.Recorder].
func (s *Store) Record(ctx context.Context, e audit.Entry) error {
	if err := s.present(); err != nil {
		return err
	}
	return s.ask(ctx, func(tx *sql.Tx) error {
		return s.act(ctx, tx, control.AuditRow{Kind: e.Kind, Call: e.Call, Skill: e.Skill, At: e.At}, e.Data)
	})
}

// act enters what somebody did, in the transaction that does it. Who it was is in the context.
func (s *Store) act(ctx context.Context, tx *sql.Tx, r control.AuditRow, data map[string]any) error {
	who, known := audit.ActorOf(ctx)
	if id := auth.FromContext(ctx); !known {
		who = audit.Actor{Principal: id.Principal, Agent: id.Agent}
		if len(id.Scopes) > 0 {
			who.Door = "http"
		}
	}
	r.Principal, r.Agent, r.Door = who.Principal, who.Agent, who.Door
	if r.At.IsZero() {
		r.At = s.now()
	}
	return s.link(tx, r, data)
}

// own is [Store.act] for what a principal owns.
func (s *Store) own(ctx context.Context, tx *sql.Tx, r control.AuditRow, principal int64, data map[string]any) error {
	var o catalog.Owner
	err := tx.QueryRow(`SELECT kind, name FROM principals WHERE id = ?`, principal).Scan(&o.Kind, &o.Name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	data["owner"] = o.Kind + ":" + audit.Text(o.Name)
	return s.act(ctx, tx, r, data)
}

// link adds a row to the end of the chain. Who else has the file open waits meanwhile: the transaction has its lock.
func (s *Store) link(tx *sql.Tx, r control.AuditRow, data any) error {
	r.Data = rowData(data)
	for _, text := range []*string{&r.Kind, &r.Call, &r.Principal, &r.Agent, &r.Door, &r.Skill} {
		*text = s.engine.text(*text)
	}
	head, bytes, err := s.headOf(tx)
	if err != nil {
		return err
	}
	audit.Link(&r, head, s.key)
	_, err = tx.Stmt(s.stmts.chain).Exec(r.N, r.At.UnixMicro(), r.Kind, r.Call, r.Principal, r.Agent, r.Door, r.Skill, []byte(r.Data),
		blob(r.Prev), blob(r.Hash), []byte(r.Seal))
	if err != nil {
		return err
	}
	return s.setMark(tx, markHead, control.AuditHead{N: r.N, Hash: r.Hash, At: r.At}, bytes+rowSize(&r))
}

// rowData is the JSON of a row's data. Where that is too long the longest fields go, and the row says which: what else is in it
// stays, so that nobody keeps a row from being read by making one field of it long.
func rowData(data any) []byte {
	raw, err := json.Marshal(data)
	if err == nil && len(raw) <= maxRow {
		return raw
	}
	var fields map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &fields) != nil {
		return []byte(`{"dropped":"the entry is too long, or has no JSON form"}`)
	}
	names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(fields[b]), len(fields[a])), cmp.Compare(a, b))
	})
	for i := range names {
		delete(fields, names[i])
		fields["dropped"], _ = json.Marshal(names[:i+1])
		if raw, err = json.Marshal(fields); err == nil && len(raw) <= maxRow {
			return raw
		}
	}
	return []byte(`{"dropped":"the entry has too many fields"}`)
}

// blob is never NULL.
func blob(s control.Sum) []byte { return append([]byte{}, s...) }

func rowSize(r *control.AuditRow) int64 {
	return int64(len(r.Data) + len(r.Kind) + len(r.Call) + len(r.Principal) + len(r.Agent) + len(r.Door) + len(r.Skill) + rowOverhead)
}

const (
	markHead  = "head"
	markStart = "start"
)

// headOf returns what the next row follows. A mark that somebody removed or set back stops nobody from writing: then the last row
// counts.
func (s *Store) headOf(tx *sql.Tx) (head control.AuditHead, bytes int64, err error) {
	var last int64
	err = tx.Stmt(s.stmts.head).QueryRow().Scan(&head.N, (*[]byte)(&head.Hash), &bytes, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return head, 0, fmt.Errorf("audit: %w", err)
	}
	if err == nil && head.N >= last {
		return head, bytes, nil
	}
	err = tx.QueryRow(`SELECT n, hash FROM (SELECT n, hash FROM chain UNION ALL SELECT n, hash FROM chain_marks WHERE name = 'start') AS known
		ORDER BY n DESC LIMIT 1`).Scan(&head.N, (*[]byte)(&head.Hash))
	if errors.Is(err, sql.ErrNoRows) {
		return control.AuditHead{}, bytes, nil
	}
	return head, bytes, err
}

func (s *Store) setMark(tx *sql.Tx, name string, h control.AuditHead, bytes int64) error {
	seal := s.key.SealHead(h)
	if name == markStart {
		seal = s.key.SealStart(h)
	}
	moved, err := affected(tx.Stmt(s.stmts.move).Exec(h.N, blob(h.Hash), h.At.UnixMicro(), []byte(seal), bytes, name))
	if moved == 0 && err == nil { // somebody took it away
		_, err = tx.Stmt(s.stmts.mark).Exec(name, h.N, blob(h.Hash), h.At.UnixMicro(), []byte(seal), bytes)
	}
	return err
}

// usedSoFar is how much of what a call used is kept, and the last hash of that.
func (s *Store) usedSoFar(tx *sql.Tx, call string) (nth int64, hash []byte, err error) {
	err = tx.Stmt(s.stmts.used).QueryRow(call).Scan(&nth, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return nth, hash, err
}

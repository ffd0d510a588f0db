package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/control"
)

// verdictOK is the verdict of a success, as the audit has it.
const verdictOK = "ok"

// longestName is what is kept of a skill's name to search for, in bytes: what was called need not be one.
const longestName = 256

// settled is the verdict of a call that has ended, as it is searched.
func settled(c *control.Call) string {
	if v := c.Verdict(); v != control.VerdictSucceeded {
		return v
	}
	return verdictOK
}

func searched(name string) string { return name[:min(len(name), longestName)] }

// index makes a call that has ended known to searches, in the transaction that keeps its answer and its row of the audit.
func (s *Store) index(tx *sql.Tx, r *control.Record) error {
	_, err := tx.Stmt(s.stmts.file).Exec(r.Accepted.UnixMicro(), r.ID, max(r.Ended.UnixMicro(), 1), r.Principal, r.Agent, searched(r.Skill), r.Door, settled(&r.Call))
	return err
}

// Search returns the calls that are meant, the newest first: one more than a page has, so that it is seen whether there are more.
func (s *Store) Search(ctx context.Context, whose control.Whose, q control.CallQuery) ([]control.Call, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	s.freshen(ctx)
	tx, err := s.read.BeginTx(ctx, nil) // so that a call that ends meanwhile is seen once
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	var calls, ended []control.Call
	if q.Verdict == "" || q.Verdict == control.VerdictRunning {
		if calls, err = searchRunning(ctx, tx, whose, q); err != nil {
			return nil, err
		}
	}
	if q.Verdict != control.VerdictRunning {
		if ended, err = searchEnded(ctx, tx, whose, q); err != nil {
			return nil, err
		}
	}
	calls = append(calls, ended...)
	slices.SortFunc(calls, func(a, b control.Call) int { return b.Place().Compare(a.Place()) })
	return calls[:min(len(calls), q.Most()+1)], nil
}

// terms are the conditions of a query.
type terms struct {
	sql  []string
	args []any
}

func (t *terms) add(sql string, args ...any) {
	t.sql, t.args = append(t.sql, sql), append(t.args, args...)
}

// place limits them to where in the order of calls a query looks, and to whose calls are meant.
func (t *terms) place(whose control.Whose, q *control.CallQuery) error {
	if p, only := whose.One(); only {
		t.add("principal = ?", p)
	}
	if !q.Since.IsZero() {
		t.add("accepted >= ?", q.Since.UnixMicro())
	}
	if !q.Until.IsZero() {
		t.add("accepted < ?", q.Until.UnixMicro())
	}
	if q.Before == "" {
		return nil
	}
	before, err := control.PlaceOf(q.Before)
	t.add("(accepted, id) < (?, ?)", before.At, before.ID)
	return err
}

// searchRunning looks at the calls in flight, whoever runs them. They are few.
func searchRunning(ctx context.Context, tx *sql.Tx, whose control.Whose, q control.CallQuery) ([]control.Call, error) {
	t := terms{sql: []string{"ended = 0"}}
	if err := t.place(whose, &q); err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+viewColumns+` FROM calls INDEXED BY calls_in_flight WHERE `+strings.Join(t.sql, " AND ")+
		` ORDER BY accepted DESC, id DESC`, t.args...)
	if err != nil {
		return nil, err
	}
	return scanViews(rows, q.Most()+1, q.Matches)
}

// searchEnded looks for calls that have ended. Each index has all that is asked for, and its places in order: nothing is sorted, and
// no call is read that is not meant.
func searchEnded(ctx context.Context, tx *sql.Tx, whose control.Whose, q control.CallQuery) ([]control.Call, error) {
	t, by, err := endedTerms(whose, &q)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+viewColumns+` FROM (SELECT id FROM ended `+by+` WHERE `+strings.Join(t.sql, " AND ")+
		` ORDER BY accepted DESC, id DESC LIMIT ?) AS found JOIN calls ON calls.id = found.id`, append(t.args, q.Most()+1)...)
	if err != nil {
		return nil, err
	}
	return scanViews(rows, q.Most()+1, nil)
}

// endedTerms returns the conditions, and which index serves them.
func endedTerms(whose control.Whose, q *control.CallQuery) (t terms, by string, err error) {
	t.add("true")
	if err := t.place(whose, q); err != nil {
		return t, "", err
	}
	switch q.Verdict {
	case "":
	case control.VerdictSucceeded:
		t.add("verdict = 'ok'")
	case control.VerdictFailed:
		t.add("verdict <> 'ok' AND verdict <> 'canceled'")
		by = "INDEXED BY ended_badly"
	default:
		t.add("verdict <> 'ok' AND verdict = ?", q.Verdict)
		by = "INDEXED BY ended_badly"
	}
	if q.Agent != "" {
		t.add("agent = ?", q.Agent)
	}
	if q.Door != "" {
		t.add("door = ?", q.Door)
	}
	if q.Principal != "" {
		t.add("principal = ?", q.Principal)
	}
	if p, _ := whose.One(); by == "" && cmp.Or(p, q.Principal) != "" {
		t.add("principal <> ''")
		by = "INDEXED BY ended_by_principal"
	}
	if q.Skill != "" {
		t.add("skill = ?", q.Skill)
		by = "INDEXED BY ended_by_skill"
	}
	return t, by, nil
}

// scanViews reads calls from views, at most so many that are meant; nil: all are.
func scanViews(rows *sql.Rows, most int, meant func(*control.Call) bool) (calls []control.Call, err error) {
	defer rows.Close()
	for len(calls) < most && rows.Next() {
		var v viewRow
		if err := rows.Scan(v.places()...); err != nil {
			return nil, err
		}
		c := v.call()
		if meant == nil || meant(&c) {
			calls = append(calls, c)
		}
	}
	return calls, rows.Err()
}

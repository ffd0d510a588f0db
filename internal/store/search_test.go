package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// verdicts are how generated calls stand.
var verdicts = []string{control.VerdictRunning, control.VerdictSucceeded, control.VerdictCanceled, "timeout", "skill_error", "runtime_error"}

// stands is r with a verdict.
func stands(r control.Record, verdict string) control.Record {
	switch verdict {
	case control.VerdictRunning:
		return r
	case control.VerdictSucceeded:
		return answered(r, "fine")
	}
	r = answered(r, "")
	r.State, r.Code = control.Failed, a2e.Code(verdict)
	if verdict == control.VerdictCanceled {
		r.State, r.Code = control.Canceled, a2e.RuntimeError
	}
	return r
}

// history journals calls, many of them of one moment, and returns them as they stand. It takes one transaction for all.
func history(t *rapid.T, s *Store, n int) (calls []control.Call) {
	var all []control.Record
	for i := range n {
		id := fmt.Sprintf("%s%03d", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"), i)
		r := taken(id, id)
		r.Accepted = start.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "at")) * time.Second)
		r.Skill = rapid.SampledFrom([]string{"echo", "sum", "grep"}).Draw(t, "skill")
		r.Principal = rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "principal")
		r.Agent = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "agent")
		r.Door = rapid.SampledFrom([]string{"mcp", "rest"}).Draw(t, "door")
		r = stands(r, rapid.SampledFrom(verdicts).Draw(t, "verdict"))
		all, calls = append(all, r), append(calls, r.Call)
	}
	err := s.ask(context.Background(), func(tx *sql.Tx) error {
		for _, r := range all {
			if err := s.enterWhole(tx, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// enterWhole is the acceptance and the end of a call in a transaction of somebody else's.
func (s *Store) enterWhole(tx *sql.Tx, r control.Record) error {
	view, err := encode(r.Call)
	if err != nil {
		return err
	}
	_, err = tx.Stmt(s.stmts.accept).Exec(r.ID, r.ReqID, r.Principal, r.Agent, r.Digest, r.Instance, r.Accepted.UnixMicro(), view, 0)
	if !r.State.Terminal() || err != nil {
		return err
	}
	_, err = tx.Stmt(s.stmts.end).Exec(r.ID, r.ReqID, r.Principal, r.Agent, r.Digest, r.Instance, r.Accepted.UnixMicro(), view, r.Ended.UnixMicro(), false, []byte(r.Answer))
	return errors.Join(err, s.enterEnd(tx, r), s.index(tx, &r))
}

func query(t *rapid.T) (control.Whose, control.CallQuery) {
	maybe := func(what string, from ...string) string { return rapid.SampledFrom(append(from, "", "")).Draw(t, what) }
	at := func(what string) time.Time {
		if rapid.Bool().Draw(t, what) {
			return time.Time{}
		}
		return start.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, what)) * time.Second)
	}
	q := control.CallQuery{
		Skill: maybe("skill", "echo", "sum"), Principal: maybe("principal", "ann", "bob", "nobody"), Agent: maybe("agent", "x"), Door: maybe("door", "mcp"),
		Verdict: maybe("verdict", append(verdicts, control.VerdictFailed, "out_of_memory")...), Since: at("since"), Until: at("until"),
		Limit: rapid.IntRange(1, 30).Draw(t, "limit"),
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until) {
		q.Until = time.Time{}
	}
	whose := control.Whose{}
	if rapid.Bool().Draw(t, "only") {
		whose = control.Only(rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "whose"))
	}
	return whose, q
}

func ids(calls []control.Call) []string {
	all := []string{}
	for _, c := range calls {
		all = append(all, c.ID)
	}
	return all
}

// paged reads all pages, and does something between them.
func paged(t *rapid.T, s *Store, whose control.Whose, q control.CallQuery, between func()) (all []control.Call) {
	for {
		calls, err := s.Search(context.Background(), whose, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) <= q.Limit {
			return append(all, calls...)
		}
		all = append(all, calls[:q.Limit]...)
		q.Before = all[len(all)-1].Place().Cursor()
		between()
	}
}

// A search is a filter over all calls, and its pages together have each once, whatever is added meanwhile.
func TestSearchIsAFilter(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s, err := openAt(context.Background(), Options{Path: filepath.Join(dir, fmt.Sprint(n)), Sync: "off", Keep: Keep{Events: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		calls := history(t, s, rapid.IntRange(0, 40).Draw(t, "calls"))
		slices.SortFunc(calls, func(a, b control.Call) int { return b.Place().Compare(a.Place()) })
		added := 0
		for range 10 {
			whose, q := query(t)
			want := []string{}
			for _, c := range calls {
				if whose.Has(c.Principal) && q.Matches(&c) {
					want = append(want, c.ID)
				}
			}
			got := ids(paged(t, s, whose, q, func() {
				added++
				r := taken(fmt.Sprintf("new%d", added), fmt.Sprintf("new%d", added))
				r.Accepted, r.Skill = start.Add(time.Hour), q.Skill
				if _, err := s.Accept(context.Background(), r, start); err != nil {
					t.Fatal(err)
				}
			}))
			got = slices.DeleteFunc(got, func(id string) bool { return strings.HasPrefix(id, "new") })
			if !cmp.Equal(got, want) {
				t.Fatalf("%+v of %+v: %s", q, whose, cmp.Diff(want, got))
			}
		}
	})
}

// While calls come and end, of two journals on one file, pages have each call that was there before once.
func TestPagesWhileCallsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	s, other := opened(t, Options{Path: path}), opened(t, Options{Path: path})
	const n = 300
	for i := range n {
		r := taken(fmt.Sprintf("c%03d", i), fmt.Sprint(i))
		r.Accepted = start.Add(time.Duration(i) * time.Millisecond)
		accept(t, s, r)
	}
	var ending sync.WaitGroup
	ending.Go(func() {
		for i := range n {
			r := taken(fmt.Sprintf("c%03d", i), fmt.Sprint(i))
			r.Accepted = start.Add(time.Duration(i) * time.Millisecond)
			end(t, other, answered(r, "fine"))
			r = taken(fmt.Sprintf("d%03d", i), fmt.Sprint("d", i))
			r.Accepted = start.Add(time.Hour)
			accept(t, other, r)
		}
	})
	for round := range 10 {
		seen := map[string]int{}
		q := control.CallQuery{Limit: 17}
		for more := true; more; {
			calls, err := s.Search(t.Context(), control.Whose{}, q)
			if err != nil {
				t.Fatal(err)
			}
			if more = len(calls) > q.Limit; more {
				calls = calls[:q.Limit]
				q.Before = calls[q.Limit-1].Place().Cursor()
			}
			for _, c := range calls {
				seen[c.ID]++
			}
		}
		for i := range n {
			if id := fmt.Sprintf("c%03d", i); seen[id] != 1 {
				t.Fatalf("round %d: %s was seen %d times", round, id, seen[id])
			}
		}
	}
	ending.Wait()
}

func TestQueriesThatAreRefused(t *testing.T) {
	s := opened(t, Options{})
	for _, tt := range []struct {
		q    control.CallQuery
		want string
	}{
		{control.CallQuery{Limit: -1}, "limit: expected 1 to 200, got -1"},
		{control.CallQuery{Limit: 201}, "limit: expected 1 to 200, got 201"},
		{control.CallQuery{Verdict: "bad"}, `verdict: expected running, succeeded, failed, canceled or the code of an error such as timeout, got "bad"`},
		{control.CallQuery{Since: start, Until: start}, "since: expected a time before until"},
	} {
		_, err := s.Search(t.Context(), control.Whose{}, tt.q)
		var fault *control.Fault
		if !errors.As(err, &fault) || err.Error() != tt.want {
			t.Errorf("%+v: %v", tt.q, err)
		}
	}
	for _, cursor := range []string{"x", "c1", "MTIz", "%%%", strings.Repeat("A", 500), control.Place{}.Cursor(), control.Place{At: 1, ID: "c1"}.Cursor() + "=",
		control.Place{At: 1, ID: strings.Repeat("x", 65)}.Cursor()} {
		if _, err := s.Search(t.Context(), control.Whose{}, control.CallQuery{Before: cursor}); !errors.Is(err, control.ErrCursor) {
			t.Errorf("%q: %v", cursor, err)
		}
	}
}

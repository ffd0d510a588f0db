package executor

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

func placed(at int, state control.State) control.Call {
	return control.Call{ID: fmt.Sprintf("c%02d", at), Skill: "echo", State: state, Accepted: time.UnixMicro(int64(at))}
}

// Pages of what the journal found and of what is known better here have each call once, as it is known best, in order.
func TestPagesOfBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var journal []control.Call // newest first
		here := map[string]control.Call{}
		want := map[string]control.State{}
		for at := 40; at > 0; at-- {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0: // has ended, and is known here as running yet
				journal = append(journal, placed(at, control.Failed))
				here[placed(at, "").ID] = placed(at, control.Running)
				want[placed(at, "").ID] = control.Failed
			case 1: // in flight
				journal = append(journal, placed(at, control.Queued))
				here[placed(at, "").ID] = placed(at, control.Running)
				want[placed(at, "").ID] = control.Running
			case 2: // not in the journal yet
				here[placed(at, "").ID] = placed(at, control.Queued)
				want[placed(at, "").ID] = control.Queued
			case 3: // of another process
				journal = append(journal, placed(at, control.Succeeded))
				want[placed(at, "").ID] = control.Succeeded
			case 4: // in flight for the journal; its end is not journalled, and not what is searched
				other := placed(at, control.Succeeded)
				other.Skill = "other"
				journal = append(journal, placed(at, control.Queued))
				here[other.ID] = other
			}
		}
		q := control.CallQuery{Limit: rapid.IntRange(1, 7).Draw(t, "limit"), Skill: "echo"}
		got := map[string]control.State{}
		var last control.Place
		for pages := 0; ; pages++ {
			before, err := control.PlaceOf(q.Before)
			var kept []control.Call
			for _, c := range journal {
				if (err != nil || c.Place().Compare(before) < 0) && len(kept) <= q.Limit {
					kept = append(kept, c)
				}
			}
			own := map[string]control.Call{}
			for id, c := range here {
				own[id] = c
			}
			page := pageOf(&q, kept, own)
			if len(page.Calls) > q.Limit || pages > 100 {
				t.Fatalf("page %d has %d calls", pages, len(page.Calls))
			}
			for _, c := range page.Calls {
				if _, twice := got[c.ID]; twice || last.ID != "" && c.Place().Compare(last) >= 0 {
					t.Fatalf("%s comes after %s, twice: %t", c.ID, last.ID, twice)
				}
				got[c.ID], last = c.State, c.Place()
			}
			if q.Before = page.Next; q.Before == "" {
				break
			}
		}
		if !cmp.Equal(got, want) {
			t.Fatal(cmp.Diff(want, got))
		}
	})
}

// sweep reads all pages, and fails where a call is seen twice, or is somebody else's.
func sweep(t *testing.T, s *Supervisor, principal string, q control.CallQuery) (all []control.Call) {
	t.Helper()
	seen := map[string]bool{}
	for {
		page, err := s.Search(t.Context(), control.Only(principal), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Calls {
			if seen[c.ID] || c.Principal != principal {
				t.Errorf("%s of %s is seen by %s, twice: %t", c.ID, c.Principal, principal, seen[c.ID])
			}
			seen[c.ID] = true
			all = append(all, c)
		}
		if q.Before = page.Next; q.Before == "" {
			return all
		}
	}
}

// While calls of two principals run in two supervisors of one journal, each principal's pages have its own calls, each once; in the
// end all of them, in both.
func TestSearchWhileCallsRun(t *testing.T) {
	path := dbPath(t)
	supervisors := []*bench{journalled(t, path, "one", well, nil), journalled(t, path, "two", well, nil)}
	const each = 40
	var calling sync.WaitGroup
	for i, b := range supervisors {
		for _, principal := range []string{"ann", "bob"} {
			calling.Go(func() {
				for n := range each {
					b.Call(context.Background(), a2e.Caller{Door: "test", Principal: principal}, sent("free", fmt.Sprintf("r-%d-%s-%d", i, principal, n)), quiet)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { calling.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		for _, b := range supervisors {
			sweep(t, b.Supervisor, "ann", control.CallQuery{Limit: 7})
			sweep(t, b.Supervisor, "bob", control.CallQuery{Limit: 5, Skill: "free"})
		}
	}
	for _, b := range supervisors {
		for q, want := range map[control.CallQuery]int{{}: 2 * each, {Verdict: control.VerdictSucceeded, Door: "test"}: 2 * each, {Verdict: control.VerdictRunning}: 0} {
			if got := sweep(t, b.Supervisor, "bob", q); len(got) != want {
				t.Errorf("%+v: %d calls, want %d", q, len(got), want)
			}
		}
		now := time.Now()
		stats, err := b.Stats(t.Context(), control.Only("ann"), control.StatsQuery{Since: now.Add(-time.Hour), Until: now.Add(time.Hour), Buckets: 2})
		if err != nil || stats.Total.Calls != 2*each || stats.Total.Failed != 0 || len(stats.Skills) != 1 {
			t.Errorf("%+v, %v", stats, err)
		}
	}
}

var quiet = a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { return nil })

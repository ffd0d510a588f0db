package executor

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

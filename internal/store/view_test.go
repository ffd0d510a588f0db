package store

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// A call whose row can't be read is listed as such, and hides no other one.
func TestARowThatCannotBeReadHidesNoOther(t *testing.T) {
	s := opened(t, Options{})
	for i := range 6 {
		r := taken(fmt.Sprint("c", i), fmt.Sprint("r", i))
		r.Accepted = start.Add(time.Duration(i) * time.Second)
		accept(t, s, r)
		if i < 4 {
			r = answered(r, "fine")
			r.Ended = start.Add(time.Minute)
			end(t, s, r)
		}
	}
	if _, err := s.InFlight(t.Context()); err != nil { // they are rows from then on
		t.Fatal(err)
	}
	drop := `DROP TRIGGER calls_one_answer`
	if os.Getenv(envPostgres) != "" {
		drop += ` ON calls`
	}
	for _, st := range []string{drop, `UPDATE calls SET view = '{"id": ' WHERE id IN ('c1', 'c4')`, `UPDATE calls SET view = '{}' WHERE id = 'c2'`} {
		if _, err := s.write.Exec(st); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"c5", "c4!", "c3", "c2!", "c1!", "c0"}
	told := func(calls []control.Call) (all []string) {
		for _, c := range calls {
			name := c.ID
			if why, ok := c.Notes[noteUnreadable].(string); ok {
				name += "!"
				if !strings.Contains(why, "can't be read") || c.ReqID != "r"+c.ID[1:] || c.Principal != "p" || c.Agent != "a" || c.Accepted.IsZero() ||
					c.State.Terminal() != (c.ID != "c4") || c.Ended.IsZero() != (c.ID == "c4") {
					t.Errorf("%+v", c)
				}
			}
			all = append(all, name)
		}
		return all
	}
	for name, whose := range map[string]control.Whose{"all": {}, "own": control.Only("p")} {
		calls, err := s.List(t.Context(), 0, whose)
		if got := told(calls); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: listed %v, %v", name, got, err)
		}
		var pages []control.Call
		for before := ""; ; {
			page, err := s.Search(t.Context(), whose, control.CallQuery{Limit: 2, Before: before})
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page[:min(2, len(page))]...)
			if len(page) < 3 {
				break
			}
			before = page[1].Place().Cursor()
		}
		if got := told(pages); !slices.Equal(got, want) {
			t.Errorf("%s: found %v", name, got)
		}
	}
	flying, err := s.InFlight(t.Context())
	if err != nil || len(flying) != 2 || flying[0].Instance != "one" {
		t.Errorf("in flight: %+v, %v", flying, err)
	}
	if r := find(t, s, "c1"); told([]control.Call{r.Call})[0] != "c1!" || r.Answer == nil {
		t.Errorf("%+v", r)
	}
	again := taken("c1b", "r1")
	if earlier, err := s.Accept(context.Background(), again, start); err != nil || earlier == nil || earlier.ID != "c1" || earlier.Answer == nil {
		t.Errorf("sent again: %+v, %v", earlier, err)
	}
	closed := flying[0]
	closed.Answer = []byte(`{}`)
	closed.State, closed.Ended = control.Failed, start.Add(time.Hour)
	if stands := end(t, s, closed); stands.ID != "c4" {
		t.Errorf("closed: %+v", stands)
	}
	if left, err := s.InFlight(t.Context()); err != nil || len(left) != 1 || left[0].ID != "c5" {
		t.Errorf("left: %+v, %v", left, err)
	}
}

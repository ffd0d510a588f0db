package store

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/control"
)

// Several journals on one file, opened at once while it does not exist: of each request one call is taken in, of each call
// one answer stands, and all see the same.
func TestSeveralJournalsOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	const journals, requests = 3, 60
	stores := make([]*Store, journals)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			s, err := openAt(context.Background(), Options{Path: path, Keep: Keep{Events: time.Hour}})
			if err != nil {
				t.Error(err)
			}
			stores[i] = s
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	won, stood := make([]int, requests), make([][journals]string, requests)
	var mu sync.Mutex
	for i, s := range stores {
		all.Go(func() {
			for n := range requests {
				r := taken(fmt.Sprintf("c%d-%d", n, i), fmt.Sprintf("r%d", n))
				earlier, err := s.Accept(context.Background(), r, start.Add(-time.Minute))
				if err != nil {
					t.Error(err)
					return
				}
				if earlier == nil {
					mu.Lock()
					won[n]++
					mu.Unlock()
					earlier = &r
				}
				s.Say(earlier.ID, i, false, json.RawMessage(`{}`))
				stands, err := s.End(context.Background(), answered(*earlier, fmt.Sprintf("by %d", i)))
				if err != nil {
					t.Error(err)
					return
				}
				stood[n][i] = string(stands.Answer)
			}
		})
	}
	all.Wait()
	for n := range requests {
		if won[n] != 1 {
			t.Errorf("request %d was taken in %d times", n, won[n])
		}
		for i := range journals {
			if stood[n][i] == "" || stood[n][i] != stood[n][0] {
				t.Errorf("request %d has the answers %s", n, stood[n])
				break
			}
		}
	}
	for _, s := range stores {
		flush(t, s)
		if calls, err := s.List(t.Context(), 0, control.Whose{}); err != nil || len(calls) != requests {
			t.Errorf("%d calls, %v", len(calls), err)
		}
	}
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Commands come and go while a daemon writes: none of them finds the file locked.
func TestOpeningsBesideAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hotcell.db")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for n := range 10 {
				s, err := openAt(context.Background(), Options{Path: path})
				if err != nil {
					t.Error(err)
					return
				}
				r := taken(fmt.Sprintf("c%d-%d", g, n), fmt.Sprintf("r%d-%d", g, n))
				if _, err := s.Accept(context.Background(), r, start); err != nil {
					t.Error(err)
				}
				if _, err := s.End(context.Background(), answered(r, "x")); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if calls, err := opened(t, Options{Path: path}).List(t.Context(), 0, control.Whose{}); err != nil || len(calls) != 40 {
		t.Errorf("%d calls, %v", len(calls), err)
	}
}

// model is what a journal should know of one call.
type model struct {
	r     control.Record
	ended bool
}

// Whatever comes in whatever order, over any number of reopenings, a journal says what the rules say.
func TestJournalAgainstAModel(t *testing.T) {
	opts := Options{Path: filepath.Join(t.TempDir(), "hotcell.db"), Sync: "off", Keep: Keep{Events: time.Hour}}
	s, err := openAt(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	next := 0
	rapid.Check(t, func(rt *rapid.T) {
		var calls []*model
		next++
		now, round := start, next
		pick := func(rt *rapid.T) *model {
			if len(calls) == 0 {
				rt.Skip("no call yet")
			}
			return rapid.SampledFrom(calls).Draw(rt, "call")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {},
			"accept": func(rt *rapid.T) {
				next++
				r := taken(fmt.Sprintf("c%d", next), rapid.SampledFrom([]string{"r1", "r2"}).Draw(rt, "request"))
				r.Agent, r.Accepted = fmt.Sprint(round), now
				var want *model
				for _, m := range calls {
					if m.r.ReqID == r.ReqID && !m.r.Again && (!m.ended || m.r.Ended.After(now.Add(-10*time.Minute))) {
						want = m
					}
				}
				earlier, err := s.Accept(context.Background(), r, now.Add(-10*time.Minute))
				switch {
				case err != nil:
					rt.Fatal(err)
				case want == nil && earlier == nil:
					calls = append(calls, &model{r: r})
				case want == nil || earlier == nil || earlier.ID != want.r.ID || string(earlier.Answer) != string(want.r.Answer):
					rt.Fatalf("got %v, want %v", earlier, want)
				}
			},
			"end": func(rt *rapid.T) {
				m := pick(rt)
				r := answered(m.r, rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "answer"))
				r.Again, r.Ended = rapid.Bool().Draw(rt, "again"), now
				if !m.ended {
					m.r, m.ended = r, true
				}
				if stands, err := s.End(context.Background(), r); err != nil || string(stands.Answer) != string(m.r.Answer) || stands.Again != m.r.Again {
					rt.Fatalf("%s stands, want %s, %v", stands.Answer, m.r.Answer, err)
				}
			},
			"note": func(rt *rapid.T) {
				m := pick(rt)
				c := m.r.Call
				c.State = control.Running
				s.Note(c)
				if !m.ended {
					m.r.Call = c
				}
			},
			"time": func(*rapid.T) { now = now.Add(4 * time.Minute) },
			"reopen": func(rt *rapid.T) {
				if rapid.IntRange(0, 19).Draw(rt, "patience") != 0 {
					rt.Skip("it takes long")
				}
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				if s, err = openAt(context.Background(), opts); err != nil {
					rt.Fatal(err)
				}
				for _, m := range calls {
					if got, err := s.Find(context.Background(), m.r.ID, control.Whose{}); err != nil || got.State != m.r.State || string(got.Answer) != string(m.r.Answer) {
						rt.Fatalf("found %v, want %v, %v", got, m.r, err)
					}
				}
			},
		})
	})
}

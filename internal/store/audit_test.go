package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/audit"
)

func entries(t *testing.T, s *Store, call string) []audit.Entry {
	t.Helper()
	flush(t, s)
	got, err := s.Audit(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAudit(t *testing.T) {
	s := opened(t, Options{Now: func() time.Time { return start }})
	accept(t, s, taken("01B", "r"))
	one := audit.Entry{At: start.Add(time.Second), Call: "01A", Kind: "llm.request", Data: map[string]any{"provider": "p", "status": 200.0}}
	s.Write(one)
	s.Write(audit.Entry{Call: "01B", Kind: "tool.call"})
	s.Write(audit.Entry{Call: "01A", Kind: "agent.turn", Data: map[string]any{"x": strings.Repeat("x", maxEntry)}})
	s.Write(audit.Entry{Call: "01A", Kind: "agent.turn", Data: map[string]any{"x": func() {}}})
	dropped := map[string]any{"dropped": "the entry is too long, or has no JSON form"}
	want := []audit.Entry{
		one, {At: start, Call: "01A", Kind: "agent.turn", Data: dropped}, {At: start, Call: "01A", Kind: "agent.turn", Data: dropped},
	}
	if diff := cmp.Diff(want, entries(t, s, "01A")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := entries(t, s, ""); len(got) != 4 || got[1].Call != "01B" || got[1].Skill != "echo" {
		t.Errorf("of all calls: %v", got)
	}
	if got := entries(t, s, "01C"); len(got) != 0 {
		t.Errorf("of a call that used nothing: %v", got)
	}
}

// Entries go with their call, however it goes; those of no call go when they are old.
func TestAuditGoesWithItsCall(t *testing.T) {
	c := &clock{}
	s := opened(t, Options{Now: c.now, Keep: Keep{Calls: time.Hour, Events: 24 * time.Hour, Artifacts: 24 * time.Hour}})
	c.call(t, s, "01A", 10, false)
	for i := range 3 * trimEvents {
		s.Write(audit.Entry{Call: "01A", Kind: "llm.request", Data: map[string]any{"n": i}})
	}
	s.Write(audit.Entry{Call: "nobody's", Kind: "llm.request"})
	c.call(t, s, "01F", 10, true)
	s.Write(audit.Entry{At: c.now().Add(2 * time.Hour), Call: "01F", Kind: "llm.request"})
	c.add(30 * time.Minute)
	trim(t, s)
	if got := entries(t, s, ""); len(got) != 3*trimEvents+2 {
		t.Errorf("%d entries after half of the time", len(got))
	}
	c.add(31 * time.Minute)
	trim(t, s)
	if got := entries(t, s, ""); len(got) != 1 || got[0].Call != "01F" {
		t.Errorf("%d entries after that: %v", len(got), got)
	}
}

// What skills say leaves room for what they did.
func TestEventsCrowdNoAuditOut(t *testing.T) {
	s := opened(t, Options{})
	accept(t, s, taken("01A", "r"))
	s.queue.mu.Lock() // the writer gets nothing meanwhile
	q := s.queue
	fill := func(o *op) { // put, with the lock held
		if q.room(o) {
			q.late = append(q.late, o)
			q.count(o, +1)
		}
	}
	for i := range 2 * mostWaiting / (100 << 10) {
		fill(&op{late: true, size: 100 << 10, said: &words{call: "01A", first: i, last: i, data: json.RawMessage(`{}`)}})
	}
	if q.bytes > mostWaiting {
		t.Errorf("%d bytes wait", q.bytes)
	}
	q.mu.Unlock()
	for i := range 100 {
		s.Write(audit.Entry{Call: "01A", Kind: "llm.request", Data: map[string]any{"n": fmt.Sprint(i)}})
	}
	if got := entries(t, s, "01A"); len(got) != 100 {
		t.Errorf("%d entries", len(got))
	}
}

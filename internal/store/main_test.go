package store

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is a time at which tests begin.
var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func opened(t testing.TB, opts Options) *Store {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "hotcell.db")
	}
	if opts.Keep == (Keep{}) {
		opts.Keep = Keep{Events: time.Hour, Artifacts: time.Hour}
	}
	s, err := Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// taken is a call that has just been accepted.
func taken(id, reqID string) control.Record {
	return control.Record{
		Call: control.Call{
			ID: id, ReqID: reqID, Skill: "echo", Principal: "p", Agent: "a", Door: "test", State: control.Queued, Accepted: start,
		},
		Digest: "d1", Instance: "one",
	}
}

// answered is r with an answer that has this text.
func answered(r control.Record, text string) control.Record {
	r.State, r.Ended = control.Succeeded, start.Add(time.Second)
	r.Answer = json.RawMessage(fmt.Sprintf(`{"type":"skill/call/resp","id":%q,"data":{"summary":%q}}`, r.ID, text))
	return r
}

func accept(t testing.TB, s *Store, r control.Record) *control.Record {
	t.Helper()
	earlier, err := s.Accept(context.Background(), r, r.Accepted.Add(-10*time.Minute))
	if err != nil {
		t.Fatalf("accept %s: %v", r.ID, err)
	}
	return earlier
}

func end(t testing.TB, s *Store, r control.Record) control.Record {
	t.Helper()
	stands, err := s.End(context.Background(), r)
	if err != nil {
		t.Fatalf("end %s: %v", r.ID, err)
	}
	return stands
}

func find(t testing.TB, s *Store, id string) control.Record {
	t.Helper()
	r, err := s.Find(context.Background(), id, control.Whose{})
	if err != nil {
		t.Fatalf("find %s: %v", id, err)
	}
	return r
}

// flush waits until everything that came before is written.
func flush(t testing.TB, s *Store) {
	t.Helper()
	for range 3 + mostWaiting/aboardBytes { // each takes some along
		empty := s.queue.waiting() == 0 // what was taken out by then is written before what is asked for now
		if err := s.ask(context.Background(), nothing); err != nil {
			t.Fatal(err)
		}
		if empty {
			return
		}
	}
	t.Fatal("the queue does not empty")
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.late)
}

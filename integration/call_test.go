package integration

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
)

// told is what a caller got: the events as they came, and the answer.
type told struct {
	events []a2e.Event
	answer *a2e.CallResponse
}

func (c told) kinds() map[string]int {
	n := map[string]int{}
	for _, ev := range c.events {
		n[ev.Kind]++
	}
	return n
}

// code returns the answer's error code and reason, "" for success.
func (c told) code() (a2e.Code, string) {
	if c.answer.Error == nil {
		return "", ""
	}
	return c.answer.Error.Code, c.answer.Error.Reason()
}

// data returns the result's data, decoded.
func (c told) data(t *testing.T) any {
	t.Helper()
	b, err := json.Marshal(c.answer.Data.Data)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// ask calls a skill and collects what comes.
func ask(ctx context.Context, r *rig.Rig, req *a2e.CallRequest, inputs fs.FS) told {
	var mu sync.Mutex
	var got told
	got.answer = r.Run(ctx, a2e.Caller{Door: "test"}, req, inputs, a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		mu.Lock()
		defer mu.Unlock()
		got.events = append(got.events, *ev)
		return nil
	}))
	return got
}

func request(name string, seconds int) *a2e.CallRequest {
	req := &a2e.CallRequest{Name: name}
	if seconds > 0 {
		req.Timeout = &seconds
	}
	return req
}

// folder is a folder below this package as a source of skills.
func folder(t *testing.T, name string) fs.FS {
	t.Helper()
	if _, err := os.Stat(name); err != nil {
		t.Fatal(err)
	}
	return os.DirFS(name)
}

package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
)

func stamped(seq, size int) event {
	e := logEvent("info", strings.Repeat("x", size))
	e.seq, e.id, e.at = seq, fmt.Sprintf("id-%d", seq), float64(seq)/2
	return e
}

// drained takes all that a closed box holds.
func drained(t *testing.T, o *outbox) []event {
	t.Helper()
	var all []event
	for {
		block, more := o.take(t.Context())
		if !more {
			return all
		}
		for len(block) > 0 {
			var e event
			e, block = unpack(block)
			all = append(all, e)
		}
	}
}

func TestARecordHoldsTheWholeEvent(t *testing.T) {
	for _, e := range []event{
		stamped(7, 3),
		{seq: 1, id: "a", kind: a2e.KindProgress, at: 1.5, data: map[string]any{"pct": 30, "message": "<é>", "n": json.Number("1e400")}},
		{seq: 2, id: "b", kind: a2e.KindStatus, data: map[string]any{"list": json.RawMessage(`[1,"\ud800"]`), "no": nil, "yes": true}},
		{kind: "", data: map[string]any{}},
	} {
		got, rest := unpack(append(e.pack(nil), "rest"...))
		if d := cmp.Diff(e, got, cmp.AllowUnexported(event{})); d != "" || string(rest) != "rest" {
			t.Errorf("(-want +got):\n%s\nrest %q", d, rest)
		}
	}
}

// What waits keeps its order, wherever it lies, and nothing of it is lost or left on the disk.
func TestEventsKeepTheirOrderOverTheFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	o := newOutbox()
	var want []int
	seq := 0
	put := func(n, size int) {
		for range n {
			o.put(stamped(seq, size))
			want = append(want, seq)
			seq++
		}
	}
	put(500, 1000)
	if o.older.empty() {
		t.Fatal("500 kB lie in memory")
	}
	var got []int
	block, _ := o.take(t.Context())
	for len(block) > 0 {
		var e event
		e, block = unpack(block)
		got = append(got, e.seq)
	}
	put(3, 200_000)
	put(1, 10)
	o.close()
	put(0, 0)
	for _, e := range drained(t, o) {
		got = append(got, e.seq)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	if names, _ := filepath.Glob(dir + "/*"); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
	o.drop()
}

func TestWithoutADiskEventsStayInMemory(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	o := newOutbox()
	for i := range 1000 {
		o.put(stamped(i, 1000))
	}
	o.close()
	got := drained(t, o)
	if len(got) != 1000 || got[999].seq != 999 {
		t.Errorf("%d events came back", len(got))
	}
}

// A disk that fills up keeps what it has, and what follows comes after it.
func TestADiskThatFillsUp(t *testing.T) {
	o := newOutbox()
	for i := range 1000 {
		if i == 300 {
			_ = o.older.f.Close()
			f, err := os.Open("/dev/null") // takes no writes
			if err != nil {
				t.Fatal(err)
			}
			o.older.f = f
		}
		o.put(stamped(i, 1000))
	}
	if !o.older.broken || len(o.newer) < 600_000 {
		t.Errorf("broken: %v, %d bytes in memory", o.older.broken, len(o.newer))
	}
	o.close()
	got := drained(t, o)
	if o.missing() == 0 {
		t.Error("nobody is told of what could not be read back")
	}
	if n := len(got); n < 600 || got[n-1].seq != 999 {
		t.Errorf("%d events came back", n)
	}
	o.drop()
}

func TestADroppedBoxHoldsNothing(t *testing.T) {
	o := newOutbox()
	for i := range 300 {
		o.put(stamped(i, 1000))
	}
	o.drop()
	o.put(stamped(300, 1_000_000))
	if len(o.newer) != 0 || o.older.f != nil {
		t.Errorf("%d bytes and file %v", len(o.newer), o.older.f)
	}
}

// Eight calls that print all that they may, of every kind, to listeners that take nothing, cost little memory.
func TestDeadListenersCostLittleMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	floods := []string{
		strings.Repeat("tiny line\n", 25_000),
		strings.Repeat(`{"type":"skill/event","kind":"status","data":{}}`+"\n", 25_000),
		strings.Repeat(`{"type":"skill/event","kind":"log","data":{"list":[`+strings.Repeat("1,", 400_000)+`1]}}`+"\n", 3),
		strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 3),
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ctx, cancel := context.WithCancel(t.Context())
	var relays []*Relay
	var serving sync.WaitGroup
	for i := range 8 {
		r := New(Options{Output: 4 << 20, Out: 32 << 20, Deliver: func(ctx context.Context, _ *a2e.Event) { <-ctx.Done() }})
		serving.Go(func() { r.Deliver(ctx) })
		r.Read(strings.NewReader(floods[i%len(floods)]))
		r.Close()
		for len(r.milestones) > 0 {
			if m := <-r.milestones; m.Over != "" {
				t.Errorf("flood %d is over its budget of %s", i, m.Over)
			}
		}
		relays = append(relays, r)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("8 calls hold %d KiB", grown>>10)
	if grown > 16<<20 {
		t.Errorf("8 calls hold %d KiB, want at most 16 MiB", grown>>10)
	}
	cancel()
	serving.Wait()
	runtime.KeepAlive(relays)
	runtime.KeepAlive(floods)
}

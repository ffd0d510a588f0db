package warm

import (
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/outflow"
	"github.com/hotcell/hotcell/internal/testutil"
)

// pipe is a stream that cannot be diverted, but interrupted, as a pipe of the kernel's can be.
type pipe struct{ *os.File }

func (p pipe) Interrupt(on bool) {
	var at time.Time
	if on {
		at = time.Unix(1, 0)
	}
	_ = p.SetReadDeadline(at)
}

// Who reads a leased cell reads its stream without a detour: what read it while the cell waited has let go before the cell
// says anything.
func TestTheReaderOfALeaseReadsTheStreamItself(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var dropped atomic.Int64
	tp := newTap(pipe{r}, func(p []byte) { dropped.Add(int64(len(p))) }, func() {})
	go tp.pump()
	if _, err := w.WriteString("early"); err != nil {
		t.Fatal(err)
	}
	testutil.Poll(t, 30*time.Second, func() bool { return dropped.Load() == 5 })
	if !tp.Restore([]byte("ready\n")) {
		t.Fatal("the stream has ended")
	}
	got := make(chan string)
	go func() {
		all, err := io.ReadAll(tp)
		if err != nil {
			t.Error(err)
		}
		got <- string(all)
	}()
	select {
	case <-tp.handed:
	case <-time.After(30 * time.Second):
		t.Error("the pump still waits")
	}
	if _, err := w.WriteString("word\n"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if all := <-got; all != "ready\nword\n" {
		t.Errorf("got %q", all)
	}
}

// A stream that can be diverted takes no goroutine while its cell waits, and its reader reads it and nothing else.
func TestADivertedStreamNeedsNoPump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := outflow.New()
		write := func(s string) {
			t.Helper()
			if _, err := io.WriteString(stream, s); err != nil {
				t.Fatal(err)
			}
		}
		write("before ")
		var dropped string
		before := runtime.NumGoroutine()
		f := drop(stream, func(p []byte) { dropped += string(p) }, func() { t.Error("it ended") })
		if f != faucet(stream) || runtime.NumGoroutine() != before {
			t.Errorf("read through %T, with %d goroutines more", f, runtime.NumGoroutine()-before)
		}
		write("after")
		if !f.Restore([]byte("ready\n")) || dropped != "before after" {
			t.Fatalf("dropped %q", dropped)
		}
		write("word\n")
		stream.Finish(io.EOF)
		if all, err := io.ReadAll(f); err != nil || string(all) != "ready\nword\n" {
			t.Errorf("got %q, %v", all, err)
		}
	})
}

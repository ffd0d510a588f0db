package warm

import (
	"cmp"
	"context"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/outflow"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
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

// diverting is a driver whose streams can be diverted, as those of engines that bring both over one connection.
type diverting struct{ *fake.Driver }

type divertingCell struct {
	sandbox.Sandbox
	stdout, stderr *outflow.Buffer
	work           sync.WaitGroup
}

func (d *diverting) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	box, err := d.Driver.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &divertingCell{Sandbox: box, stdout: outflow.New(), stderr: outflow.New()}, nil
}

func (c *divertingCell) Start(ctx context.Context) error {
	inner := c.Sandbox.Stdio()
	for _, s := range []struct {
		from io.Reader
		to   *outflow.Buffer
	}{{inner.Stdout, c.stdout}, {inner.Stderr, c.stderr}} {
		c.work.Go(func() {
			_, err := io.CopyBuffer(struct{ io.Writer }{s.to}, struct{ io.Reader }{s.from}, make([]byte, 700))
			s.to.Finish(cmp.Or(err, io.EOF))
		})
	}
	return c.Sandbox.Start(ctx)
}

func (c *divertingCell) Stdio() sandbox.Stdio {
	stdio := c.Sandbox.Stdio()
	stdio.Stdout, stdio.Stderr = c.stdout, c.stderr
	return stdio
}

// Destroy waits for who brings what the cell says, as drivers do.
func (c *divertingCell) Destroy(ctx context.Context) error {
	c.stdout.Finish(io.ErrUnexpectedEOF)
	c.stderr.Finish(io.ErrUnexpectedEOF)
	if err := c.Sandbox.Destroy(ctx); err != nil {
		return err
	}
	c.work.Wait()
	return nil
}

// bothWays runs a test over streams that are read while their cells wait, and over ones that are diverted.
func bothWays(t *testing.T, test func(t *testing.T, open func(fake.Program, Options) *bench)) {
	for name, inner := range map[string]func(*fake.Driver) sandbox.Driver{
		"read":     func(d *fake.Driver) sandbox.Driver { return d },
		"diverted": func(d *fake.Driver) sandbox.Driver { return &diverting{d} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, func(program fake.Program, opts Options) *bench {
					b := newBench(t, program, opts)
					b.warm = New(inner(b.fake), b.warm.pool.opts)
					return b
				})
			})
		})
	}
}

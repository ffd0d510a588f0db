package a2ehost

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

func testLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestHalfCloseFinishesCalls(t *testing.T) {
	f := newFake()
	p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: f}))
	p.send(callLine("c1", "wait"))
	p.closeWrite()
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	time.AfterFunc(3*probeEvery, func() { close(f.release) }) // the probe has looked by then
	if got := recv[*a2e.CallResponse](p); got.Data == nil || !got.Data.Success {
		t.Errorf("answer = %+v", got)
	}
	p.end()
	if err := wait(); err != nil || f.cancelled.Load() != 0 {
		t.Errorf("Serve = %v, %d cancelled", err, f.cancelled.Load())
	}
}

func TestFullCloseCancelsCalls(t *testing.T) {
	for name, leave := range map[string]func(p *peer){
		"at once":            func(p *peer) { _ = p.conn.Close() },
		"after a half close": func(p *peer) { p.closeWrite(); _ = p.conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: f}))
			p.send(callLine("c1", "wait"))
			testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
			leave(p)
			if err := wait(); !errors.Is(err, ErrHungUp) || f.cancelled.Load() != 1 {
				t.Errorf("Serve = %v, %d cancelled", err, f.cancelled.Load())
			}
		})
	}
}

func TestFullCloseIsSeenWhileNothingIsRead(t *testing.T) {
	f := newFake()
	p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: f, MaxParallel: 1, MaxWaiting: 1}))
	p.send(callLine("c1", "wait"), callLine("c2", "wait"), callLine("c3", "wait"), ping("p1"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	_ = p.conn.Close()
	if err := wait(); !errors.Is(err, ErrHungUp) || f.running.Load() != 0 {
		t.Errorf("Serve = %v, %d running", err, f.running.Load())
	}
}

func TestCancelledContextCancelsCallsAndAnswersThem(t *testing.T) {
	f := newFake()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, wait := startSession(t, ctx, newHost(t, Options{Handler: f}))
	p.send(callLine("c1", "wait"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	cancel()
	if got := recv[*a2e.CallResponse](p); got.Error == nil || got.Error.Reason() != a2e.ReasonCancelled {
		t.Errorf("answer = %+v", got)
	}
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("Serve = %v", err)
	}
}

func TestShutdownDrains(t *testing.T) {
	f := newFake()
	p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: f}))
	p.send(callLine("c1", "wait"), `{"type":"shutdown","timeout":60}`, ping("unread"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	close(f.release)
	if got := recv[*a2e.CallResponse](p); !got.Data.Success {
		t.Errorf("answer = %+v", got)
	}
	p.end()
	if err := wait(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestShutdownCancelsAfterItsTime(t *testing.T) {
	p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: newFake()}))
	p.send(callLine("c1", "wait"), `{"type":"shutdown","timeout":0.05}`)
	if got := recv[*a2e.CallResponse](p); got.Error == nil || got.Error.Reason() != a2e.ReasonCancelled {
		t.Errorf("answer = %+v", got)
	}
	if err := wait(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestSlowReaderIsCutOff(t *testing.T) {
	f := newFake()
	p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: f, WriteTimeout: 100 * time.Millisecond}))
	p.send(callLine("c1", "flood"), callLine("c2", "wait"))
	if err := wait(); !errors.Is(err, ErrHungUp) || !errors.Is(err, os.ErrDeadlineExceeded) || f.running.Load() != 0 {
		t.Errorf("Serve = %v, %d running", err, f.running.Load())
	}
}

func TestCancelDoesNotWaitForASlowReader(t *testing.T) {
	f := newFake()
	ctx, cancel := context.WithCancel(context.Background())
	p, wait := startSession(t, ctx, newHost(t, Options{Handler: f, WriteTimeout: time.Hour, FlushTimeout: 50 * time.Millisecond}))
	p.send(callLine("c1", "flood"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("Serve = %v", err)
	}
}

func TestNetPipe(t *testing.T) {
	ours, theirs := net.Pipe()
	h := newHost(t, Options{Handler: newFake()})
	var wg sync.WaitGroup
	var err error
	wg.Go(func() { err = h.Serve(context.Background(), ours, ours) })
	p := &peer{t: t, w: theirs, r: bufio.NewReader(theirs), conn: theirs}
	p.send(callLine("c1", "echo"))
	recv[*a2e.CallResponse](p)
	_ = theirs.Close()
	wg.Wait()
	if err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestClosableReaderIsInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := newHost(t, Options{Handler: newFake()}).Serve(ctx, r, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("Serve = %v", err)
	}
}

// blockingPipe is a pipe in blocking mode, as the standard streams are.
func blockingPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

// stdio runs Serve on blocking pipes.
func stdio(t *testing.T, ctx context.Context, h *Host) (toHost, fromHost *os.File, wait func() error) {
	t.Helper()
	in, toHost := blockingPipe(t)
	fromHost, out := blockingPipe(t)
	ended := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := h.Serve(ctx, in, out)
		_ = out.Close()
		ended <- err
	})
	t.Cleanup(wg.Wait)
	return toHost, fromHost, func() error {
		t.Helper()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			t.Fatal("Serve does not return")
			return nil
		}
	}
}

func TestStdioAnswersAfterEOF(t *testing.T) {
	toHost, fromHost, wait := stdio(t, context.Background(), newHost(t, Options{Handler: newFake()}))
	big := strings.Repeat("x", 300<<10) // longer than a pipe holds
	p := &peer{t: t, w: toHost, r: bufio.NewReader(fromHost)}
	p.send(`{"type":"skill/call/req","id":"c1","name":"echo","arguments":{"x":"` + big + `"}}`)
	_ = toHost.Close()
	got := recv[*a2e.CallResponse](p)
	if args, ok := got.Data.Data.(map[string]any); !ok || args["x"] != big {
		t.Error("the answer was mangled")
	}
	p.end()
	if err := wait(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestStdioIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, _, wait := stdio(t, ctx, newHost(t, Options{Handler: newFake()}))
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("Serve = %v", err)
	}
}

func TestStdioWithoutAReaderHangsUp(t *testing.T) {
	f := newFake()
	toHost, fromHost, wait := stdio(t, context.Background(), newHost(t, Options{Handler: f}))
	(&peer{t: t, w: toHost}).send(callLine("c1", "wait"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	_ = fromHost.Close()
	if err := wait(); !errors.Is(err, ErrHungUp) || f.cancelled.Load() != 1 {
		t.Errorf("Serve = %v, %d cancelled", err, f.cancelled.Load())
	}
}

func TestStdioSlowReaderIsCutOff(t *testing.T) {
	toHost, _, wait := stdio(t, context.Background(), newHost(t, Options{Handler: newFake(), WriteTimeout: 50 * time.Millisecond}))
	(&peer{t: t, w: toHost}).send(callLine("c1", "flood"))
	if err := wait(); !errors.Is(err, ErrHungUp) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Serve = %v", err)
	}
}

func TestRegularFilesServeAsStreams(t *testing.T) {
	in, err := os.CreateTemp(t.TempDir(), "in")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	if _, err := in.WriteString(callLine("c1", "echo") + "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := newHost(t, Options{Handler: newFake()}).Serve(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	if m, err := a2e.Parse(bytes.TrimSpace(out.Bytes())); err != nil || a2e.HeaderOf(m).Type != a2e.TypeCallResponse {
		t.Errorf("answer = %s, %v", out.Bytes(), err)
	}
}

package a2ehost

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second // for what must happen, on a busy machine

// fake is a handler whose skills do what their names say.
type fake struct {
	release   chan struct{} // "wait" ends when this is closed
	running   atomic.Int32
	most      atomic.Int32
	cancelled atomic.Int32

	mu     sync.Mutex
	saw    []a2e.Caller
	writer a2e.EventWriter // of the last call
}

func newFake() *fake { return &fake{release: make(chan struct{})} }

func (f *fake) Discover(_ context.Context, _ a2e.Caller, req *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	if len(req.FilterTags) == 0 {
		return []a2e.Definition{{Name: "code-review", Tags: []string{"coding"}}}, nil
	}
	switch req.FilterTags[0] {
	case "panic":
		panic("discover")
	case "fail":
		return nil, errors.New("secret detail")
	case "refuse":
		return nil, a2e.Errorf(a2e.Unauthorized, "not you")
	case "coding":
		return []a2e.Definition{{Name: "code-review", Tags: []string{"coding"}}}, nil
	}
	return nil, nil
}

func (f *fake) Call(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
	f.most.Store(max(f.most.Load(), f.running.Add(1)))
	defer f.running.Add(-1)
	f.mu.Lock()
	f.saw, f.writer = append(f.saw, who), w
	f.mu.Unlock()
	switch req.Name {
	case "code_review", "events":
		for i := range 3 {
			_ = w.WriteEvent(ctx, &a2e.Event{Kind: a2e.KindProgress, Data: map[string]any{"pct": 30 * i, "message": req.ID}, Seq: i})
		}
	case "wait":
		select {
		case <-f.release:
		case <-ctx.Done():
			f.cancelled.Add(1)
			return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.RuntimeError, "cancelled").Because(a2e.ReasonCancelled), 0)
		}
	case "flood":
		for i := 0; ; i++ {
			ev := &a2e.Event{Kind: a2e.KindLog, Data: map[string]any{"message": strings.Repeat("x", 16<<10)}, Seq: i}
			if err := w.WriteEvent(ctx, ev); err != nil {
				f.cancelled.Add(1)
				return a2e.Failure(req.ID, req.Name, a2e.AsError(err), 0)
			}
		}
	case "panic":
		panic("boom")
	case "nil":
		return nil
	case "nan":
		return &a2e.CallResponse{Data: &a2e.Result{Success: true, Data: math.NaN()}}
	case "fail":
		return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.SkillError, "it broke").With("exit_code", 3), time.Second)
	}
	return &a2e.CallResponse{Data: &a2e.Result{Success: true, Data: req.Arguments}}
}

func newHost(t *testing.T, opt Options) *Host {
	t.Helper()
	h, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// peer is the other end of a session.
type peer struct {
	t    *testing.T
	w    io.Writer
	r    *bufio.Reader
	conn net.Conn // nil for streams
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.w, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

// recv returns the next line as a message.
func (p *peer) recv() a2e.Message {
	p.t.Helper()
	if p.conn != nil {
		_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	}
	line, err := p.r.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("receive: %v (%q)", err, line)
	}
	m, err := a2e.Parse(line)
	if err != nil {
		p.t.Fatalf("host said %s: %v", line, err)
	}
	return m
}

// end checks that the host has closed its side.
func (p *peer) end() {
	p.t.Helper()
	if p.conn != nil {
		_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	}
	if line, err := p.r.ReadBytes('\n'); err == nil || errors.Is(err, context.DeadlineExceeded) {
		p.t.Fatalf("after the end: %q, %v", line, err)
	}
}

func recv[M a2e.Message](p *peer) M {
	p.t.Helper()
	m := p.recv()
	got, ok := m.(M)
	if !ok {
		js, _ := json.Marshal(m)
		p.t.Fatalf("received %s, want a %T", js, got)
	}
	return got
}

func callLine(id, name string) string {
	return fmt.Sprintf(`{"type":"skill/call/req","id":%q,"name":%q}`, id, name)
}

func ping(id string) string { return fmt.Sprintf(`{"type":"ping","id":%q}`, id) }

// session runs Serve on a socket pair and returns the peer and a function that waits for Serve's error.
func startSession(t *testing.T, ctx context.Context, h *Host) (*peer, func() error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := h.Serve(ctx, ours, ours)
		_ = ours.Close()
		ended <- err
	})
	t.Cleanup(func() { _ = conn.Close(); wg.Wait() })
	return &peer{t: t, w: conn, r: bufio.NewReader(conn), conn: conn}, func() error {
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

func (p *peer) closeWrite() { _ = p.conn.(*net.UnixConn).CloseWrite() }

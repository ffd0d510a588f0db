package a2ehost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// pipes is a listener over net.Pipe, which works with synctest's clock.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// door serves h within a synctest bubble and returns how to connect and how to end it.
func door(t *testing.T, h *Host) (connect func() *peer, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ln := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := h.ServeSocket(ctx, ln); err != nil {
			t.Error(err)
		}
	})
	var open []net.Conn
	connect = func() *peer {
		ours, theirs := net.Pipe()
		ln.conns <- theirs
		open = append(open, ours)
		return &peer{t: t, w: ours, r: bufio.NewReader(ours)} // without a conn, recv waits as long as it takes
	}
	return connect, func() {
		cancel()
		wg.Wait()
		for _, c := range open {
			_ = c.Close()
		}
	}
}

func TestIdleConnectionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		connect, stop := door(t, newHost(t, Options{Handler: f, MaxSessions: 3, IdleTimeout: time.Minute}))
		defer stop()
		busy, old, young := connect(), connect(), connect()
		busy.send(callLine("c1", "wait"))
		time.Sleep(30 * time.Second)
		young.send(ping("p1"))
		recv[*a2e.Pong](young)
		time.Sleep(30 * time.Second) // old has been idle for a minute and not yet for longer
		if got := recv[*a2e.ErrorMessage](connect()); !strings.Contains(got.Message, "3 connections are open") {
			t.Errorf("error = %+v", got)
		}
		time.Sleep(time.Second)
		fresh := connect()
		got := recv[*a2e.ErrorMessage](old)
		if got.Detail["reason"] != a2e.ReasonQueueFull || !got.Retryable || !strings.Contains(got.Message, "closing after 1m1s") {
			t.Errorf("error = %+v", got)
		}
		old.end()
		for _, p := range []*peer{fresh, young} {
			p.send(ping("p2"))
			recv[*a2e.Pong](p)
		}
		time.Sleep(time.Hour) // the one that works is never idle
		for range 2 {
			p := connect()
			p.send(ping("p3"))
			recv[*a2e.Pong](p)
		}
		if got := recv[*a2e.ErrorMessage](connect()); !strings.Contains(got.Message, "3 connections") {
			t.Errorf("error = %+v", got)
		}
		close(f.release)
		recv[*a2e.CallResponse](busy)
	})
}

func TestLinesHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect, stop := door(t, newHost(t, Options{Handler: newFake(), LineTimeout: time.Minute}))
		defer stop()
		p := connect()
		time.Sleep(time.Hour) // between lines there is no haste
		start := time.Now()
		_, _ = io.WriteString(p.w, `{"type":"skill/call/req","id":"c1",`)
		time.Sleep(59 * time.Second)
		_, _ = io.WriteString(p.w, `"name":"echo"}`+"\n"+`{"type":"skill/call/req",`)
		recv[*a2e.CallResponse](p)
		time.Sleep(30 * time.Second)
		_, _ = io.WriteString(p.w, `"id":"c2","name":"echo","arg`) // a trickle wins no time
		got := recv[*a2e.CallResponse](p)
		if took := time.Since(start); took != 119*time.Second {
			t.Errorf("cut off after %v", took)
		}
		if got.ReqID != "c2" || got.Error == nil || got.Error.Code != a2e.InvalidMessage || !strings.Contains(got.Error.Message, "within 1m0s") {
			t.Errorf("answer = %+v", got)
		}
		p.end()
	})
}

func TestARestingSessionCostsALineNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		connect, stop := door(t, newHost(t, Options{Handler: f, MaxParallel: 1, MaxWaiting: 1}))
		defer stop()
		p := connect()
		lines := strings.Join([]string{callLine("c1", "wait"), callLine("c2", "echo"), callLine("c3", "echo"), `{"type":"ping",`}, "\n")
		_, _ = io.WriteString(p.w, lines)
		time.Sleep(time.Hour)
		close(f.release)
		for range 3 {
			recv[*a2e.CallResponse](p)
		}
		p.send(`"id":"p1"}`)
		recv[*a2e.Pong](p)
	})
}

func TestASlowLineLeavesCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		ours, theirs := net.Pipe()
		h := newHost(t, Options{Handler: f})
		served := make(chan error, 1)
		go func() { served <- h.Serve(context.Background(), theirs, theirs); _ = theirs.Close() }()
		p := &peer{t: t, w: ours, r: bufio.NewReader(ours)}
		p.send(callLine("c1", "wait"))
		_, _ = io.WriteString(ours, "{")
		if got := recv[*a2e.ErrorMessage](p); got.Code != a2e.InvalidMessage {
			t.Errorf("error = %+v", got)
		}
		close(f.release)
		if got := recv[*a2e.CallResponse](p); !got.Data.Success {
			t.Errorf("answer = %+v", got)
		}
		p.end()
		if err := <-served; !errors.Is(err, ErrSlowLine) {
			t.Errorf("Serve = %v", err)
		}
	})
}

func TestUnfinishedLinesShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, Options{Handler: newFake(), MaxLine: 1 << 20, Buffered: 1 << 20, LineTimeout: time.Hour})
		connect, stop := door(t, h)
		defer stop()
		half := strings.Repeat("x", 1<<19+a2e.OwnMemory)
		var held []*peer
		for i := range 2 {
			p := connect()
			_, _ = fmt.Fprintf(p.w, `{"type":"skill/call/req","id":"c%d","name":"echo","arguments":{"x":"%s`, i, half)
			held = append(held, p)
		}
		synctest.Wait()
		short := connect()
		short.send(`{"type":"ping","id":"p1"` + strings.Repeat(" ", a2e.OwnMemory/2) + `}`) // needs nothing of it
		recv[*a2e.Pong](short)

		start := time.Now()
		unlucky := connect()
		go func() {
			_, _ = io.WriteString(unlucky.w, `{"type":"skill/call/req","id":"u1","name":"echo","arguments":{"x":"`+strings.Repeat(half, 8))
		}()
		got := recv[*a2e.CallResponse](unlucky)
		if got.ReqID != "u1" || got.Error == nil || got.Error.Reason() != a2e.ReasonQueueFull || !got.Error.Retryable {
			t.Errorf("answer = %+v", got)
		}
		if took := time.Since(start); took != memoryWait {
			t.Errorf("refused after %v", took)
		}
		unlucky.end()

		waits := connect()
		go func() {
			_, _ = io.WriteString(waits.w, `{"type":"ping","id":"p2"`+strings.Repeat(" ", 1<<19)+"}\n")
		}()
		time.Sleep(memoryWait / 2)
		held[0].send(`"}}`) // a line that ends gives back what it held
		recv[*a2e.CallResponse](held[0])
		recv[*a2e.Pong](waits)
		_ = held[1].w.(net.Conn).Close()
		synctest.Wait()
		if h.memory.free != 1<<20 {
			t.Errorf("%d of %d bytes are free", h.memory.free, 1<<20)
		}
	})
}

// The attack itself: as many connections as there may be, each with the longest line that does not end.
func TestManyUnfinishedLinesStayWithinTheBudget(t *testing.T) {
	const conns, budget = 30, 16 << 20
	path, _ := serveSocket(t, newHost(t, Options{Handler: newFake(), Buffered: budget}))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	chunk := []byte(strings.Repeat("x", 1<<20))
	var peers sync.WaitGroup
	for range conns {
		p := dial(t, path)
		_ = p.conn.SetWriteDeadline(time.Now().Add(2 * time.Second)) // the host reads no more
		peers.Go(func() {
			for range 8 {
				if _, err := p.w.Write(chunk); err != nil {
					return
				}
			}
		})
	}
	peers.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int(after.HeapAlloc) - int(before.HeapAlloc)
	if most := budget + conns*(a2e.OwnMemory+64<<10); held > most {
		t.Errorf("%d connections hold %d MiB, want at most %d", conns, held>>20, most>>20)
	}
}

// claims is a handler that gives an id to the request that comes first.
type claims struct {
	*fake
	mu    sync.Mutex
	first map[string]any
}

func (c *claims) Call(_ context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, taken := c.first[req.ID]; taken && first != req.Arguments["n"] {
		return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.InvalidMessage, "used").Because(a2e.ReasonDuplicateID), 0)
	}
	c.first[req.ID] = req.Arguments["n"]
	return &a2e.CallResponse{Data: &a2e.Result{Success: true, Data: req.Arguments["n"]}}
}

func TestTheFirstLineWithAnIDWins(t *testing.T) {
	c := &claims{fake: newFake(), first: map[string]any{}}
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: c}))
	for round := range 100 {
		var lines []string
		for n := range 4 {
			lines = append(lines, fmt.Sprintf(`{"type":"skill/call/req","id":"r%d","name":"x","arguments":{"n":"%d"}}`, round, n))
		}
		p.send(lines...)
		for n := range 4 {
			got := recv[*a2e.CallResponse](p)
			if n == 0 && (!got.Data.Success || got.Data.Data != "0") || n > 0 && got.Error.Reason() != a2e.ReasonDuplicateID {
				t.Fatalf("round %d: answer %d = %+v %+v", round, n, got.Data, got.Error)
			}
		}
	}
}

func TestCallsWithOneIDTakeTurns(t *testing.T) {
	f := newFake()
	p, wait := startSession(t, context.Background(), newHost(t, Options{Handler: f, MaxParallel: 2}))
	p.send(callLine("c1", "wait"), callLine("c1", "events"), callLine("c1", "echo"), callLine("c2", "echo"))
	if got := recv[*a2e.CallResponse](p); got.ReqID != "c2" { // those that wait take no slot
		t.Errorf("%s was answered first", got.ReqID)
	}
	close(f.release)
	var got []string
	for len(got) < 3 {
		if m, ok := p.recv().(*a2e.CallResponse); ok {
			got = append(got, m.Name)
		}
	}
	if fmt.Sprint(got) != "[wait events echo]" {
		t.Errorf("answers = %v", got)
	}
	p.closeWrite()
	if err := wait(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestOversizeCallsAreAnsweredAsCalls(t *testing.T) {
	p, _ := startSession(t, context.Background(), newHost(t, Options{Handler: newFake(), MaxLine: 1 << 10}))
	p.send(`{"type":"skill/call/req","id":"c1","name":"echo","arguments":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`)
	if got := recv[*a2e.CallResponse](p); got.ReqID != "c1" || got.Name != "echo" || got.Error.Code != a2e.ParseError {
		t.Errorf("answer = %+v", got)
	}
	p.send(`{"type":"ping","id":"p1","x":"` + strings.Repeat("x", 300<<10) + `"}`)
	if got := recv[*a2e.ErrorMessage](p); got.ReqID != "p1" || got.Code != a2e.ParseError {
		t.Errorf("error = %+v", got)
	}
}

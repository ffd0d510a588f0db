package a2ehost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestRoutesOverHTTP(t *testing.T) {
	d := serveWeb(t, newHost(t, Options{Handler: newFake(), Door: "http"}), WebOptions{})
	p := d.session("")
	for name, tt := range map[string]struct {
		method, path string
		header       map[string]string
		code         int
		body         string
	}{
		"health":      {"GET", "/health", nil, 200, `{"status":"ok"}`},
		"no session":  {"POST", "/send", nil, 400, `"detail":"Missing X-Session-Id"`},
		"unknown":     {"POST", "/send", map[string]string{sessionHeader: strings.Repeat("0", 32)}, 404, `"detail":"Session not found"`},
		"listens":     {"GET", "/stream", nil, 400, `"detail":"Missing X-Session-Id"`},
		"listens too": {"GET", "/stream", map[string]string{sessionHeader: "x"}, 404, `"detail":"Session not found"`},
		"head":        {"HEAD", "/stream", p.header(), 405, ""},
		"taken":       {"POST", "/send", p.header(), 200, `{"ok":true}`},
	} {
		code, body, _ := d.do(tt.method, tt.path, ping("p"+name), tt.header)
		if tt.method == "GET" {
			code, body, _ = d.do(tt.method, tt.path, "", tt.header)
		}
		if code != tt.code || !strings.Contains(body, tt.body) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	st := p.connect()
	for key, want := range map[string]string{"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"} {
		if got := st.resp.Header.Get(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if got := heard[*a2e.Pong](st); got.ReqID != "ptaken" {
		t.Errorf("pong = %+v", got)
	}
}

// What is said while nobody listens is heard by the next stream, in order and once.
func TestMessagesWaitForAStream(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{})
	p := d.session("")
	seq := 0
	for round := range 5 {
		id := fmt.Sprintf("c%d", round)
		p.send(callLine(id, "events"), ping("p"+id))
		testutil.Poll(t, patience, func() bool { return p.ws().out.unheard() == 2 && p.ws().act.inFlight.Load() == 0 })
		st := p.connect()
		pongs, events, answers := 0, 0, 0
		for pongs+events+answers < 5 {
			switch m := st.recv().(type) {
			case *a2e.Pong:
				pongs++
			case *a2e.Event:
				if m.ReqID != id || m.Seq != events || answers > 0 {
					t.Errorf("event %d of %s, want %d of %s", m.Seq, m.ReqID, events, id)
				}
				events++
				seq++
			case *a2e.CallResponse:
				answers++
			}
		}
		if pongs != 1 || events != 3 || answers != 1 {
			t.Errorf("%d pongs, %d events, %d answers", pongs, events, answers)
		}
		p.drop()
		testutil.Poll(t, patience, func() bool { return !p.ws().out.attached() })
	}
	if f.cancelled.Load() != 0 {
		t.Error("a call was cancelled")
	}
}

func (p *webPeer) ws() *webSession { return p.d.web.table.find(p.id) }

func TestCallsGoOnWithoutAStream(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{})
	p := d.session("")
	p.connect()
	p.send(callLine("c1", "wait"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	p.drop()
	testutil.Poll(t, patience, func() bool { return !p.ws().out.attached() })
	if f.running.Load() != 1 || f.cancelled.Load() != 0 {
		t.Fatal("the call did not go on")
	}
	close(f.release)
	if got := heard[*a2e.CallResponse](p.connect()); got.ReqID != "c1" || !got.Data.Success {
		t.Errorf("answer = %+v", got)
	}
	if len(f.saw) != 1 || f.saw[0].Door != "http" {
		t.Errorf("callers = %+v", f.saw)
	}
}

func TestAPostThatIsRetriedCountsOnce(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{})
	p := d.session("")
	p.send(callLine("c1", "wait"), callLine("c1", "wait"), callLine("c1", "wait"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	close(f.release)
	testutil.Poll(t, patience, func() bool { return p.ws().out.unheard() == 1 })
	p.send(callLine("c1", "wait")) // its answer has not been taken
	p.send(ping("p1"), ping("p1"))
	st := p.connect()
	if got := heard[*a2e.CallResponse](st); got.ReqID != "c1" {
		t.Errorf("answer = %+v", got)
	}
	if got := heard[*a2e.Pong](st); got.ReqID != "p1" {
		t.Errorf("pong = %+v", got)
	}
	testutil.Poll(t, patience, func() bool { return p.ws().out.unheard() == 0 })
	p.send(callLine("c1", "wait")) // the answer was taken, and perhaps lost on its way: again
	if got := heard[*a2e.CallResponse](st); got.ReqID != "c1" {
		t.Errorf("answer = %+v", got)
	}
	if n := len(f.saw); n != 2 {
		t.Errorf("the handler was asked %d times, want 2", n)
	}
}

// The same id on another session is another request.
func TestSessionsDoNotShareIDs(t *testing.T) {
	d := serveWeb(t, newHost(t, Options{Handler: newFake(), Door: "http"}), WebOptions{})
	a, b := d.session(""), d.session("")
	a.send(ping("p1"))
	b.send(ping("p1"))
	heard[*a2e.Pong](a.connect())
	heard[*a2e.Pong](b.connect())
}

func TestASecondStreamReplacesTheFirst(t *testing.T) {
	d := serveWeb(t, newHost(t, Options{Handler: newFake(), Door: "http"}), WebOptions{})
	p := d.session("")
	first := p.connect()
	defer first.close()
	p.send(ping("p1"))
	heard[*a2e.Pong](first)
	second := p.connect()
	if line, err := first.line(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the first stream got %q, %v; want an end that is none", line, err)
	}
	p.send(ping("p2"))
	if got := heard[*a2e.Pong](second); got.ReqID != "p2" {
		t.Errorf("pong = %+v", got)
	}
}

func TestReconnectStorm(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{})
	p := d.session("")
	p.send(callLine("c1", "wait"))
	var storm sync.WaitGroup
	for range 8 {
		storm.Go(func() {
			for range 10 {
				if st, _ := p.tryConnect(); st != nil {
					st.close()
				}
			}
		})
	}
	storm.Wait()
	testutil.Poll(t, patience, func() bool { return !p.ws().out.attached() })
	close(f.release)
	if got := heard[*a2e.CallResponse](p.connect()); got.ReqID != "c1" || !got.Data.Success {
		t.Errorf("answer = %+v", got)
	}
}

func TestShutdownOverHTTP(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{})
	other := d.session("")
	other.send(callLine("o1", "wait"))
	p := d.session("")
	st := p.connect()
	p.send(callLine("c1", "wait"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 2 })
	p.send(`{"type":"shutdown","timeout":60}`)
	testutil.Poll(t, patience, func() bool { code, _ := p.post(ping("late")); return code == http.StatusNotFound })
	close(f.release)
	for {
		line, err := st.line()
		if errors.Is(err, io.EOF) {
			break // a clean end
		}
		if err != nil {
			t.Fatal(err)
		}
		if m, _ := a2e.Parse(line); a2e.HeaderOf(m).Type != a2e.TypeCallResponse && a2e.HeaderOf(m).Type != a2e.TypePong {
			t.Errorf("stream has %s", line)
		}
	}
	testutil.Poll(t, patience, func() bool { return p.ws() == nil })
	if got := heard[*a2e.CallResponse](other.connect()); got.ReqID != "o1" || !got.Data.Success {
		t.Errorf("answer of the other session = %+v", got)
	}
}

// Sixteen calls run at once, which the handshake says; they start in the order in which they came.
func TestSixteenInParallel(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{})
	p := d.session("")
	st := p.connect()
	p.send(shake("", ""))
	if got := heard[*a2e.HandshakeResponse](st); got.MaxParallel != 16 || !got.OK || got.SessionID != p.id {
		t.Errorf("handshake = %+v", got)
	}
	for i := range 20 {
		p.send(callLine(fmt.Sprint(i), "wait"))
	}
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 16 })
	close(f.release)
	seen := map[string]bool{}
	for range 20 {
		seen[heard[*a2e.CallResponse](st).ReqID] = true
	}
	if len(seen) != 20 || f.most.Load() != 16 {
		t.Errorf("%d answers, %d at once", len(seen), f.most.Load())
	}
}

func TestStoppingEndsStreams(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{})
	p, lonely := d.session(""), d.session("")
	st := p.connect()
	p.send(callLine("c1", "wait"))
	lonely.send(ping("p1"))
	testutil.Poll(t, patience, func() bool { return f.running.Load() == 1 })
	go d.stop()
	if got := heard[*a2e.CallResponse](st); got.Error == nil || got.Error.Reason() != a2e.ReasonCancelled {
		t.Errorf("answer = %+v", got)
	}
	if _, err := st.line(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
	d.stop()
}

func TestNobodyServes(t *testing.T) {
	web, err := newHost(t, Options{Handler: newFake(), Door: "http"}).Web(WebOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := web.Serve(ctx); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder(web, "POST", "/session", "")
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || len(web.table.byID) != 0 {
		t.Errorf("POST /session = %d %s", rec.Code, rec.Body)
	}
	if _, err := newHost(t, Options{Handler: newFake()}).Web(WebOptions{MaxSessions: -1}); err == nil {
		t.Error("a negative limit was accepted")
	}
}

// The door's own time for a call with a stream that listens.
func BenchmarkCallOverHTTP(b *testing.B) {
	h, err := New(Options{Handler: newFake(), Door: "http"})
	if err != nil {
		b.Fatal(err)
	}
	d := serveWeb(b, h, WebOptions{})
	p := d.session("")
	st := p.connect()
	n := 0
	for b.Loop() {
		n++
		p.send(callLine(fmt.Sprint(n), "echo"))
		heard[*a2e.CallResponse](st)
	}
}

package a2ehost

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// bubble serves an HTTP door within a synctest bubble, over pipes.
func bubble(t *testing.T, h *Host, opt WebOptions) (d *webDoor, stop func()) {
	t.Helper()
	web, err := h.Web(opt)
	if err != nil {
		t.Fatal(err)
	}
	ln := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: web}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = srv.Serve(ln) }()
	served := make(chan struct{})
	go func() { defer close(served); _ = web.Serve(ctx) }()
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		ln.conns <- theirs
		return ours, nil
	}}
	d = &webDoor{t: t, web: web, base: "http://pipe", http: &http.Client{Transport: tr}}
	return d, func() {
		cancel()
		<-served
		_ = srv.Close()
		tr.CloseIdleConnections()
		synctest.Wait()
	}
}

func TestSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		d, stop := bubble(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{SessionIdle: 10 * time.Minute})
		defer stop()
		idle, sends, listens, works := d.session(""), d.session(""), d.session(""), d.session("")
		st := listens.connect()
		works.send(callLine("c1", "wait"))
		for range 6 {
			time.Sleep(9 * time.Minute)
			sends.send(ping(a2e.NewID()))
		}
		if idle.ws() != nil {
			t.Error("a session that did nothing is still there")
		}
		if code, _ := idle.post(ping("p")); code != http.StatusNotFound {
			t.Errorf("POST to it = %d", code)
		}
		if sends.ws() == nil || listens.ws() == nil || works.ws() == nil {
			t.Error("a session that is used has expired")
		}
		if f.cancelled.Load() != 0 {
			t.Error("a call was cancelled")
		}
		close(f.release)
		st.close()
		time.Sleep(9 * time.Minute)
		if listens.ws() == nil || works.ws() == nil {
			t.Error("a session expired before its time")
		}
		time.Sleep(2 * time.Minute)
		if listens.ws() != nil || works.ws() != nil || sends.ws() != nil {
			t.Error("sessions are left")
		}
		if f.cancelled.Load() != 0 {
			t.Error("a call was cancelled")
		}
		listens.drop()
	})
}

func TestStrangersHaveLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := bubble(t, newHost(t, Options{Handler: newFake(), Auth: newWebKeeper(), Door: "http"}), WebOptions{Unknown: 3})
		defer stop()
		known := d.session("alices-key")
		shaken := d.session("")
		shaken.send(shake("", "bobs-key"))
		synctest.Wait()
		stranger := d.session("")
		listener := stranger.connect()
		time.Sleep(36 * time.Second)
		if known.ws() == nil || shaken.ws() == nil || stranger.ws() != nil {
			t.Error("not the one that showed nothing has expired")
		}
		if _, err := listener.line(); err != io.EOF {
			t.Errorf("its stream ended with %v", err)
		}
		stranger.drop()
		flood := make([]*webPeer, 10)
		for i := range flood {
			flood[i] = d.session("")
			time.Sleep(time.Millisecond)
		}
		for i, p := range flood {
			if here := p.ws() != nil; here != (i >= 7) {
				t.Errorf("stranger %d is here: %v", i, here)
			}
		}
		if known.ws() == nil || shaken.ws() == nil {
			t.Error("a flood of strangers drove out others")
		}
	})
}

// known is how many sessions there are.
func (d *webDoor) known() int {
	d.web.table.mu.Lock()
	defer d.web.table.mu.Unlock()
	return len(d.web.table.byID)
}

// Sessions that are over and wait for somebody to hear why are strangers too.
func TestRefusedStrangersDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := bubble(t, newHost(t, Options{Handler: newFake(), Auth: newWebKeeper(), Door: "http"}), WebOptions{Unknown: 5})
		defer stop()
		var all []*webSession
		for range 50 {
			p := d.session("")
			all = append(all, p.ws())
			p.send(shake("", "mallorys-key"))
			synctest.Wait()
		}
		open := 0
		for _, ws := range all {
			ws.out.mu.Lock()
			if !ws.out.closed {
				open++
			}
			ws.out.mu.Unlock()
		}
		if known := d.known(); open != 5 || known != 5 {
			t.Errorf("%d sessions are open, %d are known", open, known)
		}
		time.Sleep(lastWord + time.Second)
		synctest.Wait()
		if n := d.known(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := WebOptions{PerPrincipal: 2, MaxSessions: 3, SessionIdle: time.Hour}
		d, stop := bubble(t, newHost(t, Options{Handler: newFake(), Auth: newWebKeeper(), Door: "http", IdleTimeout: time.Minute}), opt)
		defer stop()
		a1, a2 := d.session("alices-key"), d.session("alices-key")
		opens := func(token string) int {
			code, _, header := d.do("POST", "/session", "", (&webPeer{token: token}).header())
			if (code == http.StatusOK) == (header.Get("Retry-After") != "") {
				t.Errorf("POST /session = %d, Retry-After %q", code, header.Get("Retry-After"))
			}
			return code
		}
		if code := opens("alices-key"); code != http.StatusServiceUnavailable {
			t.Errorf("a third session = %d", code)
		}
		shy := d.session("")
		shy.send(shake("", "alices-key"))
		if got := heard[*a2e.HandshakeResponse](shy.connect()); got.OK {
			t.Error("a third session by its handshake")
		}
		shy.drop()
		synctest.Wait()
		b := d.session("bobs-key")
		if code := opens("bobs-key"); code != http.StatusServiceUnavailable {
			t.Errorf("a fourth session in all = %d", code)
		}
		time.Sleep(2 * time.Minute)
		a2.send(ping("p1"))
		b.send(ping("p1"))
		synctest.Wait()
		if code := opens("alices-key"); code != http.StatusOK || a1.ws() != nil || a2.ws() == nil {
			t.Errorf("a session beside an idle one = %d", code)
		}
	})
}

// A session that has no room takes nothing, says so, and answers what it took.
func TestAFullSessionTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		d, stop := bubble(t, newHost(t, Options{Handler: f, Door: "http", MaxParallel: 1, MaxWaiting: 1}), WebOptions{})
		defer stop()
		p := d.session("")
		taken := 0
		for range 20 {
			start := time.Now()
			code, body := p.post(callLine(fmt.Sprint(taken), "wait"))
			if code != http.StatusOK {
				if took := time.Since(start); code != http.StatusServiceUnavailable || took != inboxWait {
					t.Errorf("POST = %d %s after %v", code, body, took)
				}
				break
			}
			taken++
		}
		if taken < 3 || taken > 8 {
			t.Errorf("%d requests were taken", taken)
		}
		close(f.release)
		synctest.Wait()
		p.send(callLine(fmt.Sprint(taken), "wait"), "", "{") // the one that was refused, and what is none
		st := p.connect()
		answers, faults := 0, 0
		for answers+faults < taken+3 {
			switch m := st.recv().(type) {
			case *a2e.CallResponse:
				if m.ReqID != fmt.Sprint(answers) {
					t.Errorf("answer to %s, want %d", m.ReqID, answers)
				}
				answers++
			case *a2e.ErrorMessage:
				if m.Code != a2e.ParseError {
					t.Errorf("error = %+v", m)
				}
				faults++
			}
		}
		if faults != 2 {
			t.Errorf("%d errors", faults)
		}
		p.drop()
	})
}

// What nobody comes for is bounded: events are dropped, a long answer is replaced by one that says how to get it.
func TestWhatWaitsForAStreamIsBounded(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{Queued: 64 << 10})
	p := d.session("")
	p.send(callLine("flood", "flood")) // which ends once an event finds no room
	testutil.Poll(t, patience, func() bool { return f.cancelled.Load() == 1 })
	big := fmt.Sprintf(`{"type":"skill/call/req","id":"big","name":"echo","arguments":{"x":%q}}`, strings.Repeat("x", 60<<10))
	p.send(big)
	testutil.Poll(t, patience, func() bool { return p.ws().out.unheard() == 2 })
	st := p.connect()
	seq := 0
	for {
		m := st.recv()
		if ev, ok := m.(*a2e.Event); ok {
			if ev.Seq != seq {
				t.Errorf("event %d, want %d", ev.Seq, seq)
			}
			seq++
			continue
		}
		got := m.(*a2e.CallResponse)
		if got.ReqID == "flood" {
			continue
		}
		if got.ReqID != "big" || got.Error.Reason() != reasonUndelivered || !got.Error.Retryable || got.Data.Success {
			t.Errorf("answer = %+v", got)
		}
		break
	}
	if seq == 0 || seq > 4 {
		t.Errorf("%d events were kept", seq)
	}
	testutil.Poll(t, patience, func() bool { return p.ws().out.unheard() == 0 })
	p.send(big)
	if got := heard[*a2e.CallResponse](st); !got.Data.Success {
		t.Errorf("answer = %+v", got)
	}
	p.drop()
	d.stop()
	if free := d.web.queued.free; free != 128<<20 {
		t.Errorf("%d bytes of the queues are free", free)
	}
	if free := d.web.host.memory.free; free != 64<<20 {
		t.Errorf("%d bytes for requests are free", free)
	}
}

func TestAnswersThatNobodyTakes(t *testing.T) {
	d := serveWeb(t, newHost(t, Options{Handler: newFake(), Door: "http"}), WebOptions{})
	p := d.session("")
	code, body, n := http.StatusOK, "", 0
	for ; code == http.StatusOK && n < 2*maxUnheard; n++ {
		code, body = p.post(ping(fmt.Sprint(n)))
	}
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "answers wait for a stream") {
		t.Errorf("POST %d = %d %s", n, code, body)
	}
	st := p.connect()
	for i := range n - 1 {
		if got := heard[*a2e.Pong](st); got.ReqID != fmt.Sprint(i) {
			t.Fatalf("pong to %s, want %d", got.ReqID, i)
		}
	}
	p.send(ping("more"))
	heard[*a2e.Pong](st)
}

// A stream that is not read is cut off, and holds up neither its call nor others.
func TestASlowStreamIsCutOff(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http", WriteTimeout: 2 * time.Second}), WebOptions{Queued: 256 << 10})
	p, other := d.session(""), d.session("")
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "GET /stream HTTP/1.1\r\nHost: x\r\n%s: %s\r\n\r\n", sessionHeader, p.id)
	if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil { // a moment of reading, then none
		t.Fatal(err)
	}
	testutil.Poll(t, patience, func() bool { return p.ws().out.attached() })
	p.send(callLine("c1", "flood"))
	other.send(callLine("o1", "echo"))
	heard[*a2e.CallResponse](other.connect())
	testutil.Poll(t, patience, func() bool { return f.cancelled.Load() == 1 })
	if p.ws() == nil || p.ws().out.attached() {
		t.Error("the session ended, or its stream did not")
	}
	last := ""
	for st := p.connect(); last == ""; {
		if got, ok := st.recv().(*a2e.CallResponse); ok {
			last = got.ReqID
		}
	}
	if last != "c1" {
		t.Errorf("answer to %s", last)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	d := serveWeb(t, newHost(t, Options{Handler: newFake(), Door: "http", MaxLine: 1 << 20}), WebOptions{})
	p := d.session("")
	long := `{"type":"ping","id":"p"` + strings.Repeat(" ", 1<<20) + "}"
	if code, body := p.post(long); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body = %d %s", code, body)
	}
	req, err := http.NewRequest("POST", d.base+"/send", io.MultiReader(strings.NewReader(long))) // of a length that is not told
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(sessionHeader, p.id)
	if resp, err := d.http.Do(req); err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body in chunks: %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	keyed, _, _ := serveKeyed(t, WebOptions{})
	stranger := keyed.session("")
	if code, body := stranger.post(shake("", strings.Repeat("x", strangersBody))); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a stranger's long body = %d %s", code, body)
	}
	p.send(ping("p1"))
	heard[*a2e.Pong](p.connect())
}

// A request that is cut off was never made.
func TestARequestThatIsCutOff(t *testing.T) {
	d := serveWeb(t, newHost(t, Options{Handler: newFake(), Door: "http"}), WebOptions{})
	p := d.session("")
	line := callLine("c1", "echo")
	for cut := range 3 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "POST /send HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
			sessionHeader, p.id, len(line), line[:cut*len(line)/3])
		_ = conn.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer), "cut off") {
			t.Errorf("cut at %d/3: %s", cut, answer)
		}
	}
	p.send(line)
	if got := heard[*a2e.CallResponse](p.connect()); got.ReqID != "c1" || !got.Data.Success {
		t.Errorf("answer = %+v", got)
	}
	p.drop()
	d.stop()
	if free := d.web.host.memory.free; free != 64<<20 {
		t.Errorf("%d bytes for requests are free", free)
	}
}

func TestSeenIsBounded(t *testing.T) {
	s, start := newSeen(), time.Now()
	for i := range 3 * maxSeen {
		id := fmt.Sprint(i)
		if !s.add(id, []byte(id), start) {
			t.Fatalf("%s was seen", id)
		}
		if i%100 != 0 {
			s.done(id)
		}
	}
	if n := s.order.Len(); n > maxSeen || n != len(s.byID) {
		t.Errorf("%d marks, %d by id", n, len(s.byID))
	}
	if s.add("0", []byte("0"), start) {
		t.Error("one that is not answered was forgotten")
	}
	if !s.add("0", []byte("other"), start) {
		t.Error("another request with its id was swallowed")
	}
	s.add("last", nil, start.Add(seenFor))
	if n := s.order.Len(); n > 3*maxSeen/100+2 {
		t.Errorf("%d marks after their time", n)
	}
}

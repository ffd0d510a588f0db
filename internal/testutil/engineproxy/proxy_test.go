package engineproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is an engine of a few paths: /echo gives the request back, /slow begins its answer and ends it when told,
// /attach is upgraded to a stream that repeats its input and says so at its end.
type backend struct {
	host   string
	served chan string // the paths that were served, in order
	finish chan struct{}
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{served: make(chan string, 100), finish: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1.41/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.served <- r.URL.Path
		_, _ = w.Write(append([]byte(r.Method+" "), body...))
	})
	mux.HandleFunc("/v1.41/slow", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-b.finish:
			_, _ = io.WriteString(w, "done")
		case <-r.Context().Done():
			b.served <- "gone"
		}
	})
	mux.HandleFunc("/v1.41/attach", func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		_, _ = io.Copy(conn, buf)
		_, _ = io.WriteString(conn, "bye")
		b.served <- "attach ended"
	})
	dir, err := os.MkdirTemp("", "backend")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(mux)
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	b.host = "unix://" + l.Addr().String()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = os.RemoveAll(dir)
	})
	return b
}

func httpClient(t *testing.T, p *Proxy) *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", strings.TrimPrefix(p.Host(), "unix://"))
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// say is what came of a request: its status and body, or "broken" for a connection that was cut.
func say(t *testing.T, c *http.Client, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://engine"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "broken"
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "broken body"
	}
	return resp.Status + ": " + string(b)
}

func TestForwards(t *testing.T) {
	b := newBackend(t)
	p := New(t, b.host)
	c := httpClient(t, p)
	for range 3 { // over one connection
		if got := say(t, c, "POST", "/v1.41/echo", "hello"); got != "200 OK: POST hello" {
			t.Errorf("got %q", got)
		}
	}
	large := strings.Repeat("x", 5<<20)
	if got := say(t, c, "PUT", "/v1.41/echo", large); got != "200 OK: PUT "+large {
		t.Errorf("%d bytes came back", len(got))
	}
	if got := say(t, c, "HEAD", "/v1.41/echo", ""); got != "200 OK: " {
		t.Errorf("got %q", got)
	}
	if got := say(t, c, "GET", "/v1.41/nowhere", ""); !strings.HasPrefix(got, "404") {
		t.Errorf("got %q", got)
	}
	if p.Requests("POST", "/echo") != 3 || p.Requests("", "/*") != 6 {
		t.Errorf("requests: %v", p.requests)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name   string
		fault  Fault
		want   string
		served bool
	}{
		{"lost", Fault{Lost: true}, "broken", true},
		{"dropped", Fault{Drop: true}, "broken", false},
		{"refused", Fault{Answer: Says(409, "busy")}, `409 Conflict: {"message":"busy"}`, false},
		{"another answer", Fault{Instead: Says(500, "device or resource busy")}, `500 Internal Server Error: {"message":"device or resource busy"}`, true},
		{"late", Fault{After: Pause{For: time.Millisecond}}, "200 OK: POST hello", true},
		{"held up", Fault{Before: Pause{For: time.Millisecond}}, "200 OK: POST hello", true},
		{"changed", Fault{Edit: func(b []byte) []byte { return append(b, '!') }}, "200 OK: POST hello!", true},
		{"cut", Fault{CutBody: true}, "broken body", true},
		{"endless", Fault{Answer: &Answer{Status: 200, Body: "ab", Repeat: 3}}, "200 OK: ababab", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBackend(t)
			p := New(t, b.host)
			c := httpClient(t, p)
			rule := p.Inject(Rule{Method: "POST", Path: "/echo", Nth: 2, Fault: tt.fault})
			for i, want := range []string{"200 OK: POST hello", tt.want, "200 OK: POST hello"} {
				if got := say(t, c, "POST", "/v1.41/echo", "hello"); got != want {
					t.Errorf("request %d: got %q, want %q", i+1, got, want)
				}
			}
			served := 2
			if tt.served {
				served = 3
			}
			if len(b.served) != served || rule.Hits() != 1 {
				t.Errorf("%d served, %d hits", len(b.served), rule.Hits())
			}
		})
	}
}

func TestRulesEnd(t *testing.T) {
	b := newBackend(t)
	p := New(t, b.host)
	c := httpClient(t, p)
	rule := p.Inject(Rule{Path: "/echo", Query: "a=1", Fault: Fault{Drop: true}})
	for _, tt := range []struct{ path, want string }{{"/v1.41/echo?a=1", "broken"}, {"/v1.41/echo?a=2", "200 OK: GET "}} {
		if got := say(t, c, "GET", tt.path, ""); got != tt.want {
			t.Errorf("%s: got %q", tt.path, got)
		}
	}
	rule.Remove()
	if got := say(t, c, "GET", "/v1.41/echo?a=1", ""); got != "200 OK: GET " {
		t.Errorf("got %q", got)
	}
}

func TestWarn(t *testing.T) {
	got := string(Warn("no swap")([]byte(`{"Id":"x","Warnings":[]}`)))
	if got != `{"Id":"x","Warnings":["no swap"]}` {
		t.Errorf("got %s", got)
	}
	if got := string(Warn("no swap")([]byte(`{`))); got != "{" {
		t.Errorf("got %s", got)
	}
}

// What a fault wants served is served though nobody waits for it any more; all else ends with its client.
func TestTheClientLeaves(t *testing.T) {
	b := newBackend(t)
	p := New(t, b.host)
	release := make(chan struct{})
	held := p.Inject(Rule{Path: "/echo", Fault: Fault{Before: Pause{Until: release}}})
	conn, err := net.Dial("unix", strings.TrimPrefix(p.Host(), "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /v1.41/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return held.Hits() == 1 })
	_ = conn.Close()
	close(release)
	if got := <-b.served; got != "/v1.41/echo" {
		t.Errorf("served %s", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", "http://engine/v1.41/slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := httpClient(t, p).Do(req) // its head comes while its body does not
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = resp.Body.Close()
	if got := <-b.served; got != "gone" {
		t.Errorf("served %s", got)
	}
}

func attach(t *testing.T, p *Proxy) (*net.UnixConn, *bufio.Reader) {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: strings.TrimPrefix(p.Host(), "unix://"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "POST /v1.41/attach HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func head(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err.Error()
	}
	return resp.Status + " " + resp.Header.Get("Upgrade")
}

// A client's half-close reaches the engine, and what the engine says after it reaches the client.
func TestHalfCloses(t *testing.T) {
	b := newBackend(t)
	p := New(t, b.host)
	conn, r := attach(t, p)
	if got := head(t, r); got != "101 UPGRADED tcp" {
		t.Fatalf("head %q", got)
	}
	if _, err := io.WriteString(conn, "one "); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 4)
	if _, err := io.ReadFull(r, first); err != nil || string(first) != "one " {
		t.Fatalf("%q, %v", first, err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); string(rest) != "bye" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestStreams(t *testing.T) {
	for name, tt := range map[string]struct {
		fault      Fault
		head, want string
	}{
		"cut":      {Fault{Stream: &Stream{After: 3, Cut: true}}, "101 UPGRADED tcp", "hel"},
		"inserted": {Fault{Stream: &Stream{After: 3, Insert: []byte("--")}}, "101 UPGRADED tcp", "hel--lobye"},
		"forged":   {Fault{Stream: &Stream{Insert: []byte{9}, Cut: true}}, "101 UPGRADED tcp", "\t"},
		"lost":     {Fault{Lost: true}, "unexpected EOF", ""},
		"refused":  {Fault{Answer: Says(409, "is paused")}, "409 Conflict ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(t, newBackend(t).host)
			p.Inject(Rule{Path: "/attach", Fault: tt.fault})
			conn, r := attach(t, p)
			if got := head(t, r); got != tt.head {
				t.Fatalf("head %q, want %q", got, tt.head)
			}
			if !strings.HasPrefix(tt.head, "101") {
				return
			}
			_, _ = io.WriteString(conn, "hello")
			_ = conn.CloseWrite()
			got, err := io.ReadAll(r)
			if string(got) != tt.want || err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// An attach that is never answered lasts as long as its client wants, and ends with the engine.
func TestSilence(t *testing.T) {
	p := New(t, newBackend(t).host)
	rule := p.Inject(Rule{Path: "/attach", Fault: Fault{Silent: true}})
	conn, r := attach(t, p)
	await(t, func() bool { return rule.Hits() == 1 })
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := r.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	_ = conn.SetReadDeadline(time.Time{})
	p.Down()
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v", err)
	}
}

func TestTheEngineGoesAndComesBack(t *testing.T) {
	b := newBackend(t)
	p := New(t, b.host)
	c := httpClient(t, p)
	_, r := attach(t, p)
	if got := head(t, r); got != "101 UPGRADED tcp" {
		t.Fatalf("head %q", got)
	}
	for range 2 {
		p.Down()
		p.Down()
		if got := say(t, c, "GET", "/v1.41/echo", ""); got != "broken" {
			t.Errorf("down: %q", got)
		}
		if err := errors.Join(p.Up(), p.Up()); err != nil {
			t.Fatal(err)
		}
		if got := say(t, c, "GET", "/v1.41/echo", ""); got != "200 OK: GET " {
			t.Errorf("up: %q", got)
		}
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the stream outlived its engine")
	}
}

func TestManyAtOnce(t *testing.T) {
	b := newBackend(t)
	p := New(t, b.host)
	c := httpClient(t, p)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			rule := p.Inject(Rule{Path: "/nothing", Fault: Fault{Drop: true}})
			defer rule.Remove()
			if got := say(t, c, "POST", "/v1.41/echo", "x"); got != "200 OK: POST x" {
				t.Errorf("got %q", got)
			}
		})
	}
	all.Wait()
}

func await(t *testing.T, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come")
		}
	}
}

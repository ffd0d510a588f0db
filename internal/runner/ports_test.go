package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/wall"
)

// The ports of these tests: what the supervisor grants, and what the runner has beside it.
const (
	portGranted = "llm.openai"
	portForeign = "egress"
)

// freePort returns a number that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// withPorts boots a runner with both ports, and a skill that waits. It returns their URLs.
func withPorts(t testing.TB) (c *cell, granted, foreign string) {
	t.Helper()
	ports := []wall.Port{{Name: portGranted, Number: freePort(t)}, {Name: portForeign, Number: freePort(t)}}
	c = boot(t, `exec sleep 60`, func(cfg *Config) { cfg.Args.Ports = ports })
	if l := c.next(); l.Type != wall.TypeReady {
		t.Fatalf("first line %s", l.raw)
	}
	url := func(p wall.Port) string { return fmt.Sprintf("http://127.0.0.1:%d", p.Number) }
	return c, url(ports[0]), url(ports[1])
}

// begin hands the call in and serves its streams.
func (c *cell) begin(h http.Handler) {
	c.t.Helper()
	c.serve(func(conn *wall.Conn) {
		srv := &http.Server{Handler: h}
		_ = srv.Serve(&single{conn: conn, closed: make(chan struct{})})
	})
	c.send(wall.Lease{Type: wall.TypeLease}, request)
	c.await(wall.RequestPath)
}

// await waits until the runner has made a file.
func (c *cell) await(fixed string) {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(c.root, fixed)); err == nil {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s did not appear", fixed)
		}
	}
}

// serve gives each stream to a function.
func (c *cell) serve(f func(conn *wall.Conn)) {
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, _, err := c.host.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				f(conn)
			})
		}
	})
	c.t.Cleanup(func() {
		c.host.Close(nil)
		all.Wait()
	})
}

// single is a listener of one connection; it ends with it.
type single struct {
	conn   net.Conn
	once   sync.Once
	closed chan struct{}
}

func (s *single) Accept() (net.Conn, error) {
	if conn := s.conn; conn != nil {
		s.conn = nil
		return &watched{conn, s}, nil
	}
	<-s.closed
	return nil, net.ErrClosed
}

func (s *single) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *single) Addr() net.Addr { return &net.TCPAddr{} }

type watched struct {
	net.Conn
	l *single
}

func (w *watched) Close() error {
	_ = w.l.Close()
	return w.Conn.Close()
}

// client is an HTTP client that keeps nothing.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

func fetch(t testing.TB, url string, body io.Reader) (int, string) {
	t.Helper()
	r, err := client(t).Post(url, "text/plain", body)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// end stops the skill and reads the rest.
func (c *cell) end() outcome {
	c.t.Helper()
	c.send(wall.Control{Type: wall.TypeCancel})
	return c.finish()
}

func upper(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	_, _ = w.Write(bytes.ToUpper(b))
}

func TestPortsCarryHTTP(t *testing.T) {
	c, url, _ := withPorts(t)
	c.begin(http.HandlerFunc(upper))
	text := strings.Repeat("hello ", 200_000)
	for range 3 {
		if code, got := fetch(t, url, strings.NewReader(text)); code != 200 || got != strings.ToUpper(text) {
			t.Errorf("status %d, %d bytes", code, len(got))
		}
	}
	o := c.end()
	if !o.exit.Cancelled {
		t.Errorf("exit = %+v", o.exit)
	}
	if _, err := client(t).Get(url); err == nil {
		t.Error("the port still answers after the end")
	}
}

func refused(message string) string {
	return `{"error":{"message":"hotcell: ` + message + `","type":"hotcell_refused"}}`
}

func TestPortsRefuseBeforeTheLease(t *testing.T) {
	c, url, _ := withPorts(t)
	for range 3 {
		if code, got := fetch(t, url, strings.NewReader("x")); code != 403 || got != refused("not before the call") {
			t.Errorf("%d %s", code, got)
		}
	}
	if code, got := fetch(t, url, strings.NewReader(strings.Repeat("x", 1<<20))); code != 403 {
		t.Errorf("a large request: %d %s", code, got)
	}
	c.begin(http.HandlerFunc(upper))
	if code, got := fetch(t, url, strings.NewReader("x")); code != 200 || got != "X" {
		t.Errorf("after the lease: %d %s", code, got)
	}
	c.end()
}

func TestPortsTellWhyAStreamIsRefused(t *testing.T) {
	c, granted, foreign := withPorts(t)
	c.serve(func(conn *wall.Conn) {
		_, _ = conn.Read(make([]byte, 100))
		_ = conn.CloseWithError(errors.New("the upstream is not to be reached"))
	})
	c.send(wall.Lease{Type: wall.TypeLease}, request)
	c.await(wall.RequestPath)
	if code, got := fetch(t, foreign, strings.NewReader("x")); code != 403 || got != refused("this call was not granted egress") {
		t.Errorf("%d %s", code, got)
	}
	if code, got := fetch(t, granted, strings.NewReader("x")); code != 502 || got != refused("the upstream is not to be reached") {
		t.Errorf("%d %s", code, got)
	}
	c.end()
}

func TestAStreamThatBreaksBreaksItsConnection(t *testing.T) {
	c, url, _ := withPorts(t)
	c.serve(func(conn *wall.Conn) {
		_, _ = conn.Read(make([]byte, 100))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nhalf")
		_ = conn.CloseWithError(errors.New("the upstream broke"))
	})
	c.send(wall.Lease{Type: wall.TypeLease}, request)
	c.await(wall.RequestPath)
	r, err := client(t).Get(url)
	if err == nil {
		_, err = io.ReadAll(r.Body)
		r.Body.Close()
	}
	if err == nil {
		t.Error("half an answer passed for a whole one")
	}
	c.end()
}

func TestHalfClosePasses(t *testing.T) {
	c, url, _ := withPorts(t)
	c.serve(func(conn *wall.Conn) {
		b, _ := io.ReadAll(conn)
		_, _ = conn.Write(bytes.ToUpper(b))
	})
	c.send(wall.Lease{Type: wall.TypeLease}, request)
	c.await(wall.RequestPath)
	conn, err := net.Dial("tcp4", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(conn); string(b) != "HELLO" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	c.end()
}

func TestManyConnectionsWait(t *testing.T) {
	c, url, _ := withPorts(t)
	c.begin(http.HandlerFunc(upper))
	var all sync.WaitGroup
	for i := range 2 * maxConnections {
		all.Go(func() {
			want := strings.Repeat(string(rune('A'+i%26)), 10_000)
			if code, got := fetch(t, url, strings.NewReader(strings.ToLower(want))); code != 200 || got != want {
				t.Errorf("connection %d: %d %.100s", i, code, got)
			}
		})
	}
	all.Wait()
	c.end()
}

func TestALostSupervisorEndsConnections(t *testing.T) {
	c, url, _ := withPorts(t)
	met := make(chan struct{})
	c.serve(func(conn *wall.Conn) {
		close(met)
		_, _ = io.Copy(io.Discard, conn)
	})
	c.send(wall.Lease{Type: wall.TypeLease}, request)
	c.await(wall.RequestPath)
	conn, err := net.Dial("tcp4", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "x"); err != nil {
		t.Fatal(err)
	}
	<-met
	c.stdin.Close()
	c.exits(exitHangup)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection outlived the supervisor")
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := l.Addr().(*net.TCPAddr).Port
	o := boot(t, `echo started`, func(cfg *Config) { cfg.Args.Ports = []wall.Port{{Name: "tools", Number: n}} }).play()
	want := fmt.Sprintf("loopback port %d for tools: something in the cell listens there already", n)
	if o.exit.StartError != want || o.exit.ExitCode != cannotStart || o.result != nil {
		t.Errorf("exit = %+v, want %q", o.exit, want)
	}
}

func TestTheLeaseBecomesFiles(t *testing.T) {
	c := boot(t, `stat -c '%a %n' $ROOT/run/hotcell/secrets/* $ROOT/run/hotcell/lease.json; cat $ROOT/run/hotcell/secrets/KEY`)
	lease := wall.Lease{
		Type: wall.TypeLease, Secrets: map[string]string{"KEY": "s3cret<>"}, MaxTurns: 3,
		Model:        &wall.Model{Provider: "openai", Kind: "openai", Model: "m", Config: json.RawMessage(`{"temperature":0.5}`)},
		Tools:        []wall.ToolDef{{Name: "time", Description: "the time", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		OutputSchema: json.RawMessage(`{"type":"object"}`),
	}
	o := c.play(lease)
	want := fmt.Sprintf("400 %[1]s/run/hotcell/secrets/KEY\n400 %[1]s/run/hotcell/lease.json\ns3cret<>", c.root)
	var got string
	if o.result == nil || json.Unmarshal(o.result.Data, &got) != nil || got != want {
		t.Fatalf("result %+v, want %q", o.result, want)
	}
	b, err := os.ReadFile(filepath.Join(c.root, wall.LeasePath))
	if err != nil {
		t.Fatal(err)
	}
	back, err := wall.DecodeLease(b)
	lease.Secrets = nil
	if d := cmp.Diff(lease, back); d != "" || err != nil || bytes.Contains(b, []byte("s3cret")) {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestASecondLeaseIsRefused(t *testing.T) {
	o := boot(t, `echo started`).play(wall.Lease{Type: wall.TypeLease}, wall.Lease{Type: wall.TypeLease})
	if o.exit.StartError != "the cell got a second lease" || o.result != nil {
		t.Errorf("exit = %+v", o.exit)
	}
}

func TestABrokenTunnelIsLogged(t *testing.T) {
	c, url, _ := withPorts(t)
	c.begin(http.HandlerFunc(upper))
	c.send(`{"type":"cell/data","id":99,"data":""}`)
	c.logged("the tunnel is broken: stream 99 was never opened")
	if code, got := fetch(t, url, strings.NewReader("x")); code != 502 || got != refused("stream 99 was never opened") {
		t.Errorf("%d %s", code, got)
	}
	c.send(wall.Control{Type: wall.TypeCancel}, wall.Control{Type: wall.TypeDone})
	c.exits(exitComplete)
}

func TestNoPortsCostNothing(t *testing.T) {
	p, err := openPorts(&voice{}, nil)
	if p != nil || err != nil {
		t.Fatalf("%v, %v", p, err)
	}
	n := testing.AllocsPerRun(10, func() {
		p, _ := openPorts(nil, nil)
		p.admit()
		_ = p.handle(wall.TypeData, nil)
		p.finish()
		p.close()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package egress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestTLSThroughConnect(t *testing.T) {
	w := &world{t: t}
	s := w.upstream(true, func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "hello from ", r.Host) })
	c := client(t, w.grant("example.com:443"), s.Client())
	for range 3 { // the second and third on the same connection
		if status, body := get(t, c, "https://example.com/"); status != 200 || body != "hello from example.com" {
			t.Fatalf("%d %q", status, body)
		}
	}
	if diff := cmp.Diff([]string{public + ":443"}, w.dials()); diff != "" {
		t.Error(diff)
	}
	c.CloseIdleConnections()
	e := w.audited(1)[0]
	if e.Call != "c1" || e.Kind != "egress.connect" || e.Data["host"] != "example.com" || e.Data["port"] != 443 ||
		e.Data["address"] != public || e.Data["verdict"] != "connected" || e.Data["reason"] != nil {
		t.Errorf("%+v", e)
	}
	if in, out := e.Data["bytes_in"].(int64), e.Data["bytes_out"].(int64); in < 1000 || out < 300 {
		t.Errorf("%d bytes in, %d out", in, out)
	}
}

func TestPlainRequest(t *testing.T) {
	w := &world{t: t}
	w.upstream(false, func(rw http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "Connection", "X-Hop"} {
			if v := r.Header.Get(name); v != "" && v != "close" {
				t.Errorf("upstream sees %s: %s", name, v)
			}
		}
		b, _ := io.ReadAll(r.Body)
		rw.Header().Set("X-Answer", "yes")
		fmt.Fprintf(rw, "%s %s %s %s", r.Method, r.Host, r.RequestURI, b)
	})
	c := client(t, w.grant("example.com:80", "example.com:8080"), nil)
	for target, want := range map[string]string{
		"http://Example.com/a%2Fb?q=1":    "POST example.com /a%2Fb?q=1 body",
		"http://example.com.:8080/":       "POST example.com:8080 / body",
		"http://example.com:80/x?y#never": "POST example.com /x?y body",
	} {
		req, err := http.NewRequest(http.MethodPost, target, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Connection", "X-Hop")
		req.Header.Set("X-Hop", "mine")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(body) != want || resp.Header.Get("X-Answer") != "yes" {
			t.Errorf("%s: %q, want %q", target, body, want)
		}
	}
}

func TestTheURLDecidesAndNotTheHostHeader(t *testing.T) {
	w := &world{t: t}
	w.upstream(false, func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, r.Host) })
	_, body := raw(t, w.grant("example.com:80"), "GET http://EXAMPLE.com/ HTTP/1.1\r\nHost: other.example\r\n"+authorization(token)+"\r\n")
	if body != "example.com" {
		t.Error(body)
	}
}

// raw sends text and returns the answer's status line and body.
func raw(t *testing.T, g *grant, text string) (string, string) {
	t.Helper()
	conn := stream(t, g)
	go func() { _, _ = io.WriteString(conn, text) }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.Status, string(body)
}

func connect(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + authorization(token) + "\r\n"
}

func authorization(token string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("hotcell:"+token)) + "\r\n"
}

func TestRefusals(t *testing.T) {
	w := &world{t: t}
	g := w.grant("example.com:443", "*.example.org:443", "10.0.0.1:443", "[fd00::1]:443", "127.0.0.1:443")
	const notAllowed, noHTTP = "403 hotcell egress: %s is not in network.allow", "400 hotcell egress: "
	for text, want := range map[string]string{
		connect("example.com:80"):                   fmt.Sprintf(notAllowed, "example.com:80"),
		connect("evil.example:443"):                 fmt.Sprintf(notAllowed, "evil.example:443"),
		connect("example.org:443"):                  fmt.Sprintf(notAllowed, "example.org:443"),
		connect("example.com.evil.example:443"):     fmt.Sprintf(notAllowed, "example.com.evil.example:443"),
		connect("xexample.org:443"):                 fmt.Sprintf(notAllowed, "xexample.org:443"),
		connect("93.184.216.34:443"):                fmt.Sprintf(notAllowed, "93.184.216.34:443"),
		connect("[::1]:443"):                        fmt.Sprintf(notAllowed, "[::1]:443"),
		connect("10.0.0.1:443"):                     "403 hotcell egress: 10.0.0.1:443 leads to an address that is not public (a private network)",
		connect("[::ffff:10.0.0.1]:443"):            "403 hotcell egress: 10.0.0.1:443 leads to",
		connect("[fd00::1]:443"):                    "403 hotcell egress: [fd00::1]:443 leads to",
		connect("127.0.0.1:443"):                    "403 hotcell egress: 127.0.0.1:443 leads to an address that is not public (loopback)",
		connect("127.1:443"):                        noHTTP,
		connect("0x7f000001:443"):                   noHTTP,
		connect("example.com"):                      noHTTP,
		connect("example.com:https"):                noHTTP,
		connect("example.com:443:80"):               noHTTP,
		connect("evil.example@example.com:443"):     noHTTP,
		connect("example.com:443@evil.example:443"): noHTTP,
		connect("example.com:443#:443"):             noHTTP,
		connect("example.com%00.evil.example:443"):  noHTTP,
		connect("/example.com:443"):                 noHTTP,
		connect("https://example.com:443"):          noHTTP,
		connect("*.example.org:443"):                noHTTP,
		connect(""):                                 noHTTP,
		"GET / HTTP/1.1\r\nHost: example.com\r\n" + authorization(token) + "\r\n":                        noHTTP,
		"GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n" + authorization(token) + "\r\n":     noHTTP,
		"GET http://u:p@example.com/ HTTP/1.1\r\nHost: example.com\r\n" + authorization(token) + "\r\n":  noHTTP,
		"GET http://example.com/ HTTP/1.1\r\nHost: example.com:443\r\n" + authorization(token) + "\r\n":  fmt.Sprintf(notAllowed, "example.com:80"),
		"GET http://evil.example/ HTTP/1.1\r\nHost: example.com:443\r\n" + authorization(token) + "\r\n": fmt.Sprintf(notAllowed, "evil.example:80"),
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n":                                           noHTTP,
		"CONNECT example.com:443 HTTP/1.1\r\nX: " + strings.Repeat("x", 32<<10):                          "400 hotcell egress: the request's head is longer than 16384 bytes",
		"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n":                              "407 hotcell egress: the request does not show this cell's token",
		"CONNECT example.com:443 HTTP/1.1\r\n" + authorization("hc-another") + "\r\n":                    "407 hotcell egress: the request does not show",
		"CONNECT example.com:443 HTTP/1.1\r\nProxy-Authorization: Bearer " + token + "\r\n\r\n":          "407 hotcell egress: the request does not show",
		"CONNECT example.com:443 HTTP/1.1\r\nProxy-Authorization: Basic !\r\n\r\n":                       "407 hotcell egress: the request does not show",
		"CONNECT example.com:443 HTTP/1.1\r\n" + authorization("") + "\r\n":                              "407 hotcell egress: the request does not show",
	} {
		status, body := raw(t, g, text)
		if !strings.HasPrefix(status, want) || strings.TrimSpace(body) != status[4:] {
			t.Errorf("%.100q:\n%s\n%q", text, status, body)
		}
	}
	if d := w.dials(); len(d) > 0 {
		t.Errorf("dialled %q", d)
	}
	for _, e := range w.audited(1) {
		if e.Data["verdict"] != "refused" || e.Data["reason"] == "" {
			t.Errorf("%+v", e)
		}
	}
}

func TestBeforeAndAfterTheCallEverythingIsRefused(t *testing.T) {
	w := &world{t: t}
	got, err := w.service().Grant(ask("example.com:443"))
	if err != nil {
		t.Fatal(err)
	}
	g := got.(*grant)
	if status, _ := raw(t, g, connect("example.com:443")); status != "403 hotcell egress: the call has not begun" {
		t.Error(status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g.Activate(ctx, token)
	if status, _ := raw(t, g, connect("example.com:443")); status != "502 hotcell egress: example.com cannot be reached" {
		t.Error(status)
	}
	cancel()
	for g.enterable() {
		time.Sleep(time.Millisecond)
	}
	g.Activate(t.Context(), token)
	if status, _ := raw(t, g, connect("example.com:443")); status != "403 hotcell egress: the call has ended" {
		t.Error(status)
	}
	g.Revoke()
}

func (g *grant) enterable() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == active
}

func TestNoListNoGrant(t *testing.T) {
	w := &world{t: t}
	if g, err := w.service().Grant(ask()); g != nil || err != nil {
		t.Errorf("%v, %v", g, err)
	}
	if _, err := w.service().Grant(ask("nonsense")); err == nil || !strings.Contains(err.Error(), `network.allow: "nonsense" is not a destination`) {
		t.Errorf("%v", err)
	}
}

func TestEnvironment(t *testing.T) {
	w := &world{t: t}
	g := w.grant("example.com:443")
	got := g.Env(func(port string) string { return "127.0.0.1:41001" + port[len(Port):] }, token)
	const proxy = "http://hotcell:" + token + "@127.0.0.1:41001"
	want := []string{
		"HTTPS_PROXY=" + proxy, "HTTP_PROXY=" + proxy, "NO_PROXY=127.0.0.1,localhost",
		"http_proxy=" + proxy, "https_proxy=" + proxy, "no_proxy=127.0.0.1,localhost",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// echoing lets the upstream be a pipe whose other end the test holds.
func echoing(w *world) <-chan net.Conn {
	conns := make(chan net.Conn, 64)
	w.connect = func(context.Context, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		_ = ours.SetDeadline(time.Now().Add(time.Hour))
		w.t.Cleanup(func() { _ = ours.Close() })
		conns <- ours
		return theirs, nil
	}
	return conns
}

// tunnelled opens a tunnel and returns both of its ends.
func tunnelled(t *testing.T, w *world, g *grant, conns <-chan net.Conn) (cell io.ReadWriteCloser, outside net.Conn) {
	t.Helper()
	conn := stream(t, g)
	if _, err := io.WriteString(conn, connect("example.com:443")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	return struct {
		io.Reader
		io.WriteCloser
	}{r, conn}, <-conns
}

func TestRevokeCutsWhatIsUnderWay(t *testing.T) {
	w := &world{t: t}
	conns := echoing(w)
	g := w.grant("example.com:443")
	cell, outside := tunnelled(t, w, g, conns)
	go func() { _, _ = io.WriteString(cell, "hello") }()
	hello := make([]byte, 5)
	if _, err := io.ReadFull(outside, hello); err != nil || string(hello) != "hello" {
		t.Fatalf("%q, %v", hello, err)
	}
	g.Revoke()
	if _, err := cell.Read(hello); err == nil {
		t.Error("the cell's end is open")
	}
	if _, err := outside.Read(hello); err == nil {
		t.Error("the outer end is open")
	}
	if e := w.audited(1)[0]; e.Data["reason"] != "the call has ended" || e.Data["bytes_out"] != int64(5) {
		t.Errorf("%+v", e)
	}
}

func TestRevokeCutsADial(t *testing.T) {
	w := &world{t: t}
	began := make(chan struct{})
	w.connect = func(ctx context.Context, _ string) (net.Conn, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	g := w.grant("example.com:443")
	conn := stream(t, g)
	go func() { _, _ = io.WriteString(conn, connect("example.com:443")) }()
	<-began
	g.Revoke()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the stream is open")
	}
	if e := w.audited(1)[0]; e.Data["reason"] != "the call has ended" {
		t.Errorf("%+v", e)
	}
}

func TestByteLimit(t *testing.T) {
	w := &world{t: t, limits: Limits{Bytes: 100 << 10}}
	conns := echoing(w)
	g := w.grant("example.com:443")
	cell, outside := tunnelled(t, w, g, conns)
	go func() { _, _ = outside.Write(bytes.Repeat([]byte("x"), 200<<10)) }()
	n, _ := io.Copy(io.Discard, cell)
	if n > 100<<10 || n < 60<<10 {
		t.Errorf("%d bytes came through", n)
	}
	if e := w.audited(1)[0]; e.Data["reason"] != "the call has moved as many bytes as it may" {
		t.Errorf("%+v", e)
	}
	if status, _ := raw(t, g, connect("example.com:443")); status != "403 hotcell egress: the call has moved as many bytes as it may" {
		t.Error(status)
	}
}

func TestConnectionLimits(t *testing.T) {
	w := &world{t: t, limits: Limits{Connections: 2, Total: 4}}
	conns := echoing(w)
	g := w.grant("example.com:443")
	first, _ := tunnelled(t, w, g, conns)
	tunnelled(t, w, g, conns)
	if status, _ := raw(t, g, connect("example.com:443")); status != "403 hotcell egress: this call has 2 connections open, as many as it may" {
		t.Error(status)
	}
	_ = first.Close()
	w.audited(1)
	for g.busy() == 2 {
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		cell, _ := tunnelled(t, w, g, conns)
		_ = cell.Close()
		for g.busy() == 2 {
			time.Sleep(time.Millisecond)
		}
	}
	if status, _ := raw(t, g, connect("example.com:443")); status != "403 hotcell egress: this call has made 4 connections, as many as it may" {
		t.Error(status)
	}
}

func (g *grant) busy() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

func TestIdleConnectionsAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		conns := echoing(w)
		w.limits.Idle = 10 * time.Second
		cell, outside := tunnelled(t, w, w.grant("example.com:443"), conns)
		for range 3 { // what moves is not idle
			time.Sleep(6 * time.Second)
			go func() { _, _ = outside.Write([]byte("x")) }()
			if _, err := cell.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if _, err := cell.Read(make([]byte, 1)); err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if e := w.audited(1)[0]; e.Data["reason"] != "nothing moved for 10s" {
			t.Errorf("%+v", e)
		}
	})
}

// A cell that does not read cannot hold a connection for ever.
func TestACellThatDoesNotReadIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		conns := echoing(w)
		_, outside := tunnelled(t, w, w.grant("example.com:443"), conns)
		if _, err := outside.Write(make([]byte, 1<<20)); err == nil {
			t.Error("a megabyte went to nobody")
		}
		w.audited(1)
	})
}

// A cell may close its direction and still read the answer.
func TestHalfClose(t *testing.T) {
	w := &world{t: t}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all, _ := io.ReadAll(c)
			_, _ = c.Write(bytes.ToUpper(all))
			_ = c.Close()
		}
	}()
	loopback := func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	}
	w.connect = func(ctx context.Context, _ string) (net.Conn, error) { return loopback(ctx) }
	g := w.grant("example.com:443")
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	cell, err := net.Dial("tcp", proxy.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer cell.Close()
	accepted, err := proxy.Accept()
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); g.Serve(Port, accepted) }()
	if _, err := io.WriteString(cell, connect("example.com:443")+"early"); err != nil {
		t.Fatal(err)
	}
	_ = cell.(*net.TCPConn).CloseWrite()
	all, err := io.ReadAll(cell)
	if err != nil || string(all) != "HTTP/1.1 200 Connection established\r\n\r\nEARLY" {
		t.Errorf("%q, %v", all, err)
	}
	<-served
}

// The end of a call may come at any moment of a connection.
func TestRevokeAtAnyMoment(t *testing.T) {
	for i := range 200 {
		w := &world{t: t}
		conns := echoing(w)
		g := w.grant("example.com:443", "example.com:80")
		text := connect("example.com:443")
		if i%2 == 1 {
			text = "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n" + authorization(token) + "\r\n"
		}
		conn := stream(t, g)
		go func() { _, _ = io.WriteString(conn, text+"hello") }()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range i {
				runtime.Gosched()
			}
			g.Revoke()
		}()
		_, _ = io.Copy(io.Discard, conn)
		<-ended
		select {
		case outside := <-conns:
			if _, err := io.Copy(io.Discard, outside); err != nil {
				t.Fatalf("%d: the outer end is open: %v", i, err)
			}
		default:
		}
	}
}

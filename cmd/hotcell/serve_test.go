package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// lockedBuffer is a bytes.Buffer that may be read while a command writes.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// running is a command that runs until it is stopped.
type running struct {
	*bench
	stderr lockedBuffer
	code   chan int
}

func start(t *testing.T, b *bench, args ...string) *running {
	t.Helper()
	r := &running{bench: b, code: make(chan int, 1)}
	b.app.stderr = &r.stderr
	go func() { r.code <- b.run(args...) }()
	return r
}

// ready waits for the daemon's readiness and returns its HTTP address.
func (r *running) ready(t *testing.T) string {
	t.Helper()
	line := regexp.MustCompile(`hotcell: ready: (http://[0-9.:]+) and `)
	var base string
	testutil.Poll(t, 20*time.Second, func() bool {
		if m := line.FindStringSubmatch(r.stderr.String()); m != nil {
			base = m[1]
		}
		return base != "" || len(r.code) > 0
	})
	if base == "" {
		t.Fatalf("it did not get ready: %s", r.stderr.String())
	}
	return base
}

func (r *running) stop(t *testing.T) int {
	t.Helper()
	(<-r.signals) <- os.Interrupt
	select {
	case code := <-r.code:
		return code
	case <-time.After(30 * time.Second):
		t.Fatalf("it did not stop: %s", r.stderr.String())
		return -1
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Get(url)
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

func TestServe(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	b.probe = func(context.Context) error { return fmt.Errorf("no engine today: %w", sandbox.ErrUnavailable) }
	socket := filepath.Join(t.TempDir(), "new", "h.sock")
	r := start(t, b, "serve", "--listen", "127.0.0.1:0", "--socket", socket)
	base := r.ready(t)
	if code, _ := get(t, base+"/healthz"); code != http.StatusOK {
		t.Errorf("/healthz = %d", code)
	}
	if code, body := get(t, base+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, `"no engine today"`) {
		t.Errorf("/readyz = %d %s", code, body)
	}
	if !strings.Contains(r.stderr.String(), "no engine answers yet") {
		t.Errorf("no warning: %s", r.stderr.String())
	}
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != socketMode {
		t.Errorf("socket: %v, %v", info, err)
	}
	if got := talk(t, socket, `{"type":"ping","id":"p1"}`); !strings.Contains(got, `"type":"pong"`) {
		t.Errorf("ping got %q", got)
	}
	other := newBench(t, nil)
	other.app.dial = dial
	if code := other.run("calls", "show", "none", "--url", base); code != exitUsage || !strings.Contains(other.err.String(), "no call has the id") {
		t.Errorf("calls show: exit %d, %s", code, other.err.String())
	}
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if b.super.drains.Load() == 0 || !b.closed.Load() || b.super.tended.Load() != 1 {
		t.Errorf("the supervisor was not drained and closed, or tended %d times", b.super.tended.Load())
	}
}

// What keeps cells within bounds has to be there from the start; a cluster that does not answer may come later.
func TestServeChecksWhatCellsRelyOn(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	b.check = func(context.Context) error {
		return fmt.Errorf("namespace x has no bounds: %w", sandbox.ErrUnsupported)
	}
	code := b.run("serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "h.sock"))
	if code == 0 || !strings.Contains(b.err.String(), "hotcell: namespace x has no bounds") || strings.Contains(b.err.String(), "ready") || !b.closed.Load() {
		t.Errorf("exit %d, closed: %v, %s", code, b.closed.Load(), b.err.String())
	}
	b = newBench(t, succeed(nil, ""))
	b.check = func(context.Context) error { return fmt.Errorf("no cluster today: %w", sandbox.ErrUnavailable) }
	r := start(t, b, "serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "h.sock"))
	r.ready(t)
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
}

// A daemon whose journal is lost refuses every call: it is not ready.
func TestServeWithoutItsJournal(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	b.journalled = func() error { return errors.New("no journal today") }
	r := start(t, b, "serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "h.sock"))
	if code, body := get(t, r.ready(t)+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "no journal today") {
		t.Errorf("/readyz = %d %s", code, body)
	}
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
}

// talk sends a line to a socket and returns the first line that comes back.
func talk(t *testing.T, socket, line string) string {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
	got, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestServeWhereSomethingListens(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	b := newBench(t, nil)
	code := b.run("serve", "--listen", taken.Addr().String(), "--socket", filepath.Join(t.TempDir(), "h.sock"))
	if code != exitFailed || !strings.Contains(b.err.String(), "address already in use: stop what is there, or choose another with --listen") {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
	b = newBench(t, nil)
	if code := b.run("serve", "--listen", "0.0.0.0:80"); code != exitUsage || !strings.Contains(b.err.String(), "not a loopback address") {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
	b = newBench(t, nil)
	if code := b.run("serve", "--listen", "127.0.0.1:0", "--socket", "/proc/none/h.sock"); code != exitFailed || !strings.Contains(b.err.String(), "no such file or directory (--socket)") {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
}

// A daemon outlives its terminal.
func TestHangUpReloadsNothing(t *testing.T) {
	r := start(t, newBench(t, succeed(nil, "")), "serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "h.sock"))
	base := r.ready(t)
	signals := <-r.signals
	signals <- syscall.SIGHUP
	testutil.Poll(t, 20*time.Second, func() bool { return strings.Contains(r.stderr.String(), "nothing to reload") })
	if code, _ := get(t, base+"/healthz"); code != http.StatusOK {
		t.Errorf("/healthz = %d after SIGHUP", code)
	}
	r.signals <- signals
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
}

func TestListenErrorGivesOneAdvice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil)
	code := b.run("serve", "--listen", "127.0.0.1:0", "--socket", path)
	if want := "is not a socket: remove it or choose another path (--socket)\n"; code != exitFailed || !strings.HasSuffix(b.err.String(), want) {
		t.Errorf("exit %d, %q, want %q", code, b.err.String(), want)
	}
}

func TestNoDaemon(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil)
	b.app.dial = dial
	if code := b.run("calls", "list", "--url", base); code != exitFailed || !strings.Contains(b.err.String(), "start one with 'hotcell serve'") {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
}

func TestStdio(t *testing.T) {
	b := newBench(t, succeed(map[string]any{"n": 1}, "done"))
	b.app.stdin = strings.NewReader(`{"type":"ping","id":"p1"}` + "\n" + `{"type":"skill/call/req","id":"c1","name":"probe","arguments":{}}` + "\nnot JSON\n")
	if code := b.run("stdio"); code != 0 {
		t.Fatalf("exit %d: %s", code, b.err.String())
	}
	out := b.out.String()
	for _, want := range []string{`"type":"pong"`, `"type":"skill/call/resp"`, `"req_id":"c1"`, `"code":"parse_error"`} {
		if !strings.Contains(out, want) {
			t.Errorf("stdout has no %s: %s", want, out)
		}
	}
	if n := strings.Count(out, "\n"); n != 3 {
		t.Errorf("%d lines, want 3: %s", n, out)
	}
}

func TestStdioGivesUpOnNoise(t *testing.T) {
	b := newBench(t, nil)
	b.app.stdin = strings.NewReader(strings.Repeat("noise\n", 200))
	if code := b.run("stdio"); code != exitUsage || !strings.Contains(b.err.String(), "bad lines in a row") {
		t.Errorf("exit %d: %s", code, b.err.String())
	}
}

func TestStdioStopsOnSignal(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	in, feed := io.Pipe()
	defer feed.Close()
	b.app.stdin = in
	r := start(t, b, "stdio")
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
}

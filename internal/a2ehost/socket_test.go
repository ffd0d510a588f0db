package a2ehost

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// serveSocket serves h on a fresh socket until stop is called.
func serveSocket(t *testing.T, h *Host) (path string, stop func() error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run", "s")
	ln, err := Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var served error
	wg.Go(func() { served = h.ServeSocket(ctx, ln) })
	stop = func() error { cancel(); wg.Wait(); return served }
	t.Cleanup(func() { _ = stop() })
	return path, stop
}

func dial(t *testing.T, path string) *peer {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &peer{t: t, w: conn, r: bufio.NewReader(conn), conn: conn}
}

func TestFiftyConnections(t *testing.T) {
	path, stop := serveSocket(t, newHost(t, Options{Handler: newFake()}))
	slow := dial(t, path)
	slow.send(callLine("slow", "flood")) // never reads; must hold up nobody
	var wg sync.WaitGroup
	for i := range 50 {
		p := dial(t, path)
		wg.Go(func() {
			id := fmt.Sprint(i)
			if _, err := fmt.Fprintf(p.w, "%s\n", callLine(id, "events")); err != nil {
				t.Error(err)
				return
			}
			_ = p.conn.SetReadDeadline(time.Now().Add(patience))
			for seq := 0; ; seq++ {
				line, err := p.r.ReadBytes('\n')
				if err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
				m, err := a2e.Parse(line)
				if err != nil {
					t.Errorf("%s: %s: %v", id, line, err)
					return
				}
				if got, ok := m.(*a2e.CallResponse); ok {
					if got.ReqID != id || seq != 3 {
						t.Errorf("%s: answer to %s after %d events", id, got.ReqID, seq)
					}
					return
				}
			}
		})
	}
	wg.Wait()
	_ = slow.conn.Close()
	if err := stop(); err != nil {
		t.Errorf("ServeSocket = %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func TestTooManyConnections(t *testing.T) {
	path, _ := serveSocket(t, newHost(t, Options{Handler: newFake(), MaxSessions: 1}))
	first := dial(t, path)
	first.send(ping("p1"))
	recv[*a2e.Pong](first)
	second := dial(t, path)
	if got := recv[*a2e.ErrorMessage](second); got.Code != a2e.RuntimeError || !got.Retryable || got.Detail["reason"] != a2e.ReasonQueueFull {
		t.Errorf("error = %+v", got)
	}
	second.end()
	_ = first.conn.Close()
	testutil.Poll(t, patience, func() bool { // the place is free again
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		_, _ = fmt.Fprintln(conn, ping("p2"))
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.Contains(line, `"pong"`)
	})
}

func TestStoppingEndsIdleConnections(t *testing.T) {
	path, stop := serveSocket(t, newHost(t, Options{Handler: newFake()}))
	p := dial(t, path)
	p.send(ping("p1"))
	recv[*a2e.Pong](p)
	if err := stop(); err != nil {
		t.Errorf("ServeSocket = %v", err)
	}
	p.end()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestListenMakesFolderAndMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "s")
	ln, err := Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o660 || ln.Addr().String() != path {
		t.Errorf("mode = %v, address = %v, %v", info.Mode(), ln.Addr(), err)
	}
	if _, err := Listen(path, 0o660); err == nil || !strings.Contains(err.Error(), "another hotcell serves "+path) {
		t.Errorf("a second Listen = %v", err)
	}
	if conn, err := net.Dial("unix", path); err != nil {
		t.Errorf("the first one was harmed: %v", err)
	} else {
		_ = conn.Close()
	}
}

func TestListenReplacesAStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	first, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	// Whoever removes the socket by hand and starts another must not lose that one when the first ends.
	_ = os.Remove(path)
	second, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("closing the first removed the second's socket: %v", err)
	}
	_ = second.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestListenErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/nowhere", link); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ path, says string }{
		"a file":         {file, "exists and is not a socket"},
		"a link":         {link, "exists and is not a socket"},
		"a folder":       {dir, "exists and is not a socket"},
		"file as folder": {filepath.Join(file, "s"), "not a directory"},
		"too long":       {filepath.Join(dir, strings.Repeat("x", 120)), "too long: expected at most 107 bytes"},
	} {
		if ln, err := Listen(tt.path, 0o660); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: Listen = %v, %v, want %q", name, ln, err, tt.says)
		}
	}
	if got, err := os.ReadDir(dir); err != nil || len(got) != 2 {
		t.Errorf("the folder holds %v, %v", got, err)
	}
}

func TestListenTakesTurns(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(filepath.Join(dir, "s"), 0o660); err == nil || !strings.Contains(err.Error(), "another hotcell that is starting") {
		t.Errorf("Listen = %v", err)
	}
	unlock()
	ln, err := Listen(filepath.Join(dir, "s"), 0o660)
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
}

// starved fails to accept for want of descriptors a few times.
type starved struct {
	net.Listener
	left int
}

func (s *starved) Accept() (net.Conn, error) {
	if s.left--; s.left >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return s.Listener.Accept()
}

func TestAcceptWaitsOutAShortage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := newHost(t, Options{Handler: newFake()})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := h.ServeSocket(ctx, &starved{Listener: ln, left: 3}); err != nil {
			t.Error(err)
		}
	})
	p := dial(t, path)
	p.send(ping("p1"))
	recv[*a2e.Pong](p)
	cancel()
	wg.Wait()
}

// What processes left that were killed while they made their socket is removed; what is not theirs stays.
func TestListenClearsAway(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".hc123/s", ".hc9/s", ".hc7/other", "hc5/s"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := Listen(filepath.Join(dir, "socket"), 0o660)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != ".hc7 hc5 socket" {
		t.Errorf("the folder holds %s", got)
	}
}

package engineproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// most is how many connections of clients are served at once, and requests remembered.
const (
	mostConns    = 512
	mostRequests = 1 << 16
)

// Proxy is a unix socket in front of an engine. Its methods are safe for concurrent use.
type Proxy struct {
	socket        string
	network, addr string // the engine's

	ctx    context.Context // ends with the proxy
	cancel context.CancelFunc
	work   sync.WaitGroup
	slots  chan struct{}

	mu       sync.Mutex
	listener net.Listener // nil while the engine is "gone"
	conns    map[net.Conn]struct{}
	rules    []*Injected
	requests []string // "METHOD /path"
}

// New puts a proxy in front of the engine at host; "" is the one at DOCKER_HOST, or the usual socket. It ends with the test.
func New(t testing.TB, host string) *Proxy {
	t.Helper()
	if host == "" {
		host = os.Getenv("DOCKER_HOST")
	}
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	network, addr, ok := strings.Cut(host, "://")
	if !ok {
		t.Fatalf("engine %q: expected unix://path or tcp://host:port", host)
	}
	dir, err := os.MkdirTemp("", "engineproxy") // shorter than a test's own folder: a socket's path has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		socket: filepath.Join(dir, "engine.sock"), network: network, addr: addr,
		slots: make(chan struct{}, mostConns), conns: map[net.Conn]struct{}{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() {
		p.Down()
		p.cancel()
		p.work.Wait()
		_ = os.RemoveAll(dir)
	})
	if err := p.Up(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Host is the proxy's address, for a client.
func (p *Proxy) Host() string { return "unix://" + p.socket }

// Inject adds a rule. The first rule that matches a request decides.
func (p *Proxy) Inject(r Rule) *Injected {
	if _, err := path.Match(r.Path, ""); err != nil {
		panic(fmt.Sprintf("engineproxy: pattern %q: %v", r.Path, err))
	}
	i := &Injected{rule: r}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, i)
	return i
}

// Requests counts the requests of a method to paths of a pattern; "" is any method.
func (p *Proxy) Requests(method, pattern string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.requests {
		m, where, _ := strings.Cut(r, " ")
		if ok, err := path.Match(pattern, where); ok && err == nil && (method == "" || method == m) {
			n++
		}
	}
	return n
}

// Down makes the engine disappear: connections break, and new ones are refused.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	for c := range p.conns {
		_ = c.Close()
	}
}

// Up makes the engine come back.
func (p *Proxy) Up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	if err := os.Remove(p.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false) // an engine that was killed leaves its socket
	p.listener = l
	p.work.Go(func() { p.accept(l) })
	return nil
}

func (p *Proxy) accept(l net.Listener) {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-p.ctx.Done():
			return
		}
		conn, err := l.Accept()
		if err != nil {
			<-p.slots
			return
		}
		if !p.track(conn, l) {
			<-p.slots
			continue
		}
		p.work.Go(func() {
			defer func() { <-p.slots }()
			defer p.drop(conn)
			p.serve(conn)
		})
	}
}

// track notes a connection so that Down breaks it. One that was accepted while the engine went is closed.
func (p *Proxy) track(conn net.Conn, l net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != l {
		_ = conn.Close()
		return false
	}
	p.conns[conn] = struct{}{}
	return true
}

func (p *Proxy) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
	_ = conn.Close()
}

// fault notes a request and returns what is to be done to it.
func (p *Proxy) fault(r *http.Request) Fault {
	p.mu.Lock()
	if len(p.requests) < mostRequests {
		p.requests = append(p.requests, r.Method+" "+plainPath(r))
	}
	rules := p.rules
	p.mu.Unlock()
	for _, i := range rules {
		if i.meets(r) {
			return i.rule.Fault
		}
	}
	return Fault{}
}

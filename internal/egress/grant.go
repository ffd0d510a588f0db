package egress

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// grant is one call's right to reach the hosts of its list.
type grant struct {
	opts  Options
	call  string
	allow []policies.HostPattern
	left  atomic.Int64 // bytes

	mu    sync.Mutex
	state state
	ctx   context.Context // of the call, while the grant is active
	stop  func()          // ends ctx, and the watch on the call's
	token string
	now   int                    // connections at present
	total int                    // connections so far
	open  map[io.Closer]struct{} // what Revoke closes
}

var _ service.Grant = (*grant)(nil)

type state int

const (
	waiting state = iota
	active
	ended
)

func newGrant(opts Options, call string, allow []policies.HostPattern) *grant {
	g := &grant{opts: opts, call: call, allow: allow, open: map[io.Closer]struct{}{}}
	g.left.Store(opts.Limits.Bytes)
	return g
}

func (g *grant) Ports() []string { return []string{Port} }

// Env names the proxy the way that programs look for it; curl reads http_proxy in lower case alone. The token is the
// password in the URL, which they all send without being asked for it.
func (g *grant) Env(at func(string) string, token string) []string {
	const direct = "127.0.0.1,localhost"
	proxy := "http://hotcell:" + token + "@" + at(Port)
	return []string{
		"HTTPS_PROXY=" + proxy, "HTTP_PROXY=" + proxy, "NO_PROXY=" + direct,
		"http_proxy=" + proxy, "https_proxy=" + proxy, "no_proxy=" + direct,
	}
}

func (g *grant) Lease(*wall.Lease) {}

func (g *grant) Activate(ctx context.Context, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != waiting {
		return
	}
	g.state, g.token = active, token
	var cancel context.CancelFunc
	g.ctx, cancel = context.WithCancel(ctx)
	unwatch := context.AfterFunc(ctx, g.Revoke)
	g.stop = func() { unwatch(); cancel() }
}

// Revoke ends the grant and cuts every connection.
func (g *grant) Revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = ended
	if g.stop != nil {
		g.stop()
	}
	for c := range g.open {
		_ = c.Close()
	}
	clear(g.open)
}

// Serve answers one request of the cell, and carries what follows a CONNECT.
func (g *grant) Serve(_ string, conn net.Conn) {
	defer conn.Close()
	began := time.Now()
	_ = conn.SetDeadline(began.Add(g.opts.Limits.Connect))
	req, err := readRequest(conn, g.opts.Limits.Header)
	if err != nil {
		answer(conn, badRequest(err))
		return
	}
	ctx, no := g.enter(conn, req)
	if no != nil {
		answer(conn, no)
		return
	}
	defer g.leave(conn)
	_ = conn.SetDeadline(time.Time{})
	v := &visit{grant: g, ctx: ctx, cell: conn, req: req, began: began}
	v.serve()
}

// enter counts a connection in, if it may come in.
func (g *grant) enter(conn io.Closer, req *request) (context.Context, *refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.state == waiting:
		return nil, forbidden("the call has not begun")
	case g.state == ended:
		return nil, forbidden("the call has ended")
	case !req.authorized(g.token):
		return nil, &refusal{status: 407, reason: "the request does not show this cell's token"}
	case g.left.Load() <= 0:
		return nil, forbidden("%v", errBytes)
	case g.total >= g.opts.Limits.Total:
		return nil, forbidden("this call has made %d connections, as many as it may", g.total)
	case g.now >= g.opts.Limits.Connections:
		return nil, forbidden("this call has %d connections open, as many as it may", g.now)
	}
	g.now++
	g.total++
	g.open[conn] = struct{}{}
	return g.ctx, nil
}

func (g *grant) leave(conn io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
	delete(g.open, conn)
}

// hold lets Revoke close c too, and reports false when it has come already.
func (g *grant) hold(c io.Closer) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == active {
		g.open[c] = struct{}{}
	}
	return g.state == active
}

func (g *grant) release(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, c)
}

// take counts bytes that crossed, and reports whether the call may have had them.
func (g *grant) take(n int) bool { return g.left.Add(-int64(n)) >= 0 }

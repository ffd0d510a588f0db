package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = "hc-0123456789abcdef"
	public = "93.184.216.34" // no packet goes there: the dialer is the test's
)

// world is what lies outside: names, addresses and what the proxy did with them.
type world struct {
	t       *testing.T
	named   []string
	own     []netip.Addr
	limits  Limits
	lookup  func(ctx context.Context, host string) ([]string, error)
	connect func(ctx context.Context, address string) (net.Conn, error)

	mu      sync.Mutex
	looked  []string
	dialed  []string
	entries []audit.Entry
}

func (w *world) LookupNetIP(ctx context.Context, _, host string) (addrs []netip.Addr, err error) {
	w.mu.Lock()
	w.looked = append(w.looked, host)
	w.mu.Unlock()
	list := []string{public}
	if w.lookup != nil {
		list, err = w.lookup(ctx, host)
	}
	for _, s := range list {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, err
}

func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	w.mu.Unlock()
	if w.connect == nil {
		return nil, errors.New("connection refused")
	}
	return w.connect(ctx, address)
}

func (w *world) Write(e audit.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialed)
}

// audited waits for n entries and returns them.
func (w *world) audited(n int) []audit.Entry {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		entries := slices.Clone(w.entries)
		w.mu.Unlock()
		if len(entries) >= n {
			return entries
		}
	}
	w.t.Fatalf("fewer than %d audit entries", n)
	return nil
}

func (w *world) service() *Service {
	w.t.Helper()
	named, err := policies.ParseHostPatterns(w.named)
	if err != nil {
		w.t.Fatal(err)
	}
	return New(Options{Resolver: w, Dial: w.dial, Log: w, Limits: w.limits, Named: named, Own: func() []netip.Addr { return w.own }})
}

// grant returns an active one, which ends with the test.
func (w *world) grant(allow ...string) *grant {
	w.t.Helper()
	g, err := w.service().Grant(ask(allow...))
	if err != nil {
		w.t.Fatal(err)
	}
	g.Activate(w.t.Context(), token)
	w.t.Cleanup(g.Revoke)
	return g.(*grant)
}

func ask(allow ...string) service.Ask {
	return service.Ask{Call: "c1", Skill: &skills.Skill{Name: "s"}, Policy: policies.Effective{Network: policies.Network{Allow: allow}}}
}

// stream is a connection of the cell to the proxy.
func stream(t *testing.T, g *grant) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() { g.Serve(Port, theirs) })
	t.Cleanup(func() { _ = ours.Close(); served.Wait() })
	_ = ours.SetDeadline(time.Now().Add(time.Hour))
	return ours
}

// client is Go's own, with the proxy as it finds it in the cell's environment.
func client(t *testing.T, g *grant, like *http.Client) *http.Client {
	t.Helper()
	proxy, err := url.Parse("http://hotcell:" + token + "@127.0.0.1:41001")
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{
		Proxy:       http.ProxyURL(proxy),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return stream(t, g), nil },
	}
	if like != nil {
		tr.TLSClientConfig = like.Transport.(*http.Transport).TLSClientConfig.Clone()
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// upstream serves on loopback, whatever address is dialled.
func (w *world) upstream(secure bool, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	w.t.Cleanup(s.Close)
	w.connect = func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.Listener.Addr().String())
	}
	return s
}

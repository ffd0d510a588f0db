package layout

import (
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// wire is the way to one registry. Plain HTTP is for registries on loopback alone; all that is answered counts against one
// budget, and what is read at once is small.
type wire struct {
	next   *http.Transport
	local  bool // the registry is on loopback
	budget *budget
}

func newWire(registry string, budget *budget) *wire {
	next := http.DefaultTransport.(*http.Transport).Clone()
	next.ResponseHeaderTimeout = 30 * time.Second
	next.MaxResponseHeaderBytes = 1 << 20
	host, _, err := net.SplitHostPort(registry)
	if err != nil {
		host = registry
	}
	return &wire{next: next, local: loopback(host), budget: budget}
}

func (w *wire) close() { w.next.CloseIdleConnections() }

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case loopback(req.URL.Hostname()) && !w.local:
		return nil, &fault{"its registry points to this host's own loopback, which is not followed"}
	case req.URL.Scheme != "https" && !w.local:
		return nil, &fault{req.URL.Host + " speaks plain http, which is for registries on loopback alone"}
	}
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := w.budget.reader(resp.Body)
	if !strings.Contains(req.URL.Path, "/blobs/") {
		body = &metered{newBudget(maxMeta), body}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return resp, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

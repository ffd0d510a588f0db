package egress

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/hotcell/hotcell/policies"
)

// tunnel carries bytes both ways until both ends have closed their direction, or one broke.
func (v *visit) tunnel(m *meter) {
	if _, err := io.WriteString(v.cell, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var out sync.WaitGroup
	out.Go(func() { pass(m, v.req.rest, m, v.cell) })
	pass(v.cell, m, v.cell, m)
	out.Wait()
}

// pass copies one direction and closes it. Where it breaks, so does the other one.
func pass(to io.Writer, from io.Reader, end, other io.Closer) {
	if _, err := io.Copy(to, from); err != nil {
		_ = end.Close()
		_ = other.Close()
		return
	}
	_ = closeWrite(end)
}

// forward sends a plain request on and its answer back. The connection ends with it.
func (v *visit) forward(m *meter) {
	transport := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return m, nil },
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	defer transport.CloseIdleConnections()
	if strings.EqualFold(v.req.Header.Get("Expect"), "100-continue") {
		_, _ = io.WriteString(v.cell, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	resp, err := transport.RoundTrip(v.outgoing())
	if err != nil {
		m.blame(v.req.host.String() + " gave no valid answer")
		answer(v.cell, &refusal{http.StatusBadGateway, m.why()})
		return
	}
	defer resp.Body.Close()
	stripHops(resp.Header)
	resp.Close = true
	if err := resp.Write(v.cell); err != nil {
		_ = v.cell.Close()
	}
}

// outgoing is the cell's request without what is meant for the proxy.
func (v *visit) outgoing() *http.Request {
	req := v.req.Request.WithContext(v.ctx)
	host := strings.TrimSuffix(policies.JoinHostPort(v.req.host, v.req.port), ":80")
	req.URL = &url.URL{Scheme: "http", Host: host, Path: v.req.URL.Path, RawPath: v.req.URL.RawPath, RawQuery: v.req.URL.RawQuery}
	req.Host, req.RequestURI = host, ""
	req.Header = req.Header.Clone()
	stripHops(req.Header)
	return req
}

// stripHops removes the headers that belong to one connection, and those that Connection names.
func stripHops(h http.Header) {
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding",
		"Upgrade", "Expect",
	} {
		h.Del(name)
	}
}

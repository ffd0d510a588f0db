package rest

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
)

// headers sets what every answer has: no sniffing, no caching, no embedding.
func headers(version string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		if version != "" {
			h.Set("Server", "hotcell/"+version)
		}
		next.ServeHTTP(w, r)
	})
}

// recovered turns a panic into a logged error and a plain answer.
func recovered(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			log.Error("panic in a request", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			fail(w, r, http.StatusInternalServerError, "internal", "internal error")
		}()
		next.ServeHTTP(w, r)
	})
}

// guard refuses what a web page could send through a browser: a Host that was not expected (DNS rebinding), another
// site's Origin, and writes that need no preflight. hosts are what is allowed beside the loopback names and the address
// that the client connected to: of an address, rebinding can make no use.
func guard(hosts []string, rules func(*http.Request) body, next http.Handler) http.Handler {
	allowed := allowlist(hosts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, ok := allowed.canonical(r.Host)
		if !ok {
			host, ok = reached(r)
		}
		rule := rules(r)
		switch {
		case !ok:
			fail(w, r, http.StatusMisdirectedRequest, "host_not_allowed",
				"the Host header names no host of this listener: use its address, localhost, or a name in its configuration's hosts")
		case !allowed.sameOrigin(r, host) && !(rule.pages && visited(r)):
			fail(w, r, http.StatusForbidden, "origin_not_allowed", "requests from other web origins are refused")
		case !rule.takes(r):
			fail(w, r, http.StatusUnsupportedMediaType, "unsupported_media_type", "expected content type "+strings.TrimPrefix(strings.Join(rule.content, " or "), " or "))
		case r.ContentLength > rule.max:
			fail(w, r, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is larger than %d bytes", rule.max))
		default:
			if r.ContentLength != 0 { // the server reads what we don't, and holds a place for as long
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(rule.patience)) // a test's recorder has none
			}
			r.Body = http.MaxBytesReader(w, r.Body, rule.max)
			next.ServeHTTP(w, r)
		}
	})
}

// names is a set of lower-case host names.
type names map[string]bool

func allowlist(hosts []string) names {
	n := names{}
	for _, h := range hosts {
		n[strings.ToLower(strings.Trim(h, "[]"))] = true
	}
	return n
}

// canonical returns a Host header's name and port, all loopback names as one, and whether the name is allowed.
func (n names) canonical(hostport string) (string, bool) {
	host, port, ok := splitHost(hostport)
	if !ok {
		return "", false
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "localhost" || err == nil && ip.Unmap().IsLoopback() && ip.Zone() == "":
		return "localhost:" + port, true
	case n[host]:
		return host + ":" + port, true
	}
	return "", false
}

// reached returns a Host header that is the very address that the client connected to.
func reached(r *http.Request) (string, bool) {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	host, port, whole := splitHost(r.Host)
	ip, err := netip.ParseAddr(host)
	if !ok || !whole || err != nil || ip.Zone() != "" || ip.Unmap() != at.AddrPort().Addr().Unmap().WithZone("") {
		return "", false
	}
	return host + ":" + port, true
}

// splitHost takes "name", "name:port", "[v6]" and "[v6]:port".
func splitHost(s string) (host, port string, ok bool) {
	host = s
	if strings.HasSuffix(s, "]") && strings.HasPrefix(s, "[") {
		host = s[1 : len(s)-1]
	} else if strings.Contains(s, ":") {
		var err error
		if host, port, err = net.SplitHostPort(s); err != nil {
			return "", "", false
		}
	}
	if strings.ContainsAny(host, "[]@/") {
		return "", "", false
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), port, host != ""
}

// sameOrigin reports whether a request comes from no web page, or from one of this listener's own. host is canonical.
func (n names) sameOrigin(r *http.Request, host string) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return false
	}
	from, ok := n.canonical(u.Host)
	return ok && withPort(from, u.Scheme) == withPort(host, u.Scheme)
}

// visited reports whether somebody follows a link or types an address: a page of another site can do that, and can't read what
// comes of it. Reads change nothing.
func visited(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && len(r.Header.Values("Origin")) == 0
}

// withPort adds a scheme's own port where none is said.
func withPort(canonical, scheme string) string {
	if !strings.HasSuffix(canonical, ":") {
		return canonical
	}
	if scheme == "https" {
		return canonical + "443"
	}
	return canonical + "80"
}

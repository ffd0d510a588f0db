package policies

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxHost is the longest host name, in bytes.
const maxHost = 253

// HostPattern names hosts of the network and one port of them: "api.example.org:443", "*.example.org:443" for all names
// below, at any depth and without example.org itself, "*:443" for every name. An address is one host and is below nothing.
type HostPattern struct {
	Host string // a lower-case name, or an address in its canonical form; "" with Wild: every name
	Wild bool
	Port int
}

// ParseHostPattern reads a pattern. The error says what was expected.
func ParseHostPattern(s string) (HostPattern, error) {
	p, err := parseHostPattern(s)
	if err != nil {
		return HostPattern{}, fmt.Errorf("%.80q is no HOST:PORT: %w; expected one like api.example.org:443 or *.example.org:443", s, err)
	}
	return p, nil
}

func parseHostPattern(s string) (p HostPattern, err error) {
	host, port, ok := cutPort(s)
	if !ok {
		return p, errors.New("it names no port")
	}
	if p.Port, err = strconv.Atoi(port); err != nil || !digits(port) || p.Port < 1 || p.Port > 65535 {
		return p, errors.New("the port is not a number from 1 to 65535")
	}
	if host == "*" {
		p.Wild = true
		return p, nil
	}
	host, p.Wild = strings.CutPrefix(host, "*.")
	p.Host, ok = canonicalHost(host)
	switch _, isAddr := address(host); {
	case !ok:
		return p, errors.New("the host is neither a name in ASCII nor an address")
	case p.Wild && isAddr:
		return p, errors.New("nothing is below an address")
	}
	return p, nil
}

// cutPort splits HOST:PORT. An IPv6 address stands in brackets.
func cutPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", "", false
	}
	host, port = s[:i], s[i+1:]
	inner, bracket := strings.CutPrefix(host, "[")
	if bracket {
		inner, ok = strings.CutSuffix(inner, "]")
		return inner, port, ok && strings.Contains(inner, ":")
	}
	return host, port, !strings.Contains(host, ":")
}

// canonicalHost makes equal hosts equal texts. A name whose last label is a number would be an address to many a resolver:
// it is refused unless it is one in full.
func canonicalHost(host string) (string, bool) {
	if addr, ok := address(host); ok {
		return addr.String(), true
	}
	host = strings.ToLower(host)
	labels := strings.Split(host, ".")
	for _, label := range labels {
		const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
		if label == "" || len(label) > 63 || strings.Trim(label, letters) != "" || label[0] == '-' || label[len(label)-1] == '-' {
			return "", false
		}
	}
	last := labels[len(labels)-1]
	number := digits(last) || strings.HasPrefix(last, "0x")
	return host, len(host) <= maxHost && !number
}

// address reads an IP address. One with a zone names an interface of this host: it is none.
func address(host string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(host)
	return addr.Unmap(), err == nil && addr.Zone() == ""
}

// Matches reports whether the pattern names a host, as a client wrote it, and a port.
func (p HostPattern) Matches(host string, port int) bool {
	_, isAddr := address(host)
	if !isAddr {
		host = strings.TrimSuffix(host, ".")
	}
	host, ok := canonicalHost(host)
	return ok && p.Covers(HostPattern{Host: host, Port: port})
}

// Covers reports whether p names all that q names.
func (p HostPattern) Covers(q HostPattern) bool {
	_, isAddr := address(q.Host)
	switch {
	case p.Port != q.Port:
		return false
	case !p.Wild:
		return !q.Wild && p.Host == q.Host
	case isAddr:
		return false
	case p.Host == "":
		return true
	}
	return q.Wild && p.Host == q.Host || strings.HasSuffix(q.Host, "."+p.Host)
}

// String is the pattern as [ParseHostPattern] reads it.
func (p HostPattern) String() string {
	host := p.Host
	switch {
	case p.Wild && host == "":
		host = "*"
	case p.Wild:
		host = "*." + host
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(p.Port)
}

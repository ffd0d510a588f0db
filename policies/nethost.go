package policies

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Bounds of a name in the DNS.
const (
	maxHost  = 253
	maxLabel = 63
)

// NetHost is one host of a network in the one form in which hosts are compared: a name in lower-case ASCII without a dot at
// its end, or an address. Exactly one field is set.
type NetHost struct {
	Name string
	Addr netip.Addr // without a zone; an IPv4 address in IPv6 clothes is an IPv4 address
}

// String returns the name or the address, which has no brackets.
func (h NetHost) String() string {
	if h.Name != "" {
		return h.Name
	}
	return h.Addr.String()
}

// ParseNetHost reads a host: a name, also an internationalised one, or an address; an IPv6 address may stand in brackets.
// What a resolver could take for an address and this function does not, such as 127.1 or 0x7f000001, is refused.
func ParseNetHost(s string) (NetHost, error) {
	h, err := parseHost(s)
	if err != nil {
		return NetHost{}, fmt.Errorf("%q is not a host: %w", shorten(s), err)
	}
	return h, nil
}

// ParseHostPort reads HOST:PORT as CONNECT requests write it; an IPv6 address stands in brackets.
func ParseHostPort(s string) (NetHost, uint16, error) {
	h, port, err := parseHostPort(s)
	if err != nil {
		return NetHost{}, 0, fmt.Errorf("%q is not HOST:PORT: %w", shorten(s), err)
	}
	return h, port, nil
}

// JoinHostPort is what [ParseHostPort] reads.
func JoinHostPort(h NetHost, port uint16) string {
	return net.JoinHostPort(h.String(), strconv.Itoa(int(port)))
}

func parseHostPort(s string) (NetHost, uint16, error) {
	host, digits, err := cutPort(s)
	if err != nil {
		return NetHost{}, 0, err
	}
	port, err := parsePort(digits)
	if err != nil {
		return NetHost{}, 0, err
	}
	h, err := parseHost(host)
	return h, port, err
}

func cutPort(s string) (host, port string, err error) {
	colon := strings.LastIndexByte(s, ':')
	switch {
	case strings.Contains(s, "://"):
		return "", "", errors.New("it is a URL")
	case colon < 0 || strings.HasSuffix(s, "]"):
		return "", "", errors.New("it has no port")
	case strings.Contains(s[:colon], ":") && !strings.HasPrefix(s, "["):
		return "", "", errors.New("an IPv6 address stands in brackets")
	}
	return s[:colon], s[colon+1:], nil
}

// parsePort reads a port as a URL writes it.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || !digits(s) || s[0] == '0' {
		return 0, errors.New("expected a port from 1 to 65535")
	}
	return uint16(n), nil
}

func parseHost(s string) (NetHost, error) {
	if inside, ok := strings.CutPrefix(s, "["); ok {
		inside, ok = strings.CutSuffix(inside, "]")
		addr, err := netip.ParseAddr(inside)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
			return NetHost{}, errors.New("expected an IPv6 address without a zone in brackets")
		}
		return NetHost{Addr: addr.Unmap()}, nil
	}
	if strings.Contains(s, ":") {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return NetHost{}, errors.New("expected a name, or an address without a zone")
		}
		return NetHost{Addr: addr.Unmap()}, nil
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return NetHost{Addr: addr}, nil
	}
	name, err := hostName(s)
	return NetHost{Name: name}, err
}

// hostName brings a name into its one form.
func hostName(s string) (string, error) {
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	if len(s) > 4*maxHost {
		return "", errors.New("it is too long")
	}
	if !ascii(s) || strings.Contains(s, "xn--") {
		mapped, err := idna.Lookup.ToASCII(s)
		if err != nil {
			return "", errors.New("it is no valid internationalised name")
		}
		s = mapped
	}
	if s == "" || len(s) > maxHost {
		return "", fmt.Errorf("expected a name of 1 to %d characters", maxHost)
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if !hostLabel(label) {
			return "", errors.New("expected labels of letters, digits, - and _ with dots between them")
		}
	}
	if last := labels[len(labels)-1]; digits(last) || strings.HasPrefix(last, "0x") {
		return "", errors.New("a name that ends in a number is an address, expected it written as a.b.c.d")
	}
	return s, nil
}

func hostLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

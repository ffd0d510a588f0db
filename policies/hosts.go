package policies

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// HostPattern is an entry of network.allow: a host with a port, or a set of hosts with one. The zero pattern matches
// nothing.
type HostPattern struct {
	host   NetHost      // with below: the name under which all names are meant
	below  bool         // *.NAME
	prefix netip.Prefix // a range of addresses
	port   uint16
}

// ParseHostPattern reads HOST:PORT, *.NAME:PORT, *:PORT, ADDRESS:PORT or RANGE:PORT. IPv6 stands in brackets:
// [2001:db8::1]:443, [2001:db8::/32]:443. *.example.org stands for every name below example.org and not for example.org; *
// stands for every name and for no address. The error quotes the entry and says what was expected.
func ParseHostPattern(s string) (HostPattern, error) {
	p, err := parseHostPattern(s)
	if err != nil {
		return HostPattern{}, fmt.Errorf("%q is not a destination: %w: expected HOST:PORT like api.example.org:443, *.example.org:443 or 203.0.113.0/24:443",
			shorten(s), err)
	}
	return p, nil
}

// ParseHostPatterns reads a list of entries; the first one that is wrong is the error.
func ParseHostPatterns(list []string) ([]HostPattern, error) {
	var patterns []HostPattern
	for _, s := range list {
		p, err := ParseHostPattern(s)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func parseHostPattern(s string) (HostPattern, error) {
	host, digits, err := cutPort(s)
	if err != nil {
		return HostPattern{}, err
	}
	port, err := parsePort(digits)
	if err != nil {
		return HostPattern{}, err
	}
	p := HostPattern{port: port}
	switch name, below := strings.CutPrefix(host, "*."); {
	case host == "*":
		p.below = true
	case strings.Contains(host, "/"):
		p.prefix, err = parsePrefix(host)
	case below:
		p.host, err = parseHost(name)
		p.below = true
		if err == nil && !strings.Contains(p.host.Name, ".") {
			err = errors.New("*. stands before a name of two labels or more")
		}
	default:
		p.host, err = parseHost(host)
	}
	if err != nil {
		return HostPattern{}, err
	}
	return p, nil
}

// parsePrefix reads 10.0.0.0/8 or [fd00::/8]. The bits behind the range must be zero: otherwise somebody meant another one.
func parsePrefix(s string) (netip.Prefix, error) {
	text := s
	if inside, ok := strings.CutPrefix(s, "["); ok {
		text, _ = strings.CutSuffix(inside, "]")
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil || prefix.Addr().Is6() != (text != s) || prefix.Addr().Is4In6():
		return netip.Prefix{}, errors.New("it holds no range of addresses like 10.0.0.0/8 or [fd00::/8]")
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("the range begins at %s", prefix.Masked())
	}
	return prefix, nil
}

// String returns the entry in its one form, which [ParseHostPattern] reads.
func (p HostPattern) String() string {
	host := p.host.String()
	switch {
	case p.port == 0:
		return ""
	case p.prefix.IsValid() && p.prefix.Addr().Is6():
		host = "[" + p.prefix.String() + "]"
	case p.prefix.IsValid():
		host = p.prefix.String()
	case p.below && p.host.Name == "":
		host = "*"
	case p.below:
		host = "*." + host
	case p.host.Name == "" && p.host.Addr.Is6():
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(p.port))
}

// Port returns the entry's port.
func (p HostPattern) Port() uint16 { return p.port }

// Matches reports whether the entry stands for a port of a host. A name never matches an address, nor an address a name:
// what a name leads to is the resolver's word.
func (p HostPattern) Matches(h NetHost, port uint16) bool {
	switch {
	case port != p.port || p.port == 0:
		return false
	case p.prefix.IsValid():
		return h.Name == "" && p.prefix.Contains(h.Addr)
	case p.below:
		return under(h.Name, p.host.Name)
	}
	return h == p.host
}

// Covers reports whether the entry stands for all that another one stands for.
func (p HostPattern) Covers(q HostPattern) bool {
	switch {
	case p.port != q.port || p.port == 0:
		return false
	case q.prefix.IsValid():
		return p.addresses().IsValid() && p.addresses().Bits() <= q.prefix.Bits() && p.addresses().Contains(q.prefix.Addr())
	case q.below:
		return p.below && (p.host == q.host || under(q.host.Name, p.host.Name))
	}
	return p.Matches(q.host, q.port)
}

// under reports whether a name lies below another one, or is any name at all below none.
func under(name, top string) bool {
	return name != "" && (top == "" || strings.HasSuffix(name, "."+top))
}

// Names reports whether the entry is an address, or a range of them that lies within, and holds a port of addr. A range
// that is wider than within names none of its addresses.
func (p HostPattern) Names(addr netip.Addr, port uint16, within netip.Prefix) bool {
	r := p.addresses()
	return r.IsValid() && p.port == port && r.Contains(addr) && r.Bits() >= within.Bits() && within.Contains(r.Addr())
}

// addresses is the range that the entry writes down; not valid where it is a name.
func (p HostPattern) addresses() netip.Prefix {
	if !p.host.Addr.IsValid() {
		return p.prefix
	}
	return netip.PrefixFrom(p.host.Addr, p.host.Addr.BitLen())
}

package egress

import (
	"net"
	"net/netip"
	"slices"

	"github.com/hotcell/hotcell/policies"
)

// special is a range of addresses that are no public hosts.
type special struct {
	prefix netip.Prefix
	what   string
}

// specials are looked through in order: what lies in another range comes before it. After the IANA registries for special
// purposes, and what clouds put their metadata on.
var specials = ranges(
	"169.254.169.254/32", "a metadata service", "169.254.170.0/24", "a metadata service", "100.100.100.200/32", "a metadata service",
	"168.63.129.16/32", "a metadata service", "192.0.0.192/32", "a metadata service",
	"0.0.0.0/8", "this host", "10.0.0.0/8", "a private network", "100.64.0.0/10", "a carrier's private network",
	"127.0.0.0/8", "loopback", "169.254.0.0/16", "link-local", "172.16.0.0/12", "a private network",
	"192.0.0.0/24", "reserved", "192.0.2.0/24", "reserved", "192.31.196.0/24", "reserved", "192.52.193.0/24", "reserved",
	"192.88.99.0/24", "reserved", "192.168.0.0/16", "a private network", "192.175.48.0/24", "reserved", "198.18.0.0/15", "reserved",
	"198.51.100.0/24", "reserved", "203.0.113.0/24", "reserved", "224.0.0.0/4", "multicast", "240.0.0.0/4", "reserved",
	"fd00:ec2::254/128", "a metadata service", "fd00:ec2::23/128", "a metadata service", "fd20:ce::254/128", "a metadata service",
	"::1/128", "loopback", "::/128", "this host", "fc00::/7", "a private network", "fe80::/10", "link-local",
	"fec0::/10", "a private network", "ff00::/8", "multicast", "2001::/23", "reserved", "2001:db8::/32", "reserved",
	"2002::/16", "an IPv4 address in other clothes", "3fff::/20", "reserved",
)

// global is where the public hosts of IPv6 are. All else is reserved.
var (
	global     = netip.MustParsePrefix("2000::/3")
	unassigned = special{netip.MustParsePrefix("::/0"), "reserved"}
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

func ranges(list ...string) (out []special) {
	for i := 0; i < len(list); i += 2 {
		out = append(out, special{netip.MustParsePrefix(list[i]), list[i+1]})
	}
	return out
}

// kind returns the smallest special range that holds an address, or false for a public one.
func kind(addr netip.Addr) (special, bool) {
	for _, s := range specials {
		if s.prefix.Contains(addr) {
			return s, true
		}
	}
	return unassigned, addr.Is6() && !global.Contains(addr)
}

// meant is the address that a packet to addr ends up at, where that is written in it: in IPv6 clothes, or behind the
// well-known NAT64. Both are judged by the IPv4 address.
func meant(addr netip.Addr) netip.Addr {
	addr = addr.WithZone("").Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}

// ours says what an address is that would be public, were it not this host's own: its firewall may let nobody in there, and
// a connection from here goes by it. "" where it is another's, special, or named by the operator.
func ours(addr netip.Addr, port uint16, own []netip.Addr, named []policies.HostPattern) string {
	addr = meant(addr)
	if _, special := kind(addr); special || !slices.Contains(own, addr) {
		return ""
	}
	for _, p := range named {
		if p.Names(addr, port, netip.PrefixFrom(addr, addr.BitLen())) {
			return ""
		}
	}
	return "this host"
}

// interfaces returns the addresses of this host.
func interfaces() (own []netip.Addr) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, prefix.Addr().Unmap())
		}
	}
	return own
}

// banned says what an address is that may not be reached, unless the operator's list names it; "" where it may.
func banned(addr netip.Addr, port uint16, named []policies.HostPattern) string {
	addr = meant(addr)
	s, ok := kind(addr)
	if !ok {
		return ""
	}
	for _, p := range named {
		if p.Names(addr, port, s.prefix) {
			return ""
		}
	}
	return s.what
}

package egress

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/hotcell/hotcell/policies"
)

// mostAddresses is how many addresses of one name are tried.
const mostAddresses = 8

// reach checks a destination, resolves it, checks what that gave, and connects to one of the addresses that passed: nobody
// resolves the name a second time. The address is the last one that was looked at.
func (g *grant) reach(ctx context.Context, host policies.NetHost, port uint16) (net.Conn, netip.Addr, *refusal) {
	if !g.allows(host, port) {
		return nil, host.Addr, forbidden("%s is not in network.allow", destination(host, port))
	}
	limited, cancel := context.WithTimeout(ctx, g.opts.Limits.Connect)
	defer cancel()
	addrs, no := g.resolve(limited, host)
	if no != nil {
		return nil, netip.Addr{}, no
	}
	addrs, last, no := g.permitted(host, port, addrs)
	if no != nil {
		return nil, last, no
	}
	var late net.Error // how the last try ended
	for i, addr := range addrs {
		conn, err := g.dial(limited, netip.AddrPortFrom(addr, port), len(addrs)-i)
		if err == nil {
			return conn, addr, nil
		}
		last, late = addr, nil
		errors.As(err, &late)
	}
	switch {
	case ctx.Err() != nil:
		return nil, last, forbidden("the call has ended")
	case limited.Err() != nil || late != nil && late.Timeout():
		return nil, last, &refusal{http.StatusGatewayTimeout, host.String() + " did not answer in time"}
	}
	return nil, last, &refusal{http.StatusBadGateway, host.String() + " cannot be reached"}
}

func (g *grant) allows(host policies.NetHost, port uint16) bool {
	for _, p := range g.allow {
		if p.Matches(host, port) {
			return true
		}
	}
	return false
}

// resolve finds the addresses. A name with a dot is taken as it is, and not as one below a domain that this host searches.
func (g *grant) resolve(ctx context.Context, host policies.NetHost) ([]netip.Addr, *refusal) {
	if host.Name == "" {
		return []netip.Addr{host.Addr}, nil
	}
	name := host.Name
	if strings.Contains(name, ".") {
		name += "."
	}
	addrs, err := g.opts.Resolver.LookupNetIP(ctx, "ip", name)
	var dns *net.DNSError
	switch {
	case err == nil && len(addrs) > 0:
		return addrs, nil
	case err == nil || errors.As(err, &dns) && dns.IsNotFound:
		return nil, &refusal{http.StatusBadGateway, "there is no host " + host.Name}
	case ctx.Err() != nil || errors.As(err, &dns) && dns.IsTimeout:
		return nil, &refusal{http.StatusGatewayTimeout, "the name " + host.Name + " was not resolved in time"}
	}
	return nil, &refusal{http.StatusBadGateway, "the name " + host.Name + " cannot be resolved"}
}

// permitted keeps the addresses that may be reached. The cell is told what kind of address a name leads to, and not which.
func (g *grant) permitted(host policies.NetHost, port uint16, addrs []netip.Addr) (kept []netip.Addr, last netip.Addr, no *refusal) {
	what, own := "", g.opts.Own()
	for _, addr := range addrs {
		if found := cmp.Or(banned(addr, port, g.opts.Named), ours(addr, port, own, g.opts.Named)); found != "" {
			what, last = found, addr
			continue
		}
		if kept = append(kept, addr.WithZone("").Unmap()); len(kept) == mostAddresses {
			break
		}
	}
	if len(kept) == 0 {
		return nil, last, forbidden("%s leads to an address that is not public (%s) and that the operator's policy does not name",
			destination(host, port), what)
	}
	return kept, last, nil
}

// dial gives each address its share of the time that is left, as long as that is worth something.
func (g *grant) dial(ctx context.Context, to netip.AddrPort, tries int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		share := max(time.Until(deadline)/time.Duration(tries), time.Second)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share)
		defer cancel()
	}
	return g.opts.Dial(ctx, "tcp", to.String())
}

func destination(host policies.NetHost, port uint16) string {
	return policies.JoinHostPort(host, port)
}

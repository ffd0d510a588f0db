package egress

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/policies"
)

// Port is the name of the cell's port behind which the proxy is.
const Port = "egress"

// Resolver finds the addresses of a name. *[net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Limits bound what one call may use of the network. A zero field has the default that is named beside it.
type Limits struct {
	Connections int           // at a time; 32
	Total       int           // in the whole call, refused ones too; 4096
	Bytes       int64         // in both directions together, in the whole call; 256 MiB
	Idle        time.Duration // without a byte in either direction; a minute
	Connect     time.Duration // to resolve a name and reach one of its addresses; 10 s
	Header      int64         // bytes of a request's line and headers; 16 KiB
}

// Options shape a [Service].
type Options struct {
	Resolver Resolver                                                             // nil is the host's
	Dial     func(ctx context.Context, network, address string) (net.Conn, error) // nil is the host's; address is IP:PORT
	Own      func() []netip.Addr                                                  // this host's addresses; nil is those of its interfaces
	Log      audit.Log                                                            // nil: nobody keeps what was reached
	Limits   Limits

	// Named is the operator's own list. Special addresses in it, and no others, may be reached.
	Named []policies.HostPattern
}

// Service grants egress to calls whose effective policy allows hosts.
type Service struct{ opts Options }

// New returns a service.
func New(opts Options) *Service {
	if opts.Resolver == nil {
		opts.Resolver = net.DefaultResolver
	}
	if opts.Dial == nil {
		opts.Dial = (&net.Dialer{}).DialContext
	}
	if opts.Own == nil {
		opts.Own = interfaces
	}
	if opts.Log == nil {
		opts.Log = audit.Nobody
	}
	opts.Limits = opts.Limits.filled()
	return &Service{opts}
}

func (l Limits) filled() Limits {
	orElse(&l.Connections, 32)
	orElse(&l.Total, 4096)
	orElse(&l.Bytes, 256<<20)
	orElse(&l.Idle, time.Minute)
	orElse(&l.Connect, 10*time.Second)
	orElse(&l.Header, 16<<10)
	return l
}

func orElse[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Grant reads the policy's list.
func (s *Service) Grant(ask service.Ask) (service.Grant, error) {
	if len(ask.Policy.Network.Allow) == 0 {
		return nil, nil
	}
	allow, err := policies.ParseHostPatterns(ask.Policy.Network.Allow)
	if err != nil {
		return nil, a2e.Errorf(a2e.RuntimeError, "network.allow: %w", err).Because(a2e.ReasonUnsupported)
	}
	return newGrant(s.opts, ask.Call, allow), nil
}

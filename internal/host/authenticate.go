package host

import (
	"net"
	"os"
	"slices"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/oidc"
)

// Authenticator knows who calls, as the configuration has it.
func Authenticator(cfg *config.Config, tokens auth.Finder) auth.Authenticator {
	switch cfg.Auth.Mode {
	case config.AuthNone:
		return auth.Open{Self: os.Geteuid()}
	case config.AuthOIDC:
		o := cfg.Auth.OIDC
		return auth.Keyed{Tokens: tokens, Self: os.Geteuid(), Others: oidc.New(oidc.Options{
			Issuer: o.Issuer, Audience: o.Audience, Principal: o.Principal, Groups: o.Groups, Admins: o.Admins,
		})}
	}
	return auth.Keyed{Tokens: tokens, Self: os.Geteuid()}
}

// quota is what each principal may have.
func quota(cfg *config.Config) admission.Quota {
	q := cfg.Quotas
	return admission.Quota{InFlight: q.InFlight, PerMinute: q.PerMinute, CPU: time.Duration(q.CPU), Memory: int64(q.Memory)}
}

// HostNames is what a Host header may name: what the configuration says, and what it has the door listen at.
func HostNames(cfg *config.Config) []string {
	names := slices.Clone(cfg.Hosts)
	if host, _, err := net.SplitHostPort(cfg.Listen); err == nil && host != "" {
		names = append(names, host)
	}
	return names
}

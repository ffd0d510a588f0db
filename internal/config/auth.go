package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// The ways in which callers over HTTP are known.
const (
	AuthNone  = "none"  // they are not
	AuthToken = "token" // by tokens of hotcell's own
	AuthOIDC  = "oidc"  // by those of an OpenID Connect issuer too
)

// Auth says who may call.
type Auth struct {
	Mode string // AuthNone, AuthToken or AuthOIDC
	OIDC OIDC
}

// OIDC says whose signed tokens count, and what is read from them.
type OIDC struct {
	Issuer    string   // its URL, as it stands in tokens
	Audience  string   // what a token must be made for
	Principal string   // the claim that names the principal
	Groups    string   // the claim that lists its groups
	Admins    []string // groups of which everybody is an admin
}

// ParseAge reads a length of time above 0: "90d", "12h".
func ParseAge(s string) (Age, error) { return parseAge(s) }

func (c *Config) authFaults(v *faults) {
	v.add("auth.mode", oneOf(c.Auth.Mode, []string{AuthNone, AuthToken, AuthOIDC}))
	v.add("auth.oidc.principal", claimName(c.Auth.OIDC.Principal))
	v.add("auth.oidc.groups", claimName(c.Auth.OIDC.Groups))
	v.add("auth.oidc.admins", checkList(c.Auth.OIDC.Admins))
	if c.Auth.Mode == AuthOIDC || c.Auth.OIDC.Issuer != "" {
		v.add("auth.oidc.issuer", checkIssuer(c.Auth.OIDC.Issuer))
	}
	if c.Auth.Mode == AuthOIDC && c.Auth.OIDC.Audience == "" {
		v.add("auth.oidc.audience", "auth.mode oidc needs one: tokens that are made for something else would open hotcell too")
	}
	v.add("listen", checkListen(c.Listen, c.Auth.Mode != AuthNone))
	v.add("hosts", checkHosts(c.Hosts))
}

func claimName(s string) string {
	if s == "" {
		return "expected the name of a claim"
	}
	return ""
}

// checkIssuer wants an encrypted way to the keys, but for an issuer on this host.
func checkIssuer(issuer string) string {
	if issuer == "" {
		return "auth.mode oidc needs one: the URL of the issuer, as it stands in its tokens"
	}
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return "expected the URL of an issuer, such as https://login.example.org"
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return "http is for an issuer on a loopback address alone: use https"
	}
	return ""
}

// checkListen keeps the door on this host where nobody has to show anything.
func checkListen(addr string, anywhere bool) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Sprintf("expected host:port, such as 127.0.0.1:8765, not %q", addr)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Sprintf("expected a port from 0 to 65535, not %q", port)
	}
	if anywhere || loopback(host) {
		return ""
	}
	return fmt.Sprintf("%q is not a loopback address, and with auth.mode none everybody who reaches it could run skills: "+
		"set auth.mode to token or oidc, or use 127.0.0.1, [::1] or localhost", host)
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Exposed reports whether others than this host can reach what listens.
func (c *Config) Exposed() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return err == nil && !loopback(host)
}

// LocalURL is where a program on this host finds what listens.
func (c *Config) LocalURL() string {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "http://" + c.Listen
	}
	switch ip, err := netip.ParseAddr(host); {
	case host == "", err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// checkHosts takes names and addresses as a Host header has them, without a port.
func checkHosts(hosts []string) string {
	if why := checkList(hosts); why != "" {
		return why
	}
	for _, h := range hosts {
		if _, err := netip.ParseAddr(strings.Trim(h, "[]")); err != nil && strings.ContainsAny(h, "/:@*[] ") {
			return fmt.Sprintf("expected names or addresses without a port, such as cells.example.org, not %q", h)
		}
	}
	return ""
}

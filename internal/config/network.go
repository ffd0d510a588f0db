package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/policies"
)

const noNetwork = "none"

// decodeNetwork reads the word none or a list of host:port; raw is a string or a []string.
func decodeNetwork(to *policies.Network, raw any) error {
	if raw == noNetwork {
		*to = policies.Network{}
		return nil
	}
	return decodeList(&to.Allow, raw)
}

func showNetwork(n policies.Network) string {
	if len(n.Allow) == 0 {
		return noNetwork
	}
	return "{allow: " + show(&n.Allow) + "}"
}

func (c *Config) networkFaults(v *faults) {
	v.add("policy.network", checkList(c.Policy.Network.Allow))
	for _, pattern := range c.Policy.Network.Allow {
		v.add("policy.network", checkHost(pattern))
	}
}

// checkHost takes host:port, where the host is a name, an address, or *.name for everything below a name.
func checkHost(pattern string) string {
	host, port, err := net.SplitHostPort(pattern)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil || n == 0 || !isHost(host) {
		return fmt.Sprintf("expected none, or hosts such as api.example.org:443 and *.example.org:443, not %q", pattern)
	}
	return ""
}

func isHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Zone() == ""
	}
	host = strings.TrimPrefix(host, "*.")
	if host == "" || len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.ToLower(host), ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

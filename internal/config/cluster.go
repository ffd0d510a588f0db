package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var namespacePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// clusterFaults finds what no cluster would take.
func (c *Config) clusterFaults(v *faults) {
	for _, word := range c.Sandbox.AcceptUnenforced {
		if !slices.Contains(Unenforced(), word) {
			v.add("sandbox.accept_unenforced", fmt.Sprintf("expected some of %s, not %q", strings.Join(Unenforced(), ", "), word))
		}
	}
	k := c.Kubernetes
	v.add("kubernetes.network_policy", oneOf(k.NetworkPolicy, []string{NetworkPolicyUnknown, NetworkPolicyEnforced}))
	v.add("kubernetes.namespace", checkNamespace(k.Namespace))
	c.tenantFaults(v)
	if c.Sandbox.Driver == "kubernetes" && k.RunnerImage == "" {
		v.add("kubernetes.runner_image", "the driver kubernetes needs one: `hotcell images runner` makes it, and docs/kubernetes.md says where to put it")
	}
}

func checkNamespace(name string) string {
	if namespacePattern.MatchString(name) {
		return ""
	}
	return fmt.Sprintf("expected a namespace's name, of small letters, digits and dashes, not %q", name)
}

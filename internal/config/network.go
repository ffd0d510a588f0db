package config

import "github.com/hotcell/hotcell/policies"

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
	if _, err := policies.ParseHostPatterns(c.Policy.Network.Allow); err != nil {
		v.add("policy.network", err.Error())
	}
}

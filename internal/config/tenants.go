package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/pattern"
)

// Tenant is somebody whose cells have a namespace of their own.
type Tenant struct {
	Namespace  string   // no other tenant's, nor that of the rest
	Principals []string // who it is: alice, group:team, * for any text; nil: the principal and the group of the tenant's own name
}

func tenantParts(t *Tenant) []part {
	return []part{{"namespace", &t.Namespace}, {"principals", &t.Principals}}
}

func (c *Config) tenantFaults(v *faults) {
	const key = "kubernetes.tenants"
	k := c.Kubernetes
	if len(k.Tenants) > 0 && c.Sandbox.Driver != "kubernetes" {
		v.add(key, fmt.Sprintf("the driver %s does not keep tenants apart: set sandbox.driver to kubernetes, or leave them out", c.Sandbox.Driver))
	}
	if len(k.Tenants) > maxListed {
		v.add(key, fmt.Sprintf("%d entries, at most %d are allowed", len(k.Tenants), maxListed))
	}
	taken := map[string]string{k.Namespace: "kubernetes.namespace"}
	whose := map[string]string{} // a principal or a group, as it is written
	for _, name := range slices.Sorted(maps.Keys(k.Tenants)) {
		t, at := k.Tenants[name], key+"."+name
		v.add(at+".principals", checkPrincipals(t.Principals))
		if slices.Contains(t.Principals, "*") {
			v.add(at+".principals", "* is everybody: that is what kubernetes.namespace is for")
		}
		if t.Principals != nil && len(t.Principals) == 0 {
			v.add(at+".principals", "an empty list is nobody: name some, or leave it out, which means "+name+" and group:"+name)
		}
		why := checkNamespace(t.Namespace)
		if why == "" && taken[t.Namespace] != "" {
			why = fmt.Sprintf("%s is %s, too: expected a namespace of this tenant's own", t.Namespace, taken[t.Namespace])
		}
		v.add(at+".namespace", why)
		taken[t.Namespace] = at + ".namespace"
		for _, p := range t.who(name) {
			if other := whose[p]; other != "" && other != name {
				v.add(at+".principals", fmt.Sprintf("%s is of the tenant %s, too, so that its calls would all be refused: expected each in one tenant", p, other))
			}
			whose[p] = name
		}
	}
}

// who are a tenant's principals.
func (t Tenant) who(name string) []string {
	if t.Principals != nil {
		return t.Principals
	}
	return []string{name, pattern.Group + name}
}

// TenantOf returns the name of the tenant whose cells those of a principal are, "" for those that are in the namespace of all
// others. groups are the principal's. A pattern that stands for the principal itself is stronger than one for its groups; who
// is of several tenants then is an error, for nobody could say where its cells belong.
func (k Kubernetes) TenantOf(principal string, groups map[string]string) (string, error) {
	var byName, byGroup []string
	for _, name := range slices.Sorted(maps.Keys(k.Tenants)) {
		for _, p := range k.Tenants[name].who(name) {
			if pattern.Principal(p, false, principal) {
				byName = append(byName, name)
				break
			}
		}
		for group := range groups {
			if slices.ContainsFunc(k.Tenants[name].who(name), func(p string) bool { return pattern.Principal(p, true, group) }) {
				byGroup = append(byGroup, name)
				break
			}
		}
	}
	of := byName
	if len(of) == 0 {
		of = byGroup
	}
	switch len(of) {
	case 0:
		return "", nil
	case 1:
		return of[0], nil
	}
	return "", fmt.Errorf("principal %.60q is of several tenants, %s: name it in one kubernetes.tenants.NAME.principals", principal, strings.Join(of, " and "))
}

package config

import (
	"strings"
	"testing"
)

func TestTenantOf(t *testing.T) {
	k := Kubernetes{Tenants: map[string]Tenant{
		"acme":  {Namespace: "a"},
		"beta":  {Namespace: "b", Principals: []string{"carol", "group:b-*", "oidc:*@beta.example"}},
		"gamma": {Namespace: "c", Principals: []string{"group:staff"}},
	}}
	for _, tt := range []struct {
		principal, groups, want, fails string
	}{
		{"", "", "", ""},
		{"alice", "", "", ""},
		{"acme", "", "acme", ""},
		{"alice", "acme", "acme", ""},
		{"alice", "x,b-team", "beta", ""},
		{"carol", "acme,staff", "beta", ""}, // she is named
		{"oidc:x@beta.example", "", "beta", ""},
		{"group:acme", "", "", ""}, // a principal whose name begins like a group's is no group
		{"alice", "acme,staff", "", `principal "alice" is of several tenants, acme and gamma: name it in one kubernetes.tenants.NAME.principals`},
		{"acme", "b-1,staff", "acme", ""},
	} {
		groups := map[string]string{}
		for g := range strings.SplitSeq(tt.groups, ",") {
			groups[g] = "member"
		}
		got, err := k.TenantOf(tt.principal, groups)
		if got != tt.want || (err == nil) != (tt.fails == "") || err != nil && err.Error() != tt.fails {
			t.Errorf("%s of %s: got %q, %v", tt.principal, tt.groups, got, err)
		}
	}
}

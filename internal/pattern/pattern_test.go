package pattern

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A pattern means what the regular expression means that has .* for *.
func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, name := rapid.StringMatching(`[ab*-]{0,8}`).Draw(t, "pattern"), rapid.StringMatching(`[ab-]{0,8}`).Draw(t, "name")
		parts := strings.Split(p, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		want := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(name)
		if Match(p, name) != want || Any([]string{"x", p}, name) != want {
			t.Errorf("%q, %q: expected %v", p, name, want)
		}
	})
}

func TestPrincipal(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		group   bool
		name    string
		want    bool
	}{
		{"*", false, "", true}, {"*", true, "team", true}, {"*", false, "group:team", true},
		{"alice", false, "alice", true}, {"alice", true, "alice", false}, {"ali*", false, "alice", true}, {"**", false, "", false},
		{"group:team", true, "team", true}, {"group:*", true, "team", true}, {"group:team", false, "team", false},
		{"group:team", false, "group:team", false}, {"g*", false, "group:team", false}, {"g*", true, "group:team", false},
	} {
		if Principal(tt.pattern, tt.group, tt.name) != tt.want {
			t.Errorf("%q for %q, a group: %v: expected %v", tt.pattern, tt.name, tt.group, tt.want)
		}
	}
}

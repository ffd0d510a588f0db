package executor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

// The groups of a caller take a bounded part of a row of the audit.
func TestGroupsAreBounded(t *testing.T) {
	for length, want := range map[int]int{10: mostGroups, 200: groupsBytes / 207} {
		groups := map[string]string{}
		for i := range 200 {
			groups[fmt.Sprintf("%03d%s", i, strings.Repeat("g", length-3))] = "member"
		}
		got := groupsOf(a2e.Caller{Groups: groups})
		if len(got) != want+1 || got[want] != "…" || !strings.HasPrefix(got[0], "000g") {
			t.Errorf("of %d bytes each: %d groups, the last is %q", length, len(got), got[len(got)-1])
		}
	}
	if got := groupsOf(a2e.Caller{Groups: map[string]string{"team": "admin"}}); len(got) != 1 || got[0] != "team=admin" {
		t.Errorf("got %q", got)
	}
}

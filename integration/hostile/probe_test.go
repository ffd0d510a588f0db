package hostile

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
)

// sealed makes sure that a cell sees nothing of the host's environment and names, and has a true clock.
func sealed(t testing.TB, got told) {
	t.Helper()
	var s struct {
		Env                                   map[string]string
		Hostname, Domain, Cgroup, Limits, Dir string
		UID, Parent                           int
		Unix                                  int64
		Backwards                             bool
	}
	got.into(t, &s)
	known := []string{
		"HOME", "HOTCELL_INPUT", "HOTCELL_OUT", "HOTCELL_REQUEST", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED", "TMPDIR",
	}
	for name, value := range s.Env {
		if !slices.Contains(known, name) {
			t.Errorf("the cell has %s=%q in its environment", name, value)
		}
	}
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if s.Hostname != "skill" || strings.Contains(s.Domain, here) {
		t.Errorf("host name %q, domain %q", s.Hostname, s.Domain)
	}
	if strings.Contains(s.Cgroup, "docker") || strings.Contains(s.Cgroup, "hotcell") {
		t.Errorf("the cell sees where its cgroup is: %s", s.Cgroup)
	}
	least, most := 65600, 66599
	if rig.OnCluster() { // no two cells of a cluster have the same
		least, most = 1<<30, 1<<31-1
	}
	if s.Dir != "/workspace" || s.Parent != 1 || s.UID < least || s.UID > most {
		t.Errorf("dir %s, parent %d, uid %d", s.Dir, s.Parent, s.UID)
	}
	if off := time.Since(time.Unix(s.Unix, 0)).Abs(); off > time.Minute || s.Backwards {
		t.Errorf("the clock is off by %v, backwards %v", off, s.Backwards)
	}
}

func probeRows() []row {
	return []row{{name: "surroundings", what: "looks around for the host's environment, names and clock", stops: "an environment of its own, namespaces",
		args: []string{"surroundings"}, check: sealed}}
}

func TestProbes(t *testing.T) { runRows(t, probeRows()) }

package doctor

import (
	"os"
	"strings"
	"testing"
)

// The reference has a row for every check and for every escape, with the releases that fix it.
func TestEveryCheckIsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // first cell → row
	for line := range strings.Lines(string(b)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			for name := range strings.SplitSeq(cells[1], ",") {
				rows[strings.Trim(name, " `")] = line
			}
		}
	}
	for _, c := range Examine(reference()).Checks {
		if rows[c.ID] == "" {
			t.Errorf("docs/doctor.md: no row for the check %s", c.ID)
		}
	}
	for _, e := range escapes() {
		for _, release := range e.fixed {
			if !strings.Contains(rows[e.cve], release) {
				t.Errorf("docs/doctor.md: the row of %s lacks %s: %q", e.cve, release, rows[e.cve])
			}
		}
	}
}

// So has each check of a cluster.
func TestEveryCheckOfAClusterIsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	f := onGoodCluster()
	f.Cluster.Network.Left, f.Cluster.Facts.Tenants = "it hangs", tenantsOf("")
	for _, c := range Examine(f).Checks {
		if !strings.Contains(string(b), "| `"+c.ID+"`") && !strings.Contains(string(b), "`"+c.ID+"`,") && !strings.Contains(string(b), ", `"+c.ID+"`") {
			t.Errorf("docs/doctor.md: no row for the check %s", c.ID)
		}
	}
}

package doctor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRuncFindings(t *testing.T) {
	const none = "open open open open open open"
	for _, tt := range []struct {
		version, distro string
		want            string // in the order of the table: 2024-21626 2024-45310 2025-31133 2025-52565 2025-52881 2026-41579
	}{
		{"1.1.5", "", none},
		{"1.1.11", "", none},
		{"v1.1.12-0-g51d5e946", "", "fixed open open open open open"},
		{"1.1.12", "", "fixed open open open open open"},
		{"1.1.13", "", "fixed open open open open open"},
		{"1.1.14", "", "fixed fixed open open open open"},
		{"1.1.15", "", "fixed fixed open open open open"},
		{"1.2.0-rc.2", "", "fixed open open open open open"},
		{"1.2.0", "", "fixed fixed open open open open"},
		{"1.2.7", "", "fixed fixed open open open open"},
		{"1.2.8", "", "fixed fixed fixed fixed fixed open"},
		{"1.2.9", "", "fixed fixed fixed fixed fixed open"},
		{"1.3.0-rc.1+dev", "", "fixed fixed open open open open"},
		{"1.3.2", "", "fixed fixed open open open open"},
		{"1.3.3", "", "fixed fixed fixed fixed fixed open"},
		{"1.3.6", "", "fixed fixed fixed fixed fixed fixed"},
		{"1.4.0-rc.2", "", "fixed fixed open open open open"},
		{"1.4.0-rc.3", "", "fixed fixed fixed fixed fixed open"},
		{"1.4.0", "", "fixed fixed fixed fixed fixed open"},
		{"1.4.3", "", "fixed fixed fixed fixed fixed fixed"},
		{"1.5.0-rc.2", "", "fixed fixed fixed fixed fixed open"},
		{"1.5.0-rc.3", "", "fixed fixed fixed fixed fixed fixed"},
		{"1.5.0", "", "fixed fixed fixed fixed fixed fixed"},
		{"2.0.1", "", "fixed fixed fixed fixed fixed fixed"},
		{"1.0.0-rc10", "", none},
		{"1.0.0~rc93+ds1-5+deb11u3", "Debian", "unknown unknown unknown unknown unknown unknown"},
		{"1.1.5+ds1-1", "Debian", none},
		{"1.1.5+ds1-1+deb12u1", "Debian", "fixed open open open open open"},
		{"1.1.5+ds1-1+deb12u2", "Debian", "fixed unknown unknown unknown unknown unknown"},
		{"1.1.5+ds1", "Debian", "unknown unknown unknown unknown unknown unknown"},
		{"1.1.15+ds1-2+b4", "Debian", "fixed fixed unknown unknown unknown unknown"},
		{"1.1.7-0ubuntu1~22.04.2", "Ubuntu", "unknown unknown unknown unknown unknown unknown"},
		{"1.3.3-0ubuntu1~24.04.2", "Ubuntu", "fixed fixed fixed fixed fixed unknown"},
		{"1.1.12-4.el9", "RHEL", "fixed unknown unknown unknown unknown unknown"},
		{"1.1.12-r3", "Alpine", "fixed unknown unknown unknown unknown unknown"},
		{"1.2.4-acme7", "a distribution", "fixed fixed unknown unknown unknown unknown"},
		{"", "", ""},
		{"51d5e94601ceffbbd85688df1c928ecccbfa4685", "", ""},
		{"1.1", "", ""},
		{"1.1.12evil", "", ""},
		{"99999999999999999999.1.1", "", ""},
	} {
		findings, distro := runcFindings(tt.version)
		var got []string
		for _, f := range findings {
			got = append(got, string(f.State))
		}
		if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" || distro != tt.distro {
			t.Errorf("%s (%q): -want +got:\n%s", tt.version, distro, d)
		}
	}
}

func TestStuck(t *testing.T) {
	for version, want := range map[string]bool{"1.2.8": false, "1.3.0": true, "1.3.5": true, "1.3.6": false, "1.4.0": false, "x": false} {
		if got := stuck(version); got != want {
			t.Errorf("%s: %v", version, got)
		}
	}
}

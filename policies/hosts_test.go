package policies_test

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/policies"
)

func TestParseHostPattern(t *testing.T) {
	for in, want := range map[string]string{
		"api.example.org:443":             "api.example.org:443",
		"API.Example.ORG.:443":            "api.example.org:443",
		"*.Example.org:443":               "*.example.org:443",
		"my_bucket.example.org:1":         "my_bucket.example.org:1",
		"*:443":                           "*:443",
		"localhost:65535":                 "localhost:65535",
		"bücher.example:443":              "xn--bcher-kva.example:443",
		"BÜCHER.example:443":              "xn--bcher-kva.example:443",
		"xn--bcher-kva.example:443":       "xn--bcher-kva.example:443",
		"*.bücher.example:443":            "*.xn--bcher-kva.example:443",
		"192.0.2.1:80":                    "192.0.2.1:80",
		"[2001:DB8:0:0::1]:443":           "[2001:db8::1]:443",
		"[::ffff:10.0.0.1]:443":           "10.0.0.1:443",
		"10.0.0.0/8:5432":                 "10.0.0.0/8:5432",
		"[fd00::/8]:443":                  "[fd00::/8]:443",
		strings.Repeat("a.", 126) + "a:1": strings.Repeat("a.", 126) + "a:1",
	} {
		p, err := policies.ParseHostPattern(in)
		if err != nil || p.String() != want {
			t.Errorf("%s: %q, %v; want %q", in, p, err, want)
		}
	}
	for in, says := range map[string]string{
		"":                                   "no port",
		"api.example.org":                    "no port",
		"[::1]":                              "no port",
		":443":                               "expected a name",
		".:443":                              "expected a name",
		"api.example.org:":                   "expected a port",
		"api.example.org:0":                  "expected a port",
		"api.example.org:0443":               "expected a port",
		"api.example.org:65536":              "expected a port",
		"api.example.org:https":              "expected a port",
		"api.example.org:+443":               "expected a port",
		"https://api.example.org:443":        "is a URL",
		"user@api.example.org:443":           "labels",
		"api.example.org/path:443":           "range",
		"a b.example.org:443":                "labels",
		"a..example.org:443":                 "labels",
		"-a.example.org:443":                 "labels",
		"*.org:443":                          "two labels",
		"*.*.example.org:443":                "labels",
		"a*.example.org:443":                 "labels",
		"a.*.org:443":                        "labels",
		"*.192.0.2.1:443":                    "two labels",
		"127.1:443":                          "ends in a number",
		"2130706433:443":                     "ends in a number",
		"0x7f000001:443":                     "ends in a number",
		"0177.0.0.1:443":                     "ends in a number",
		"１２７.0.0.1:443":                      "ends in a number",
		"2001:db8::1:443":                    "in brackets",
		"[192.0.2.1]:443":                    "in brackets",
		"[fe80::1%eth0]:443":                 "in brackets",
		"10.0.0.1/8:443":                     "begins at 10.0.0.0/8",
		"fd00::/8:443":                       "in brackets",
		"[10.0.0.0/8]:443":                   "no range",
		"[::ffff:10.0.0.0/104]:443":          "no range",
		"xn--a.example:443":                  "internationalised",
		"a\u200bb\x00.example:443":           "internationalised",
		strings.Repeat("a", 64) + ".org:443": "labels",
		strings.Repeat("a.", 127) + "aa:443": "253",
	} {
		p, err := policies.ParseHostPattern(in)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v; want an error with %q", in, p, err, says)
		}
	}
}

func pattern(t *testing.T, s string) policies.HostPattern {
	t.Helper()
	p, err := policies.ParseHostPattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHostPatternMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, host string
		port          uint16
		want          bool
	}{
		{"api.example.org:443", "api.example.org", 443, true},
		{"api.example.org:443", "API.EXAMPLE.ORG.", 443, true},
		{"api.example.org:443", "api.example.org", 80, false},
		{"api.example.org:443", "xapi.example.org", 443, false},
		{"api.example.org:443", "api.example.org.evil.example", 443, false},
		{"*.example.org:443", "a.example.org", 443, true},
		{"*.example.org:443", "a.b.example.org", 443, true},
		{"*.example.org:443", "example.org", 443, false},
		{"*.example.org:443", "evilexample.org", 443, false},
		{"192.0.2.1:443", "192.0.2.1", 443, true},
		{"192.0.2.1:443", "[::ffff:192.0.2.1]", 443, true},
		{"192.0.2.1:443", "192.0.2.2", 443, false},
		{"[2001:db8::1]:443", "2001:db8::1", 443, true},
		{"*:443", "example.org", 443, true},
		{"*:443", "192.0.2.1", 443, false},
		{"10.0.0.0/8:443", "10.9.8.7", 443, true},
		{"10.0.0.0/8:443", "11.0.0.1", 443, false},
		{"10.0.0.0/8:443", "ten.example.org", 443, false},
		{"bücher.example:443", "xn--bcher-kva.example", 443, true},
	} {
		h, err := policies.ParseNetHost(tt.host)
		if err != nil {
			t.Fatal(err)
		}
		if got := pattern(t, tt.pattern).Matches(h, tt.port); got != tt.want {
			t.Errorf("%s matches %s port %d: %v", tt.pattern, tt.host, tt.port, got)
		}
	}
	if (policies.HostPattern{}).Matches(policies.NetHost{}, 0) {
		t.Error("the zero pattern matches something")
	}
}

func TestHostPatternCovers(t *testing.T) {
	for _, tt := range []struct {
		wide, narrow string
		want         bool
	}{
		{"api.example.org:443", "api.example.org:443", true},
		{"*.example.org:443", "api.example.org:443", true},
		{"*.example.org:443", "*.b.example.org:443", true},
		{"*.example.org:443", "*.example.org:443", true},
		{"*.example.org:443", "example.org:443", false},
		{"*.b.example.org:443", "*.example.org:443", false},
		{"api.example.org:443", "*.example.org:443", false},
		{"*.example.org:443", "a.example.org:80", false},
		{"10.0.0.0/8:443", "10.1.0.0/16:443", true},
		{"10.0.0.0/8:443", "10.1.2.3:443", true},
		{"10.1.0.0/16:443", "10.0.0.0/8:443", false},
		{"10.1.2.3:443", "10.1.2.3/32:443", true},
		{"10.0.0.0/8:443", "[fd00::/8]:443", false},
		{"*.example.org:443", "10.1.2.3:443", false},
		{"*:443", "*:443", true},
		{"*:443", "*.example.org:443", true},
		{"*:443", "api.example.org:443", true},
		{"*:443", "api.example.org:80", false},
		{"*:443", "10.1.2.3:443", false},
		{"*:443", "10.0.0.0/8:443", false},
		{"*.example.org:443", "*:443", false},
	} {
		if got := pattern(t, tt.wide).Covers(pattern(t, tt.narrow)); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.wide, tt.narrow, got)
		}
	}
}

// A range names the special addresses in it only where it lies within what is special.
func TestHostPatternNames(t *testing.T) {
	private := netip.MustParsePrefix("10.0.0.0/8")
	for p, want := range map[string]bool{
		"10.1.2.3:443": true, "10.0.0.0/8:443": true, "10.1.0.0/16:443": true,
		"0.0.0.0/0:443": false, "10.1.2.3:80": false, "10.9.9.9:443": false, "intranet.example.org:443": false,
	} {
		if got := pattern(t, p).Names(netip.MustParseAddr("10.1.2.3"), 443, private); got != want {
			t.Errorf("%s names 10.1.2.3: %v", p, got)
		}
	}
}

// What a covered pattern matches, the covering one matches too; and a pattern's text is read as the same pattern.
func TestCoversMeansMatches(t *testing.T) {
	label := rapid.StringMatching(`[ab]{1,2}`)
	name := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(label, 2, 4).Draw(t, "labels"), ".") })
	address := rapid.StringMatching(`10\.[01]\.[01]\.[01]`)
	one := rapid.OneOf(name, rapid.Map(name, func(s string) string { return "*." + s }), address,
		rapid.SampledFrom([]string{"*", "10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/15"}))
	rapid.Check(t, func(t *rapid.T) {
		p, err := policies.ParseHostPattern(one.Draw(t, "wide") + ":1")
		q, err2 := policies.ParseHostPattern(one.Draw(t, "narrow") + ":1")
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if again, err := policies.ParseHostPattern(p.String()); err != nil || again != p {
			t.Fatalf("%s reads as %s, %v", p, again, err)
		}
		h, err := policies.ParseNetHost(rapid.OneOf(name, address).Draw(t, "host"))
		if err != nil {
			t.Fatal(err)
		}
		if p.Covers(q) && q.Matches(h, 1) && !p.Matches(h, 1) {
			t.Fatalf("%s covers %s, which alone matches %s", p, q, h)
		}
	})
}

// Whatever is read is written in a form that reads as the same, covers itself, and is plain ASCII.
func FuzzParseHostPattern(f *testing.F) {
	for _, s := range []string{
		"api.example.org:443", "*.bücher.example:1", "*:443", "10.0.0.0/8:5432", "[::ffff:10.0.0.1]:443", "[fd00::/8]:443", "xn--a:1", "１.２.３.４:443",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := policies.ParseHostPattern(s)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("a long error: %v", err)
			}
			return
		}
		again, err := policies.ParseHostPattern(p.String())
		if err != nil || again != p || !p.Covers(again) {
			t.Errorf("%q is %s and reads as %s, %v", s, p, again, err)
		}
		if strings.ContainsFunc(p.String(), func(c rune) bool { return c <= ' ' || c > '~' }) {
			t.Errorf("%q is %q", s, p)
		}
	})
}

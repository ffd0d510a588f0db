package policies_test

import (
	"strings"
	"testing"

	"github.com/hotcell/hotcell/policies"
)

func TestParseHostPattern(t *testing.T) {
	for in, want := range map[string]policies.HostPattern{
		"api.example.org:443":     {Host: "api.example.org", Port: 443},
		"API.Example.ORG:1":       {Host: "api.example.org", Port: 1},
		"*.example.org:443":       {Host: "example.org", Wild: true, Port: 443},
		"*:65535":                 {Wild: true, Port: 65535},
		"localhost:80":            {Host: "localhost", Port: 80},
		"my_host-1:80":            {Host: "my_host-1", Port: 80},
		"10.0.0.1:80":             {Host: "10.0.0.1", Port: 80},
		"[2001:DB8:0::1]:443":     {Host: "2001:db8::1", Port: 443},
		"[::ffff:10.0.0.1]:80":    {Host: "10.0.0.1", Port: 80},
		"xn--bcher-kva.example:8": {Host: "xn--bcher-kva.example", Port: 8},
	} {
		got, err := policies.ParseHostPattern(in)
		if err != nil || got != want {
			t.Errorf("ParseHostPattern(%q) = %+v, %v; want %+v", in, got, err, want)
		}
		if again, err := policies.ParseHostPattern(got.String()); err != nil || again != got {
			t.Errorf("%q reads back as %+v, %v", got.String(), again, err)
		}
	}
}

func TestParseHostPatternRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"":                     "no port",
		"example.org":          "no port",
		"example.org:":         "not a number",
		"example.org:0":        "not a number",
		"example.org:65536":    "not a number",
		"example.org:+80":      "not a number",
		"example.org:http":     "not a number",
		"::1:80":               "no port",
		"[::1:80":              "no port",
		"[example.org]:80":     "no port",
		"[fe80::1%eth0]:80":    "neither a name",
		":80":                  "neither a name",
		"example.org.:80":      "neither a name",
		"a..b:80":              "neither a name",
		"-a.b:80":              "neither a name",
		"a-.b:80":              "neither a name",
		"a b:80":               "neither a name",
		"user@host:80":         "neither a name",
		"http://host:80":       "no port",
		"bücher.example:80":    "neither a name",
		"127.1:80":             "neither a name",
		"2130706433:80":        "neither a name",
		"0x7f.0x1:80":          "neither a name",
		"1.2.3.256:80":         "neither a name",
		"01.2.3.4:80":          "neither a name",
		"*.10.0.0.1:80":        "nothing is below",
		"*.:80":                "neither a name",
		"a.*.org:80":           "neither a name",
		"*example.org:80":      "neither a name",
		"**.example.org:80":    "neither a name",
		"*.*.example.org:80":   "neither a name",
		"a\x00b:80":            "neither a name",
		label(64) + ":80":      "neither a name",
		long(300) + ":80":      "neither a name",
		"host:80\n":            "not a number",
		"host:00000000000443a": "not a number",
	} {
		_, err := policies.ParseHostPattern(in)
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "expected one like api.example.org:443") {
			t.Errorf("ParseHostPattern(%q): %v; want %q and what was expected", in, err, why)
		}
	}
}

func label(n int) string { return strings.Repeat("a", n) }

func long(n int) string { return strings.Repeat("a.", n/2) + "a" }

func TestHostPatternCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, other string
		want           bool
	}{
		{"a.org:443", "a.org:443", true},
		{"a.org:443", "A.org:443", true},
		{"a.org:443", "a.org:80", false},
		{"a.org:443", "b.a.org:443", false},
		{"a.org:443", "*.a.org:443", false},
		{"*.a.org:443", "b.a.org:443", true},
		{"*.a.org:443", "c.b.a.org:443", true},
		{"*.a.org:443", "a.org:443", false},
		{"*.a.org:443", "xa.org:443", false},
		{"*.a.org:443", "*.a.org:443", true},
		{"*.a.org:443", "*.b.a.org:443", true},
		{"*.b.a.org:443", "*.a.org:443", false},
		{"*.a.org:443", "*:443", false},
		{"*:443", "*:443", true},
		{"*:443", "*.a.org:443", true},
		{"*:443", "a.org:443", true},
		{"*:443", "a.org:80", false},
		{"*:443", "10.0.0.1:443", false},
		{"*:443", "[::1]:443", false},
		{"10.0.0.1:443", "10.0.0.1:443", true},
		{"10.0.0.1:443", "[::ffff:10.0.0.1]:443", true},
	} {
		p, err := policies.ParseHostPattern(c.pattern)
		q, err2 := policies.ParseHostPattern(c.other)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if got := p.Covers(q); got != c.want {
			t.Errorf("%s covers %s: %v, want %v", p, q, got, c.want)
		}
	}
}

func TestHostPatternMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		port          int
		want          bool
	}{
		{"a.org:443", "a.org", 443, true},
		{"a.org:443", "A.ORG.", 443, true},
		{"a.org:443", "a.org..", 443, false},
		{"a.org:443", "a.org", 80, false},
		{"*.a.org:443", "b.a.org.", 443, true},
		{"*.a.org:443", "*.a.org", 443, false},
		{"*.a.org:443", ".a.org", 443, false},
		{"*:443", "127.0.0.1", 443, false},
		{"*:443", "127.1", 443, false},
		{"*:443", "::1", 443, false},
		{"*:443", "", 443, false},
		{"*:443", "a b", 443, false},
		{"[::1]:443", "0:0:0:0:0:0:0:1", 443, true},
		{"127.0.0.1:443", "::ffff:127.0.0.1", 443, true},
	} {
		p, err := policies.ParseHostPattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Matches(c.host, c.port); got != c.want {
			t.Errorf("%s matches %q port %d: %v, want %v", p, c.host, c.port, got, c.want)
		}
	}
}

// What a pattern covers, it matches: nobody gets more by asking for a pattern than by asking for a host.
func FuzzHostPattern(f *testing.F) {
	for _, s := range []string{"*:443", "a.org:443", "*.a.org:443", "[::1]:443", "10.0.0.1:1"} {
		f.Add(s, "b.a.org", 443)
	}
	f.Fuzz(func(t *testing.T, s, host string, port int) {
		p, err := policies.ParseHostPattern(s)
		if err != nil {
			return
		}
		if again, err := policies.ParseHostPattern(p.String()); err != nil || again != p || !p.Covers(again) {
			t.Errorf("%q is %+v, which reads back as %+v, %v", s, p, again, err)
		}
		if p.Matches(host, port) && (port != p.Port || p.Wild && p.Host != "" && !strings.Contains(strings.ToLower(host), "."+p.Host)) {
			t.Errorf("%s matches %q port %d", p, host, port)
		}
	})
}

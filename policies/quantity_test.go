package policies_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/policies"
)

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]policies.Bytes{
		"8192":                8192,
		"256Mi":               256 << 20,
		" 1.5Gi ":             3 << 29,
		"10GiB":               10 << 30,
		"64MB":                64e6,
		"1k":                  1000,
		"1K":                  1000,
		"0.0001Ki":            1,
		"1Ti":                 1 << 40,
		"2P":                  2e15,
		"9223372036854775807": math.MaxInt64,
	} {
		if got, err := policies.ParseBytes(in); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}

func TestParseBytesRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"":                       "not a number",
		"Mi":                     "not a number",
		"B":                      "not a number",
		"-1":                     "negative",
		"-5Mi":                   "negative",
		"+5":                     "not a number",
		"0":                      "zero",
		"0.0Gi":                  "zero",
		"1e3":                    "not a number",
		"0x10":                   "not a number",
		"1/3":                    "not a number",
		"1.":                     "not a number",
		".5":                     "not a number",
		"1.2.3":                  "not a number",
		"256mi":                  "not a number",
		"256m":                   "not a number",
		"1 Gi":                   "not a number",
		"٣":                      "not a number",
		"9223372036854775808":    "too large",
		"8192Pi":                 "too large",
		strings.Repeat("9", 1e6): "not a number",
	} {
		_, err := policies.ParseBytes(in)
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "expected an amount of bytes like 256Mi") {
			t.Errorf("ParseBytes(%.20q): %v; want %q and what was expected", in, err, why)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("ParseBytes(%.20q): an error of %d bytes", in, len(err.Error()))
		}
	}
}

func TestParseMilliCPU(t *testing.T) {
	for in, want := range map[string]policies.MilliCPU{
		"1": 1000, "0.5": 500, "500m": 500, "2.0": 2000, "0.0001": 1, "1.5m": 2, " 64 ": 64000,
	} {
		if got, err := policies.ParseMilliCPU(in); err != nil || got != want {
			t.Errorf("ParseMilliCPU(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "m", "0", "-1", "1k", "half", "99999999999999999999", "1e2"} {
		if got, err := policies.ParseMilliCPU(in); err == nil || !strings.Contains(err.Error(), "expected processor cores like 1, 0.5 or 500m") {
			t.Errorf("ParseMilliCPU(%q) = %d, %v; want an error that says what was expected", in, got, err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "30": 30 * time.Second, "1m30s": 90 * time.Second, "250ms": 250 * time.Millisecond,
	} {
		if got, err := policies.ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0", "0s", "-3", "-3s", "1.5", "soon", "99999999999", "9999999h", strings.Repeat("1s", 100)} {
		if got, err := policies.ParseDuration(in); err == nil || !strings.Contains(err.Error(), "expected a length of time like 30s") {
			t.Errorf("ParseDuration(%.20q) = %s, %v; want an error that says what was expected", in, got, err)
		}
	}
}

func TestStringsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, math.MaxInt64).Draw(t, "n") >> rapid.IntRange(0, 62).Draw(t, "shift")
		n = max(n, 1)
		if b, err := policies.ParseBytes(policies.Bytes(n).String()); err != nil || int64(b) != n {
			t.Fatalf("bytes %d reads back as %d, %v", n, b, err)
		}
		if c, err := policies.ParseMilliCPU(policies.MilliCPU(n).String()); err != nil || int64(c) != n {
			t.Fatalf("cpu %d reads back as %d, %v", n, c, err)
		}
	})
}

func TestBytesString(t *testing.T) {
	for n, want := range map[policies.Bytes]string{
		0: "0", 1: "1", 1000: "1000", 1024: "1Ki", 1536: "1536", 256 << 20: "256Mi", 3 << 29: "1536Mi", 1 << 50: "1Pi", -1024: "-1Ki",
	} {
		if got := n.String(); got != want {
			t.Errorf("Bytes(%d).String() = %q, want %q", int64(n), got, want)
		}
	}
}

// A policy section reads the same from YAML and JSON, with amounts as text or as numbers.
func TestLimitsDecode(t *testing.T) {
	type section struct {
		Memory policies.Bytes    `yaml:"memory" json:"memory"`
		CPU    policies.MilliCPU `yaml:"cpu" json:"cpu"`
	}
	want := section{256 << 20, 1500}
	for _, in := range []string{
		"memory: 256Mi\ncpu: '1.5'",
		"memory: 268435456\ncpu: 1.5",
		"memory: '268435456'\ncpu: 1500m",
		"memory: 0x10000000\ncpu: 1.50",
	} {
		var got section
		if err := yaml.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("yaml %q = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{`{"memory":"256Mi","cpu":"1.5"}`, `{"memory":268435456,"cpu":1.5}`} {
		var got section
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("json %s = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"memory:\ncpu: null", "memory: ''\ncpu: ~", "{}"} {
		got := section{}
		if err := yaml.Unmarshal([]byte(in), &got); err != nil || got != (section{}) {
			t.Errorf("yaml %q = %v, %v; want it unset", in, got, err)
		}
	}
	for _, in := range []string{"memory: lots", "memory: {a: b}", "cpu: [1]", "cpu: true", "cpu: -1", "memory: 0"} {
		var got section
		if err := yaml.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("yaml %q = %v, want an error", in, got)
		}
	}
	for _, in := range []string{`{"memory":true}`, `{"cpu":{}}`, `{"cpu":"\ud800x"}`} {
		var got section
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("json %s = %v, want an error", in, got)
		}
	}
}

func TestLimitsEncode(t *testing.T) {
	limits := policies.Limits{Memory: 256 << 20, CPU: 1500, PIDs: 64}
	text, err := yaml.Marshal(limits)
	if err != nil {
		t.Fatal(err)
	}
	var back policies.Limits
	if err := yaml.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(limits, back); diff != "" {
		t.Errorf("limits through YAML (-want +got):\n%s%s", diff, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"256Mi", "1.5Gi", "500m", "30s", "8192", "-1", "0", "1e9", "10GiB", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if b, err := policies.ParseBytes(s); err == nil {
			if again, err := policies.ParseBytes(b.String()); b <= 0 || err != nil || again != b {
				t.Errorf("ParseBytes(%q) = %d, which reads back as %d, %v", s, b, again, err)
			}
		}
		if c, err := policies.ParseMilliCPU(s); err == nil {
			if again, err := policies.ParseMilliCPU(c.String()); c <= 0 || err != nil || again != c {
				t.Errorf("ParseMilliCPU(%q) = %d, which reads back as %d, %v", s, c, again, err)
			}
		}
		if d, err := policies.ParseDuration(s); err == nil && d <= 0 {
			t.Errorf("ParseDuration(%q) = %d", s, d)
		}
	})
}

package llm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, model string
		want           bool
	}{
		{"*", "anything", true}, {"gpt-4o*", "gpt-4o", true}, {"gpt-4o*", "gpt-4o-mini", true}, {"gpt-4o*", "gpt-4", false},
		{"*-mini", "gpt-4o-mini", true}, {"*-mini", "gpt-4o", false}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "abc", true},
		{"a*b*c", "acb", false}, {"gpt-4o", "gpt-4o", true}, {"gpt-4o", "GPT-4o", false}, {"ab*ba", "aba", false},
		{"gpt.4", "gptx4", false}, {"", "x", false},
	} {
		if got := (&Provider{Models: []string{tt.pattern}}).Allows(tt.model); got != tt.want {
			t.Errorf("%q and %q: %t", tt.pattern, tt.model, got)
		}
	}
	p := Provider{Models: []string{"*"}}
	if p.Allows("") {
		t.Error("no model at all is allowed")
	}
}

func TestMoneyReadsWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Money(rapid.Int64Range(0, maxMoney*unitMoney).Draw(t, "money"))
		if got, err := ParseMoney(want.String()); err != nil || got != want {
			t.Fatalf("%s: %d, %v", want, got, err)
		}
	})
	for _, bad := range []string{"", "-1", "1.", ".5", "1.1234567", "1e3", "1_0", "$1", "1.-5", "1000000001", "99999999999999999999"} {
		if m, err := ParseMoney(bad); err == nil {
			t.Errorf("%q is %s", bad, m)
		}
	}
}

func TestCompleteFillsIn(t *testing.T) {
	for name, tt := range map[string]struct{ give, want Provider }{
		"openai": {
			Provider{Kind: OpenAI, Limits: Limits{Requests: 3}},
			Provider{Kind: OpenAI, BaseURL: "https://api.openai.com/v1", Models: []string{"*"}, Limits: Limits{3, DefaultTokens, DefaultBytes, 0, 4}, Skills: AllSkills()},
		},
		"anthropic": {
			Provider{Kind: Anthropic, Models: []string{"x-*", "y", "z"}, Skills: []string{}, Limits: Limits{1, 2, 3, 4, 5}},
			Provider{Kind: Anthropic, BaseURL: "https://api.anthropic.com", Models: []string{"x-*", "y", "z"}, Model: "y", Skills: []string{}, Limits: Limits{1, 2, 3, 4, 5}},
		},
	} {
		if diff := cmp.Diff(tt.want, tt.give.Complete()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCheckNeverRepeatsAnAddress(t *testing.T) {
	for _, u := range []string{"https://u:SECRET@h", "https://h:0", "https://h:99999/SECRET", "https://h/?SECRET", "https://h/#SECRET", "ftp://SECRET", "SECRET", "http://[SECRET", "https://h/%53ECRET", "https://h/../SECRET"} {
		found := Provider{Name: "a", Kind: OpenAI, Credential: "env:A", BaseURL: u}.Check()
		if len(found) != 1 || found[0].Key != "base_url" || strings.Contains(found[0].Why, "SECRET") {
			t.Errorf("%s: %+v", u, found)
		}
	}
	for _, u := range []string{"", "https://h", "https://h:8443/a/v1", "http://127.0.0.1:1/v1", "http://localhost/v1", "http://[::1]:1"} {
		if found := (Provider{Name: "a", Kind: OpenAI, Credential: "env:A", BaseURL: u}).Check(); found != nil {
			t.Errorf("%s: %+v", u, found)
		}
	}
}

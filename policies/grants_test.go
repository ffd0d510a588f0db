package policies_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/policies"
)

func allow(patterns ...string) policies.Policy {
	return policies.Policy{Network: policies.Network{Allow: patterns}}
}

func TestNarrowNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		operator, skill, call policies.Policy
		want                  []string
		from                  policies.Party
		clamp                 string
	}{
		"nobody asks":           {operator: allow("*.a.org:443"), from: policies.Default},
		"nothing is permitted":  {skill: allow("a.org:443"), from: policies.Operator, clamp: "network: the skill asks for a.org:443, the operator allows none"},
		"a pattern covers it":   {operator: allow("*.a.org:443"), skill: allow("*.b.a.org:443", "C.A.org:443"), want: []string{"*.b.a.org:443", "c.a.org:443"}, from: policies.Skill},
		"one port is not other": {operator: allow("a.org:443"), skill: allow("a.org:80", "a.org:443"), want: []string{"a.org:443"}, from: policies.Skill, clamp: "network: the skill asks for a.org:443 a.org:80, the operator allows a.org:443"},
		"twice the same":        {operator: allow("a.org:1"), skill: allow("A.org:1", "a.org:1"), want: []string{"a.org:1"}, from: policies.Skill},
		"an address by name":    {operator: allow("*.a.org:443"), skill: allow("10.0.0.1:443"), from: policies.Operator, clamp: "network: the skill asks for 10.0.0.1:443, the operator allows none"},
		"a call takes less":     {operator: allow("*.a.org:1"), skill: allow("*.a.org:1"), call: allow("b.a.org:1"), want: []string{"b.a.org:1"}, from: policies.Caller},
		"a call takes no more":  {operator: allow("*.a.org:1"), call: allow("b.a.org:1"), from: policies.Default, clamp: "network: the call asks for b.a.org:1, the skill allows none"},
	} {
		e, err := policies.Narrow(c.operator, c.skill, c.call)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, e.Network.Allow); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := choice(t, e, "network").From; got != c.from {
			t.Errorf("%s: from %s, want %s", name, got, c.from)
		}
		clamps := ""
		for _, cl := range e.Clamps {
			clamps += cl.String()
		}
		if clamps != c.clamp {
			t.Errorf("%s: clamps %q, want %q", name, clamps, c.clamp)
		}
	}
}

func TestNarrowLLM(t *testing.T) {
	wish := func(inject string) policies.Policy {
		return policies.Policy{LLM: &policies.LLM{Provider: "p", Model: "m", Inject: inject}}
	}
	permit := func(ways ...string) policies.Policy { return policies.Policy{LLM: &policies.LLM{Permit: ways}} }
	for name, c := range map[string]struct {
		operator, skill policies.Policy
		want            string // inject; "": no model
		value           string
		clamps          int
	}{
		"nobody asks":           {operator: permit("broker", "file"), value: "none"},
		"the broker by default": {skill: wish(""), want: "broker", value: "m of p, through the broker"},
		"a file is not":         {skill: wish("file"), want: "broker", value: "m of p, through the broker", clamps: 1},
		"a file is permitted":   {operator: permit("broker", "file"), skill: wish("file"), want: "file", value: "m of p, with the credential as a file"},
		"only a file":           {operator: permit("file"), skill: wish("broker"), value: "none", clamps: 1},
	} {
		e, err := policies.Narrow(c.operator, c.skill, policies.Policy{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		if e.LLM != nil {
			got = e.LLM.Inject
			if e.LLM.Provider != "p" || e.LLM.Model != "m" {
				t.Errorf("%s: %+v", name, e.LLM)
			}
		}
		if v := choice(t, e, "llm").Value; got != c.want || v != c.value || len(e.Clamps) != c.clamps {
			t.Errorf("%s: %q, %q, clamps %v; want %q, %q, %d clamps", name, got, v, e.Clamps, c.want, c.value, c.clamps)
		}
	}
	none := policies.Policy{LLM: &policies.LLM{Permit: []string{}}}
	e, err := policies.Narrow(none, wish(""), policies.Policy{})
	if err != nil || e.LLM != nil || len(e.Clamps) != 1 {
		t.Errorf("an operator that permits no way: %+v, %v, %v", e.LLM, e.Clamps, err)
	}
}

func TestNarrowSecrets(t *testing.T) {
	e, err := policies.Narrow(policies.Policy{}, policies.Policy{Secrets: []string{"B", "A", "B"}}, policies.Policy{Secrets: []string{"C"}})
	if err != nil || !cmp.Equal(e.Secrets, []string{"A", "B"}) || choice(t, e, "secrets").Value != "A B" {
		t.Errorf("secrets %v, %v", e.Secrets, err)
	}
}

func TestNarrowRefusesMalformedGrants(t *testing.T) {
	for field, p := range map[string]policies.Policy{
		"network (skill): \"a.org\" is not a destination: it has no port": allow("a.org"),
		"llm (skill): inject \"env\": expected broker":                    {LLM: &policies.LLM{Inject: "env"}},
		"secrets (skill): \"../x\": expected a name":                      {Secrets: []string{"../x"}},
	} {
		_, err := policies.Narrow(policies.Policy{}, p, policies.Policy{})
		var fe *policies.FieldError
		if !errors.As(err, &fe) || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%v, want %s", err, field)
		}
	}
}

// Whoever asks for whatever: nothing is granted that an operator's pattern doesn't cover and the skill didn't ask for.
func TestNarrowNetworkIsMonotone(t *testing.T) {
	pattern := rapid.SampledFrom([]string{"10.0.0.0/8:1", "a.org:1", "*.a.org:1", "b.a.org:1", "*.b.a.org:1", "c.b.a.org:1", "a.org:2", "10.0.0.1:1"})
	list := rapid.SliceOfN(pattern, 0, 4)
	covers := func(bounds []string, text string) bool {
		q, _ := policies.ParseHostPattern(text)
		for _, b := range bounds {
			if p, _ := policies.ParseHostPattern(b); p.Covers(q) {
				return true
			}
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		operator, skill, call := list.Draw(t, "operator"), list.Draw(t, "skill"), list.Draw(t, "call")
		e, err := policies.Narrow(allow(operator...), allow(skill...), allow(call...))
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range e.Network.Allow {
			if !covers(operator, got) || !covers(skill, got) || len(call) > 0 && !covers(call, got) {
				t.Errorf("%s: operator %v, skill %v, call %v", got, operator, skill, call)
			}
		}
	})
}

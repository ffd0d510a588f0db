package broker

import (
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

func TestWhichSkillMayUseWhichProvider(t *testing.T) {
	b, err := New(Options{Credentials: keys{"env:A": "first-key-1", "env:C": "third-key-3"}, Providers: []llm.Provider{
		{Name: "costly", Kind: llm.OpenAI, Credential: "env:A", Model: "big", Skills: []string{"report-*", "audit"}},
		{Name: "gone", Kind: llm.OpenAI, Credential: "env:B", Model: "big"},
		{Name: "cheap", Kind: llm.OpenAI, Credential: "env:C", Model: "small", Skills: []string{"*-1"}},
		{Name: "theirs", Kind: llm.OpenAI, Credential: "env:C", Model: "small", Skills: []string{"custom:bob/*"}},
		{Name: "nobody", Kind: llm.OpenAI, Credential: "env:C", Model: "small", Skills: []string{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	const unsupported, unauthorized = "runtime_error/unsupported", "unauthorized/llm_override"
	own := map[string]any{"api_key": callersOwn}
	for name, tt := range map[string]struct {
		skill, wish   string
		override      *a2e.LLMConfig
		provider      string
		code, message string
	}{
		"the first":                {"report-1", "", nil, "costly", "", ""},
		"the first that serves it": {"draft-1", "", nil, "cheap", "", ""},
		"by name":                  {"audit", "costly", nil, "costly", "", ""},
		"custom":                   {"bob/draft", "", nil, "theirs", "", ""},
		"another's custom": {"ann/draft", "theirs", nil, "", unsupported, "provider theirs is not for skill draft: llm.providers of the configuration says " +
			"which skills it is for; the operator can add custom:ann/draft to its skills there"},
		"a custom one's name opens nothing": {"bob/audit", "costly", nil, "", unsupported, "provider costly is not for skill audit"},
		"nor with an override":              {"bob/audit", "", &a2e.LLMConfig{ProviderName: "costly"}, "", unauthorized, "provider costly is not for skill audit"},
		"none serves it": {"draft", "", nil, "", unsupported,
			"no provider is available (costly: it is not for skill draft; the operator can add draft to the provider's skills in llm.providers; gone: env:B: there is no such variable"},
		"named, not for it": {"draft-1", "costly", nil, "", unsupported,
			"model provider costly is not for skill draft-1: llm.providers of the configuration says which skills it is for; the operator can add draft-1 to its skills there"},
		"for nobody":           {"report-1", "nobody", nil, "", unsupported, "model provider nobody is not for skill report-1"},
		"override":             {"report-1", "", &a2e.LLMConfig{ProviderName: "cheap"}, "cheap", "", ""},
		"override, not for it": {"draft-1", "", &a2e.LLMConfig{ProviderName: "costly"}, "", unauthorized, "llm_override: provider costly is not for skill draft-1; the operator can add"},
		"nor with a key of one's own": {"draft-1", "", &a2e.LLMConfig{ProviderName: "costly", ProviderCredentials: own}, "",
			unauthorized, "provider costly is not for skill draft-1"},
		"an override opens nothing": {"draft-1", "costly", &a2e.LLMConfig{ProviderName: "nobody"}, "", unauthorized, "provider nobody is not for skill draft-1"},
	} {
		for _, kind := range []string{"python", kindAgent} {
			ask := askFor(policies.LLM{Provider: tt.wish})
			ask.Skill.Name, ask.Skill.Run.Kind, ask.Override = tt.skill, kind, tt.override
			ask.Chain = []string{"audit"} // the skill around it has no say
			if whose, name, ok := strings.Cut(tt.skill, "/"); ok {
				ask.Skill.Name, ask.Skill.Owner = name, &skills.Owner{Name: whose}
			}
			g, err := b.Grant(ask)
			if tt.code != "" {
				if g != nil || code(err) != tt.code || !strings.Contains(err.Error(), tt.message) || strings.Contains(err.Error(), callersOwn) {
					t.Errorf("%s, %s: got %v, %s: %v", name, kind, g, code(err), err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
				continue
			}
			var l wall.Lease
			if g.Lease(&l); l.Model.Provider != tt.provider {
				t.Errorf("%s, %s: got %+v", name, kind, l.Model)
			}
			g.Revoke()
		}
	}
}

// A provider of which nothing is said serves all skills, the custom ones too; one that is for * serves the shipped ones.
func TestCustomSkillsAndProvidersForAll(t *testing.T) {
	for _, tt := range []struct {
		skills  []string
		refused string
	}{{nil, ""}, {[]string{"*", "custom:*"}, ""}, {[]string{"*"}, "not for skill mine"}, {[]string{"mine"}, "not for skill mine"}} {
		b, err := New(Options{Credentials: keys{"env:A": "first-key-1"}, Providers: []llm.Provider{
			{Name: "a", Kind: llm.OpenAI, Credential: "env:A", Model: "m", Skills: tt.skills},
		}})
		if err != nil {
			t.Fatal(err)
		}
		ask := askFor(policies.LLM{})
		ask.Skill.Name, ask.Skill.Source, ask.Skill.Owner = "mine", skills.SourceUser, &skills.Owner{Name: "bob"}
		g, err := b.Grant(ask)
		if (err == nil) != (tt.refused == "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
			t.Errorf("%q: %v", tt.skills, err)
		}
		if g != nil {
			g.Revoke()
		}
	}
}

// A skill that uses no model is refused an override that it may not have, as it is one that nobody may have.
func TestOverrideKeptFromASkillWithoutAModel(t *testing.T) {
	b, err := New(Options{Credentials: keys{}, Providers: []llm.Provider{{Name: "a", Kind: llm.OpenAI, Credential: "env:A", Skills: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for skill, want := range map[string]string{"x": "<nil>", "y": "unauthorized/llm_override"} {
		g, err := b.Grant(service.Ask{Skill: &skills.Skill{Name: skill}, Override: &a2e.LLMConfig{ProviderName: "a"}})
		if g != nil || code(err) != want {
			t.Errorf("%s: %v, %v", skill, g, err)
		}
	}
}

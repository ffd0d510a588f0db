package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

const callersOwn = "sk-callers-own-0123456789"

func threeProviders(t *testing.T, k keys) *Broker {
	t.Helper()
	b, err := New(Options{
		Providers: []llm.Provider{
			{Name: "first", Kind: llm.OpenAI, Credential: "env:FIRST", Models: []string{"small", "big-*"}},
			{Name: "second", Kind: llm.Anthropic, Credential: "env:SECOND"},
			{Name: "own-one", Kind: llm.Compatible, BaseURL: "http://127.0.0.1:1/x/v1", Model: "mine"},
		},
		BaseURLs:    []string{"https://gateway.example.org/llm/v1"},
		Credentials: k,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func agent() service.Ask {
	return service.Ask{Call: "c", Skill: &skills.Skill{Name: "sk", Run: skills.Run{Kind: "agent"}}}
}

func code(err error) string {
	var e *a2e.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return string(e.Code) + "/" + e.Reason()
}

func TestWhichProviderAndModel(t *testing.T) {
	all := keys{"env:FIRST": "first-key-1", "env:SECOND": "second-key-2"}
	for name, tt := range map[string]struct {
		keys            keys
		ask             service.Ask
		provider, model string
		code, message   string
	}{
		"the first":             {all, askFor(policies.LLM{}), "first", "small", "", ""},
		"by name":               {all, askFor(policies.LLM{Provider: "second", Model: "m"}), "second", "m", "", ""},
		"a pattern":             {all, askFor(policies.LLM{Model: "big-*"}), "first", "", "", ""},
		"the default matches":   {all, askFor(policies.LLM{Model: "sm*"}), "first", "small", "", ""},
		"the next available":    {keys{"env:SECOND": "second-key-2"}, askFor(policies.LLM{}), "second", "", "", ""},
		"one without a key":     {keys{}, askFor(policies.LLM{}), "own-one", "mine", "", ""},
		"agent":                 {keys{}, agent(), "own-one", "mine", "", ""},
		"agent without a model": {keys{"env:SECOND": "second-key-2"}, agent(), "", "", "runtime_error/unsupported", "set llm.model in skill.yaml, or model of provider second in llm.providers"},
		"no credential": {keys{}, askFor(policies.LLM{Provider: "first"}), "", "", "runtime_error/unsupported",
			"model provider first is not available: env:FIRST: there is no such variable"},
		"no key": {keys{"env:FIRST": "two words"}, askFor(policies.LLM{Provider: "first"}), "", "", "runtime_error/unsupported",
			"model provider first is not available: env:FIRST: expected a key: printable text"},
		"no such provider": {all, askFor(policies.LLM{Provider: "third"}), "", "", "runtime_error/unsupported",
			`there is no model provider "third": llm.providers of the configuration has first, second, own-one`},
		"another model": {all, askFor(policies.LLM{Model: "huge"}), "", "", "runtime_error/unsupported",
			`provider first may not be asked for model "huge": llm.providers allows small, big-*`},
		"no way is permitted": {all, service.Ask{Skill: &skills.Skill{Name: "sk", Policy: policies.Policy{LLM: &policies.LLM{}}}}, "", "",
			"runtime_error/unsupported", "skill sk needs a model, which policy.llm.inject"},
		"no file is permitted": {all, service.Ask{
			Skill:  &skills.Skill{Name: "sk", Policy: policies.Policy{LLM: &policies.LLM{Inject: "file"}}},
			Policy: policies.Effective{LLM: &policies.LLM{Inject: "broker"}},
		}, "", "", "runtime_error/unsupported", "add file to policy.llm.inject, or remove the key from skill.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := threeProviders(t, tt.keys).Grant(tt.ask)
			if tt.code != "" {
				if got != nil || code(err) != tt.code || !strings.Contains(err.Error(), tt.message) {
					t.Errorf("got %v, %s: %v", got, code(err), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var l wall.Lease
			got.Lease(&l)
			if l.Model.Provider != tt.provider || l.Model.Model != tt.model || l.Secrets != nil {
				t.Errorf("got %+v", l.Model)
			}
			got.Revoke()
		})
	}
}

func TestNoProviderAtAll(t *testing.T) {
	b, err := New(Options{Credentials: keys{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Grant(agent()); code(err) != "runtime_error/unsupported" || !strings.Contains(err.Error(), "add one to llm.providers") {
		t.Errorf("got %v", err)
	}
	b, err = New(Options{Credentials: keys{}, Providers: []llm.Provider{
		{Name: "a", Kind: llm.OpenAI, Credential: "env:A"}, {Name: "b", Kind: llm.Anthropic, Credential: "file:/b"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Grant(agent()); err == nil || !strings.Contains(err.Error(), "(a: env:A: there is no such variable") || !strings.Contains(err.Error(), "; b: file:/b: ") {
		t.Errorf("got %v", err)
	}
	if g, err := b.Grant(service.Ask{Skill: &skills.Skill{}}); g != nil || err != nil {
		t.Errorf("a skill that uses no model got %v, %v", g, err)
	}
}

func TestWhatACellSees(t *testing.T) {
	b := threeProviders(t, keys{"env:FIRST": "first-key-1", "env:SECOND": "second-key-2"})
	at := func(port string) string { return "127.0.0.1:<" + port + ">" }
	for provider, want := range map[string][]string{
		"first":   {"HOTCELL_TOKEN=T", "OPENAI_BASE_URL=http://127.0.0.1:<llm.first>/v1", "OPENAI_API_KEY=T"},
		"second":  {"HOTCELL_TOKEN=T", "ANTHROPIC_BASE_URL=http://127.0.0.1:<llm.second>", "ANTHROPIC_API_KEY=T"},
		"own-one": {"HOTCELL_TOKEN=T", "OPENAI_BASE_URL=http://127.0.0.1:<llm.own-one>/v1", "OPENAI_API_KEY=T"},
	} {
		g, err := b.Grant(askFor(policies.LLM{Provider: provider}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, g.Env(at, "T")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"llm." + provider}, g.Ports()); diff != "" {
			t.Error(diff)
		}
		g.Revoke()
	}
}

func TestACredentialAsFile(t *testing.T) {
	b := threeProviders(t, keys{"env:FIRST": "first-key-1", "env:SECOND": "second-key-2"})
	for provider, want := range map[string]map[string]string{
		"first": {"OPENAI_API_KEY": "first-key-1"}, "second": {"ANTHROPIC_API_KEY": "second-key-2"},
	} {
		g, err := b.Grant(askFor(policies.LLM{Provider: provider, Inject: "file"}))
		if err != nil {
			t.Fatal(err)
		}
		var l wall.Lease
		g.Lease(&l)
		if diff := cmp.Diff(want, l.Secrets); diff != "" || g.Ports() != nil || g.Env(nil, "T") != nil {
			t.Errorf("%s, ports %v", diff, g.Ports())
		}
		g.Revoke()
	}
	if _, err := b.Grant(askFor(policies.LLM{Provider: "own-one", Inject: "file"})); code(err) != "runtime_error/unsupported" || !strings.Contains(err.Error(), "no credential") {
		t.Errorf("without a credential: %v", err)
	}
	if got := SecretName(&llm.Provider{Name: "own-one", Kind: llm.Compatible}); got != "OWN_ONE_API_KEY" {
		t.Errorf("got %s", got)
	}
	ask := agent()
	ask.Skill.Policy.LLM, ask.Policy.LLM = &policies.LLM{Inject: "file"}, &policies.LLM{Inject: "file"}
	if _, err := b.Grant(ask); code(err) != "runtime_error/unsupported" || !strings.Contains(err.Error(), "remove llm.inject") {
		t.Errorf("got %v", err)
	}
}

type object = map[string]any

func TestOverride(t *testing.T) {
	all := keys{"env:FIRST": "first-key-1", "env:SECOND": "second-key-2"}
	for name, tt := range map[string]struct {
		wish          policies.LLM
		override      a2e.LLMConfig
		want          wall.Model
		code, message string
	}{
		"another provider": {policies.LLM{Provider: "first", Model: "small"},
			a2e.LLMConfig{ProviderName: "second", ProviderConfig: object{"model": "m", "temperature": 0.5, "organization": "x"}},
			wall.Model{Provider: "second", Kind: "anthropic", Model: "m", Config: json.RawMessage(`{"temperature":0.5}`)}, "", ""},
		"the skill's model": {policies.LLM{Model: "big-1"}, a2e.LLMConfig{ProviderName: "first"},
			wall.Model{Provider: "first", Kind: "openai", Model: "big-1"}, "", ""},
		"another model": {policies.LLM{Model: "big-1"}, a2e.LLMConfig{ProviderName: "first", ProviderConfig: object{"model": "big-2"}},
			wall.Model{Provider: "first", Kind: "openai", Model: "big-2"}, "", ""},
		"the default": {policies.LLM{Provider: "second", Model: "m"}, a2e.LLMConfig{ProviderName: "first"},
			wall.Model{Provider: "first", Kind: "openai", Model: "small"}, "", ""},
		"with a key": {policies.LLM{}, a2e.LLMConfig{ProviderName: "first", ProviderCredentials: object{"api_key": callersOwn}},
			wall.Model{Provider: "first", Kind: "openai", Model: "small"}, "", ""},
		"with an address": {policies.LLM{}, a2e.LLMConfig{
			ProviderName: "first", ProviderCredentials: object{"api_key": callersOwn}, ProviderConfig: object{"base_url": "https://gateway.example.org/llm/v1"},
		}, wall.Model{Provider: "first", Kind: "openai", Model: "small"}, "", ""},
		"unknown provider": {policies.LLM{}, a2e.LLMConfig{ProviderName: "evil", ProviderCredentials: object{"api_key": callersOwn}}, wall.Model{},
			"unauthorized/llm_override", `provider "evil" is not approved by the operator`},
		"a key as provider": {policies.LLM{}, a2e.LLMConfig{ProviderName: callersOwn}, wall.Model{}, "unauthorized/llm_override", "a provider_name that is none of llm.providers is not approved"},
		"no provider":       {policies.LLM{}, a2e.LLMConfig{}, wall.Model{}, "unauthorized/llm_override", "is not approved"},
		"model not allowed": {policies.LLM{}, a2e.LLMConfig{ProviderName: "first", ProviderConfig: object{"model": "huge"}}, wall.Model{},
			"unauthorized/llm_override", `provider first may not be asked for model "huge"`},
		"pattern": {policies.LLM{}, a2e.LLMConfig{ProviderName: "first", ProviderConfig: object{"model": "big-*"}}, wall.Model{},
			"unauthorized/llm_override", "may not be asked"},
		"model is no text": {policies.LLM{}, a2e.LLMConfig{ProviderName: "first", ProviderConfig: object{"model": 1.0}}, wall.Model{},
			"invalid_message/", "provider_config.model: expected text"},
		"a key where none belongs": {policies.LLM{}, a2e.LLMConfig{ProviderName: "first", ProviderConfig: object{"Api_Key": callersOwn}}, wall.Model{},
			"invalid_message/", "provider_config holds a credential; expected it as provider_credentials.api_key"},
		"unknown credential": {policies.LLM{}, a2e.LLMConfig{ProviderName: "first", ProviderCredentials: object{callersOwn: "x", "ref": "env:FIRST"}}, wall.Model{},
			"invalid_message/", "provider_credentials has a key that is not known; expected api_key"},
		"key is no key": {policies.LLM{}, a2e.LLMConfig{ProviderName: "first", ProviderCredentials: object{"api_key": callersOwn + "\r\nx: y"}}, wall.Model{},
			"invalid_message/", "provider_credentials.api_key: expected a key"},
		"address": {policies.LLM{}, a2e.LLMConfig{
			ProviderName: "first", ProviderCredentials: object{"api_key": callersOwn, "base_url": "https://" + callersOwn + ".example.org/llm/v1"},
		}, wall.Model{}, "unauthorized/llm_override", "its base_url is not one that the operator allows (llm.base_urls)"},
		"address beside": {policies.LLM{}, a2e.LLMConfig{
			ProviderName: "first", ProviderCredentials: object{"api_key": callersOwn}, ProviderConfig: object{"base_url": "https://gateway.example.org/llm/v1evil"},
		}, wall.Model{}, "unauthorized/llm_override", "base_url is not one"},
		"address above": {policies.LLM{}, a2e.LLMConfig{
			ProviderName: "first", ProviderCredentials: object{"api_key": callersOwn}, ProviderConfig: object{"base_url": "https://gateway.example.org/llm/v1/../.."},
		}, wall.Model{}, "unauthorized/llm_override", "base_url is not one"},
		"address in plain": {policies.LLM{}, a2e.LLMConfig{
			ProviderName: "first", ProviderCredentials: object{"api_key": callersOwn}, ProviderConfig: object{"base_url": "http://gateway.example.org/llm/v1"},
		}, wall.Model{}, "unauthorized/llm_override", "base_url is not one"},
		"operator's key elsewhere": {policies.LLM{}, a2e.LLMConfig{
			ProviderName: "first", ProviderConfig: object{"base_url": "https://gateway.example.org/llm/v1"},
		}, wall.Model{}, "unauthorized/llm_override", "the operator's credential goes to the operator's address alone"},
	} {
		t.Run(name, func(t *testing.T) {
			ask := askFor(tt.wish)
			ask.Override = &tt.override
			g, err := threeProviders(t, all).Grant(ask)
			if tt.code != "" {
				if g != nil || code(err) != tt.code || !strings.Contains(err.Error(), tt.message) {
					t.Errorf("got %s: %v", code(err), err)
				}
				if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, callersOwn) {
					t.Errorf("the caller's key is in the error: %s", text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var l wall.Lease
			g.Lease(&l)
			if diff := cmp.Diff(&tt.want, l.Model); diff != "" {
				t.Error(diff)
			}
			g.Revoke()
		})
	}
}

// An override that names nobody the operator approves of is refused by whatever skill.
func TestOverrideOfASkillWithoutAModel(t *testing.T) {
	b := threeProviders(t, keys{})
	for provider, want := range map[string]string{"evil": "unauthorized/llm_override", "first": "<nil>"} {
		g, err := b.Grant(service.Ask{Skill: &skills.Skill{}, Override: &a2e.LLMConfig{ProviderName: provider}})
		if g != nil || code(err) != want {
			t.Errorf("%s: %v, %v", provider, g, err)
		}
	}
}

func TestTheCallersKeyIsUsedForItsCallAlone(t *testing.T) {
	r := newRig(t, llm.OpenAI, answerWith(chatAnswer))
	ask := askFor(policies.LLM{})
	ask.Override = &a2e.LLMConfig{ProviderName: "main", ProviderCredentials: object{"api_key": callersOwn}}
	_, c := r.grant(ask)
	_, other := r.grant(askFor(policies.LLM{}))
	for i, client := range []*http.Client{c, other} {
		if got := r.do(client, post(t, "/v1/chat/completions", chatBody)); got.status != http.StatusOK {
			t.Fatalf("got %+v", got)
		}
		if got, want := r.requests()[i].header.Get("Authorization"), "Bearer "+[]string{callersOwn, realKey}[i]; got != want {
			t.Errorf("request %d had %s", i, got)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for want, o := range map[string]Options{
		"no place to find credentials in": {},
		`provider "A": name`:              {Credentials: keys{}, Providers: []llm.Provider{{Name: "A", Kind: llm.OpenAI, Credential: "env:A"}}},
		"base_urls: expected an address":  {Credentials: keys{}, BaseURLs: []string{"x"}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

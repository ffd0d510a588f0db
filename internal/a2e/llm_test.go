package a2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLLMConfigTellsNoSecret(t *testing.T) {
	c := LLMConfig{
		ProviderName: "openai", ProviderCredentials: map[string]any{"api_key": "sk-hush"},
		ProviderConfig: map[string]any{"model": "m", "headers": map[string]any{"authorization": "sk-hush"}},
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "llm", c, "ptr", &c)
	js, err := json.Marshal(map[string]any{"v": c, "p": &c})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		log.String(), string(js), c.String(), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%v %+v %#v", &c, struct{ C LLMConfig }{c}, &c),
	} {
		if strings.Contains(shown, "hush") || !strings.Contains(shown, "openai") {
			t.Errorf("shown as %s", shown)
		}
	}
	if want := `{"provider_name":"openai","provider_credentials":{},"provider_config":{"model":"m"},"is_default":false}`; !strings.Contains(string(js), want) {
		t.Errorf("JSON = %s, want %s", js, want)
	}
	if c.ProviderCredentials["api_key"] != "sk-hush" {
		t.Error("the config itself was changed")
	}
}

func TestLLMConfigUnmarshal(t *testing.T) {
	for in, want := range map[string]map[string]any{`false`: nil, `null`: nil, `{}`: {}, `{"model":"m"}`: {"model": "m"}} {
		var c LLMConfig
		if err := json.Unmarshal([]byte(`{"provider_name":"p","provider_config":`+in+`}`), &c); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if diff := cmp.Diff(want, c.ProviderConfig); diff != "" || c.ProviderName != "p" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
	var c LLMConfig
	if err := json.Unmarshal([]byte(`{"provider_config":true}`), &c); err == nil {
		t.Error("provider_config true is accepted")
	}
}

func TestDigest(t *testing.T) {
	parse := func(line string) *CallRequest {
		t.Helper()
		m, err := Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		return m.(*CallRequest)
	}
	base := call(`"ts":1,"arguments":{"a":1,"b":{"c":2,"d":3}},"llm_override":{"provider_name":"p","provider_credentials":{"k":"1"},"provider_config":{"base_url":"u"}}`)
	digest := parse(base).Digest()
	if len(digest) != 64 {
		t.Fatalf("digest = %q", digest)
	}
	for name, tt := range map[string]struct {
		from, to string
		same     bool
	}{
		"ts":          {`"ts":1`, `"ts":2`, true},
		"key order":   {`"c":2,"d":3`, `"d":3,"c":2`, true},
		"credentials": {`"k":"1"`, `"k":"2"`, true},
		"version key": {`"ts":1`, `"a2e":"1.0"`, true},
		"config":      {`"base_url":"u"`, `"base_url":"v"`, false},
		"provider":    {`"provider_name":"p"`, `"provider_name":"q"`, false},
		"argument":    {`"c":2`, `"c":4`, false},
		"number form": {`"c":2`, `"c":2.0`, false},
		"id":          {`"id":"c1"`, `"id":"c2"`, false},
		"name":        {`"name":"x"`, `"name":"y"`, false},
		"timeout":     {`"ts":1`, `"timeout":60`, false},
		"streaming":   {`"ts":1`, `"streaming":true`, false},
		"metadata":    {`"ts":1`, `"metadata":{"a":1}`, false},
		"correlation": {`"ts":1`, `"correlation_id":"a"`, false},
	} {
		other := strings.Replace(base, tt.from, tt.to, 1)
		if other == base {
			t.Fatalf("%s: nothing replaced", name)
		}
		if got := parse(other).Digest() == digest; got != tt.same {
			t.Errorf("%s: same digest = %v, want %v", name, got, tt.same)
		}
	}
}

func TestPublicRequestHasNoCredentials(t *testing.T) {
	r := &CallRequest{Name: "x", LLMOverride: &LLMConfig{
		ProviderName: "p", ProviderCredentials: map[string]any{"k": "1"}, ProviderConfig: map[string]any{"model": "m", "base_url": "u"},
	}}
	want := &LLMConfig{ProviderName: "p", ProviderCredentials: map[string]any{}, ProviderConfig: map[string]any{"model": "m"}}
	if diff := cmp.Diff(want, r.Public().LLMOverride); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(r.LLMOverride.ProviderCredentials) != 1 || len(r.LLMOverride.ProviderConfig) != 2 {
		t.Error("the request itself was changed")
	}
	if (&CallRequest{}).Public().LLMOverride != nil {
		t.Error("an override was made up")
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/config"
)

// Every reference is asked for, and no value is kept.
func TestLookup(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("HOTCELL_TEST_TOKEN", "canary")
	cfg := config.Default(true, "", "")
	cfg.DataDir = t.TempDir()
	if got := lookup(cfg); len(got) != 1 || got[0].Why == "" || !got[0].Optional {
		t.Errorf("the default: %+v", got)
	}
	cfg.LLM.Providers[0].Credential = "env:HOTCELL_TEST_TOKEN"
	cfg.Secrets = config.Secrets{"A": "env:HOTCELL_TEST_TOKEN", "B": "stored:b"}
	cfg.Tools.MCP = map[string]config.MCPServer{"web": {Headers: map[string]string{"Authorization": "env:HOTCELL_TEST_NONE"}}}
	var text []string
	for _, r := range lookup(cfg) {
		text = append(text, r.For+"="+r.Why)
		if r.Optional {
			t.Errorf("%s is optional", r.For)
		}
	}
	got := strings.Join(text, "\n")
	for _, want := range []string{"provider openai=\n", "secret A=\n", "secret B=stored:b: there is no such secret", "tools.mcp.web Authorization=env:HOTCELL_TEST_NONE: "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "canary") {
		t.Errorf("a value is shown:\n%s", got)
	}
}

package main

import (
	"os"
	"strings"
	"testing"
)

// What a skill is granted outside of its cell is explained, and so is why it would be refused; no value is shown.
func TestExplainTellsWhatIsGranted(t *testing.T) {
	b := own(newBench(t, succeed(nil, "")))
	writeSkill(t, "asker", "llm: {model: small}\nmax_turns: 7\ntools: [time]\nsecrets: [TOKEN]\nnetwork: {allow: [api.example.org:443, other.example.org:443]}\n")
	const file = "llm: {providers: [{name: fake, kind: openai, base_url: 'https://models.example.org/v1', credential: 'env:HOTCELL_TEST_KEY', models: [small], prices: [{models: ['*'], input: 1, output: 1}], limits: {tokens: 5000, cost: 0.5}}]}\n" +
		"secrets: {TOKEN: 'env:HOTCELL_TEST_TOKEN'}\npolicy: {network: {allow: [api.example.org:443]}}\n"
	if err := os.WriteFile("hotcell.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	explain := func(more ...string) string {
		b.out.Reset()
		if code := b.run(append([]string{"policy", "explain", "asker"}, more...)...); code != exitOK {
			t.Errorf("exit %d: %s", code, b.err.String())
		}
		return b.out.String()
	}
	if got := explain(); !strings.Contains(got, "model    refused: ") || !strings.Contains(got, "HOTCELL_TEST_KEY") || !strings.Contains(got, "secrets  refused: ") ||
		!strings.Contains(b.err.String(), "HOTCELL_TEST_TOKEN") {
		t.Errorf("without values:\n%s%s", got, b.err.String())
	}
	t.Setenv("HOTCELL_TEST_KEY", "sk-canary-0123456789")
	t.Setenv("HOTCELL_TEST_TOKEN", "canary-0123456789")
	for _, got := range []string{explain(), explain("--json")} {
		if strings.Contains(got, "canary") {
			t.Errorf("a value is shown:\n%s", got)
		}
	}
	got := explain()
	for _, want := range []string{"model    small of fake", "secrets  TOKEN", "budget   a call: 7 requests, 5000 tokens, 64 MiB, cost 0.5; 4 at once", "tools    time\n", "network  api.example.org:443 other.example.org:443 by skill  api.example.org:443 by operator"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// What the operator keeps from a skill is refused by its setting, and what others may have is not.
func TestExplainTellsWhatIsKeptFromASkill(t *testing.T) {
	b := own(newBench(t, succeed(nil, "")))
	writeSkill(t, "asker", "llm: {}\ntools: ['mcp:crm/find']\nsecrets: [TOKEN]\nwrites: true\n")
	t.Setenv("HOTCELL_TEST_TOKEN", "canary-0123456789")
	explain := func(skills, secrets string, more ...string) string {
		file := "llm: {providers: [{name: costly, kind: openai-compatible, base_url: 'http://127.0.0.1:1/v1', skills: [" + skills + "]}, " +
			"{name: cheap, kind: openai-compatible, base_url: 'http://127.0.0.1:1/v1', model: small, skills: [" + skills + ", spare]}]}\n" +
			"secrets: {TOKEN: 'env:HOTCELL_TEST_TOKEN'}\npolicy: {secrets: [" + secrets + "]}\n" +
			"tools: {mcp: {crm: {command: [/nonexistent], skills: [" + skills + "]}}}\n"
		if err := os.WriteFile("hotcell.yaml", []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		b.out.Reset()
		if code := b.run(append([]string{"policy", "explain", "asker"}, more...)...); code != exitOK {
			t.Errorf("exit %d: %s", code, b.err.String())
		}
		return b.out.String()
	}
	for _, tt := range []struct {
		got  string
		want []string
	}{
		{explain("ask*", "asker:TOKEN"), []string{"model    a model of the skill's choice of costly", "secrets  TOKEN\n", "tools    mcp:crm/find\n"}},
		{explain("other", "other:TOKEN"), []string{
			"model    refused: the skill needs a model and no provider is available (costly: it is not for skill asker; ",
			`secrets  refused: skill "asker": it may not have the secret TOKEN: policy.secrets of the configuration`, "the operator can add asker:TOKEN there",
			`tools    refused: skill "asker" may not use "mcp:crm/find": tools.mcp.crm.skills of the configuration`,
		}},
		{explain("other", "other:TOKEN", "--json"), []string{`"tools_refused": "refused: skill`, "policy.secrets", "no provider is available"}},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.got, want) {
				t.Errorf("no %q in\n%s", want, tt.got)
			}
		}
	}
}

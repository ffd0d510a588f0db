package config

import (
	"slices"
	"strings"
	"testing"
)

func TestWhichSkillsIsChecked(t *testing.T) {
	const provider = "llm:\n  providers:\n    - name: a\n      kind: openai\n      credential: \"env:A\"\n      skills: "
	const server = "tools:\n  mcp:\n    x:\n      command: [a]\n      skills: "
	const names, pair = "expected names of skills, such as [report-*], where * stands for any text, or custom:NAME or custom:PRINCIPAL/NAME for custom skills, not ", "expected SKILL:NAME, such as deploy:GITHUB_TOKEN"
	for name, tt := range map[string]struct{ file, want string }{
		"provider":         {provider + "[Report]", "hotcell.yaml:6:15: llm.providers[0].skills: " + names + `"Report"`},
		"no list":          {provider + "report", "hotcell.yaml:6:15: llm.providers[0].skills: expected a list, not text"},
		"nothing":          {provider, "llm.providers[0].skills: expected a list, not nothing"},
		"an empty one":     {provider + "['']", "llm.providers[0].skills: an entry is empty"},
		"too long":         {provider + "[" + strings.Repeat("a", 65) + "]", "llm.providers[0].skills: " + names},
		"server":           {server + "[a/b]", "hotcell.yaml:5:15: tools.mcp.x.skills: " + names + `"a/b"`},
		"no principal":     {server + "[\"custom:a b/x\"]", "tools.mcp.x.skills: " + names + `"custom:a b/x"`},
		"another source":   {server + "[\"core:x\"]", "tools.mcp.x.skills: " + names + `"core:x"`},
		"secrets":          {"policy: {secrets: [TOKEN]}", "hotcell.yaml:1:19: policy.secrets[0]: " + pair},
		"second":           {"policy: {secrets: ['*:*', 'a:']}", "hotcell.yaml:1:19: policy.secrets[1]: " + pair},
		"no skill":         {"policy: {secrets: [':TOKEN']}", "policy.secrets[0]: " + pair},
		"no such skill":    {"policy: {secrets: ['A:TOKEN']}", "policy.secrets[0]: " + pair},
		"no such name":     {"policy: {secrets: ['a:b/c']}", "policy.secrets[0]: " + pair},
		"two colons":       {"policy: {secrets: ['a:b:c']}", "policy.secrets[0]: " + pair},
		"a mapping":        {"policy: {secrets: {a: b}}", "policy.secrets: expected a list, not a mapping"},
		"secrets, nothing": {"policy: {secrets: }", "policy.secrets: expected a list, not nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(host{files: map[string]string{"hotcell.yaml": tt.file}}.options())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestWhichSkillsIsRead(t *testing.T) {
	for text, want := range map[string][]string{
		"[]": {}, "[deploy:GITHUB_TOKEN]": {"deploy:GITHUB_TOKEN"}, "['*:*']": {"*:*"}, "['a-*:*_KEY', b:C]": {"a-*:*_KEY", "b:C"},
		"['custom:*:*', 'custom:group:team/deploy:TOKEN']":    {"custom:*:*", "custom:group:team/deploy:TOKEN"},
		"\n    - deploy:GITHUB_TOKEN\n    - \"report-*:*\"\n": {"deploy:GITHUB_TOKEN", "report-*:*"},
	} {
		c, _, err := Load(host{files: map[string]string{"hotcell.yaml": "policy:\n  secrets: " + text}}.options())
		if err != nil || c.Policy.Secrets == nil || !slices.Equal(c.Policy.Secrets, want) {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
	c, _, err := Load(host{env: map[string]string{"HOTCELL__POLICY__SECRETS": "a:B, c:*"}}.options())
	if err != nil || !slices.Equal(c.Policy.Secrets, []string{"a:B", "c:*"}) {
		t.Errorf("%+v, %v", c, err)
	}
	// no skill at all is something else than nothing said
	const file = "llm: {providers: [{name: a, kind: openai, credential: 'env:A', skills: []}, {name: b, kind: openai, credential: 'env:A'}]}\n" +
		"tools: {mcp: {x: {command: [a], skills: []}, y: {command: [a], skills: [a, b-*, 'custom:oidc:ann@example.org/c']}}}\n"
	c, _, err = Load(host{files: map[string]string{"hotcell.yaml": file}}.options())
	if err != nil {
		t.Fatal(err)
	}
	if p := c.LLM.Providers; p[0].Skills == nil || len(p[0].Skills) != 0 || p[1].Skills != nil {
		t.Errorf("providers %+v", p)
	}
	if m := c.Tools.MCP; m["x"].Skills == nil || len(m["x"].Skills) != 0 || !slices.Equal(m["y"].Skills, []string{"a", "b-*", "custom:oidc:ann@example.org/c"}) {
		t.Errorf("servers %+v", m)
	}
}

func TestPolicyCustomCodeNamesPrincipals(t *testing.T) {
	for _, good := range []string{"alice", "group:team", "*", "group:*", "oidc:*@example.org", "uid:1000"} {
		if why := checkPrincipals([]string{good}); why != "" {
			t.Errorf("%s: %s", good, why)
		}
	}
	for _, bad := range []string{"", "group:", "a b", "-a", strings.Repeat("a", 129), "é"} {
		if checkPrincipals([]string{"alice", bad}) == "" {
			t.Errorf("%q passes", bad)
		}
	}
}

package config

import (
	"bytes"
	"strings"
	"testing"
)

const secret = "sk-live-0123456789abcdef"

func TestEntriesHaveTheirPositions(t *testing.T) {
	const before = "llm:\n  providers:\n    - {name: a, kind: openai, credential: \"env:A\"}\n"
	for name, tt := range map[string]struct{ file, want string }{
		"unknown key": {before + "    - nmae: b", "hotcell.yaml:4:7: llm.providers[1].nmae: unknown key, did you mean name?"},
		"nothing like it": {before + "    - {name: b, colour: red}",
			"hotcell.yaml:4:17: llm.providers[1].colour: unknown key, expected one of name, kind, base_url"},
		"within": {before + "      limits: {request: 1}", "hotcell.yaml:4:"},
		"limit":  {"llm: {providers: [{name: a, limits: {request: 1}}]}", "llm.providers[0].limits.request: unknown key, did you mean requests?"},
		"price": {"llm: {providers: [{name: a, prices: [{models: [x], input: cheap}]}]}",
			"hotcell.yaml:1:59: llm.providers[0].prices[0].input: expected an amount such as 2 or 0.15"},
		"not a list":   {"llm: {providers: {}}", "hotcell.yaml:1:18: llm.providers: expected a list of mappings, not a mapping"},
		"not mappings": {"llm: {providers: [openai]}", "hotcell.yaml:1:19: llm.providers[0]: expected a mapping, not text"},
		"no name":      {"llm:\n  providers:\n    - {kind: openai, credential: \"env:A\"}", "hotcell.yaml:3:7: llm.providers[0].name: expected a name"},
		"bad kind":     {before + "    - {name: b, kind: bard}", "hotcell.yaml:4:23: llm.providers[1].kind: expected one of openai, anthropic, openai-compatible"},
		"twice":        {before + "    - {name: a, kind: openai, credential: \"env:A\"}", "hotcell.yaml:4:14: llm.providers[1].name: another provider has this name"},
		"no key":       {"llm: {providers: [{name: a, kind: anthropic}]}", "llm.providers[0].credential: expected a reference such as env:NAME"},
		"no address":   {"llm: {providers: [{name: a, kind: openai-compatible}]}", "llm.providers[0].base_url: expected the address of the provider"},
		"plain http": {"llm: {providers: [{name: a, kind: openai, credential: 'env:A', base_url: 'http://llm.example.org/v1'}]}",
			"llm.providers[0].base_url: expected https"},
		"no model":      {"llm: {providers: [{name: a, kind: openai, credential: 'env:A', models: []}]}", "models: expected at least one model"},
		"other model":   {"llm: {providers: [{name: a, kind: openai, credential: 'env:A', models: [b], model: c}]}", "llm.providers[0].model: it is not among the provider's models"},
		"cost":          {"llm: {providers: [{name: a, kind: openai, credential: 'env:A', limits: {cost: 1}}]}", "limits.cost: prices are missing"},
		"base_urls":     {"llm: {base_urls: [gateway]}", "hotcell.yaml:1:18: llm.base_urls: expected an address such as"},
		"inject":        {"policy: {llm: {inject: [env]}}", `policy.llm.inject: expected broker or file, not "env"`},
		"network":       {"policy: {network: allow}", "hotcell.yaml:1:19: policy.network: expected none or {allow: [HOST:PORT, ...]}, not text"},
		"network's key": {"policy: {network: {alow: []}}", "hotcell.yaml:1:20: policy.network.alow: unknown key, did you mean allow?"},
		"host":          {"policy: {network: {allow: [example.org]}}", `policy.network: "example.org" is not a destination: it has no port: expected HOST:PORT like api.example.org:443`},
		"star":          {"policy: {network: {allow: ['a.*.org:1']}}", `policy.network: "a.*.org:1" is not a destination`},
		"secret's name": {"secrets: {a.b: 'env:A'}", "hotcell.yaml:1:11: secrets: expected a plain name as key"},
		"both":          {"tools: {mcp: {x: {command: [a], url: 'https://h/'}}}", "hotcell.yaml:1:18: tools.mcp.x: expected either command or url"},
		"server over http": {"tools: {mcp: {x: {url: 'http://mcp.example.org/', headers: {A: 'env:A'}}}}",
			"hotcell.yaml:1:24: tools.mcp.x.url: expected https: headers could be read on their way; http is for loopback addresses and servers without headers"},
		"server's key": {"tools: {mcp: {x: {comand: [a]}}}", "hotcell.yaml:1:19: tools.mcp.x.comand: unknown key, did you mean command?"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(host{files: map[string]string{"hotcell.yaml": tt.file}}.options())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// A secret that stands where a reference belongs is refused, and the refusal doesn't repeat it.
func TestALiteralSecretIsRefusedWithoutEcho(t *testing.T) {
	for name, tt := range map[string]struct{ file, where string }{
		"credential":      {"llm: {providers: [{name: a, kind: openai, credential: SECRET}]}", "hotcell.yaml:1:55: llm.providers[0].credential: "},
		"looks like one":  {"llm: {providers: [{name: a, kind: openai, credential: 'env:SECRET'}]}", "llm.providers[0].credential: "},
		"secret":          {"secrets: {GITHUB: SECRET}", "hotcell.yaml:1:19: secrets.GITHUB: "},
		"relative":        {"secrets: {GITHUB: 'file:SECRET'}", "secrets.GITHUB: "},
		"header":          {"tools: {mcp: {x: {url: 'https://h/', headers: {Authorization: Bearer SECRET}}}}", "tools.mcp.x.headers.Authorization: "},
		"environment":     {"tools: {mcp: {x: {command: [a], env: {TOKEN: SECRET}}}}", "tools.mcp.x.env.TOKEN: "},
		"in the address":  {"llm: {providers: [{name: a, kind: openai, credential: 'env:A', base_url: 'https://u:SECRET@h/v1'}]}", "llm.providers[0].base_url: "},
		"in a query":      {"llm: {providers: [{name: a, kind: openai, credential: 'env:A', base_url: 'https://h/v1?key=SECRET'}]}", "llm.providers[0].base_url: "},
		"as the name":     {"llm: {providers: [{name: SECRET_, kind: openai, credential: 'env:A'}]}", "llm.providers[0].name: "},
		"broken":          {"llm: {providers: [{credential: 'env:A', name: \"x\x07SECRET\"}]}", "llm.providers[0].name: "},
		"as a wrong kind": {"llm: {providers: [{credential: [SECRET]}]}", "llm.providers[0].credential: expected text, not a list"},
	} {
		t.Run(name, func(t *testing.T) {
			file := strings.ReplaceAll(tt.file, "SECRET", secret)
			_, _, err := Load(host{files: map[string]string{"hotcell.yaml": file}}.options())
			if err == nil || !strings.Contains(err.Error(), tt.where) {
				t.Errorf("got %v, want %q", err, tt.where)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the secret is in the error: %v", err)
			}
		})
	}
}

func TestVariablesCannotSayLists(t *testing.T) {
	for variable, key := range map[string]string{
		"HOTCELL__LLM__PROVIDERS":        "llm.providers",
		"HOTCELL__LLM__PROVIDERS__NAME":  "llm.providers.name",
		"HOTCELL__SECRETS__GITHUB_TOKEN": "secrets.github_token",
		"HOTCELL__TOOLS__MCP__X__URL":    "tools.mcp.x.url",
	} {
		want := variable + ": " + key + ": set it in the configuration file: it has more to say than one value"
		if _, _, err := Load(host{env: map[string]string{variable: secret}}.options()); text(err) != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestNetworkFromAVariable(t *testing.T) {
	for value, want := range map[string]string{"none": "none", "a.example:443, *.b.example:1": `{allow: ["a.example:443", "*.b.example:1"]}`} {
		c, _, err := Load(host{env: map[string]string{"HOTCELL__POLICY__NETWORK": value}}.options())
		if err != nil || showNetwork(c.Policy.Network) != want {
			t.Errorf("%s: %+v, %v", value, c, err)
		}
	}
}

func TestShownEntriesSayWhereTheyComeFrom(t *testing.T) {
	c, src, err := Load(host{files: map[string]string{"hotcell.yaml": fullFile}, env: map[string]string{"HOME": "/r"}}.options())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Show(&out, c, src); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  GITHUB_TOKEN: \"env:GITHUB_TOKEN\"  # file hotcell.yaml:", `credential: "stored:claude"`,
		"    web: {url: https://mcp.example.org/mcp, headers: {Authorization: \"stored:web\"}}  # file hotcell.yaml:",
		"  providers: [{name: claude, kind: anthropic, ", "limits: {requests: 20, tokens: 200000, bytes: 4Mi, cost: 0.5, concurrency: 2}",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

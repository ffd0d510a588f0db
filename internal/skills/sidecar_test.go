package skills

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/policies"
)

const fullSidecar = `version: 1.2.0
triggers: [say hello, greet]
when_to_use: When somebody arrives
argument_hint: Give a name
category: social
tags: [greeting]
icon: wave
status: Created
run:
  image: python:3.12-slim
  command: [python3, scripts/main.py, --greet, "hello world"]
  prestart: true
input_schema:
  type: object
  required: [who]
  properties:
    who: {type: string}
    times: {type: integer, maximum: 0x10}
output_schema:
  type: object
arguments: {times: 2}
timeout_seconds: 90
max_turns: 4
limits: {memory: 512Mi, cpu: "1.5", pids: 32, files: 128, workspace: 16Mi, out: 1048576, output: 1Mi}
network: {allow: [api.example.org:443]}
llm: {provider: openai, model: small, inject: file}
tools: [read_url, {name: search}]
toolkits: [web]
writes: true
includes: []
secrets: [TOKEN]
examples: ["Say hello to Ada", {arguments: {who: Ada}}]
input_modes: [application/json]
output_modes: [text/plain]
metadata: {team: a, level: 3}
`

func TestSidecarFull(t *testing.T) {
	sk := load(hello(fullSidecar), "hello", reading{}).skill
	if diff := cmp.Diff([]string{}, texts(sk.Findings)); diff != "" {
		t.Fatalf("findings (-want +got):\n%s", diff)
	}
	want := Run{
		Image: "python:3.12-slim", Kind: kindPython, Prestart: true,
		Command: []string{"python3", "/skill/scripts/main.py", "--greet", "hello world"},
	}
	if diff := cmp.Diff(want, sk.Run); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	wantPolicy := policies.Policy{
		Limits: policies.Limits{
			Memory: 512 << 20, CPU: 1500, PIDs: 32, Files: 128, Workspace: 16 << 20, Out: 1 << 20, Output: 1 << 20,
		},
		Timeout: 90 * time.Second,
		Network: policies.Network{Allow: []string{"api.example.org:443"}},
		Writes:  true,
		LLM:     &policies.LLM{Provider: "openai", Model: "small", Inject: policies.InjectFile},
		Secrets: []string{"TOKEN"},
	}
	if diff := cmp.Diff(wantPolicy, sk.Policy); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	if got, want := string(sk.InputSchema),
		`{"type":"object","required":["who"],"properties":{"who":{"type":"string"},"times":{"type":"integer","maximum":16}}}`; got != want {
		t.Errorf("input schema\n got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff(map[string]any{"times": json.Number("2")}, sk.ArgDefaults); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"team": "a", "level": json.Number("3")}, sk.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if sk.Status != Created || sk.MaxTurns != 4 || sk.Version != "1.2.0" || sk.BlockedWhy != "" {
		t.Errorf("got status %s, max_turns %d, version %s, blocked %q", sk.Status, sk.MaxTurns, sk.Version, sk.BlockedWhy)
	}
}

func TestSidecarFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml string
		want []string
	}{
		"empty":        {"", []string{}},
		"comment only": {"# nothing\n", []string{}},
		"null values":  {"tags:\nrun:\n", []string{}},
		"typo": {"version: 1.0.0\ntiggers: [a]\n", []string{
			`skill.yaml:2:1: error: unknown key "tiggers"; did you mean "triggers"? [UNKNOWN_KEY]`}},
		"no idea": {"zzz: 1\n", []string{`skill.yaml:1:1: error: unknown key "zzz" [UNKNOWN_KEY]`}},
		"nested typo": {"limits:\n  memory: 1Gi\n  cpus: 2\n", []string{
			`skill.yaml:3:3: error: unknown key "cpus"; did you mean "cpu"? [UNKNOWN_KEY]`}},
		"run typo": {"run:\n  comand: [ls]\n", []string{
			`skill.yaml:2:3: error: unknown key "comand"; did you mean "command"? [UNKNOWN_KEY]`}},
		"types": {"version: 1.2\ntags: coding\nwrites: 1\ntimeout_seconds: soon\nmetadata: []\nrun: x\ninput_schema: []\n", []string{
			`skill.yaml:1:10: error: version: expected a string, got a number: write "1.2" [WRONG_TYPE]`,
			`skill.yaml:2:7: error: tags: expected a list of strings, got a string [WRONG_TYPE]`,
			`skill.yaml:3:9: error: writes: expected true or false, got a number [WRONG_TYPE]`,
			`skill.yaml:4:18: error: timeout_seconds: expected a whole number, got a string [WRONG_TYPE]`,
			`skill.yaml:5:11: error: metadata: expected a mapping, got a list [WRONG_TYPE]`,
			`skill.yaml:6:6: error: run: expected a mapping, got a string [WRONG_TYPE]`,
			`skill.yaml:7:15: error: input_schema: expected a JSON Schema (a mapping), got a list [WRONG_TYPE]`}},
		"list entry": {"tags: [a, 2, '']\n", []string{
			`skill.yaml:1:11: error: tags[1]: expected a string, got a number: write "2" [WRONG_TYPE]`,
			`skill.yaml:1:14: error: tags[2]: must not be empty [INVALID_VALUE]`}},
		"ranges": {"timeout_seconds: 0\nmax_turns: 99999\nlimits: {pids: -1}\n", []string{
			`skill.yaml:1:18: error: timeout_seconds: expected a whole number from 1 to 600 [INVALID_VALUE]`,
			`skill.yaml:2:12: error: max_turns: expected a whole number from 1 to 1000 [INVALID_VALUE]`,
			`skill.yaml:3:16: error: limits.pids: expected a whole number from 16 to 4096 [INVALID_VALUE]`}},

		"below the floors": {"limits: {memory: 10, pids: 3, cpu: 1m, files: 31, workspace: 1Ki, out: 1Ki, output: 1Ki}\n", []string{
			`skill.yaml:1:18: error: limits.memory: 10 is too little, expected at least 16Mi [INVALID_VALUE]`,
			`skill.yaml:1:28: error: limits.pids: 3 is too little, expected at least 16 [INVALID_VALUE]`,
			`skill.yaml:1:36: error: limits.cpu: 1m is too little, expected at least 10m [INVALID_VALUE]`,
			`skill.yaml:1:47: error: limits.files: 31 is too little, expected at least 32 [INVALID_VALUE]`,
			`skill.yaml:1:62: error: limits.workspace: 1Ki is too little, expected at least 1Mi [INVALID_VALUE]`,
			`skill.yaml:1:72: error: limits.out: 1Ki is too little, expected at least 1Mi [INVALID_VALUE]`,
			`skill.yaml:1:85: error: limits.output: 1Ki is too little, expected at least 4Ki [INVALID_VALUE]`}},
		"too little and too much": {"timeout_seconds: 9999\nlimits: {memory: 10}\n", []string{
			`skill.yaml:1:18: warning: timeout_seconds: 9999s is cut to 600s, the most that hotcell allows [LIMIT_CUT]`,
			`skill.yaml:2:18: error: limits.memory: 10 is too little, expected at least 16Mi [INVALID_VALUE]`}},
		"sizes that contradict": {"limits:\n  memory: 64Mi\n  workspace: 60Mi\n  out: 8Mi\n", []string{
			`skill.yaml:3:14: error: limits.workspace: 60Mi and limits.out 8Mi do not fit into limits.memory 64Mi, expected at most 26Mi together: ask for less, or for more memory [INVALID_VALUE]`}},
		"one size too large for the default": {"limits: {out: 200Mi}\n", []string{
			`skill.yaml:1:15: error: limits.out: 200Mi does not fit into limits.memory 256Mi, the default, expected at most 103Mi: ask for less, or for more memory [INVALID_VALUE]`}},
		"above what there is": {"timeout_seconds: 9999\nlimits: {cpu: 99, memory: 900Gi, pids: 5000, files: 20000, workspace: 3Gi, output: 1Gi}\n", []string{
			`skill.yaml:1:18: warning: timeout_seconds: 9999s is cut to 600s, the most that hotcell allows [LIMIT_CUT]`,
			`skill.yaml:2:15: warning: limits.cpu: 99 is cut to 64, the most that hotcell allows [LIMIT_CUT]`,
			`skill.yaml:2:27: warning: limits.memory: 900Gi is cut to 4Gi, the most that hotcell allows [LIMIT_CUT]`,
			`skill.yaml:2:40: warning: limits.pids: 5000 is cut to 4096, the most that hotcell allows [LIMIT_CUT]`,
			`skill.yaml:2:53: warning: limits.files: 20000 is cut to 16384, the most that hotcell allows [LIMIT_CUT]`,
			`skill.yaml:2:71: warning: limits.workspace: 3Gi is cut to 2023Mi, for which the memory has room [LIMIT_CUT]`,
			`skill.yaml:2:84: warning: limits.output: 1Gi is cut to 64Mi, the most that hotcell allows [LIMIT_CUT]`}},
		"frames that start ahead": {"run: {image: 'me/x:1', frames: true, prestart: true}\n", []string{
			`skill.yaml:1:48: warning: run.prestart says nothing beside run.frames: the image's own program starts ahead in any case [INVALID_VALUE]`}},
		"no whole number at all": {"timeout_seconds: 99999999999\n", []string{
			`skill.yaml:1:18: error: timeout_seconds: expected a whole number from 1 to 600 [INVALID_VALUE]`}},
		"status": {"status: published\n", []string{
			`skill.yaml:1:9: error: status: expected Created, Blocked, Published or Archived, got "published"; did you mean "Published"? [INVALID_VALUE]`}},
		"arguments": {"arguments: 3\n", []string{
			`skill.yaml:1:12: error: arguments: expected a list of names or a mapping of defaults, got a number [WRONG_TYPE]`}},
		"network": {"network: all\n", []string{
			`skill.yaml:1:10: error: network: expected none or {allow: [HOST:PORT, ...]}, got "all" [INVALID_VALUE]`}},
		"no network allowed": {"network: {allow: []}\n", []string{}},
		"grants":             {"network: {allow: ['*.a.example:443', '10.0.0.0/8:80']}\nllm: {}\nsecrets: [TOKEN, b.c-d_e]\n", []string{}},
		"malformed grants": {"network: {allow: ['a.example', 'b.example:1', '']}\nllm: {provider: openai, inject: magic, key: x}\nsecrets: [../T]\n", []string{
			`skill.yaml:1:19: error: network.allow[0]: "a.example" is not a destination: it has no port: expected HOST:PORT like api.example.org:443, *.example.org:443 or 203.0.113.0/24:443 [INVALID_VALUE]`,
			`skill.yaml:1:47: error: network.allow[2]: must not be empty [INVALID_VALUE]`,
			`skill.yaml:2:33: error: llm.inject: expected broker or file, got "magic" [INVALID_VALUE]`,
			`skill.yaml:2:40: error: unknown key "key" [UNKNOWN_KEY]`,
			`skill.yaml:3:11: error: secrets[0]: expected a name of letters, digits, _, - and . such as API_TOKEN, not longer than 64 [INVALID_VALUE]`}},
		"examples": {"examples: [1, a]\n", []string{
			`skill.yaml:1:12: error: examples[0]: expected a string or a mapping, got a number [WRONG_TYPE]`}},
		"not a mapping": {"- a\n", []string{`skill.yaml:1:1: error: skill.yaml: expected a mapping, got a list [WRONG_TYPE]`}},
		"schema type": {"input_schema:\n  type: array\n", []string{
			`skill.yaml:2:9: error: input_schema.type: expected object, since arguments are always a JSON object [SCHEMA_INVALID]`}},
		"schema without type": {"output_schema: {title: x}\n", []string{
			`skill.yaml:1:16: warning: output_schema: a schema should say its type, such as type: object [SCHEMA_NO_TYPE]`}},
		"bad schema": {"input_schema:\n  type: object\n  properties:\n    code: {type: strin}\n", []string{
			`skill.yaml:4:18: error: input_schema: schema.properties.code.type: expected one of "array", "boolean", "integer", "null", "number", "object", "string" [SCHEMA_INVALID]`}},
		"duplicate": {"tags: [a]\nicon: b\ntags: [c]\n", []string{
			`skill.yaml:3:1: error: mapping key "tags" already defined at [1:1] [YAML_INVALID]`}},
		"alias": {"tags: &t [a]\ntriggers: *t\n", []string{
			`skill.yaml:1:7: error: anchors, aliases and merge keys (&, *, <<) are not allowed; write the value out [YAML_INVALID]`}},
	} {
		t.Run(name, func(t *testing.T) {
			sk := load(hello(tt.yaml), "hello", reading{}).skill
			if diff := cmp.Diff(tt.want, texts(sk.Findings)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			blocked := strings.Contains(strings.Join(tt.want, "\n"), ": error: ")
			if blocked != (sk.Status == Blocked) || blocked != (sk.BlockedWhy != "") {
				t.Errorf("got status %s because %q", sk.Status, sk.BlockedWhy)
			}
		})
	}
}

func TestUnitErrorsNameTheKey(t *testing.T) {
	sk := load(hello("limits:\n  memory: 256 bananas\n  cpu: fast\n"), "hello", reading{}).skill
	got := texts(sk.Findings)
	if len(got) != 2 {
		t.Fatalf("got %q", got)
	}
	mustContain(t, got[0], "skill.yaml:2:11: error: limits.memory: ")
	mustContain(t, got[1], "skill.yaml:3:8: error: limits.cpu: ")
}

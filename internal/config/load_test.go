package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/policies"
)

// host is a made-up machine.
type host struct {
	files map[string]string
	env   map[string]string
	uid   int
}

func (h host) options() Options {
	return Options{
		Getenv: func(k string) string { return h.env[k] },
		Environ: func() []string {
			var list []string
			for k, v := range h.env {
				list = append(list, k+"="+v)
			}
			return list
		},
		ReadFile: func(path string) ([]byte, error) {
			if s, ok := h.files[path]; ok {
				return []byte(s), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		},
		Geteuid: func() int { return h.uid },
	}
}

func TestDefaultsNeedNoFile(t *testing.T) {
	c, src, err := Load(host{}.options())
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Listen: "127.0.0.1:8765", Socket: "/run/hotcell/hotcell.sock", DataDir: "/var/lib/hotcell",
		Skills:     Skills{Dirs: []string{"skills"}, Bundled: true, Plugins: map[string]string{}},
		Sandbox:    Sandbox{Driver: "auto", AcceptUnenforced: []string{}},
		Kubernetes: Kubernetes{Namespace: "hotcell", NetworkPolicy: "unknown", Tenants: map[string]Tenant{}},
		Pool:       Pool{Max: 8, Idle: Age(5 * time.Minute), MaxAge: Age(10 * time.Minute)},
		Policy:     Policy{LLM: LLMPolicy{Inject: []string{"broker"}}, Secrets: []string{"*:*"}, Images: ImagePolicy{Registries: []string{"*"}, Digests: []string{"*"}, Pull: images.PullMissing}, Custom: CustomPolicy{Code: []string{}}},
		Images:     Images{Defaults: map[string]string{"python": "hotcell/python:3", "sh": "hotcell/python:3"}, Keep: 7 * Day, Auth: Logins{}},
		Store:      Store{Sync: "normal", Keep: Keep{Calls: 30 * Day, Events: 7 * Day, Artifacts: 7 * Day, Requests: true, Max: 10 << 30}},
		Audit:      Audit{Keep: 400 * Day, Max: 1 << 30},
		Tools:      Tools{MCP: map[string]MCPServer{}},
		A2E:        A2E{Errors: "resp", EmbedEvents: true, SessionIdle: Age(10 * time.Minute)},
		LLM: LLM{Providers: []llm.Provider{{
			Name: "openai", Kind: "openai", BaseURL: "https://api.openai.com/v1", Credential: "env:OPENAI_API_KEY",
			Models: []string{"*"}, Model: "gpt-4o-mini", Skills: []string{"*", "custom:*"},
		}}, BaseURLs: []string{}},
		Secrets: Secrets{},
		Hosts:   []string{},
		Auth:    Auth{Mode: "none", OIDC: OIDC{Principal: "sub", Groups: "groups", Admins: []string{}}},

		Approvals: Approvals{Expire: Day},
		Readiness: Readiness{Canary: Age(30 * time.Second)},
		Telemetry: Telemetry{OTLP: OTLP{Headers: map[string]string{}, Sample: 1}},
		Log:       Log{Format: "text", Level: "auto"},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if src.Path != "" || src.Origin("listen").Layer != LayerDefault {
		t.Errorf("source %+v", src)
	}
}

func TestUsersFolders(t *testing.T) {
	for name, tt := range map[string]struct {
		env          map[string]string
		data, socket string
		err          string
	}{
		"home and runtime folder": {
			map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/7"},
			"/home/u/.local/share/hotcell", "/run/user/7/hotcell.sock", "",
		},
		"home only": {
			map[string]string{"HOME": "/home/u"},
			"/home/u/.local/share/hotcell", "/home/u/.local/share/hotcell/hotcell.sock", "",
		},
		"tilde": {
			map[string]string{"HOME": "/home/u", "HOTCELL__DATA_DIR": "~/hc", "HOTCELL__SOCKET": "~/s"},
			"/home/u/hc", "/home/u/s", "",
		},
		"neither":       {nil, "", "", "data_dir: no default without HOME: set it"},
		"relative home": {map[string]string{"HOME": "x"}, "", "", "data_dir: no default without HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, err := Load(host{env: tt.env, uid: 1000}.options())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.DataDir != tt.data || c.Socket != tt.socket {
				t.Errorf("data %q socket %q", c.DataDir, c.Socket)
			}
		})
	}
}

const fullFile = `# all of it
listen: "[::1]:0"
hosts: [cells.example.org]
socket: /tmp/s
data_dir: /srv/hotcell
skills:
  dirs: [a, "~/b"]
  bundled: false
  plugins: {extra: ~/extra, more: more/skills}
sandbox: {driver: kubernetes, runtime: runsc, max_cells: 12000, max_memory: 4Gi, accept_unenforced: [seccomp, paths]}
kubernetes: {kubeconfig: /etc/kube, context: prod, namespace: cells, runner_image: "r.example/runner:1", network_policy: enforced, tenants: {acme: {namespace: acme-cells, principals: [alice, "group:acme-*"]}, beta: {namespace: beta}}}
pool: {max: 3, idle: 90s, max_age: 1h}
policy:
  limits:
    memory: 512Mi
    cpu: 1.5
    pids: 32
    files: 99
    workspace: 1048576
    out: 16Mi
    output: 1Mi
  network: {allow: ["api.example.org:443", "*.example.net:8443"]}
  llm: {inject: [broker, file]}
  secrets: [deploy:GITHUB_TOKEN, "report-*:*"]
  images:
    registries: ["ghcr.io", 'docker.io/hotcell/*']
    require_digest: true
    digests: ["sha256:abababababababababababababababababababababababababababababababab"]
    pull: never
  custom: {code: [alice, "group:team"]}
images:
  defaults:
    python: python@sha256:x
  lock: ~/pins.lock
  keep: 2d
  prune: true
  auth: {"registry.example:5000": "file:~/login", docker.io: env:HUB}
store:
  url: sqlite://~/j.db
  sync: full
  keep: {calls: 90d, events: 36h, artifacts: 0, requests: false, max: 1GiB}
audit: {key: "env:AUDIT_KEY", keep: 90d, max: 64Mi}
tools:
  mcp:
    notes: {command: [notes-server, --stdio], env: {TOKEN: "env:NOTES_TOKEN"}, tools: [find*], read_only: [find], timeout: 20s, skills: [minutes], recommends: [note-taking]}
    web: {url: "https://mcp.example.org/mcp", headers: {Authorization: "stored:web"}}
a2e: {errors: message, embed_events: false, session_idle: 90s}
a2a: {url: "https://cells.example:8443"}
llm:
  providers:
    - name: claude
      kind: anthropic
      credential: stored:claude
      models: [claude-*]
      model: claude-small
      prices:
        - {models: [claude-small], input: 0.25, output: 1.25}
        - {models: [claude-*], input: 3, output: 15}
      limits: {requests: 20, tokens: 200000, bytes: 4Mi, cost: 0.5, concurrency: 2}
      skills: [report-*]
    - {name: own, kind: openai-compatible, base_url: "http://127.0.0.1:11434/v1"}
  base_urls: ["https://gateway.example.org/v1"]
secrets:
  GITHUB_TOKEN: env:GITHUB_TOKEN
  tls: file:~/tls.pem
auth:
  mode: oidc
  oidc: {issuer: "https://login.example.org", audience: hotcell, principal: email, groups: roles, admins: [ops]}
quotas: {in_flight: 4, per_minute: 60, cpu: 2h, memory_seconds: 3600Gi}
approvals: {expire: 1h, delete: true}
admin: {listen: "127.0.0.1:8766"}
readiness: {canary: 1m}
telemetry: {otlp: {endpoint: "http://collector.example.org:4318", headers: {x-api-key: file:~/key}, insecure: true, sample: 0.25}}
log: {format: json, level: debug}
`

func TestEveryKeyOfAFile(t *testing.T) {
	h := host{files: map[string]string{"hotcell.yaml": fullFile}, env: map[string]string{"HOME": "/root"}}
	c, src, err := Load(h.options())
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Listen: "[::1]:0", Hosts: []string{"cells.example.org"}, Socket: "/tmp/s", DataDir: "/srv/hotcell",
		Skills:  Skills{Dirs: []string{"a", "/root/b"}, Plugins: map[string]string{"extra": "/root/extra", "more": "more/skills"}},
		Sandbox: Sandbox{Driver: "kubernetes", Runtime: "runsc", MaxCells: 12000, MaxMemory: 4 << 30, AcceptUnenforced: []string{"seccomp", "paths"}},
		Kubernetes: Kubernetes{
			Kubeconfig: "/etc/kube", Context: "prod", Namespace: "cells", RunnerImage: "r.example/runner:1", NetworkPolicy: "enforced",
			Tenants: map[string]Tenant{"acme": {Namespace: "acme-cells", Principals: []string{"alice", "group:acme-*"}}, "beta": {Namespace: "beta"}},
		},
		Pool: Pool{Max: 3, Idle: Age(90 * time.Second), MaxAge: Age(time.Hour)},
		Policy: Policy{
			Limits: policies.Limits{
				Memory: 512 << 20, CPU: 1500, PIDs: 32, Files: 99, Workspace: 1 << 20, Out: 16 << 20, Output: 1 << 20,
			},
			Network: policies.Network{Allow: []string{"api.example.org:443", "*.example.net:8443"}},
			LLM:     LLMPolicy{Inject: []string{"broker", "file"}},
			Secrets: []string{"deploy:GITHUB_TOKEN", "report-*:*"},
			Images: ImagePolicy{
				Registries: []string{"ghcr.io", "docker.io/hotcell/*"}, RequireDigest: true, Digests: []string{"sha256:" + strings.Repeat("ab", 32)}, Pull: images.PullNever,
			},
			Custom: CustomPolicy{Code: []string{"alice", "group:team"}},
		},
		Images: Images{Defaults: map[string]string{"python": "python@sha256:x", "sh": "hotcell/python:3"}, Lock: "/root/pins.lock", Keep: 2 * Day, Prune: true, Auth: Logins{"registry.example:5000": "file:/root/login", "docker.io": "env:HUB"}},
		Store: Store{
			URL: "sqlite:///root/j.db", Sync: "full", Keep: Keep{Calls: 90 * Day, Events: Day + Day/2, Max: 1 << 30},
		},
		Audit: Audit{Key: "env:AUDIT_KEY", Keep: 90 * Day, Max: 64 << 20},
		Tools: Tools{MCP: map[string]MCPServer{
			"notes": {
				Command: []string{"notes-server", "--stdio"}, Env: map[string]string{"TOKEN": "env:NOTES_TOKEN"},
				Tools: []string{"find*"}, ReadOnly: []string{"find"}, Timeout: Age(20 * time.Second),
				Skills: []string{"minutes"}, Recommends: []string{"note-taking"},
			},
			"web": {URL: "https://mcp.example.org/mcp", Headers: map[string]string{"Authorization": "stored:web"}},
		}},
		A2E: A2E{Errors: "message", SessionIdle: Age(90 * time.Second)},
		A2A: A2A{URL: "https://cells.example:8443"},
		LLM: LLM{Providers: []llm.Provider{
			{
				Name: "claude", Kind: llm.Anthropic, Credential: "stored:claude", Models: []string{"claude-*"}, Model: "claude-small",
				Prices: []llm.Price{
					{Models: []string{"claude-small"}, Input: 250_000, Output: 1_250_000},
					{Models: []string{"claude-*"}, Input: 3_000_000, Output: 15_000_000},
				},
				Limits: llm.Limits{Requests: 20, Tokens: 200_000, Bytes: 4 << 20, Cost: 500_000, Concurrency: 2},
				Skills: []string{"report-*"},
			},
			{Name: "own", Kind: llm.Compatible, BaseURL: "http://127.0.0.1:11434/v1"},
		}, BaseURLs: []string{"https://gateway.example.org/v1"}},
		Secrets: Secrets{"GITHUB_TOKEN": "env:GITHUB_TOKEN", "tls": "file:/root/tls.pem"},
		Auth: Auth{Mode: "oidc", OIDC: OIDC{
			Issuer: "https://login.example.org", Audience: "hotcell", Principal: "email", Groups: "roles", Admins: []string{"ops"},
		}},
		Quotas: Quotas{InFlight: 4, PerMinute: 60, CPU: Age(2 * time.Hour), Memory: 3600 << 30},

		Approvals: Approvals{Expire: Age(time.Hour), Delete: true},
		Admin:     Admin{Listen: "127.0.0.1:8766"},
		Readiness: Readiness{Canary: Age(time.Minute)},
		Telemetry: Telemetry{OTLP: OTLP{
			Endpoint: "http://collector.example.org:4318", Headers: map[string]string{"x-api-key": "file:/root/key"}, Insecure: true, Sample: 0.25,
		}},
		Log: Log{Format: "json", Level: "debug"},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	for _, f := range fields() {
		if _, ok := src.origins[f.key]; !ok && !f.isMap() {
			t.Errorf("%s is not in the file of this test", f.key)
		}
	}
	operator := policies.Policy{
		Limits: want.Policy.Limits, Runtime: "runsc", Network: want.Policy.Network,
		LLM: &policies.LLM{Permit: []string{"broker", "file"}},
	}
	if diff := cmp.Diff(operator, c.OperatorPolicy()); diff != "" {
		t.Error(diff)
	}
}

func TestPrecedence(t *testing.T) {
	h := host{
		files: map[string]string{"hotcell.yaml": "a2e: {errors: message}\nsandbox:\n  max_cells: 1\n  runtime: file\n" +
			"  driver: auto\nimages: {defaults: {sh: file/sh}}\n"},
		env: map[string]string{
			"HOTCELL__SANDBOX__RUNTIME": "env", "HOTCELL__SANDBOX__DRIVER": "auto", "HOTCELL__LISTEN": "",
			"HOTCELL__IMAGES__DEFAULTS__PYTHON": "env/python", "HOTCELL__SKILLS__DIRS": "x, y",
			"HOTCELL__POLICY__LIMITS__CPU": "500m", "UNRELATED": "1",
		},
	}
	o := h.options()
	o.Overrides = map[string]any{"sandbox.driver": "docker", "skills.bundled": false, "sandbox.max_memory": 1 << 20}
	c, src, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, key := range []string{
		"listen", "a2e.errors", "sandbox.max_cells", "sandbox.runtime", "sandbox.driver", "sandbox.max_memory",
		"skills.dirs", "skills.bundled", "images.defaults.python", "images.defaults.sh",
	} {
		got[key] = src.Origin(key).String()
	}
	want := map[string]string{
		"listen":                 "default",
		"a2e.errors":             "file hotcell.yaml:1:15",
		"sandbox.max_cells":      "file hotcell.yaml:3:14",
		"sandbox.runtime":        "env HOTCELL__SANDBOX__RUNTIME",
		"sandbox.driver":         "flag",
		"sandbox.max_memory":     "flag",
		"skills.dirs":            "env HOTCELL__SKILLS__DIRS",
		"skills.bundled":         "flag",
		"images.defaults.python": "env HOTCELL__IMAGES__DEFAULTS__PYTHON",
		"images.defaults.sh":     "file hotcell.yaml:6:25",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	values := []any{c.Sandbox, c.Skills, c.Images.Defaults, c.Policy.Limits.CPU}
	wantValues := []any{
		Sandbox{Driver: "docker", Runtime: "env", MaxCells: 1, MaxMemory: 1 << 20, AcceptUnenforced: []string{}}, Skills{Dirs: []string{"x", "y"}, Plugins: map[string]string{}},
		map[string]string{"python": "env/python", "sh": "file/sh"}, policies.MilliCPU(500),
	}
	if diff := cmp.Diff(wantValues, values); diff != "" {
		t.Error(diff)
	}
}

func TestWhichFile(t *testing.T) {
	all := map[string]string{
		"hotcell.yaml": "", "/etc/hotcell/hotcell.yaml": "", "/env.yaml": "", "/flag.yaml": "",
	}
	without := func(names ...string) map[string]string {
		m := map[string]string{}
		for k, v := range all {
			m[k] = v
		}
		for _, n := range names {
			delete(m, n)
		}
		return m
	}
	for name, tt := range map[string]struct {
		files     map[string]string
		flag, env string
		want, err string
	}{
		"flag first":                  {all, "/flag.yaml", "/env.yaml", "/flag.yaml", ""},
		"then the variable":           {all, "", "/env.yaml", "/env.yaml", ""},
		"then here":                   {all, "", "", "hotcell.yaml", ""},
		"then /etc":                   {without("hotcell.yaml"), "", "", "/etc/hotcell/hotcell.yaml", ""},
		"then none":                   {nil, "", "", "", ""},
		"a flag's file must be there": {without("/flag.yaml"), "/flag.yaml", "", "", "configuration: open /flag.yaml: file does not exist"},
		"a variable's too":            {without("/env.yaml"), "", "/env.yaml", "", "configuration: open /env.yaml: file does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			o := host{files: tt.files, env: map[string]string{EnvFile: tt.env}}.options()
			o.Path = tt.flag
			_, src, err := Load(o)
			if got := text(err); got != tt.err || src.Path != tt.want {
				t.Errorf("path %q err %q", src.Path, got)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestUnreadableFileIsNotSkipped(t *testing.T) {
	o := host{}.options()
	o.ReadFile = func(string) ([]byte, error) { return nil, fs.ErrPermission }
	if _, _, err := Load(o); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

func TestRealFileIsReadWithABound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := host{}.options()
	o.ReadFile, o.Path = nil, path
	write("a2e: {errors: message}")
	if c, _, err := Load(o); err != nil || c.A2E.Errors != "message" {
		t.Errorf("got %v", err)
	}
	write(strings.Repeat("#\n", maxFile))
	if _, _, err := Load(o); err == nil || !strings.Contains(err.Error(), "larger than 64 KiB") {
		t.Errorf("got %v", err)
	}
}

func TestEnvironmentWithGetenvAlone(t *testing.T) {
	o := host{env: map[string]string{
		"HOTCELL__SANDBOX__MAX_CELLS": "7", "HOTCELL__IMAGES__DEFAULTS__SH": "x/sh",
	}}.options()
	o.Environ = nil
	c, _, err := Load(o)
	if err != nil || c.Sandbox.MaxCells != 7 || c.Images.Defaults["sh"] != "x/sh" {
		t.Errorf("config %+v, %v", c, err)
	}
}

func TestEnvironmentAndFlagErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		env   map[string]string
		flags map[string]any
		want  string
	}{
		"misspelt variable": {map[string]string{"HOTCELL__SANDBOX__DRVIER": "docker"}, nil,
			"HOTCELL__SANDBOX__DRVIER: sandbox.drvier: unknown key, did you mean driver?"},
		"unknown control": {map[string]string{"HOTCELL__SANDBOX__ACCEPT_UNENFORCED": "seccomp,x"}, nil,
			`HOTCELL__SANDBOX__ACCEPT_UNENFORCED: sandbox.accept_unenforced: expected some of seccomp, network, paths, mounts, pids, not "x"`},
		"a section": {map[string]string{"HOTCELL__SANDBOX": "x"}, nil,
			"HOTCELL__SANDBOX: sandbox: set the keys below it one by one"},
		"a mapping": {map[string]string{"HOTCELL__IMAGES__DEFAULTS": "x"}, nil,
			"HOTCELL__IMAGES__DEFAULTS: images.defaults: set the keys below it one by one"},
		"not a number": {map[string]string{"HOTCELL__SANDBOX__MAX_CELLS": "many"}, nil,
			`HOTCELL__SANDBOX__MAX_CELLS: sandbox.max_cells: expected a whole number, not "many"`},
		"not a truth": {map[string]string{"HOTCELL__SKILLS__BUNDLED": "yes"}, nil,
			`HOTCELL__SKILLS__BUNDLED: skills.bundled: expected true or false, not "yes"`},
		"terminal escape": {map[string]string{"HOTCELL__SANDBOX__RUNTIME": "a\x1b[2J"}, nil,
			"HOTCELL__SANDBOX__RUNTIME: sandbox.runtime: control characters are not allowed"},
		"bad UTF-8": {map[string]string{"HOTCELL__SKILLS__DIRS": "a,\xff"}, nil,
			"HOTCELL__SKILLS__DIRS: skills.dirs: not valid UTF-8"},
		"brackets": {map[string]string{"HOTCELL__SKILLS__DIRS": "[a,b]"}, nil,
			"HOTCELL__SKILLS__DIRS: skills.dirs: expected entries separated by commas, without brackets: a,b"},
		"below the floor": {map[string]string{"HOTCELL__POLICY__LIMITS__MEMORY": "10", "HOTCELL__POLICY__LIMITS__CPU": "1m"}, nil,
			"HOTCELL__POLICY__LIMITS__MEMORY: policy.limits.memory: 10 is too little, expected at least 16Mi, or 0 for no bound\n" +
				"HOTCELL__POLICY__LIMITS__CPU: policy.limits.cpu: 1m is too little, expected at least 10m, or 0 for no bound"},
		"empty entry": {map[string]string{"HOTCELL__SKILLS__DIRS": "a,,b"}, nil,
			"HOTCELL__SKILLS__DIRS: skills.dirs: an entry is empty"},
		"flag": {nil, map[string]any{"sandbox.driver": "dokcer"},
			`flag: sandbox.driver: expected auto, docker, oci or kubernetes, not "dokcer"`},
		"list for one value": {nil, map[string]any{"listen": []string{"a"}}, "flag: listen: expected a single value"},
		"unknown override":   {nil, map[string]any{"nope.x": "a"}, "flag: nope.x: unknown key"},
		"unknown kind": {map[string]string{"HOTCELL__IMAGES__DEFAULTS__RUBY": "x"}, nil,
			"HOTCELL__IMAGES__DEFAULTS__RUBY: images.defaults.ruby: unknown kind of script, expected python or sh"},
	} {
		t.Run(name, func(t *testing.T) {
			o := host{env: tt.env}.options()
			o.Overrides = tt.flags
			if _, _, err := Load(o); text(err) != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestShow(t *testing.T) {
	h := host{
		files: map[string]string{"hotcell.yaml": "skills:\n  dirs: ['a # b', \"true\"]\npolicy: {limits: {memory: 1Gi, cpu: 500m}}\n"},
		env:   map[string]string{"HOTCELL__SANDBOX__RUNTIME": "runsc"},
	}
	o := h.options()
	o.Overrides = map[string]any{"sandbox.driver": "docker"}
	c, src, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Show(&out, c, src); err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "testdata/show.yaml", out.Bytes())
}

func TestShowNamesEveryPlaceOfAList(t *testing.T) {
	c, src, err := Load(host{}.options())
	if err != nil {
		t.Fatal(err)
	}
	src.Before("skills.dirs")
	src.Before("skills.dirs", Origin{LayerFlag, "--skills"}, Origin{LayerEnv, "HOTCELL_SKILLS"})
	var out bytes.Buffer
	if err := Show(&out, c, src); err != nil {
		t.Fatal(err)
	}
	if want := "dirs: [skills]  # flag --skills, then env HOTCELL_SKILLS, then default\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

func TestShownConfigurationReadsBackTheSame(t *testing.T) {
	for _, file := range []string{"", fullFile} {
		want, src, err := Load(host{files: map[string]string{"hotcell.yaml": file}, env: map[string]string{"HOME": "/r"}}.options())
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Show(&out, want, src); err != nil {
			t.Fatal(err)
		}
		got, _, err := Load(host{files: map[string]string{"hotcell.yaml": out.String()}}.options())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

package config

import (
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/llm"
)

func TestFileErrors(t *testing.T) {
	for name, tt := range map[string]struct{ file, want string }{
		"typo": {"listen: 127.0.0.1:1\nsandbox:\n  drvier: docker\n",
			"hotcell.yaml:3:3: sandbox.drvier: unknown key, did you mean driver?"},
		"swap":                 {"sokcet: x", "hotcell.yaml:1:1: sokcet: unknown key, did you mean socket?"},
		"nothing like it":      {"a2e: {colour: red}", "hotcell.yaml:1:7: a2e.colour: unknown key, expected one of errors, embed_events, session_idle"},
		"no runner image":      {"sandbox: {driver: kubernetes}", "kubernetes.runner_image: the driver kubernetes needs one"},
		"bad namespace":        {"kubernetes: {namespace: A_b}", `hotcell.yaml:1:25: kubernetes.namespace: expected a namespace's name`},
		"tenants elsewhere":    {"sandbox: {driver: docker}\nkubernetes: {tenants: {acme: {namespace: a}}}", "hotcell.yaml:2:23: kubernetes.tenants: the driver docker does not keep tenants apart: set sandbox.driver to kubernetes, or leave them out"},
		"tenant: no namespace": {"kubernetes: {tenants: {acme: {}}}", `hotcell.yaml:1:30: kubernetes.tenants.acme.namespace: expected a namespace's name, of small letters, digits and dashes, not ""`},
		"tenant: bad key":      {"kubernetes: {tenants: {acme: {namspace: a}}}", `hotcell.yaml:1:31: kubernetes.tenants.acme.namspace: unknown key, did you mean namespace?`},
		"tenant: everybody":    {`kubernetes: {tenants: {acme: {namespace: a, principals: ["*"]}}}`, "kubernetes.tenants.acme.principals: * is everybody: that is what kubernetes.namespace is for"},
		"tenant: nobody":       {`kubernetes: {tenants: {acme: {namespace: a, principals: []}}}`, "kubernetes.tenants.acme.principals: an empty list is nobody"},
		"tenant: the rest's":   {"kubernetes: {namespace: a, tenants: {acme: {namespace: a}}}", "kubernetes.tenants.acme.namespace: a is kubernetes.namespace, too: expected a namespace of this tenant's own"},
		"tenants: one of two":  {"kubernetes: {tenants: {b: {namespace: x, principals: [bob]}, c: {namespace: y, principals: [bob]}}}", "kubernetes.tenants.c.principals: bob is of the tenant b, too, so that its calls would all be refused: expected each in one tenant"},
		"tenants: by its name": {`kubernetes: {tenants: {acme: {namespace: x}, b: {namespace: y, principals: ["group:acme"]}}}`, "kubernetes.tenants.b.principals: group:acme is of the tenant acme, too"},
		"tenants: one for two": {"kubernetes: {tenants: {b: {namespace: x}, a: {namespace: x}}}", "kubernetes.tenants.b.namespace: x is kubernetes.tenants.a.namespace, too"},
		"bad word":             {"kubernetes: {network_policy: yes!}", `hotcell.yaml:1:30: kubernetes.network_policy: expected unknown or enforced, not "yes!"`},
		"no issuer":            {"auth: {mode: oidc, oidc: {audience: x}}", `auth.oidc.issuer: auth.mode oidc needs one: the URL`},
		"no audience":          {"auth: {mode: oidc, oidc: {issuer: https://a}}", `auth.oidc.audience: auth.mode oidc needs one`},
		"plain issuer":         {"auth: {oidc: {issuer: http://a.example}}", `hotcell.yaml:1:23: auth.oidc.issuer: http is for an issuer on a loopback address alone: use https`},
		"no issuer's URL":      {"auth: {oidc: {issuer: a.example}}", `auth.oidc.issuer: expected the URL of an issuer, such as`},
		"no claim":             {"auth: {oidc: {principal: ''}}", `auth.oidc.principal: expected the name of a claim`},
		"no mode":              {"auth: {mode: tokens}", `hotcell.yaml:1:14: auth.mode: expected none, token or oidc, not "tokens"`},
		"host with port":       {"hosts: [a.example, b.example:80]", `hotcell.yaml:1:8: hosts: expected names or addresses without a port, such as cells.example.org, not "b.example:80"`},
		"two at once": {"a2e: {x: 1}\nsandbox: {accept: []}",
			"hotcell.yaml:1:7: a2e.x: unknown key, expected one of errors, embed_events, session_idle\n" +
				"hotcell.yaml:2:11: sandbox.accept: unknown key, expected one of driver, runtime, max_cells, max_memory, accept_unenforced"},
		"many": {strings.Repeat("a", 20) + ": 1\n" + many(15), "and 6 more"},
		"text for a truth": {"skills: {bundled: \"yes\"}",
			"hotcell.yaml:1:19: skills.bundled: expected true or false, not text"},
		"number for text":   {"sandbox: {driver: 3}", "hotcell.yaml:1:19: sandbox.driver: expected text, not a number"},
		"text for a number": {"sandbox: {max_cells: few}", "hotcell.yaml:1:22: sandbox.max_cells: expected a whole number, not text"},
		"fraction":          {"sandbox: {max_cells: 1.5}", "hotcell.yaml:1:22: sandbox.max_cells: expected a whole number, not a fraction"},
		"huge number": {"sandbox: {max_cells: 99999999999999999999}",
			"hotcell.yaml:1:22: sandbox.max_cells: expected a whole number, not text"},
		"large number": {"sandbox: {max_cells: 9999999999999999999}",
			`hotcell.yaml:1:22: sandbox.max_cells: expected a whole number, not "9999999999999999999"`},
		"nothing":           {"listen:", "hotcell.yaml:1:9: listen: expected text, not nothing"},
		"list for text":     {"listen: [a]", "hotcell.yaml:1:9: listen: expected text, not a list"},
		"mapping for text":  {"listen: {a: b}", "hotcell.yaml:1:9: listen: expected text, not a mapping"},
		"text for a list":   {"skills: {dirs: a}", "hotcell.yaml:1:16: skills.dirs: expected a list, not text"},
		"list of lists":     {"skills: {dirs: [[a]]}", "hotcell.yaml:1:17: skills.dirs: expected a list of texts, not of a list"},
		"text for section":  {"skills: a", "hotcell.yaml:1:9: skills: expected a mapping"},
		"list as file":      {"[a]", "hotcell.yaml:1:1: the file: expected a mapping"},
		"text as file":      {"hello", "hotcell.yaml:1:1: the file: expected a mapping"},
		"dotted key":        {"sandbox.driver: docker", "hotcell.yaml:1:1: the file: expected a plain name as key"},
		"number as key":     {"sandbox: {1: docker}", "hotcell.yaml:1:11: sandbox: expected a plain name as key"},
		"control character": {`listen: "a\e[2J"`, "hotcell.yaml:1:9: listen: control characters are not allowed"},
		"twice":             {"listen: a\nlisten: b", `hotcell.yaml:2:1: mapping key "listen" already defined at [1:1]`},
		"alias":             {"listen: &a x\nsocket: *a", "hotcell.yaml:1:9: anchors and aliases are not allowed"},
		"tag":               {"listen: !!str 1", "hotcell.yaml:1:9: tags, directives and complex keys are not allowed"},
		"complex key":       {"? listen\n: x", "hotcell.yaml:1:1: tags, directives and complex keys are not allowed"},
		"two documents":     {"---\nlisten: a\n---\nlisten: b", "hotcell.yaml: expected one YAML document, found 2"},
		"open bracket":      {"skills: {dirs: [", "hotcell.yaml:1:16: sequence end token ']' not found"},
		"tab":               {"\tlisten: x", ": tab character cannot use as a map key directly"},
		"bad quantity":      {"policy: {limits: {memory: lots}}", "hotcell.yaml:1:27: policy.limits.memory: "},
		"negative": {"policy: {limits: {pids: -1}}",
			"hotcell.yaml:1:25: policy.limits.pids: -1 is too little, expected at least 16, or 0 for no bound"},
		"open address": {"listen: 0.0.0.0:80", `hotcell.yaml:1:9: listen: "0.0.0.0" is not a loopback address, ` +
			"and with auth.mode none everybody who reaches it could run skills: set auth.mode to token or oidc, or use 127.0.0.1, [::1] or localhost"},
		"any address":     {"listen: :80", `hotcell.yaml:1:9: listen: "" is not a loopback address`},
		"address's name":  {"listen: localhost.example:80", `"localhost.example" is not a loopback address`},
		"no port":         {"listen: localhost", `listen: expected host:port, such as 127.0.0.1:8765, not "localhost"`},
		"port":            {"listen: localhost:65536", `listen: expected a port from 0 to 65535, not "65536"`},
		"port's name":     {"listen: localhost:http", `listen: expected a port from 0 to 65535, not "http"`},
		"socket path":     {"socket: /" + strings.Repeat("a", 107), "socket: the path has 108 bytes, a unix socket's has at most 107"},
		"data in /":       {"data_dir: //", "data_dir: expected a folder of hotcell's own, not /"},
		"runtime":         {"sandbox: {runtime: ../x}", "sandbox.runtime: expected a runtime's name, such as runsc, not \"../x\""},
		"waiting":         {"pool: {max: 101}", "pool.max: expected a number from 0 to 100, not 101"},
		"no idle time":    {"pool: {idle: 0}", "pool.idle: expected a time from 1s to 1d, not 0"},
		"admin door":      {"admin: {listen: 0.0.0.0:8766}", "admin.listen: \"0.0.0.0\" is not a loopback address"},
		"canary":          {"readiness: {canary: 100ms}", "readiness.canary: expected a time from 1s to 1d, or 0 for none, not 100ms"},
		"old cells":       {"pool: {max_age: 2d}", "pool.max_age: expected a time from 1s to 1d, not 2d"},
		"cells":           {"sandbox: {max_cells: 1001}", "sandbox.max_cells: expected a number from 0 to 1000, not 1001"},
		"pods":            {"sandbox: {driver: kubernetes, max_cells: 100001}", "sandbox.max_cells: expected a number from 0 to 100000, not 100001"},
		"pull":            {"policy: {images: {pull: often}}", `policy.images.pull: pull policy "often": expected missing, never or always`},
		"no pull":         {`policy: {images: {pull: ""}}`, "policy.images.pull: expected missing, never or always"},
		"no image":        {`images: {defaults: {sh: ""}}`, "images.defaults.sh: expected an image"},
		"other store":     {"store: {url: 'mysql://h/db'}", "store.url: expected sqlite:///path/of/a/file, postgres://USER@HOST/DATABASE, a reference"},
		"store's secret":  {"store: {url: 'postgres://u:hunter2@h/db'}", "store.url: there is a password in it: put the whole URL into a file or a variable"},
		"store's query":   {"store: {url: 'postgres://h/db?password=hunter2'}", "store.url: there is a password in it"},
		"store's form":    {"store: {url: 'postgres://u:hunter2@[h/db'}", "store.url: expected sqlite:///path/of/a/file, postgres://USER@HOST/DATABASE"},
		"audit key":       {"audit: {key: hunter2}", "audit.key: expected a reference: env:NAME"},
		"store's path":    {"store: {url: hotcell.db}", "store.url: expected sqlite:///path/of/a/file, postgres://USER@HOST/DATABASE, a reference"},
		"relative store":  {"store: {url: 'sqlite://x.db'}", "store.url: expected sqlite:///path/of/a/file, postgres://USER@HOST/DATABASE, a reference"},
		"sync":            {"store: {sync: always}", `store.sync: expected off, normal or full, not "always"`},
		"age":             {"store: {keep: {events: 7days}}", `store.keep.events: "7days" is no length of time: expected days or shorter, such as 30d, 12h or 90m`},
		"part of a day":   {"store: {keep: {events: 1.5d}}", `store.keep.events: "1.5d" is no length of time`},
		"endless":         {"store: {keep: {calls: 4000000000d}}", `store.keep.calls: "4000000000d" is no length of time`},
		"short memory":    {"store: {keep: {calls: 59m}}", "store.keep.calls: expected at least 1h, not 59m"},
		"no memory":       {"store: {keep: {calls: 0}}", "store.keep.calls: expected at least 1h, not 0"},
		"small store":     {"store: {keep: {max: 1Mi}}", "store.keep.max: expected at least 16Mi, or 0 for no bound, not 1Mi"},
		"errors":          {"a2e: {errors: both}", `a2e.errors: expected resp or message, not "both"`},
		"no URL":          {"a2a: {url: cells.example}", `a2a.url: expected http:// or https:// and a host, with a port or not, and nothing behind it`},
		"a URL with path": {"a2a: {url: \"https://x.example/a\"}", `a2a.url: expected http:// or https:// and a host, with a port or not, and nothing behind it`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(host{files: map[string]string{"hotcell.yaml": tt.file}}.options())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("unknown_" + strings.Repeat("x", i+1) + ": 1\n")
	}
	return b.String()
}

func TestFilesThatSetNothing(t *testing.T) {
	for _, file := range []string{"", "\n", "# only a comment\n", "---\n", "{}", "skills:\n", "skills: {}\npolicy:\n  limits:\n", "null"} {
		c, _, err := Load(host{files: map[string]string{"hotcell.yaml": file}}.options())
		if err != nil || c.Listen != "127.0.0.1:8765" {
			t.Errorf("%q: %v", file, err)
		}
	}
}

// The YAML parser needs half a minute for some of these when nothing stops them before.
func TestDeepNestingIsRefusedQuickly(t *testing.T) {
	for _, file := range []string{
		strings.Repeat("[", 60000), strings.Repeat("- ", 30000) + "a", strings.Repeat("{a: ", 15000),
		strings.Repeat("? ", 30000), strings.Repeat("&a ", 16000), strings.Repeat("!!a ", 16000),
	} {
		start := time.Now()
		if _, err := parseFile(newSchema(), "f", []byte(file)); err == nil {
			t.Errorf("%.10q... was taken", file)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%.10q... took %v", file, took)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{fullFile, "a: [", "skills: {dirs: [a, b]}", "? x", "a: |\n  b\n", "- a", "\"\\x00\": 1", "<<: {a: b}"} {
		f.Add([]byte(seed))
	}
	s := newSchema()
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseFile(s, "f.yaml", data)
		if err != nil {
			if !strings.Contains(err.Error(), "f.yaml") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		for key, value := range l.values {
			if k := s.kind(key); k != leaf && k != entry {
				t.Errorf("%q was set and is no field", key)
			}
			if _, ok := l.origins[key]; !ok {
				t.Errorf("%q has no origin", key)
			}
			switch value.(type) {
			case string, []string, Secrets, Logins, []llm.Provider, map[string]MCPServer, map[string]Tenant:
			default:
				t.Errorf("%q is a %T", key, value)
			}
		}
	})
}

// A host and its port need no quotes, wherever they stand.
func TestHostsNeedNoQuotes(t *testing.T) {
	for _, text := range []string{
		"policy: {network: {allow: [api.example.org:443, 'x.example.org:1']}}",
		"policy:\n  network:\n    allow: [api.example.org:443, x.example.org:1]",
		"policy:\n  network: {allow: [api.example.org:443, x.example.org:1]}",
		"policy:\n  network:\n    allow:\n    - api.example.org:443\n    - x.example.org:1\n",
	} {
		h := host{files: map[string]string{"hotcell.yaml": text}}
		c, _, err := Load(h.options())
		if err != nil || len(c.Policy.Network.Allow) != 2 || c.Policy.Network.Allow[0] != "api.example.org:443" || c.Policy.Network.Allow[1] != "x.example.org:1" {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	h := host{files: map[string]string{"hotcell.yaml": "policy: {network: {allow: [api.example.org: 443]}}"}}
	if _, _, err := Load(h.options()); err == nil {
		t.Error("a mapping is taken for a text")
	}
}

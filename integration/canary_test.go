package integration

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/internal/testutil/collector"
)

// canarySkill does with its keys what careless programs do: it prints them, puts them into URLs, headers and files, hands on
// what a model provider said of them, and dies with them in its memory.
const canarySkill = `
import base64, faulthandler, json, os, resource, sys, time, urllib.error, urllib.parse, urllib.request
faulthandler.enable()
args = json.load(open(os.environ["HOTCELL_REQUEST"]))["arguments"]
secret = open("/run/hotcell/secrets/CANARY").read()
try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except (ValueError, OSError) as e:
    print("no core dumps:", e)

def ask(model):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hello"}]}).encode()
    req = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {
        "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(req, timeout=60) as r:
            return "%d %s %s" % (r.status, dict(r.headers), r.read().decode())
    except urllib.error.HTTPError as e:
        return "%d %s %s" % (e.code, dict(e.headers), e.read().decode())

print(args["marker"], "begins;", "the environment is", dict(os.environ))
print("the secret is", secret)
print(secret[:20], file=sys.stderr)
print(secret[20:], file=sys.stderr)
said = {model: ask(model) for model in ("gpt-fine", "echo-401", "echo-400", "echo-500", "echo-stream")}
print(json.dumps({"type": "skill/event", "kind": "status", "data": {"message": "asked", "said": said}}))
print(json.dumps({"type": "skill/event", "kind": "progress", "data": {
    "pct": 50, "message": "Authorization: Basic " + base64.b64encode(("user:" + secret).encode()).decode(),
    secret: [{"url": "https://example.org/?key=" + urllib.parse.quote(secret, safe="")}]}}))
with open("/out/dump.bin", "wb") as f:
    f.write(b"\0" * (200000 - 20) + secret.encode() + b"\0" * 100 + secret.encode().hex().encode())
open("/workspace/copy", "w").write(secret)
ask("wait")
if args["end"] == "succeed":
    print(json.dumps({"type": "skill/result", "success": True, "data": {"marker": args["marker"], "said": said, "secret": secret}, "summary": secret}))
elif args["end"] == "fail":
    raise RuntimeError(args["marker"] + ": bad key " + secret)
else:
    sys.stderr.write(args["marker"] + " dies with " + secret + "\n")
    sys.stderr.flush()
    os.abort()
`

// filedSkill is given its model's key as a file, and tells it.
const filedSkill = `
import json, os, sys
args = json.load(open(os.environ["HOTCELL_REQUEST"]))["arguments"]
for name in sorted(os.listdir("/run/hotcell/secrets")):
    key = open("/run/hotcell/secrets/" + name).read()
    print(args["marker"], name, key)
    sys.stderr.write(key.encode().hex() + "\n")
raise SystemExit("bad key " + key)
`

// canary is one key that must turn up nowhere.
type canary struct{ name, value string }

func newCanary(name string) canary { return canary{name, rand.Text() + "/+" + rand.Text()} }

// provider is a model provider on loopback that tells everybody the key that it was shown.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	shown   map[string]bool
	waiting chan struct{} // gets a value when a skill waits
	release chan struct{} // lets it go on
}

func newProvider(t *testing.T) *provider {
	p := &provider{shown: map[string]bool{}, waiting: make(chan struct{}), release: make(chan struct{})}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	p.shown[key] = true
	p.mu.Unlock()
	var body struct{ Model string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	echo, _ := json.Marshal(fmt.Sprintf("Incorrect API key provided: %s (%s).", key, key[len(key)-20:]))
	w.Header().Set("Content-Type", "application/json")
	switch body.Model {
	case "echo-401", "echo-400", "echo-500":
		w.Header().Set("X-Your-Key", key)
		w.Header().Set("Www-Authenticate", "Bearer "+key)
		w.WriteHeader(int(body.Model[5]-'0') * 100)
		fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error","code":"invalid_api_key"}}`, echo)
		return
	case "echo-stream":
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{`data: {"error":{"message":"` + key[:15], key[15:] + `"}}` + "\n\n"} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
		return
	case "wait":
		p.waiting <- struct{}{}
		<-p.release
	}
	fmt.Fprint(w, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`)
}

// Keys that hotcell is given are found nowhere but where they belong: not in what the engine knows and keeps of a living
// cell, not in the environment or command line of any process, not in what comes out of the call, the log, the journal,
// the metrics, and not in what a crash leaves.
func TestCanary(t *testing.T) {
	bin := binary(t)
	dir, private := t.TempDir(), t.TempDir()
	upstream := newProvider(t)
	traces := collector.New(t)
	model, secret, callers, header := newCanary("the provider's key"), newCanary("the secret"), newCanary("the caller's key"), newCanary("the collector's header")
	d := serveIn(t, dir, bin, "HOTCELL_CONFIG="+canaryConfig(t, private, upstream.URL, traces.URL, model, secret, header),
		"HOTCELL_SKILLS="+canaryFolder(t), "TMPDIR="+filepath.Join(private, "tmp"), "GOTRACEBACK=all")
	canaries := []canary{model, secret, callers, header}
	for i, end := range []string{"succeed", "fail", "crash"} {
		t.Run(end, func(t *testing.T) {
			marker := "marker-" + rand.Text()
			override := ""
			if i > 0 {
				override = `,"llm_override":{"provider_name":"canary","provider_credentials":{"api_key":"` + callers.value + `"}}`
			}
			said := make(chan []byte, 1)
			go func() {
				said <- wireOf(d, `{"type":"skill/call/req","id":"`+marker+`","name":"canary","arguments":{"end":"`+end+`","marker":"`+marker+`"}`+override+`}`)
			}()
			select {
			case <-upstream.waiting:
			case all := <-said:
				t.Fatalf("the call ended too early: %s", all)
			case <-time.After(2 * time.Minute):
				t.Fatal("the skill does not ask its model")
			}
			living := &search{t: t, canaries: canaries}
			living.cells(d)
			living.process(d.Cmd.Process.Pid, "hotcell")
			upstream.release <- struct{}{}
			all := <-said
			after := &search{t: t, canaries: canaries}
			after.must("what the call said", all, marker, "[redacted]")
			after.pages(d, marker)
		})
	}
	t.Run("file", func(t *testing.T) {
		marker := "marker-" + rand.Text()
		all := wireOf(d, `{"type":"skill/call/req","id":"`+marker+`","name":"filed","arguments":{"marker":"`+marker+`"}}`)
		after := &search{t: t, canaries: canaries}
		after.must("what the call said", all, marker+" OPENAI_API_KEY [redacted]", "bad key [redacted]")
		after.pages(d, marker)
	})
	t.Run("agent", func(t *testing.T) {
		marker := "marker-" + rand.Text()
		all := wireOf(d, `{"type":"skill/call/req","id":"`+marker+`","name":"instructed","arguments":{"marker":"`+marker+`"},`+
			`"llm_override":{"provider_name":"canary","provider_credentials":{"api_key":"`+callers.value+`"}}}`)
		after := &search{t: t, canaries: canaries}
		after.must("what the call said", all, marker, "Incorrect API key provided")
		after.pages(d, marker)
	})
	for _, c := range []canary{model, callers} {
		if !upstream.shown[c.value] {
			t.Errorf("the provider was never shown %s", c.name)
		}
	}
	d.Stop(t)
	rest := &search{t: t, canaries: canaries}
	rest.must("hotcell's log", d.Stderr.Bytes(), `"level":"DEBUG"`, `"trace_id":`)
	spans, err := json.Marshal(traces.Spans())
	if err != nil || traces.Headers()[0].Get("X-Key") != header.value {
		t.Errorf("the collector was shown %v (%v)", traces.Headers(), err)
	}
	rest.must("the traces", spans, `"llm"`, `"teardown"`, "sandbox_crash")
	rest.must("the audit", audited(t, filepath.Join(dir, "data", "hotcell.db")), "llm.request", "gpt-fine")
	rest.folder("hotcell's folder", dir)
	rest.folder("hotcell's temporary files", filepath.Join(private, "tmp"))
	rest.cores(dir)
}

// canaryConfig writes the keys into files of their own, and a configuration that refers to them.
func canaryConfig(t *testing.T, dir, url, traces string, model, secret, header canary) string {
	t.Helper()
	files := map[string]string{"model": model.value + "\n", "secret": secret.value + "\n", "header": header.value + "\n"}
	files["hotcell.yaml"] = `
llm:
  providers:
    - {name: canary, kind: openai, base_url: "` + url + `/v1", credential: "file:` + filepath.Join(dir, "model") + `", models: ["*"]}
policy: {llm: {inject: [broker, file]}}
secrets: {CANARY: "file:` + filepath.Join(dir, "secret") + `"}
telemetry: {otlp: {endpoint: "` + traces + `", headers: {X-Key: "file:` + filepath.Join(dir, "header") + `"}}}
log: {format: json, level: debug}
`
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "hotcell.yaml")
}

// audited are all entries of the audit.
func audited(t *testing.T, path string) []byte {
	t.Helper()
	journal, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	entries, err := journal.Audit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := journal.AuditRows(t.Context(), control.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal([]any{entries, rows})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func canaryFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, skill := range map[string][2]string{
		"canary":     {"llm: {provider: canary}\nsecrets: [CANARY]\nmax_turns: 50\n", canarySkill},
		"filed":      {"llm: {provider: canary, inject: file}\n", filedSkill},
		"instructed": {"llm: {provider: canary, model: echo-401}\n", ""},
	} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{
			"SKILL.md": "---\nname: " + name + "\ndescription: is careless with keys\n---\nSay hello.\n", "skill.yaml": skill[0],
		}
		if skill[1] != "" {
			files["main.py"] = skill[1]
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// wireOf sends one request over the socket and returns all that comes back, as it is on the wire.
func wireOf(d *daemon, line string) []byte {
	conn, err := net.Dial("unix", d.Socket)
	if err != nil {
		return []byte(err.Error())
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Minute))
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return []byte(err.Error())
	}
	var all bytes.Buffer
	for lines := json.NewDecoder(conn); ; {
		var raw json.RawMessage
		if err := lines.Decode(&raw); err != nil {
			return append(all.Bytes(), err.Error()...)
		}
		all.Write(unpacked(raw))
		if bytes.Contains(raw, []byte(`"skill/call/resp"`)) {
			return all.Bytes()
		}
	}
}

// unpacked adds to a line what an artifact in it holds.
func unpacked(raw json.RawMessage) []byte {
	var ev struct {
		Data struct{ Chunk []byte }
	}
	_ = json.Unmarshal(raw, &ev)
	return append(bytes.Clone(raw), ev.Data.Chunk...)
}

// No test looks for what cannot be found: the forms in which a key is looked for are the ones that programs write.
func TestNeedlesAreInWhatProgramsWrite(t *testing.T) {
	c := newCanary("any")
	all := needles(c.value)
	for _, text := range []string{
		"x" + c.value, fmt.Sprintf("%x", c.value), fmt.Sprintf("%X", "abc"+c.value),
	} {
		if !found(all, text) {
			t.Errorf("nothing is found in %s", text)
		}
	}
	for before := range 5 {
		b, _ := json.Marshal([]byte(strings.Repeat("z", before) + c.value + "zz"))
		if !found(all, string(b)) {
			t.Errorf("nothing is found in %s", b)
		}
	}
	if found(all, newCanary("other").value) {
		t.Error("another key is found")
	}
}

func found(needles map[string]string, text string) bool {
	for _, n := range needles {
		if strings.Contains(text, n) {
			return true
		}
	}
	return false
}

package integration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/egress"
	"github.com/hotcell/hotcell/internal/secrets"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// elsewhere is the network that a rig's egress sees: every name leads to the same public address, and whoever dials that
// gets the test's server on loopback.
type elsewhere struct {
	server string
	mu     sync.Mutex
	dialed []string
	said   []audit.Entry
}

func (e *elsewhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (e *elsewhere) dial(ctx context.Context, _, address string) (net.Conn, error) {
	e.mu.Lock()
	e.dialed = append(e.dialed, address)
	e.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, "tcp", e.server)
}

func (e *elsewhere) Write(entry audit.Entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said = append(e.said, entry)
}

// A Python skill in a cell without a network reaches the host that skill.yaml and the operator name, with Python's own
// client and nothing set but what it finds in its environment. Everything else stays out of reach, and it is told why.
func TestEgressFromACellWithoutANetwork(t *testing.T) {
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello from ", r.Host) }))
	defer site.Close()
	world := &elsewhere{server: site.Listener.Addr().String()}
	ca, err := json.Marshal(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})))
	if err != nil {
		t.Fatal(err)
	}
	skill := rig.PythonSkill("fetches", "network: {allow: ['example.com:443', 'forbidden.example:443']}\n", `
import json, socket, ssl, urllib.request
context = ssl.create_default_context(cadata=`+string(ca)+`)
said = {}
for url in ["https://example.com/", "https://forbidden.example/", "https://evil.example/", "https://169.254.169.254/"]:
    try:
        said[url] = urllib.request.urlopen(url, context=context, timeout=20).read().decode()
    except Exception as e:
        said[url] = str(e)
said["interfaces"] = [name for _, name in socket.if_nameindex()]
print(json.dumps(said))
`)
	r := newRig(t, rig.Options{Skills: skill, Warm: warm.Options{Max: 1}, Adjust: func(c *executor.Config) {
		c.Policy.Network.Allow = []string{"example.com:443"}
		c.Services = []service.Service{egress.New(egress.Options{Resolver: world, Dial: world.dial, Log: world})}
	}})
	fetched(t, r)
	awaitWaiting(t, r, "fetches")
	if id := fetched(t, r); !r.Waited(id) {
		t.Error("the second call got no cell that had waited")
	}
	world.mu.Lock()
	defer world.mu.Unlock()
	if fmt.Sprint(world.dialed) != "[93.184.216.34:443 93.184.216.34:443]" || len(world.said) != 8 {
		t.Errorf("dialled %v, %d entries in the audit", world.dialed, len(world.said))
	}
}

// fetched calls the skill, looks at what it saw of the network, and returns the id of its cell.
func fetched(t *testing.T, r *rig.Rig) string {
	t.Helper()
	answer := r.Call(t.Context(), a2e.Caller{Door: "test"}, &a2e.CallRequest{Name: "fetches"}, nil)
	if answer.Error != nil {
		t.Fatalf("%+v", answer.Error)
	}
	data, err := json.Marshal(answer.Data.Data)
	if err != nil {
		t.Fatal(err)
	}
	var said map[string]any
	if err := json.Unmarshal(data, &said); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"https://example.com/":       "hello from example.com",
		"https://forbidden.example/": "forbidden.example:443 is not in network.allow",
		"https://evil.example/":      "evil.example:443 is not in network.allow",
		"https://169.254.169.254/":   "169.254.169.254:443 is not in network.allow",
	} {
		if got := fmt.Sprint(said[url]); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	if got := fmt.Sprint(said["interfaces"]); got != "[lo]" {
		t.Errorf("the cell has the interfaces %s", got)
	}
	calls, err := r.List(t.Context(), 1)
	if err != nil || len(calls) != 1 {
		t.Fatalf("%v, %v", calls, err)
	}
	return calls[0].Cell
}

// A skill finds the operator's secret as a file that it alone may read, and what it says of it is told to nobody.
func TestASecretIsAFileInTheCell(t *testing.T) {
	const value = "canary-0123456789-abcdefghij"
	skill := rig.PythonSkill("uses-secret", "secrets: [TOKEN]\n", `
import base64, hashlib, json, os, stat, sys, urllib.parse
path = "/run/hotcell/secrets/TOKEN"
value = open(path).read()
print("the token is", value)
print(value, file=sys.stderr)
print(json.dumps({"type": "skill/event", "kind": "progress", "data": {"pct": 1, "message": value, "b64": base64.b64encode(("u:" + value).encode()).decode()}}))
open("/out/leak.txt", "w").write("x" * 70000 + value)
print(json.dumps({"type": "skill/result", "success": True, "data": {
    "digest": hashlib.sha256(value.encode()).hexdigest(), "mode": oct(stat.S_IMODE(os.stat(path).st_mode)),
    "environ": [k for k, v in os.environ.items() if value in v], "value": value, "quoted": urllib.parse.quote(value)}}))
`)
	r := newRig(t, rig.Options{Skills: skill, Adjust: func(c *executor.Config) {
		lookup := func(string) (string, bool) { return value, true }
		c.Services = []service.Service{secrets.New(secrets.Options{
			Refs: map[string]string{"TOKEN": "env:ANY"}, Resolver: credentials.Resolver{Lookup: lookup},
		})}
	}})
	var events []*a2e.Event
	answer := r.Call(t.Context(), a2e.Caller{Door: "test"}, &a2e.CallRequest{Name: "uses-secret"},
		a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error { events = append(events, ev); return nil }))
	if answer.Error != nil {
		t.Fatalf("%+v", answer.Error)
	}
	all, err := json.Marshal([]any{answer, events})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(value))
	for _, want := range []string{hex.EncodeToString(sum[:]), `"mode":"0o400"`, `"environ":[]`, `"value":"[redacted]"`, "the token is [redacted]"} {
		if !strings.Contains(string(all), want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
	for form, needle := range needles(value) {
		if strings.Contains(string(all), needle) {
			t.Errorf("the value in %s: %s", form, all)
		}
	}
	if !strings.Contains(string(artifact(t, events, "leak.txt")), "xx[redacted]") {
		t.Error("the artifact is not there, or not redacted")
	}
}

// artifact puts a file together again.
func artifact(t *testing.T, events []*a2e.Event, name string) []byte {
	t.Helper()
	var all []byte
	for _, ev := range events {
		if ev.Kind == a2e.KindArtifact && ev.Data["name"] == name {
			all = append(all, decoded(t, ev.Data["chunk"])...)
		}
	}
	return all
}

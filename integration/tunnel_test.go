package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// echoes is a service that grants every call a port, behind which HTTP requests get their bodies back.
type echoes struct{}

func (echoes) Grant(service.Ask) (service.Grant, error) { return &echoGrant{}, nil }

type echoGrant struct {
	mu     sync.Mutex
	active bool
}

func (*echoGrant) Ports() []string { return []string{"echo"} }

func (*echoGrant) Env(at func(string) string, _ string) []string {
	return []string{"ECHO=" + at("echo")}
}

func (*echoGrant) Lease(l *wall.Lease) { l.Secrets = map[string]string{"WORD": "open sesame"} }

func (g *echoGrant) Activate(context.Context, string) { g.set(true) }

func (g *echoGrant) Revoke() { g.set(false) }

func (g *echoGrant) set(active bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active = active
}

// Serve answers one request.
func (g *echoGrant) Serve(_ string, conn net.Conn) {
	g.mu.Lock()
	active := g.active
	g.mu.Unlock()
	if !active {
		_ = conn.(*wall.Conn).CloseWithError(errors.New("not active"))
		return
	}
	l := &once{conn: conn, done: make(chan struct{})}
	srv := &http.Server{Handler: http.HandlerFunc(echo), ReadHeaderTimeout: time.Minute}
	srv.SetKeepAlivesEnabled(false)
	srv.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			close(l.done)
		}
	}
	_ = srv.Serve(l)
}

func echo(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	_, _ = w.Write(b)
}

// once is a listener of one connection, which ends with it.
type once struct {
	conn net.Conn
	done chan struct{}
}

func (l *once) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.done
	return nil, io.EOF
}

func (l *once) Close() error   { return nil }
func (l *once) Addr() net.Addr { return &net.TCPAddr{} }

// crowd opens a hundred connections at once and sends so many bytes through each and back.
func crowd(size int) string { return fmt.Sprintf("size = %d\n", size) + crowdScript }

const crowdScript = `import asyncio, json, os
host, port = os.environ["ECHO"].split(":")
noise = os.urandom(size)
async def one(i):
    r, w = await asyncio.open_connection(host, int(port))
    body = noise[i:] + noise[:i]
    w.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    head = await r.readuntil(b"\r\n\r\n")
    got = await r.readexactly(len(body))
    rest = await r.read()
    w.close()
    return head.startswith(b"HTTP/1.1 200") and got == body and rest == b""
async def main():
    return sum(await asyncio.gather(*(one(i) for i in range(100))))
intact = asyncio.run(main())
print(json.dumps({"intact": intact, "interfaces": sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else ["lo"],
    "word": open("/run/hotcell/secrets/WORD").read() == "open sesame", "lease": json.load(open("/run/hotcell/lease.json"))}))
`

// early asks before there is a call, and again in it.
const early = `import http.client, json, os, sys
def ask():
    c = http.client.HTTPConnection(os.environ["ECHO"], timeout=20)
    c.request("POST", "/", body=b"hello")
    r = c.getresponse()
    return [r.status, r.read().decode()]
before = ask()
sys.stdin.readline()
print(json.dumps([before, ask()]))
`

func TestTheTunnelInACell(t *testing.T) {
	for name, need := range map[string]string{"docker": "docker", "runsc": "runsc", "oci": "runc"} {
		t.Run(name, func(t *testing.T) {
			testutil.Require(t, need)
			size := 1 << 20
			if raceEnabled { // coding base64 takes a hundred times as long then
				size = 1 << 16
			}
			opts := rig.Options{
				Skills: rig.Merge(
					rig.PythonSkill("crowd", "limits: {memory: 512Mi}\n", crowd(size)),
					rig.PythonSkill("early", "run: {prestart: true}\n", early),
				),
				Adjust: func(c *executor.Config) { c.Services = []service.Service{echoes{}} },
				Warm:   warm.Options{Max: 2},
			}
			switch name {
			case "runsc":
				opts.Runtime = "runsc"
			case "oci":
				t.Setenv(rig.EnvDriver, "oci")
			}
			r := newRig(t, opts)
			t.Run("crowd", func(t *testing.T) { crowded(t, r) })
			t.Run("early", func(t *testing.T) { tooEarly(t, r) })
		})
	}
}

func crowded(t *testing.T, r *rig.Rig) {
	got := ask(t.Context(), r, request("crowd", 120), nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	want := map[string]any{
		"intact": 100.0, "interfaces": []any{"lo"}, "word": true, "lease": map[string]any{"type": wall.TypeLease},
	}
	if d := cmp.Diff(want, got.data(t)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// tooEarly: a skill that is started ahead of its call finds the port closed until then, whether its cell waited or not.
func tooEarly(t *testing.T, r *rig.Rig) {
	refusal := `{"error":{"message":"hotcell: not before the call","type":"hotcell_refused"}}`
	want := []any{[]any{403.0, refusal}, []any{200.0, "hello"}}
	for range 2 {
		got := ask(t.Context(), r, request("early", 60), nil)
		if got.answer.Error != nil {
			t.Fatal(got.answer.Error)
		}
		if d := cmp.Diff(want, got.data(t)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// forger has no runner between itself and the supervisor, and speaks the tunnel's lines as it likes.
const forger = `import base64, json, sys
def put(**line):
    print(json.dumps(line), flush=True)
def wait(*kinds):
    for line in sys.stdin:
        line = json.loads(line)
        if line["type"] in kinds:
            return line
put(type="cell/ready", protocol=1)
wait("skill/call/req")
said = []
put(type="cell/open", id=1, port="llm.openai")
said.append(wait("cell/close"))
put(type="cell/open", id=2, port="echo")
put(type="cell/data", id=2, data=base64.b64encode(b"POST / HTTP/1.0\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").decode())
answer = b""
while not answer.endswith(b"\r\n\r\nhi"):
    answer += base64.b64decode(wait("cell/data")["data"])
said.append(answer.split(b"\r\n")[0].decode())
put(type="cell/open", id=3, port="echo")
put(type="cell/credit", id=3, n=1)
closes = {}
for _ in range(2):  # in either order: the other side of 2 closes it when it likes
    line = wait("cell/close")
    closes[line["id"]] = line
said.append(closes.get(3) if 2 in closes else None)
put(type="cell/data", id=99, data="")
said.append(wait("cell/close"))
put(type="cell/open", id=100, port="echo")
put(type="skill/result", success=True, data=said)
wait("cell/done")
`

// A cell that forges the tunnel's lines gets what its call was granted and no more, and its result stands.
func TestAForgerOfTunnelLines(t *testing.T) {
	yaml := "run: {frames: true, image: '" + rig.PythonImage + "', command: [python3, /skill/main.py]}\n"
	r := newRig(t, rig.Options{
		Skills: rig.PythonSkill("forger", yaml, forger),
		Adjust: func(c *executor.Config) { c.Services = []service.Service{echoes{}} },
	})
	got := ask(t.Context(), r, request("forger", 60), nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	closed := func(id float64, reason string) any {
		return map[string]any{"type": wall.TypeClose, "id": id, "error": reason}
	}
	want := []any{
		closed(1, "refused: this call was not granted llm.openai"),
		"HTTP/1.0 200 OK",
		closed(3, "credit beyond the window"),
		closed(0, "stream 99 was never opened"),
	}
	if d := cmp.Diff(want, got.data(t)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

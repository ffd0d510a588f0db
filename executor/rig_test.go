package executor

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

func TestMain(m *testing.M) {
	if path, name, ok := strings.Cut(os.Getenv(victimEnv), "="); ok {
		fmt.Fprintln(os.Stderr, victim(path, name))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// life is what a cell does once it has the request; lines are written by say.
type life func(ctx context.Context, req map[string]any, stdin *bufio.Reader, say func(format string, args ...any)) int

// program is the fake driver's view of a runner that lives by l.
func program(l life) fake.Program {
	return func(ctx context.Context, _ *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
		say := func(format string, args ...any) { fmt.Fprintf(stdout, format+"\n", args...) }
		say(`{"type":"cell/ready","protocol":1}`)
		in := bufio.NewReader(stdin)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return 0
			}
			if wall.TypeOf(line) == wall.TypeRequest {
				var req map[string]any
				_ = json.Unmarshal(line, &req)
				return l(ctx, req, in, say)
			}
		}
	}
}

// well is the life of a skill that says two things and succeeds.
func well(_ context.Context, _ map[string]any, in *bufio.Reader, say func(string, ...any)) int {
	say(`{"type":"skill/event","kind":"progress","data":{"pct":50,"message":"half"}}`)
	say(`{"type":"skill/event","kind":"log","data":{"level":"info","message":"done"}}`)
	say(`{"type":"skill/result","success":true,"data":{"n":1},"summary":"fine"}`)
	say(`{"type":"cell/exit","exit_code":0,"oom_kills":0}`)
	_, _ = in.ReadBytes('\n')
	return 0
}

// hang is the life of a skill that never ends by itself.
func hang(ctx context.Context, _ map[string]any, _ *bufio.Reader, _ func(string, ...any)) int {
	<-ctx.Done()
	return 137
}

// store is an image store that has everything, or fails.
type store struct{ err error }

func (s store) Resolve(_ context.Context, ref string, _ images.PullPolicy) (images.Image, error) {
	return images.Image{Ref: ref, ID: "sha256:" + fmt.Sprintf("%064x", 7), OS: "linux", Arch: "amd64"}, s.err
}

// watcher counts what the supervisor observes.
type watcher struct {
	blind
	mu              sync.Mutex
	accepted, ended int
	created, gone   int
	depth, flight   int
	codes           []string
	deepest         int
}

func (w *watcher) count(f func()) { w.mu.Lock(); defer w.mu.Unlock(); f() }

func (w *watcher) CallAccepted(string) { w.count(func() { w.accepted++ }) }
func (w *watcher) CallEnded(_ string, end control.Call, _ string) {
	code, reason := cmp.Or(string(end.Code), "ok"), end.Reason
	w.count(func() { w.ended++; w.codes = append(w.codes, code+"/"+reason) })
}
func (w *watcher) CellCreated()     { w.count(func() { w.created++ }) }
func (w *watcher) CellDestroyed()   { w.count(func() { w.gone++ }) }
func (w *watcher) QueueDepth(n int) { w.count(func() { w.depth = n; w.deepest = max(w.deepest, n) }) }
func (w *watcher) InFlight(n int)   { w.count(func() { w.flight = n }) }

func catalog(t testing.TB) skills.Catalog {
	t.Helper()
	dir := fstest.MapFS{}
	add := func(name, yaml string) {
		dir[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: for tests\n---\n")}
		dir[name+"/skill.yaml"] = &fstest.MapFile{Data: []byte(yaml)}
		dir[name+"/main.py"] = &fstest.MapFile{Data: []byte("pass\n")}
	}
	add("echo-text", "input_schema: {type: object, properties: {text: {type: string}, n: {type: integer}}, required: [text]}\narguments: {n: 7}\n")
	add("free", "timeout_seconds: 5\ntags: [a, b]\ncategory: c\n")
	add("strict", "output_schema: {type: object, required: [m]}\n")
	add("patient", "")
	add("framed", "run: {image: img, frames: true, command: [/speak]}\n")
	add("agentic", "run: {agent: true}\n")
	add("keyed", "secrets: [TOKEN]\n")
	add("gone", "status: Archived\n")
	add("locked", "status: Blocked\n")
	lib, err := skills.Load([]skills.Source{{Label: "project", FS: dir, Path: "test"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func runnerTree(string) (sandbox.Tree, error) {
	return sandbox.Tree{Name: "runner", Digest: fmt.Sprintf("%064x", 1), Target: wall.DirRunner, FS: fstest.MapFS{"runner": {Mode: 0o755}}}, nil
}

type bench struct {
	*Supervisor
	driver *fake.Driver
	watch  *watcher
}

// setUp returns a supervisor over a fake driver whose cells live by l. It is drained at the end, and then as many cells
// must be gone as were made, and every call that was accepted must have ended.
func setUp(t testing.TB, l life, adjust func(*Config)) *bench {
	t.Helper()
	driver := fake.New(program(l))
	watch := &watcher{}
	cfg := Config{
		Driver: driver, Images: store{}, Skills: catalog(t), Instance: "test", Observer: watch, Runner: runnerTree,
		DefaultImages: map[string]string{"python": "img"},
		EmbedEvents:   true,
	}
	if adjust != nil {
		adjust(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{s, driver, watch}
	t.Cleanup(func() { b.settle(t) })
	return b
}

func (b *bench) settle(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Drain(ctx); err != nil {
		t.Errorf("drain: %v", err)
	}
	if b.watch.accepted != b.watch.ended || b.watch.flight != 0 || b.watch.depth != 0 {
		t.Errorf("accepted %d, ended %d, in flight %d, queued %d", b.watch.accepted, b.watch.ended, b.watch.flight, b.watch.depth)
	}
	if s := b.driver.Stats(); s.Live != 0 || b.watch.created != b.watch.gone {
		t.Errorf("cells: made %d, gone %d, alive %d", b.watch.created, b.watch.gone, s.Live)
	}
	if b.gate.queue != nil {
		if cells, memory := b.gate.queue.Held(); cells != 0 || memory != 0 {
			t.Errorf("%d cells and %d bytes are still reserved", cells, memory)
		}
	}
	if len(b.uids.used) != 0 {
		t.Errorf("%d user ids are still taken", len(b.uids.used))
	}
}

func (b *bench) ask(ctx context.Context, req *a2e.CallRequest) (*a2e.CallResponse, []a2e.Event) {
	var events []a2e.Event
	answer := b.Call(ctx, a2e.Caller{Door: "test"}, req, a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		events = append(events, *ev)
		return nil
	}))
	return answer, events
}

func req(name string) *a2e.CallRequest { return &a2e.CallRequest{Name: name} }

func timed(name string, seconds int) *a2e.CallRequest {
	return &a2e.CallRequest{Name: name, Timeout: &seconds}
}

func verdict(r *a2e.CallResponse) string {
	if r.Error == nil {
		return "ok"
	}
	return string(r.Error.Code) + "/" + r.Error.Reason()
}

package faults

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/engineproxy"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// hang is far beyond what anything here takes: only what hangs exceeds it.
const hang = 2 * time.Minute

// serial numbers the supervisors of this process, for their ids.
var serial atomic.Int64

// TestMain removes the volumes that these tests filled, as far as no one else uses them.
func TestMain(m *testing.M) {
	before := volumes()
	code := m.Run()
	for id := range volumes() {
		if !before[id] {
			onEngine(func(ctx context.Context, d *docker.Driver) { _ = d.Remove(ctx, id) })
		}
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// onEngine runs f with a driver of its own, past all proxies.
func onEngine(f func(ctx context.Context, d *docker.Driver)) {
	d, err := docker.New(docker.Options{Instance: "looker"})
	if err != nil {
		return
	}
	defer d.Close()
	ctx, cancel := context.WithTimeout(context.Background(), hang+time.Minute)
	defer cancel()
	f(ctx, d)
}

func volumes() map[string]bool {
	names := map[string]bool{}
	onEngine(func(ctx context.Context, d *docker.Driver) {
		all, _ := d.List(ctx) // no engine: no volumes
		for _, l := range all {
			if l.Kind == "volume" {
				names[l.ID] = true
			}
		}
	})
	return names
}

// bench is a supervisor on the real engine with a proxy between them.
type bench struct {
	*rig.Rig
	proxy    *engineproxy.Proxy
	instance string
}

// newBench makes one. When the test ends the supervisor is drained, and nothing may be left of it.
func newBench(t *testing.T, skills fstest.MapFS, adjust func(*executor.Config)) *bench {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	b := &bench{instance: fmt.Sprintf("faults%dx%d", os.Getpid(), serial.Add(1))}
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	t.Cleanup(func() { noneLeft(t, b.instance) })
	b.proxy = engineproxy.New(t, "")
	var err error
	b.Rig, err = rig.New(rig.Options{
		Runner: testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell-runner"),
		Skills: skills, Host: b.proxy.Host(), Instance: b.instance, Adjust: adjust,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(time.Minute); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// noneLeft reports what an instance left on the engine, and removes it.
func noneLeft(t *testing.T, instance string) {
	onEngine(func(ctx context.Context, d *docker.Driver) {
		for _, l := range own(ctx, t, d, instance) {
			t.Errorf("left behind: %s %s, %s", l.Kind, l.Name, l.State)
			if err := d.Remove(ctx, l.ID); err != nil {
				t.Error(err)
			}
		}
	})
}

// own lists what an instance has on the engine.
func own(ctx context.Context, t *testing.T, d *docker.Driver, instance string) []sandbox.Listed {
	all, err := d.List(ctx)
	if err != nil {
		t.Error(err)
	}
	var ours []sandbox.Listed
	for _, l := range all {
		if l.Labels[sandbox.LabelInstance] == instance {
			ours = append(ours, l)
		}
	}
	return ours
}

// awaitNoCells waits until the engine has no cell of the bench's.
func (b *bench) awaitNoCells(t *testing.T) {
	t.Helper()
	onEngine(func(ctx context.Context, d *docker.Driver) {
		testutil.Poll(t, hang, func() bool { return len(own(ctx, t, d, b.instance)) == 0 })
	})
}

// call calls a skill and returns the answer.
func (b *bench) call(t *testing.T, name string, seconds int) *a2e.CallResponse {
	t.Helper()
	return b.Call(t.Context(), a2e.Caller{Door: "test"}, request(name, seconds), nil)
}

// listen calls a skill, and f with the text of each event that has one.
func (b *bench) listen(ctx context.Context, name string, seconds int, f func(text string)) *a2e.CallResponse {
	return b.Call(ctx, a2e.Caller{Door: "test"}, request(name, seconds), a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		if s, ok := ev.Data["message"].(string); ok {
			f(s)
		}
		return nil
	}))
}

func request(name string, seconds int) *a2e.CallRequest {
	return &a2e.CallRequest{Name: name, Timeout: &seconds}
}

// verdict is an answer's code and reason, "ok" for success.
func verdict(answer *a2e.CallResponse) string {
	if answer.Error == nil {
		return "ok"
	}
	return strings.TrimSuffix(string(answer.Error.Code)+"/"+answer.Error.Reason(), "/")
}

func expect(t *testing.T, answer *a2e.CallResponse, want string) {
	t.Helper()
	if got := verdict(answer); got != want {
		t.Errorf("got %s, want %s: %+v", got, want, answer.Error)
	}
}

// shell is a skill that runs a shell's one-liner; limits may be "".
func shell(name, limits, script string) fstest.MapFS {
	yaml := "run: {image: '" + rig.PythonImage + "', command: [sh, -c, " + quote(script) + "]}\n" + limits
	return rig.PythonSkill(name, yaml, "")
}

// quote is a YAML string.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// The skills that most tests use.
func common() fstest.MapFS {
	return rig.Merge(
		shell("quick", "", "echo 42"),
		shell("waits", "", "echo up; sleep 300"),
	)
}

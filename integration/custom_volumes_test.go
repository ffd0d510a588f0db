package integration

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// revisions is a catalog in which one custom skill has ever new revisions.
type revisions struct {
	skills.Catalog
	mark    string
	current atomic.Pointer[skills.Skill]
}

// writeCustom is the custom skill's program: it says that it runs, and then sleeps.
const writeCustom = `import json, sys, time
args = json.loads(sys.stdin.readline())["arguments"]
print(json.dumps({"type": "skill/event", "kind": "log", "data": {"level": "info", "message": "runs"}}), flush=True)
time.sleep(args.get("seconds", 0))
print(json.dumps({"type": "skill/result", "success": True, "data": open("/skill/revision").read()}))
`

func (r *revisions) write(t *testing.T, n int) *skills.Skill {
	t.Helper()
	files := map[string]string{
		"SKILL.md": "---\nname: mine\ndescription: A custom skill.\n---\n\nRun it.\n", "main.py": writeCustom, "revision": fmt.Sprint(r.mark, " ", n),
	}
	s := skills.ReadPart(skills.Memory(files), "mine", skills.Strict, skills.SourceUser).Of(skills.Owner{Name: "alice"}).Skill()
	if s.Status != skills.Published {
		t.Fatalf("%+v", s.Findings)
	}
	r.current.Store(s)
	return s
}

func (r *revisions) Find(name string) (*skills.Skill, string) {
	if s := r.current.Load(); name == s.Name {
		return s, ""
	}
	return r.Catalog.Find(name)
}

// only is a driver that lists of volumes those of some trees alone: others on the engine are nobody's business here.
type only struct {
	sandbox.Driver
	digests []string
}

func (o *only) List(ctx context.Context) ([]sandbox.Listed, error) {
	all, err := o.Driver.List(ctx)
	return slices.DeleteFunc(all, func(l sandbox.Listed) bool {
		return l.Kind == "volume" && !slices.Contains(o.digests, l.Labels[sandbox.LabelDigest])
	}), err
}

func (o *only) left(t *testing.T) (digests []string) {
	t.Helper()
	all, err := o.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Kind == "volume" {
			digests = append(digests, l.Labels[sandbox.LabelDigest])
		}
	}
	return digests
}

// Each revision of a custom skill that is called has a volume. Those that nobody uses go soon, one that a cell uses never.
// Others who test on this engine may remove what nobody uses, too.
func TestVolumesOfCustomSkills(t *testing.T) {
	library, err := skills.Load(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	shelf, mine := &revisions{Catalog: library, mark: rand.Text()}, &only{}
	r := newRig(t, rig.Options{Adjust: func(c *executor.Config) {
		mine.Driver = c.Driver
		c.Driver, c.Shelf, c.Volumes = mine, skills.Open(shelf), executor.Volumes{Idle: time.Nanosecond}
	}})
	call := func(ctx context.Context, seconds float64, runs func()) *a2e.CallResponse {
		return r.Call(ctx, a2e.Caller{Principal: "alice"}, &a2e.CallRequest{Name: "mine", Arguments: map[string]any{"seconds": seconds}},
			a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { runs(); return nil }))
	}
	for n := range 3 {
		s := shelf.write(t, n)
		mine.digests = append(mine.digests, s.Bundle.Digest)
		if got := call(t.Context(), 0, func() {}); got.Error != nil || fmt.Sprintf("%s", got.Data.Data) != fmt.Sprintf("%q", fmt.Sprint(shelf.mark, " ", n)) {
			t.Fatalf("revision %d: %+v", n, got)
		}
	}
	running, ended := make(chan struct{}), make(chan *a2e.CallResponse, 1)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() { ended <- call(ctx, 300, func() { close(running) }) }()
	select {
	case <-running:
	case got := <-ended:
		t.Fatalf("%+v", got)
	}
	if err := r.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if got := mine.left(t); !slices.Equal(got, mine.digests[2:]) {
		t.Errorf("while the last one is used there are %v", got)
	}
	end()
	if got := <-ended; got.Error == nil || got.Error.Reason() != a2e.ReasonCancelled {
		t.Errorf("the call in the meantime: %+v", got)
	}
	testutil.Poll(t, time.Minute, func() bool { // its cell goes after its answer
		if err := r.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		return len(mine.left(t)) == 0
	})
	if got := call(t.Context(), 0, func() {}); got.Error != nil {
		t.Errorf("a call after its volume went: %+v", got)
	}
}

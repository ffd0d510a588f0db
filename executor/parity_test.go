package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// wish is what three parties and a skill's bundle say of a call.
type wish struct {
	operator, skill, caller policies.Policy
	work                    compile.Workload
}

// blueprint is what comes of a wish, unless it cannot be had.
func (w *wish) blueprint() (*blueprint, error) {
	eff, err := policies.Narrow(w.operator, w.skill, w.caller)
	if err != nil {
		return nil, err
	}
	b := &blueprint{eff: eff, work: w.work}
	if _, err := compile.Compile(b.eff, b.work); err != nil {
		return nil, err
	}
	return b, nil
}

func plainWish() wish {
	digest := strings.Repeat("ab", 32)
	return wish{work: compile.Workload{
		CallID: "01JZ3N8Q0VXK5T7R9W2M4P6YAB", Skill: "s", Instance: "test", Host: "h", Expires: time.Unix(1_800_000_000, 0), UID: compile.MinUID,
		Image: sandbox.Image{ID: "sha256:" + digest}, OS: "linux", Arch: "amd64", Entrypoint: []string{"/entry"}, Cmd: []string{"cmd"},
		Command: []string{"python3", "main.py"},
		Bundle:  sandbox.Tree{Name: "bundle", Digest: digest, FS: fstest.MapFS{}},
		Runner:  sandbox.Tree{Name: "runner", Digest: digest, FS: fstest.MapFS{}},
	}}
}

// differences are ways for two calls to differ, by name.
func differences() map[string]func(*wish) {
	other := strings.Repeat("cd", 32)
	all := map[string]func(*wish){
		"nothing":            func(*wish) {},
		"caller: timeout":    func(w *wish) { w.caller.Timeout = 7 * time.Second },
		"caller: runtime":    func(w *wish) { w.caller.Runtime = "runsc" }, // has no say
		"skill: runtime":     func(w *wish) { w.skill.Runtime = "runsc" },  // nor has it
		"skill: writes":      func(w *wish) { w.skill.Writes = true },
		"skill: timeout":     func(w *wish) { w.skill.Timeout = 9 * time.Second },
		"operator: runtime":  func(w *wish) { w.operator.Runtime = "runsc" },
		"operator: timeout":  func(w *wish) { w.operator.Timeout = 8 * time.Second },
		"operator: network":  func(w *wish) { w.operator.Network.Allow = []string{"api.example.org:443"} },
		"skill: secrets":     func(w *wish) { w.skill.Secrets = []string{"TOKEN"} },
		"skill: model":       func(w *wish) { w.skill.LLM = &policies.LLM{Provider: "p", Model: "m"} },
		"image":              func(w *wish) { w.work.Image.ID = "sha256:" + other },
		"image: environment": func(w *wish) { w.work.Image.Env = []string{"LANG=de_DE.UTF-8"} },
		"image: two values":  func(w *wish) { w.work.Image.Env = []string{"A=b", "C=d"} },
		"image: one value":   func(w *wish) { w.work.Image.Env = []string{"A=b C=d"} },
		"image: volume":      func(w *wish) { w.work.Image.Volumes = []string{"/data"} },
		"image: machine":     func(w *wish) { w.work.Arch = "arm64" },
		"image: entrypoint":  func(w *wish) { w.work.Entrypoint = []string{"/other"} },
		"frames":             func(w *wish) { w.work.Frames = true },
		"frames, own":        func(w *wish) { w.work.Frames, w.work.Command = true, nil },
		"frames, own, other": func(w *wish) { w.work.Frames, w.work.Command, w.work.Entrypoint = true, nil, []string{"/other"} },
		"frames, own, split": func(w *wish) {
			w.work.Frames, w.work.Command, w.work.Entrypoint, w.work.Cmd = true, nil, []string{"/entry", "cmd"}, nil
		},
		"command":           func(w *wish) { w.work.Command = []string{"python3", "other.py"} },
		"command, one word": func(w *wish) { w.work.Command = []string{"python3 main.py"} },
		"prestart":          func(w *wish) { w.work.Prestart = true },
		"variables":         func(w *wish) { w.work.Env = []string{wall.EnvCorrelate + "=1"} },
		"a port":            func(w *wish) { w.work.Ports = []wall.Port{{Name: "egress", Number: 41001}} },
		"another port":      func(w *wish) { w.work.Ports = []wall.Port{{Name: "egress", Number: 41002}} },
		"another's port":    func(w *wish) { w.work.Ports = []wall.Port{{Name: "tools", Number: 41001}} },
		"two ports": func(w *wish) {
			w.work.Ports = []wall.Port{{Name: "egress", Number: 41001}, {Name: "tools", Number: 41002}}
		},
		"a token": func(w *wish) { w.work.Env = []string{wall.EnvToken + "=" + compile.AnyToken} },
		"skill: network": func(w *wish) {
			w.skill.Network.Allow, w.operator.Network.Allow = []string{"api.example.org:443"}, []string{"*.example.org:443"}
			w.work.Ports = []wall.Port{{Name: "egress", Number: 41001}}
		},
		"engine":       func(w *wish) { w.work.Engine = sandbox.Tree{Name: "engine", Digest: other, FS: fstest.MapFS{}} },
		"bundle":       func(w *wish) { w.work.Bundle.Digest = other },
		"custom":       func(w *wish) { w.work.Bundle.Name = sandbox.TreeCustom },
		"runner":       func(w *wish) { w.work.Runner.Digest = other },
		"skill's name": func(w *wish) { w.work.Skill = "other" },
		"instance":     func(w *wish) { w.work.Instance = "another" },
	}
	for party, of := range map[string]func(*wish) *policies.Policy{
		"operator": func(w *wish) *policies.Policy { return &w.operator },
		"skill":    func(w *wish) *policies.Policy { return &w.skill },
		"caller":   func(w *wish) *policies.Policy { return &w.caller },
	} {
		all[party+": memory"] = func(w *wish) { of(w).Limits.Memory = 128 * policies.Mi }
		all[party+": memory, other"] = func(w *wish) { of(w).Limits.Memory = 128*policies.Mi + 4096 }
		all[party+": cpu"] = func(w *wish) { of(w).Limits.CPU = 500 }
		all[party+": pids"] = func(w *wish) { of(w).Limits.PIDs = 32 }
		all[party+": files"] = func(w *wish) { of(w).Limits.Files = 64 }
		all[party+": workspace"] = func(w *wish) { of(w).Limits.Workspace = 8 * policies.Mi }
		all[party+": out"] = func(w *wish) { of(w).Limits.Out = 4 * policies.Mi }
		all[party+": output"] = func(w *wish) { of(w).Limits.Output = 1 * policies.Mi }
	}
	return all
}

var tokens = regexp.MustCompile(`hc-[0-9a-f]{32}`)

// essence is, as text, a spec without what is a cell's own: its name, its labels, its user id and the token of its ports.
func essence(t interface{ Fatal(...any) }, s *sandbox.Spec) string {
	own := fmt.Sprint(s.OCI.Process.User.UID)
	c, o, p := *s, *s.OCI, *s.OCI.Process
	c.OCI, o.Process = &o, &p
	c.Name, c.Key, c.Again = "", "", nil
	c.Labels = map[string]string{sandbox.LabelSkill: s.Labels[sandbox.LabelSkill]}
	p.User.UID, p.User.GID = 0, 0
	p.Env = slices.Clone(p.Env)
	for i, entry := range p.Env {
		p.Env[i] = tokens.ReplaceAllString(entry, "TOKEN")
	}
	o.Mounts = slices.Clone(o.Mounts)
	for i, m := range o.Mounts {
		o.Mounts[i].Options = slices.Clone(m.Options)
		for j, option := range m.Options {
			if option == "uid="+own || option == "gid="+own {
				o.Mounts[i].Options[j] = option[:3] + "=own"
			}
		}
	}
	c.Trees = slices.Clone(c.Trees)
	for i := range c.Trees {
		c.Trees[i].FS = nil
	}
	text, err := json.MarshalIndent(&c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ready is a blueprint with its key and what its cells are.
type ready struct {
	*blueprint
	essence string
}

func prepare(t interface {
	Fatal(...any)
	Errorf(string, ...any)
}, s *Supervisor, b *blueprint) *ready {
	spec, err := compile.Compile(b.eff, b.work)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is remembered
		key, err := s.keys.of(b)
		if err != nil || key == "" || b.key != "" && b.key != key {
			t.Errorf("key %q, then %q: %v", b.key, key, err)
		}
		b.key = key
	}
	return &ready{b, essence(t, spec)}
}

// recorder is a pool over fake cells that remembers what each cell is.
type recorder struct {
	*warm.Driver
	mu    sync.Mutex
	specs map[string]*sandbox.Spec // by name
}

func newRecorder(most int) *recorder {
	r := &recorder{specs: map[string]*sandbox.Spec{}}
	r.Driver = warm.New(fake.New(func(ctx context.Context, spec *sandbox.Spec, _ io.Reader, stdout, _ io.Writer) int {
		r.mu.Lock()
		r.specs[spec.Name] = spec
		r.mu.Unlock()
		fmt.Fprintln(stdout, `{"type":"cell/ready","protocol":1}`)
		<-ctx.Done()
		return 0
	}), warm.Options{Max: most})
	return r
}

// lease returns what a call with this blueprint gets: nil if no cell waits for it.
func (r *recorder) lease(t testing.TB, s *Supervisor, b *blueprint) *sandbox.Spec {
	t.Helper()
	box, name := s.lease(b)
	if box == nil {
		return nil
	}
	if err := box.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.gone(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.specs[name]
}

// await makes a cell wait for a call under a blueprint.
func (r *recorder) await(t testing.TB, s *Supervisor, b *blueprint) {
	t.Helper()
	spec, err := compile.Compile(b.eff, b.work)
	if err != nil {
		t.Fatal(err)
	}
	spec.Key, spec.Again = b.key, s.again(b)
	box, err := r.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPolicyParity makes a cell wait under each wish in turn and asks for one under each other: a cell is leased only to a
// call for which it would have been made the same. Fifty wishes make two and a half thousand pairs.
func TestPolicyParity(t *testing.T) {
	all := differences()
	r := newRecorder(500)
	s := setUp(t, nil, func(c *Config) { c.Driver = r }).Supervisor
	t.Cleanup(r.Drain)
	ways := map[string]*ready{}
	for name, differ := range all {
		w := plainWish()
		differ(&w)
		b, err := w.blueprint()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ways[name] = prepare(t, s, b)
	}
	shared, leased := 0, 0
	for nameA, a := range ways {
		r.await(t, s, a.blueprint)
		testutil.Poll(t, 20*time.Second, func() bool { return len(r.Waiting(a.work.Skill)) > 0 })
		for nameB, b := range ways {
			shared += pair(t, nameA, nameB, a, b)
			if got := r.lease(t, s, b.blueprint); got != nil {
				leased++
				if diff := cmp.Diff(b.essence, essence(t, got)); diff != "" {
					t.Errorf("a call under %q got a cell that is another (one waited under %q):\n%s", nameB, nameA, diff)
				}
			}
		}
	}
	if shared <= len(ways) || shared == len(ways)*len(ways) || leased < len(ways)/2 {
		t.Errorf("%d of %d pairs share a key and %d cells were leased: that proves nothing", shared, len(ways)*len(ways), leased)
	}
}

// pair demands that two wishes share a key if, and only if, their cells are the same. It returns 1 if they do.
func pair(t interface{ Errorf(string, ...any) }, nameA, nameB string, a, b *ready) int {
	if same := a.key == b.key; same != (a.essence == b.essence) {
		t.Errorf("%q and %q share a key: %t, and differ by\n%s", nameA, nameB, same, cmp.Diff(a.essence, b.essence))
	}
	if a.key == b.key {
		return 1
	}
	return 0
}

// Any number of differences at once, in any two calls.
func TestPolicyParityOfAnyPair(t *testing.T) {
	all := differences()
	names := slices.Sorted(maps.Keys(all))
	s := setUp(t, nil, func(c *Config) { r := newRecorder(1); t.Cleanup(r.Drain); c.Driver = r }).Supervisor
	rapid.Check(t, func(t *rapid.T) {
		draw := func(which string) (*ready, string) {
			w := plainWish()
			some := rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, which)
			for _, name := range some {
				all[name](&w)
			}
			if rapid.Bool().Draw(t, which+" has little memory") {
				w.operator.Limits.Memory = policies.MinMemory + policies.Bytes(rapid.IntRange(0, 3).Draw(t, which+" memory"))
			}
			w.work.UID += uint32(rapid.IntRange(0, 3).Draw(t, which+" uid"))
			b, err := w.blueprint()
			if err != nil {
				t.Skip("cannot be had")
			}
			return prepare(t, s, b), strings.Join(some, "+")
		}
		a, nameA := draw("a")
		b, nameB := draw("b")
		pair(t, nameA, nameB, a, b)
	})
}

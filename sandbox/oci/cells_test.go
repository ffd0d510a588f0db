package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

func output2(t testing.TB, cell sandbox.Sandbox) (stdout, stderr string) {
	t.Helper()
	_ = cell.Stdio().Stdin.Close()
	var errText []byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		errText, _ = io.ReadAll(cell.Stdio().Stderr)
	}()
	out, err := io.ReadAll(cell.Stdio().Stdout)
	if err != nil {
		t.Errorf("stdout: %v", err)
	}
	<-done
	return string(out), string(errText)
}

// sharedRoot: cells leave the image as it was, and a mount has the spec's mode whatever the image has in its place.
func (r *real) sharedRoot(t *testing.T) {
	d := r.driver(t, "test-oci-root")
	for range 2 {
		cell := r.start(t, d, r.spec("list", "/"))
		out, stderr := output2(t, cell)
		if !strings.Contains(out, "scratch 700 65601:65601") || !strings.Contains(out, "data 700 65601:65601") {
			t.Errorf("modes:\n%s%s", out, stderr)
		}
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, "image"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "bin data scratch" {
		t.Errorf("the image holds %s", got)
	}
}

// leftBehind: another supervisor sees a cell with all that is known of it, and removes it.
func (r *real) leftBehind(t *testing.T) {
	a, b := r.driver(t, "test-oci-a"), r.driver(t, "test-oci-b")
	spec := r.spec("sleep")
	spec.Labels[sandbox.LabelExpires] = "12345"
	cell := r.start(t, a, spec)
	all, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, l := range all {
		if l.Kind == "cgroup" && l.Name == spec.Name {
			t.Errorf("the group of a cell is listed apart: %+v", l)
		}
		if l.ID == cell.ID() {
			found = true
			if l.State != "running" || l.Labels[sandbox.LabelInstance] != "test-oci-a" || l.Labels[sandbox.LabelExpires] != "12345" {
				t.Errorf("listed as %+v", l)
			}
		}
	}
	if !found {
		t.Error("not listed")
	}
	if err := b.Remove(t.Context(), cell.ID()); err != nil {
		t.Fatal(err)
	}
	if exit, err := cell.Wait(t.Context()); err != nil || exit.Code != killedCode {
		t.Errorf("its owner sees %+v, %v", exit, err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "run", "test-oci-a")); err == nil {
		t.Error("the instance's folder is left")
	}
}

// limitsUnset: a cell whose limits the kernel does not have never runs.
func (r *real) limitsUnset(t *testing.T) {
	d := r.driver(t, "test-oci-limits")
	made, err := d.Create(t.Context(), r.spec("print", "ran"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := made.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	made.(*cell).limits.PIDs++
	if err := made.Start(t.Context()); !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), "pids.max") {
		t.Errorf("start: %v", err)
	}
	if out, _ := io.ReadAll(made.Stdio().Stdout); len(out) > 0 {
		t.Errorf("it ran: %q", out)
	}
}

func (r *real) notExecutable(t *testing.T) {
	d := r.driver(t, "test-oci-exec")
	spec := r.spec("print")
	spec.OCI.Process.Args = []string{"/bin/not-executable"}
	made, err := d.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	var start *sandbox.StartError
	if err := made.Start(t.Context()); !errors.As(err, &start) || start.ExitCode != 126 || start.OOM {
		t.Errorf("start: %v", err)
	}
	if err := made.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
}

// stuckOutput: a cell that nobody reads is killed all the same.
func (r *real) stuckOutput(t *testing.T) {
	cell := r.start(t, r.driver(t, "test-oci-stuck"), r.spec("flood", fmt.Sprint(64<<20)))
	if _, err := io.ReadFull(cell.Stdio().Stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cell.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if exit, err := cell.Wait(t.Context()); err != nil || exit.Code != killedCode || exit.Evidence.OOMKilled {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

// killedStarting: a kill does not wait for a start.
func (r *real) killedStarting(t *testing.T) {
	d := r.driver(t, "test-oci-early")
	for range 5 {
		made, err := d.Create(t.Context(), r.spec("sleep"))
		if err != nil {
			t.Fatal(err)
		}
		started := make(chan error, 1)
		go func() { started <- made.Start(t.Context()) }()
		testutil.Poll(t, 10*time.Second, func() bool {
			c := made.(*cell)
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.claimed
		})
		if err := made.Kill(t.Context()); err != nil {
			t.Errorf("kill: %v", err)
		}
		err = <-started
		if _, waitErr := made.Wait(t.Context()); err != nil && waitErr == nil {
			t.Errorf("start said %v, and wait nothing", err)
		}
		if err := made.Destroy(t.Context()); err != nil {
			t.Errorf("destroy: %v", err)
		}
	}
}

func (r *real) witness(t *testing.T) {
	cell := r.start(t, r.driver(t, "test-oci-witness"), r.spec("print", "x"))
	output2(t, cell)
	exit, err := cell.Wait(t.Context())
	if err != nil || exit.Evidence.Confidence != sandbox.ConfidenceKernel || exit.Evidence.Usage.MemoryPeak == 0 || exit.Evidence.Usage.CPU == 0 {
		t.Errorf("%+v, %v", exit, err)
	}
	if ev := cell.(sandbox.Witness).Evidence(); ev.Confidence != sandbox.ConfidenceKernel {
		t.Errorf("witness: %+v", ev)
	}
}

// treeInUse: a folder that a cell mounts stays, and goes when nobody does.
func (r *real) treeInUse(t *testing.T) {
	d := r.driver(t, "test-oci-tree")
	tree := sandbox.Tree{Name: "t", Digest: sandboxtest.Digest(), Target: "/skill", FS: fstest.MapFS{"a/b": {Data: []byte("x"), Mode: 0o4700}}}
	cell := r.start(t, d, sandboxtest.WithTree(r.spec("list", "/skill/a"), tree))
	if out, _ := output2(t, cell); !strings.HasPrefix(out, "b 755 0:0") {
		t.Errorf("tree: %s", out)
	}
	id := treePrefix + tree.Digest
	if err := d.Remove(t.Context(), id); !errors.Is(err, errInUse) {
		t.Errorf("in use: %v", err)
	}
	if err := cell.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(d.cache.path(kindTree, tree.Digest)); err == nil {
		t.Error("the tree is still there")
	}
	own := sandbox.Tree{Name: sandbox.TreeCustom, Digest: sandboxtest.Digest(), Target: "/skill", FS: tree.FS}
	r.start(t, d, sandboxtest.WithTree(r.spec("list", "/skill/a"), own))
	all, err := d.List(t.Context())
	i := slices.IndexFunc(all, func(l sandbox.Listed) bool { return l.Labels[sandbox.LabelDigest] == own.Digest })
	if err != nil || i < 0 || all[i].Tree != sandbox.TreeCustom || all[i].Kind != "volume" || d.Remove(t.Context(), all[i].ID) == nil {
		t.Errorf("a custom skill's: %+v, %v", all, err)
	}
	bad := sandbox.Tree{Name: "t", Digest: sandboxtest.Digest(), Target: "/skill", FS: fstest.MapFS{"l": {Mode: os.ModeSymlink}}}
	if c, err := d.Create(t.Context(), sandboxtest.WithTree(r.spec("print"), bad)); !errors.Is(err, sandbox.ErrUnsupported) || c != nil {
		t.Errorf("a tree with a link: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(d.cache.dir, "tmp")); len(left) > 0 {
		t.Errorf("left in tmp: %v", left)
	}
}

// envOrphan makes this program a supervisor that starts a cell in that folder, says so and waits to be killed.
const envOrphan = "HOTCELL_TEST_ORPHAN"

// deadSupervisor: the cell of a supervisor that was killed ends with its stdin, and is removed by the next.
func (r *real) deadSupervisor(t *testing.T) {
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(me, "-test.run=^TestOrphan$")
	cmd.Env = append(os.Environ(), envOrphan+"="+r.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 512)
	n, _ := out.Read(id)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	name, ok := strings.CutPrefix(string(bytes.TrimSpace(id[:n])), "test-oci-orphan.")
	if !ok {
		t.Fatalf("it said %q", id[:n])
	}
	d := r.driver(t, "test-oci-next")
	testutil.Poll(t, 10*time.Second, func() bool { return d.folder("test-oci-orphan", name).stateOf() == "exited" })
	if err := d.Remove(t.Context(), "test-oci-orphan."+name); err != nil {
		t.Error(err)
	}
	all, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Labels[sandbox.LabelInstance] == "test-oci-orphan" && l.Name == name {
			t.Errorf("left: %+v", l)
		}
	}
	if err := d.groups.Drop("cgroup:/hotcell/test-oci-orphan"); err != nil {
		t.Error(err)
	}
}

func TestOrphan(t *testing.T) {
	dir := os.Getenv(envOrphan)
	if dir == "" {
		return // see deadSupervisor
	}
	r := &real{dir: dir}
	cell := r.start(t, r.driver(t, "test-oci-orphan"), r.spec("cat"))
	fmt.Println(cell.ID())
	_, _ = cell.Wait(t.Context())
}

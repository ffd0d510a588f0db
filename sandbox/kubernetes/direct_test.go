package kubernetes

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// runnerTree is the tree of a runner that was built.
func runnerTree(t *testing.T) sandbox.Tree {
	t.Helper()
	data, err := os.ReadFile(testutil.GoBuild(t, "../../cmd/hotcell-runner"))
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Tree{
		Name: "runner", Digest: fmt.Sprintf("%x", sha256.Sum256(data)), Target: wall.DirRunner,
		FS: fstest.MapFS{"runner": {Data: data, Mode: 0o755}, "lib/module.py": {Data: []byte("# a module"), Mode: 0o644}},
	}
}

// direct: pods that need no init container do all that others do, and what is mounted into them are plain files.
func (r *real) direct(t *testing.T) {
	if gate.Loader(runtime.GOARCH) == nil {
		t.Skip("there is no loader for " + runtime.GOARCH)
	}
	runner := runnerTree(t)
	made := func(program string, args ...string) *sandbox.Spec {
		spec := r.spec(program, args...)
		spec.Trees = append(spec.Trees, runner)
		return spec
	}
	t.Run("conformance", func(t *testing.T) { r.conformance(t, made) })
	d := r.driver(t)
	spec := made("read", wall.DirLibrary+"/module.py")
	if out := r.output(t, d, spec); out != "# a module" {
		t.Errorf("the runner's tree has %q", out)
	}
	cell, err := d.Create(bounded(t), made("sleep"))
	if err != nil {
		t.Fatal(err)
	}
	pod := testutil.Kubectl(t, "", "-n", r.namespace, "get", "pod", podOf(cell), "-o", "yaml")
	if err := cell.Destroy(bounded(t)); err != nil {
		t.Error(err)
	}
	if strings.Contains(pod, "initContainers") {
		t.Errorf("it has an init container:\n%s", pod)
	}
	spec = made("sleep") // what its node does not execute is tried with an init container, whose image has another runner
	spec.Trees[len(spec.Trees)-1] = sandbox.Tree{
		Name: "runner", Digest: strings.Repeat("c", 64), Target: wall.DirRunner, FS: fstest.MapFS{"runner": {Data: []byte("no program"), Mode: 0o755}},
	}
	fails(t, d, spec, sandbox.ErrUnavailable, "it is of another hotcell")
	if !d.loaderRefused() {
		t.Error("pods have a loader that their node refuses")
	}
}

// plain is a tree's files as a pod would have them.
func plain(tree fs.FS) ([]plainFile, error) {
	return plainFiles(sandbox.Tree{Name: "test", Target: "/skill", FS: tree}, "amd64")
}

func TestPlainFiles(t *testing.T) {
	big := bytes.Repeat([]byte("x"), partSize-4)
	files, err := plain(fstest.MapFS{
		"SKILL.md": {Data: []byte("about"), Mode: 0o644}, "a/b/run.sh": {Data: big, Mode: 0o755}, "a/c": {Data: []byte("more than ten bytes")},
	})
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	all := groups(files)
	if len(all) != 3 {
		t.Errorf("%d ConfigMaps", len(all))
	}
	data, err := contents(all[1])
	if err != nil || len(data) != 1 || !bytes.Equal(data[files[1].key], big) {
		t.Errorf("%v; %d entries", err, len(data))
	}
	many := fstest.MapFS{}
	for i := range mostFiles + 1 {
		many[fmt.Sprint(i)] = &fstest.MapFile{}
	}
	for name, tree := range map[string]fs.FS{
		"a file that is too large": fstest.MapFS{"x": {Data: make([]byte, partSize+1)}}, "an empty folder": fstest.MapFS{"x": {}, "d": {Mode: fs.ModeDir | 0o755}},
		"nothing": fstest.MapFS{}, "a link": fstest.MapFS{"x": {Mode: fs.ModeSymlink}}, "too many": many,
	} {
		if _, err := plain(tree); err == nil {
			t.Errorf("%s: it is taken for plain files", name)
		}
	}
}

// The runner is not among the files: the loader stands in its place.
func TestTheLoaderStandsInForTheRunner(t *testing.T) {
	files, err := plainFiles(sandbox.Tree{Name: "runner", Target: wall.DirRunner, FS: fstest.MapFS{"runner": {Data: make([]byte, 3<<20), Mode: 0o755}}}, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	data, err := contents(files)
	if err != nil || !bytes.Equal(data[files[0].key], gate.Loader("amd64")) {
		t.Errorf("%v, %d bytes", err, len(data[files[0].key]))
	}
}

func TestConvertDirect(t *testing.T) {
	spec := goldenSpec()
	spec.Runtime = ""
	spec.Trees[0].FS = fstest.MapFS{"runner": {Data: make([]byte, 3<<20), Mode: 0o755}}
	spec.Trees[1].FS = fstest.MapFS{"SKILL.md": {Data: []byte("about"), Mode: 0o644}}
	p, err := convert(spec, accepting())
	if err != nil {
		t.Fatal(err)
	}
	if p.load == nil || len(p.pod.Spec.InitContainers) > 0 {
		t.Errorf("it has %d init containers", len(p.pod.Spec.InitContainers))
	}
	for _, m := range p.pod.Spec.Containers[0].VolumeMounts {
		if strings.HasPrefix(m.Name, "tree-") && (m.SubPath != filesDir || !m.ReadOnly) {
			t.Errorf("a tree is mounted as %+v", m)
		}
	}
	for name, change := range map[string]func(*settings){
		"refused by nodes":     func(s *settings) { s.unloaded = true },
		"another architecture": func(s *settings) { s.arch = "arm64" },
		"a runtime class":      func(*settings) { spec.Runtime = "gvisor" },
		"the runner's image":   func(s *settings) { s.empty = []string{spec.Image.ID} }, // where the runner's program itself may be run
	} {
		s := accepting()
		change(&s)
		if p, err := convert(spec, s); err != nil || p.load != nil || len(p.pod.Spec.InitContainers) != 1 {
			t.Errorf("%s: it has no init container: %v", name, err)
		}
		spec.Runtime = ""
	}
}

package docker

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/docker/docker/api/types/volume"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/engineproxy"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

// newTree is a tree that no other test has, whose volume is removed when the test ends.
func (r *real) newTree(t testing.TB, files fs.FS) sandbox.Tree {
	t.Helper()
	tree := sandbox.Tree{Name: "unit", Digest: sandboxtest.Digest(), Target: "/skill", FS: files}
	r.dropVolumes(t, volumeName(tree))
	return tree
}

func files() fstest.MapFS {
	return fstest.MapFS{
		"main.py":    {Data: []byte("print(1)\n"), Mode: 0o600},
		"tool":       {Data: []byte("#!"), Mode: 0o4755},
		"lib/a.py":   {Data: []byte("a"), Mode: 0o666},
		"secret/key": {Data: []byte("k"), Mode: 0o440},
	}
}

// fills returns the containers and volumes that belong to a tree.
func (r *real) fills(t testing.TB, tree sandbox.Tree) (containers, volumes []string) {
	t.Helper()
	all, err := r.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		switch {
		case l.Labels[sandbox.LabelDigest] != tree.Digest:
		case l.Kind == kindVolume:
			volumes = append(volumes, l.ID)
		default:
			containers = append(containers, l.Name)
		}
	}
	return containers, volumes
}

func (r *real) expect(t testing.TB, tree sandbox.Tree, want string, args ...string) {
	t.Helper()
	out, err := once(t.Context(), r.Driver, sandboxtest.WithTree(r.spec(args[0], args[1:]...), tree))
	if out != want || err != nil {
		t.Errorf("%v: got %q, %v, want %q", args, out, err, want)
	}
}

func (r *real) treeModes(t *testing.T) {
	tree := r.newTree(t, files())
	r.expect(t, tree, "lib 755 0:0 946684800\nmain.py 644 0:0 946684800\nsecret 755 0:0 946684800\ntool 755 0:0 946684800\n", "list", "/skill")
	r.expect(t, tree, "a.py 644 0:0 946684800\n", "list", "/skill/lib")
	containers, volumes := r.fills(t, tree)
	if len(containers) != 0 || len(volumes) != 1 || treeOf(volumes[0]) != tree.Name {
		t.Errorf("containers %v, volumes %v", containers, volumes)
	}
}

func (r *real) treeEmpty(t *testing.T) {
	r.expect(t, r.newTree(t, fstest.MapFS{}), "", "list", "/skill")
}

// A tree that cannot be carried leaves nothing, and what is refused is named.
func (r *real) treeRefused(t *testing.T) {
	broken := files()
	broken["link"] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte("/etc/passwd")}
	tree := r.newTree(t, broken)
	_, err := r.Create(t.Context(), sandboxtest.WithTree(r.spec("cat"), tree))
	if !errors.Is(err, sandbox.ErrUnsupported) || !strings.Contains(err.Error(), "link") {
		t.Errorf("create: %v", err)
	}
	if containers, volumes := r.fills(t, tree); len(containers)+len(volumes) != 0 {
		t.Errorf("left behind: containers %v, volumes %v", containers, volumes)
	}
	tree.FS = files()
	r.expect(t, tree, "a", "read", "/skill/lib/a.py")
}

// countingFS counts how often a tree is read.
type countingFS struct {
	fs.FS
	mu    sync.Mutex
	reads int
}

func (c *countingFS) Open(name string) (fs.File, error) {
	if name == "main.py" {
		c.mu.Lock()
		c.reads++
		c.mu.Unlock()
	}
	return c.FS.Open(name)
}

// Two processes that want the same tree at the same time fill it once; so does one process with many callers.
func (r *real) treeFilledOnce(t *testing.T) {
	counting := &countingFS{FS: files()}
	tree := r.newTree(t, counting)
	drivers := []*Driver{r.Driver, open(t, Options{Instance: "second"}), open(t, Options{Instance: "third"})}
	var all sync.WaitGroup
	for i := range 9 {
		all.Go(func() {
			if lock, err := drivers[i%len(drivers)].ensure(t.Context(), tree, r.image); err != nil || lock == "" {
				t.Errorf("ensure %d: %q, %v", i, lock, err)
			}
		})
	}
	all.Wait()
	if counting.reads != 1 {
		t.Errorf("the tree was read %d times", counting.reads)
	}
	r.expect(t, tree, "a", "read", "/skill/lib/a.py")
	if containers, _ := r.fills(t, tree); len(containers) != 0 {
		t.Errorf("left behind: %v", containers)
	}
}

// Volumes that someone removes are filled again, and an empty one in their place is not believed.
func (r *real) treeVanishes(t *testing.T) {
	tree := r.newTree(t, files())
	r.expect(t, tree, "a", "read", "/skill/lib/a.py")
	if err := r.Remove(t.Context(), volumeName(tree)); err != nil {
		t.Fatal(err)
	}
	r.expect(t, tree, "a", "read", "/skill/lib/a.py")
	if err := r.Remove(t.Context(), volumeName(tree)); err != nil {
		t.Fatal(err)
	}
	if _, err := mustClient(t).VolumeCreate(t.Context(), volume.CreateOptions{Name: volumeName(tree)}); err != nil {
		t.Fatal(err)
	}
	r.expect(t, tree, "a", "read", "/skill/lib/a.py")
	r.expect(t, tree, "a", "read", "/skill/lib/a.py")
}

// A process that died while filling leaves a lock and half a volume: too old, they are thrown away; until then, waited for.
func (r *real) treeStaleLock(t *testing.T) {
	tree := r.newTree(t, files())
	labels := map[string]string{sandbox.LabelDigest: tree.Digest}
	half := tree
	half.FS = fstest.MapFS{"half": {Data: []byte("x"), Mode: 0o644}}
	lock, err := r.createFill(t.Context(), lockName(tree.Digest), r.image, labels, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.fillLocked(t.Context(), half, r.image, labels, lock); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := r.Create(ctx, sandboxtest.WithTree(r.spec("cat"), tree)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("create with a fresh lock: %v", err)
	}
	impatient := open(t, Options{Instance: "impatient", Timeouts: Timeouts{Stale: time.Second}})
	out, err := once(t.Context(), impatient, sandboxtest.WithTree(r.spec("list", "/skill"), tree))
	if err != nil || !strings.Contains(out, "main.py") || strings.Contains(out, "half") {
		t.Errorf("got %q, %v", out, err)
	}
	if containers, volumes := r.fills(t, tree); len(containers) != 0 || len(volumes) != 1 {
		t.Errorf("containers %v, volumes %v", containers, volumes)
	}
}

// A sweep that removes a fill removes its unfinished volume with it.
func (r *real) removeFill(t *testing.T) {
	tree := r.newTree(t, files())
	labels := map[string]string{sandbox.LabelDigest: tree.Digest}
	lock, err := r.createFill(t.Context(), lockName(tree.Digest), r.image, labels, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.fillLocked(t.Context(), tree, r.image, labels, lock); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Remove(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
	}
	if containers, volumes := r.fills(t, tree); len(containers)+len(volumes) != 0 {
		t.Errorf("left behind: containers %v, volumes %v", containers, volumes)
	}
}

// A volume that a cell mounts is not removed under it, and destroying the cell leaves the volume.
func (r *real) removeVolumeInUse(t *testing.T) {
	tree := r.newTree(t, files())
	c := r.start(t, sandboxtest.WithTree(r.spec("cat"), tree))
	if err := r.Remove(t.Context(), volumeName(tree)); !errors.Is(err, errBusy) {
		t.Errorf("remove: %v", err)
	}
	if err := c.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, volumes := r.fills(t, tree); len(volumes) != 1 {
		t.Errorf("volumes %v", volumes)
	}
}

func (r *real) closeEndsFills(t *testing.T) {
	d := openPlain(t, Options{})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ensure(t.Context(), r.newTree(t, files()), r.image); !errors.Is(err, errClosed) {
		t.Errorf("ensure after close: %v", err)
	}
}

// slowly is a driver on an engine that makes the container through which a volume is filled only after a while.
func slowly(t *testing.T, o Options, after time.Duration) (*Driver, *engineproxy.Proxy) {
	proxy := engineproxy.New(t, "")
	proxy.Inject(engineproxy.Rule{
		Method: "POST", Path: "/containers/create", Nth: 2, Fault: engineproxy.Fault{Before: engineproxy.Pause{For: after}},
	})
	o.Host, o.Instance = proxy.Host(), "slow"
	return openPlain(t, o), proxy
}

// A driver that is closed while a slow engine makes what a fill asked for leaves nothing of it.
func (r *real) closeWaitsForFills(t *testing.T) {
	const slow = 2 * time.Second
	d, proxy := slowly(t, Options{}, slow)
	tree := r.newTree(t, files())
	began := time.Now()
	var filling sync.WaitGroup
	filling.Go(func() {
		if _, err := d.ensure(t.Context(), tree, r.image); err == nil {
			t.Error("the volume was filled")
		}
	})
	testutil.Poll(t, 20*time.Second, func() bool { return proxy.Requests("POST", "/containers/create") == 2 })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	filling.Wait()
	if took := time.Since(began); took < slow {
		t.Errorf("closed after %v: the engine has not even begun", took)
	}
	if containers, volumes := r.fills(t, tree); len(containers)+len(volumes) > 0 {
		t.Errorf("left: %v, %v", containers, volumes)
	}
}

// What a fill asked for and no longer waits for takes its volume along: an empty one without a lock would count as complete.
func (r *real) lateFill(t *testing.T) {
	d, proxy := slowly(t, Options{Timeouts: Timeouts{Create: 500 * time.Millisecond}}, 2*time.Second)
	tree := r.newTree(t, files())
	if _, err := d.ensure(t.Context(), tree, r.image); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("ensure: %v", err)
	}
	removed := proxy.Requests("DELETE", "/volumes/*")
	testutil.Poll(t, 20*time.Second, func() bool { return proxy.Requests("DELETE", "/volumes/*") > removed })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if containers, volumes := r.fills(t, tree); len(containers)+len(volumes) > 0 {
		t.Errorf("left: %v, %v", containers, volumes)
	}
}

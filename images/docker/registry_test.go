package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/registry"
)

// bench is a keeper over the real engine's images, with a registry beside it. Images that it brings go with the test.
type bench struct {
	*registry.Registry
	dir    string
	store  *Store
	keeper *images.Keeper
	lock   *images.Lock
	ledger *images.Ledger
	engine *client.Client
	needed map[string]string // whom pruned spares
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	testutil.Require(t, "docker")
	b := &bench{Registry: registry.New(t), dir: t.TempDir()}
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	b.engine = engine
	t.Cleanup(func() { b.clear(t) })
	b.lock, b.ledger = images.OpenLock(filepath.Join(b.dir, images.LockName)), images.OpenLedger(filepath.Join(b.dir, "pulled.json"), "test")
	o.Ledger = b.ledger
	b.store = open(t, o)
	b.keeper = images.NewKeeper(images.KeeperOptions{Store: b.store, Lock: b.lock, Ledger: b.ledger})
	t.Cleanup(func() { b.lock.Close(); b.ledger.Close() })
	return b
}

// clear removes what the registry's images left on the engine.
func (b *bench) clear(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all, err := b.engine.ImageList(ctx, image.ListOptions{All: true})
	if err != nil {
		t.Error(err)
	}
	for _, one := range all {
		if strings.Contains(strings.Join(append(one.RepoTags, one.RepoDigests...), " "), b.Host+"/") {
			if _, err := b.engine.ImageRemove(ctx, one.ID, image.RemoveOptions{Force: true, PruneChildren: true}); err != nil {
				t.Error(err)
			}
		}
	}
	if err := b.engine.Close(); err != nil {
		t.Error(err)
	}
}

// grow makes everything in the ledger older.
func (b *bench) grow(t *testing.T, age time.Duration) {
	t.Helper()
	file := filepath.Join(b.dir, "pulled.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Images map[string]images.Entry `json:"images"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for id, e := range all.Images {
		e.Pulled, e.Used = e.Pulled.Add(-age), e.Used.Add(-age)
		all.Images[id] = e
	}
	text, err = json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func unavailable(t *testing.T, err error, retryable bool, says ...string) {
	t.Helper()
	var gone *images.UnavailableError
	if !errors.As(err, &gone) || gone.Retryable != retryable {
		t.Errorf("got %v, want an image that is unavailable, retryable %t", err, retryable)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q in it", err, text)
		}
	}
}

// A tag that moves changes nothing for calls, is told of, and moves when somebody says so. What is left behind goes, but not
// while a container was made from it, and never what others brought.
func TestATagThatMoves(t *testing.T) {
	b := newBench(t, Options{})
	ctx := t.Context()
	ref, digest := b.Push(t, "team/tool:1", registry.Image(t, registry.Native, 1000))
	first, err := b.keeper.Resolve(ctx, ref, images.PullMissing)
	if err != nil || images.Digest(first.RepoDigest) != digest || first.Ref != ref {
		t.Fatalf("got %+v, %v, want %s", first, err, digest)
	}
	_, moved := b.Push(t, "team/tool:1", registry.Image(t, registry.Native, 1000))
	for _, pull := range []images.PullPolicy{images.PullMissing, images.PullNever, images.PullAlways} {
		if again, err := b.keeper.Resolve(ctx, ref, pull); err != nil || again.ID != first.ID {
			t.Errorf("%s: %+v, %v, want %s", pull, again, err, first.ID)
		}
	}
	rows, err := b.keeper.List(ctx, true, false)
	want := []images.Row{{Ref: ref, ID: first.ID, Digest: digest, By: images.ByCall, State: images.StateStale, Note: "the registry has " + images.Short(moved), Size: first.Size}}
	if diff := cmp.Diff(want, rows); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	second, _, err := b.keeper.Pin(ctx, ref, true)
	if err != nil || second.ID == first.ID || images.Digest(second.RepoDigest) != moved {
		t.Fatalf("pulled %+v, %v", second, err)
	}
	if again, err := b.keeper.Resolve(ctx, ref, images.PullMissing); err != nil || again.ID != second.ID {
		t.Errorf("after the pull: %+v, %v", again, err)
	}
	b.grow(t, 100*time.Hour)
	box, err := b.engine.ContainerCreate(ctx, &container.Config{Image: first.ID, Cmd: []string{"/x"}, Labels: map[string]string{"test": "images"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	b.pruned(t, map[string]string{first.ID: "in use", second.ID: "pinned: " + ref})
	if err := b.engine.ContainerRemove(ctx, box.ID, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	b.pruned(t, map[string]string{first.ID: "", second.ID: "pinned: " + ref})
	if _, err := b.store.Resolve(ctx, first.ID, images.PullNever); err == nil {
		t.Error("the image that nothing needs is still there")
	}
	b.pruned(t, map[string]string{second.ID: "pinned: " + ref})
}

// pruned prunes and compares why what stays does; "" is what goes.
func (b *bench) pruned(t *testing.T, want map[string]string) {
	t.Helper()
	all, err := b.keeper.Prune(t.Context(), images.PruneOptions{Keep: 24 * time.Hour, Needed: b.needed})
	got := map[string]string{}
	for _, v := range all {
		got[v.ID] = v.Kept
		if v.Removed == (v.Kept != "") {
			t.Errorf("%+v", v)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

// An image that was there already is nobody's to collect, whoever pulls it once more.
func TestPruneLeavesOthersAlone(t *testing.T) {
	b := newBench(t, Options{})
	ref, _ := b.Push(t, "theirs:1", registry.Image(t, registry.Native, 100))
	body, err := b.engine.ImagePull(t.Context(), ref, image.PullOptions{})
	if err == nil {
		err = errors.Join(follow(body, nil), body.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.keeper.Pin(t.Context(), ref, true); err != nil {
		t.Fatal(err)
	}
	if _, err := b.lock.Unset(t.Context(), images.Tag(ref)); err != nil {
		t.Fatal(err)
	}
	b.pruned(t, map[string]string{})
	own, _ := b.Push(t, "own:1", registry.Image(t, registry.Native, 100))
	img, err := b.store.Resolve(t.Context(), own, images.PullMissing)
	if err != nil {
		t.Fatal(err)
	}
	b.grow(t, 100*time.Hour)
	if err := b.engine.ImageTag(t.Context(), img.ID, b.Host+"/somebodys:name"); err != nil {
		t.Fatal(err)
	}
	b.pruned(t, map[string]string{img.ID: "somebody named it " + b.Host + "/somebodys:name"})
}

// What is asked for by its digest has no pin: it stays as long as somebody names it.
func TestPruneSparesWhatIsNamed(t *testing.T) {
	b := newBench(t, Options{})
	ref, digest := b.Push(t, "named:1", registry.Image(t, registry.Native, 100))
	exact := strings.TrimSuffix(ref, ":1") + "@" + digest
	img, err := b.keeper.Resolve(t.Context(), exact, images.PullMissing)
	if err != nil {
		t.Fatal(err)
	}
	b.grow(t, 100*time.Hour)
	b.needed = map[string]string{exact: "skill x"}
	b.pruned(t, map[string]string{img.ID: "named by skill x"})
	b.needed = nil
	b.pruned(t, map[string]string{img.ID: ""})
}

// What goes wrong on the way, and what no other try makes better.
func TestRegistryFaults(t *testing.T) {
	other := registry.Image(t, registry.Native, 100)
	manifest, err := other.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		arch      string
		digest    bool // ask by digest
		ref       string
		hook      func(b *bench, w http.ResponseWriter, r *http.Request) bool
		retryable bool
		says      string
	}{
		"lies about the manifest": {digest: true, says: "does not have the digest that it should have", hook: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") || r.Method != http.MethodGet {
				return false
			}
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
			w.Header().Set("Docker-Content-Digest", filepath.Base(r.URL.Path))
			_, _ = w.Write(manifest)
			return true
		}},
		"lies about a blob": {says: "does not have the digest that it should have", hook: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/blobs/") || r.Method != http.MethodGet {
				return false
			}
			_, _ = io.WriteString(w, strings.Repeat("x", 400))
			return true
		}},
		"other platform": {arch: "s390x", says: "bad image: "},
		"no such tag":    {ref: "team/none:9", says: "not found"},
		"hangs":          {retryable: true, says: "took longer than 3s", hook: func(b *bench, w http.ResponseWriter, r *http.Request) bool { return blobs(b, w, r, b.Hang) }},
		"breaks": {retryable: true, hook: func(_ *bench, _ http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				panic(http.ErrAbortHandler)
			}
			return false
		}},
		"is overloaded": {retryable: true, hook: func(_ *bench, w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				http.Error(w, "busy", http.StatusServiceUnavailable)
				return true
			}
			return false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			limit := time.Minute
			if name == "hangs" {
				limit = 3 * time.Second
			}
			b := newBench(t, Options{Timeouts: Timeouts{Pull: limit}})
			if tt.arch == "" {
				tt.arch = registry.Native
			}
			ref, digest := b.Push(t, "team/faulty:1", registry.Image(t, tt.arch, 1000))
			if tt.digest {
				ref = strings.TrimSuffix(ref, ":1") + "@" + digest
			}
			if tt.ref != "" {
				ref = b.Host + "/" + tt.ref
			}
			if tt.hook != nil {
				b.Hook(func(w http.ResponseWriter, r *http.Request) {
					if !tt.hook(b, w, r) {
						b.Pass(w, r)
					}
				})
			}
			_, err := b.keeper.Resolve(t.Context(), ref, images.PullMissing)
			unavailable(t, err, tt.retryable, tt.says)
			if pins, err := b.lock.Pins(); err != nil || len(pins) != 0 {
				t.Errorf("pinned %v, %v", pins, err)
			}
		})
	}
}

// blobs has f answer for blobs that are fetched.
func blobs(_ *bench, w http.ResponseWriter, r *http.Request, f http.HandlerFunc) bool {
	if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet {
		f(w, r)
		return true
	}
	return false
}

// The first caller goes away while the registry hangs: the second hears how the pull goes, and gets the image.
func TestTheFirstCallerGoesAway(t *testing.T) {
	b := newBench(t, Options{})
	ref, digest := b.Push(t, "team/slow:1", registry.Image(t, registry.Native, 3<<20))
	hangs, free := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(hangs) })
	b.Hook(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet {
			once()
			<-free
		}
		b.Pass(w, r)
	})
	leaver, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := b.keeper.Resolve(leaver, ref, images.PullMissing); !errors.Is(err, context.Canceled) {
			t.Errorf("the first: %v", err)
		}
	})
	<-hangs
	var heard []images.Progress
	all.Go(func() {
		ctx := images.WithProgress(t.Context(), func(p images.Progress) { heard = append(heard, p) })
		if img, err := b.keeper.Resolve(ctx, ref, images.PullMissing); err != nil || images.Digest(img.RepoDigest) != digest {
			t.Errorf("the second: %+v, %v", img, err)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return b.store.pulls.Waiting() == 2 })
	leave()
	testutil.Poll(t, time.Minute, func() bool { return b.store.pulls.Waiting() == 1 })
	close(free)
	all.Wait()
	if len(heard) == 0 || heard[len(heard)-1].Ref != ref || heard[len(heard)-1].Done == 0 {
		t.Errorf("heard %+v", heard)
	}
}

// A login is a reference that is read for each pull; no word of it is in an error.
func TestLogins(t *testing.T) {
	const right, wrong = "right-password-1", "wrong-password-1"
	var login *images.Login
	var broken error
	asked := ""
	b := newBench(t, Options{Logins: func(registry string) (*images.Login, error) { asked = registry; return login, broken }})
	ref, _ := b.Push(t, "team/private:1", registry.Image(t, registry.Native, 100))
	b.Login("me", right)
	pull := func() error {
		_, err := b.keeper.Resolve(t.Context(), ref, images.PullMissing)
		if err != nil && strings.Contains(err.Error(), wrong) {
			t.Errorf("the password is in %v", err)
		}
		return err
	}
	unavailable(t, pull(), false, "could not be pulled")
	login = &images.Login{User: "me", Password: wrong}
	unavailable(t, pull(), false, "could not be pulled")
	broken = errors.New("env:LOGIN: there is no such variable")
	unavailable(t, pull(), false, "no login for "+b.Host+": env:LOGIN: there is no such variable")
	login, broken = &images.Login{User: "me", Password: right}, nil
	if err := pull(); err != nil || asked != b.Host {
		t.Errorf("with the login: %v, asked for %s", err, asked)
	}
	b.Echo()
	_, pulled := b.keeper.Resolve(t.Context(), b.Host+"/team/other:1", images.PullMissing)
	unavailable(t, pulled, false, "could not be pulled")
	_, remote := b.store.Remote(t.Context(), ref)
	for _, err := range []error{pulled, remote} {
		if err == nil || strings.Contains(err.Error(), right) || strings.Contains(err.Error(), "bWU6") {
			t.Errorf("what the registry repeats: %v", err)
		}
	}
}

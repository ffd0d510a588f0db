package layout

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/registry"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pullStore is a store that pulls, and a ledger of what it pulled.
func pullStore(t testing.TB, r Remote) (*Store, *images.Ledger) {
	t.Helper()
	dir := t.TempDir()
	ledger := images.OpenLedger(filepath.Join(dir, "pulled.json"), "test")
	r.Ledger = ledger
	s, err := New(Options{Dir: filepath.Join(dir, "images"), Remote: &r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		ledger.Close()
	})
	return s, ledger
}

// left makes sure that no pull has left anything half-done.
func left(t *testing.T, s *Store) {
	t.Helper()
	for _, dir := range []string{"pulls", "tmp"} {
		entries, err := os.ReadDir(s.path(dir))
		if err != nil && !errors.Is(err, os.ErrNotExist) || len(entries) != 0 {
			t.Errorf("left in %s: %v, %v", dir, entries, err)
		}
	}
}

// What a registry has can be run from: by tag, by digest, and by the content id that it has on an engine too.
func TestPull(t *testing.T) {
	r := registry.New(t)
	s, ledger := pullStore(t, Remote{})
	native, other := registry.Image(t, registry.Native, 1000), registry.Image(t, "s390x", 10)
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: other, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
		mutate.IndexAddendum{Add: native, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: registry.Native}}})
	ref, digest := r.Push(t, "team/many:1", index)
	var heard []images.Progress
	ctx := images.WithProgress(t.Context(), func(p images.Progress) { heard = append(heard, p) })
	if _, err := s.Resolve(ctx, ref, images.PullNever); err == nil {
		t.Error("it is there before it was pulled")
	}
	img, err := s.Resolve(ctx, ref, images.PullMissing)
	id, _ := native.ConfigName()
	if err != nil || img.ID != id.String() || images.Digest(img.RepoDigest) != digest {
		t.Fatalf("got %+v, %v", img, err)
	}
	if len(heard) == 0 || heard[len(heard)-1].Step != "extracting" {
		t.Errorf("heard %+v", heard)
	}
	root, err := s.Rootfs(img.ID)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(root, "noise")); err != nil || info.Size() != 1016 {
		t.Errorf("the tree: %v", err)
	}
	asked := r.Asked("GET")
	for _, again := range []string{ref, strings.TrimSuffix(ref, ":1") + "@" + digest, img.ID} {
		if same, err := s.Resolve(ctx, again, images.PullMissing); err != nil || same.ID != img.ID {
			t.Errorf("%s: %+v, %v", again, same, err)
		}
	}
	if n := r.Asked("GET"); n != asked {
		t.Errorf("%d more requests for what is here", n-asked)
	}
	if all, err := ledger.Entries(); err != nil || len(all) != 1 || all[img.ID].Ref != ref {
		t.Errorf("the ledger: %+v, %v", all, err)
	}
	left(t, s)
}

// A tag that is pulled again leaves what calls are pinned to, until that is collected; what was imported is not collected.
func TestPulledContentStays(t *testing.T) {
	r := registry.New(t)
	s, ledger := pullStore(t, Remote{})
	ref, digest := r.Push(t, "team/tool:1", registry.Image(t, registry.Native, 100))
	first, err := s.Resolve(t.Context(), ref, images.PullMissing)
	if err != nil {
		t.Fatal(err)
	}
	_, moved := r.Push(t, "team/tool:1", registry.Image(t, registry.Native, 100))
	if now, err := s.Remote(t.Context(), ref); err != nil || now != moved {
		t.Errorf("the registry has %s, %v", now, err)
	}
	second, err := s.Resolve(t.Context(), ref, images.PullAlways)
	if err != nil || images.Digest(second.RepoDigest) != moved {
		t.Fatalf("%+v, %v", second, err)
	}
	byDigest := strings.TrimSuffix(ref, ":1") + "@" + digest
	if img, err := s.Resolve(t.Context(), byDigest, images.PullNever); err != nil || img.ID != first.ID {
		t.Errorf("the first: %+v, %v", img, err)
	}
	if err := s.Discard(t.Context(), first.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.Rootfs(first.ID); err == nil {
		t.Error("its tree is still there")
	}
	stock, err := s.Stock(t.Context())
	want := map[string]images.Stocked{second.ID: {Names: []string{ref}, Digests: []string{strings.TrimSuffix(ref, ":1") + "@" + moved}, Size: second.Size}}
	if diff := cmp.Diff(want, stock); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	if all, err := ledger.Entries(); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := s.Remove(t.Context(), ref); err != nil {
		t.Error(err)
	}
	if stock, err := s.Stock(t.Context()); err != nil || len(stock) != 0 {
		t.Errorf("after its name was removed: %+v, %v", stock, err)
	}
}

// What goes wrong on the way, and what no other try makes better.
func TestRegistryFaults(t *testing.T) {
	elsewhere := v1.Descriptor{URLs: []string{"http://127.0.0.1:1/blob"}}
	type answer = func(r *registry.Registry, w http.ResponseWriter, req *http.Request) bool
	gets := func(part string, f func(r *registry.Registry, w http.ResponseWriter, req *http.Request)) answer {
		return func(r *registry.Registry, w http.ResponseWriter, req *http.Request) bool {
			if req.Method != http.MethodGet || !strings.Contains(req.URL.Path, part) {
				return false
			}
			f(r, w, req)
			return true
		}
	}
	text := func(s string) func(*registry.Registry, http.ResponseWriter, *http.Request) {
		return func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	otherManifest := jsonOf(t, map[string]any{"schemaVersion": 2})
	for name, tt := range map[string]struct {
		arch      string
		image     func(v1.Image) v1.Image
		byDigest  bool
		ref       string
		hook      answer
		retryable bool
		says      string
	}{
		"lies about the manifest": {byDigest: true, hook: gets("/manifests/", text(string(otherManifest))), says: "does not have the digest that it should have"},
		"lies about a blob": {says: "does not have the digest that it should have",
			hook: gets("/blobs/", text(strings.Repeat("x", 400)))},
		"a manifest without end": {hook: gets("/manifests/", func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, strings.Repeat("[", 1<<16)); err != nil {
					return
				}
			}
		}), retryable: true, says: "larger than"},
		"other platform": {arch: "s390x", says: "bad image: built for linux/s390x, this machine is linux/"},
		"no such tag":    {ref: "team/none:9", says: "the registry answers 404"},
		"hangs":          {hook: gets("/blobs/", func(r *registry.Registry, w http.ResponseWriter, req *http.Request) { r.Hang(w, req) }), retryable: true, says: "took longer than 2s"},
		"breaks": {hook: gets("/manifests/", func(*registry.Registry, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
			retryable: true, says: "could not be pulled"},
		"is overloaded": {hook: gets("/manifests/", func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}), retryable: true, says: "answers 503"},
		"a layer elsewhere": {image: func(img v1.Image) v1.Image {
			layer := static.NewLayer([]byte("x"), types.DockerForeignLayer)
			img, err := mutate.Append(img, mutate.Addendum{Layer: layer, URLs: elsewhere.URLs, MediaType: types.DockerForeignLayer})
			if err != nil {
				t.Fatal(err)
			}
			return img
		}, says: "at another address than the registry's"},
		"a layer that leads out": {image: func(img v1.Image) v1.Image {
			bad := tarOf(t, file{name: "l", kind: '2', link: "/"}, file{name: "l/../../../escaped", data: "x"}, file{name: "broken", kind: '1', link: "../../nothing"})
			img, err := mutate.AppendLayers(img, static.NewLayer(bad, types.DockerUncompressedLayer))
			if err != nil {
				t.Fatal(err)
			}
			return img
		}, says: "bad image: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.New(t)
			limit := time.Minute
			if name == "hangs" {
				limit = 2 * time.Second
			}
			s, _ := pullStore(t, Remote{Limit: limit})
			if tt.arch == "" {
				tt.arch = registry.Native
			}
			img := registry.Image(t, tt.arch, 1000)
			if tt.image != nil {
				img = tt.image(img)
			}
			ref, digest := r.Push(t, "team/faulty:1", img)
			if tt.byDigest {
				ref = strings.TrimSuffix(ref, ":1") + "@" + digest
			}
			if tt.ref != "" {
				ref = r.Host + "/" + tt.ref
			}
			if tt.hook != nil {
				r.Hook(func(w http.ResponseWriter, req *http.Request) {
					if !tt.hook(r, w, req) {
						r.Pass(w, req)
					}
				})
			}
			_, err := s.Resolve(t.Context(), ref, images.PullMissing)
			var gone *images.UnavailableError
			if !errors.As(err, &gone) || gone.Retryable != tt.retryable || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v (%+v), want %q, retryable %t", err, gone, tt.says, tt.retryable)
			}
			if index, err := s.readIndex(); err != nil || len(index.Refs) != 0 {
				t.Errorf("the index: %+v, %v", index, err)
			}
			left(t, s)
		})
	}
}

// The first caller goes away while the registry hangs; the second gets the image. A third who leaves, too, costs nobody
// anything.
func TestTheFirstCallerGoesAway(t *testing.T) {
	r := registry.New(t)
	s, _ := pullStore(t, Remote{})
	ref, _ := r.Push(t, "team/slow:1", registry.Image(t, registry.Native, 1000))
	free := make(chan struct{})
	r.Hook(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/blobs/") {
			<-free
		}
		r.Pass(w, req)
	})
	leaver, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := s.Resolve(leaver, ref, images.PullMissing); !errors.Is(err, context.Canceled) {
			t.Errorf("the first: %v", err)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return s.pulls.Waiting() == 1 })
	all.Go(func() {
		if _, err := s.Resolve(t.Context(), ref, images.PullMissing); err != nil {
			t.Errorf("the second: %v", err)
		}
	})
	testutil.Poll(t, time.Minute, func() bool { return s.pulls.Waiting() == 2 })
	leave()
	testutil.Poll(t, time.Minute, func() bool { return s.pulls.Waiting() == 1 })
	if _, err := s.Import(t.Context(), strings.NewReader(string(saved(t, "test/image:1", config(t, tarOf(t)), tarOf(t)))), ""); err != nil {
		t.Errorf("an import while a pull goes on: %v", err)
	}
	close(free)
	all.Wait()
	if n := r.Asked("GET /v2/team/slow/manifests"); n != 1 {
		t.Errorf("%d pulls", n)
	}
	left(t, s)
}

// A login is read for each pull, and goes to that registry alone.
func TestLogins(t *testing.T) {
	r := registry.New(t)
	var login *images.Login
	s, _ := pullStore(t, Remote{Logins: func(host string) (*images.Login, error) {
		if host != r.Host {
			return nil, errors.New("asked for " + host)
		}
		return login, nil
	}})
	ref, _ := r.Push(t, "team/private:1", registry.Image(t, registry.Native, 100))
	r.Login("me", "right-password")
	for _, login = range []*images.Login{nil, {User: "me", Password: "wrong-password"}} {
		_, err := s.Resolve(t.Context(), ref, images.PullMissing)
		var gone *images.UnavailableError
		if !errors.As(err, &gone) || gone.Retryable || !strings.Contains(err.Error(), "answers 401") || strings.Contains(err.Error(), "wrong-password") {
			t.Errorf("got %v", err)
		}
	}
	login = &images.Login{User: "me", Password: "right-password"}
	if _, err := s.Resolve(t.Context(), ref, images.PullMissing); err != nil {
		t.Error(err)
	}
	r.Echo()
	_, pulled := s.Resolve(t.Context(), r.Host+"/team/other:1", images.PullMissing)
	_, asked := s.Remote(t.Context(), ref)
	for _, err := range []error{pulled, asked} {
		if err == nil || strings.Contains(err.Error(), login.Password) || strings.Contains(err.Error(), "bWU6") {
			t.Errorf("what the registry repeats: %v", err)
		}
	}
	if !strings.Contains(pulled.Error(), "you sent Basic [redacted], which is [redacted]") {
		t.Errorf("got %v", pulled)
	}
}

// Plain HTTP is for loopback, and a registry elsewhere leads nobody to this host's own.
func TestWire(t *testing.T) {
	for _, tt := range []struct{ registry, url, says string }{
		{"registry.example", "http://registry.example/v2/", "plain http"},
		{"10.1.2.3:5000", "http://10.1.2.3:5000/v2/", "plain http"},
		{"registry.example", "https://localhost/v2/", "own loopback"},
		{"registry.example", "http://127.0.0.1:1/x", "own loopback"},
		{"registry.example", "https://[::1]:1/x", "own loopback"},
	} {
		w := newWire(tt.registry, newBudget(1000))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.RoundTrip(req); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s for %s: %v", tt.url, tt.registry, err)
		}
		w.close()
	}
}

// What a pull of a dead process left goes with the next.
func TestDeadPulls(t *testing.T) {
	s := newStore(t)
	dead := s.path("pulls", "pull-dead")
	if err := os.MkdirAll(filepath.Join(dead, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	alive, done, err := s.scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	unlock, err := s.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := s.clear(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("what a dead one left is still there")
	}
	if _, err := os.Stat(alive); err != nil {
		t.Errorf("what a live one works on: %v", err)
	}
}

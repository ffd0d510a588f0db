package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is the part of a Docker Engine that knows images.
type engine struct {
	host    string
	mu      sync.Mutex
	images  map[string]string                            // reference → answer of inspect
	pull    func(w http.ResponseWriter, r *http.Request) // answer of a pull
	load    func(w http.ResponseWriter, r *http.Request) // answer of a load
	pulls   atomic.Int32
	queries []string
}

const amd64 = `{"Id":"sha256:1111","Os":"linux","Architecture":"amd64","Size":7,"Created":"2024-05-06T07:08:09.5Z","RepoDigests":["b@sha256:2","a@sha256:1"],
	"Config":{"Env":["A=b"],"Entrypoint":["/e"],"Cmd":["c"],"Volumes":{"/v":{},"/a":{}},"User":"u","WorkingDir":"/w"}}`

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{images: make(map[string]string)}
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	e.host = "unix://" + socket
	server := &http.Server{Handler: e}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		work.Wait()
	})
	return e
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Api-Version", "1.41")
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimPrefix(r.URL.Path, "/v1.41")
	switch {
	case path == "/_ping":
	case path == "/info":
		_, _ = io.WriteString(w, `{"OSType":"linux","Architecture":"x86_64"}`)
	case path == "/images/load":
		e.load(w, r)
	case path == "/images/create":
		e.pulls.Add(1)
		e.mu.Lock()
		e.queries = append(e.queries, r.URL.Query().Get("fromImage")+" "+r.URL.Query().Get("tag")+" "+r.URL.Query().Get("platform"))
		pull := e.pull
		e.mu.Unlock()
		pull(w, r)
	default:
		ref := strings.TrimSuffix(strings.TrimPrefix(path, "/images/"), "/json")
		e.mu.Lock()
		defer e.mu.Unlock()
		if answer, ok := e.images[ref]; ok {
			_, _ = io.WriteString(w, answer)
			return
		}
		fail(w, 404, "No such image: "+ref)
	}
}

func (e *engine) add(ref, answer string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.images[ref] = answer
}

func fail(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}

func open(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestResolve(t *testing.T) {
	e := newEngine(t)
	e.add("acme/x:1", amd64)
	got, err := open(t, Options{Host: e.host}).Resolve(t.Context(), "acme/x:1", images.PullNever)
	if err != nil {
		t.Fatal(err)
	}
	want := images.Image{
		Ref: "acme/x:1", ID: "sha256:1111", RepoDigest: "a@sha256:1", OS: "linux", Arch: "amd64", Size: 7,
		Created: time.Date(2024, 5, 6, 7, 8, 9, 5e8, time.UTC), Env: []string{"A=b"}, Entrypoint: []string{"/e"}, Cmd: []string{"c"},
		Volumes: []string{"/a", "/v"}, User: "u", WorkingDir: "/w",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What cannot be had, in the words that people see.
func TestUnavailable(t *testing.T) {
	id := "sha256:" + strings.Repeat("0", 64)
	for name, tt := range map[string]struct {
		ref       string
		policy    images.PullPolicy
		pull      func(http.ResponseWriter, *http.Request)
		want      string
		retryable bool
	}{
		"never": {"acme/x:1", images.PullNever, nil, "image acme/x:1: not present, and the pull policy is never: build, load or pull it first", false},
		"id":    {id, images.PullMissing, nil, "image " + id + ": not present, and an id cannot be pulled: build or load it first", false},
		"denied": {
			"acme/x:1", images.PullMissing,
			func(w http.ResponseWriter, _ *http.Request) {
				fail(w, 404, "pull access denied for acme/x, repository does not exist or may require 'docker login'")
			},
			"image acme/x:1: could not be pulled: pull access denied for acme/x, repository does not exist or may require 'docker login': build or pull it first", false,
		},
		"no network": {
			"acme/x:1", images.PullAlways,
			func(w http.ResponseWriter, _ *http.Request) {
				fail(w, 500, "Get \"https://registry.invalid/v2/\":\n dial tcp: lookup registry.invalid: no such host")
			},
			"image acme/x:1: could not be pulled: Get \"https://registry.invalid/v2/\": dial tcp: lookup registry.invalid: no such host: build or pull it first", true,
		},
		"failure within 200": {
			"acme/x:1", images.PullMissing,
			func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"status":"Pulling"}{"errorDetail":{"message":"unexpected EOF"},"error":"unexpected EOF"}`)
			},
			"image acme/x:1: could not be pulled: unexpected EOF: build or pull it first", true,
		},
		"manifest within 200": {
			"acme/x:1", images.PullMissing,
			func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"status":"Pulling"}{"error":"manifest unknown"}`)
			},
			"image acme/x:1: could not be pulled: manifest unknown: build or pull it first", false,
		},
		"lie": {
			"acme/x:1", images.PullMissing,
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"Done"}`) },
			"image acme/x:1: not present right after its pull: someone removes it", true,
		},
		"other platform": {"other", images.PullMissing, nil, "image other: bad image: built for linux/arm64, the engine is linux/amd64: build or pull it for that", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			e.pull = tt.pull
			e.add("other", `{"Id":"sha256:2222","Os":"linux","Architecture":"arm64"}`)
			_, err := open(t, Options{Host: e.host}).Resolve(t.Context(), tt.ref, tt.policy)
			var missing *images.UnavailableError
			if !errors.As(err, &missing) || err.Error() != tt.want || missing.Retryable != tt.retryable {
				t.Errorf("got %v (%+v)\nwant %s", err, missing, tt.want)
			}
			if tt.pull == nil && e.pulls.Load() != 0 {
				t.Error("it pulled")
			}
		})
	}
}

func TestReferences(t *testing.T) {
	e := newEngine(t)
	s := open(t, Options{Host: e.host})
	digest := "@sha256:" + strings.Repeat("ab", 32)
	for _, ref := range []string{"a", "a:1", "acme/x", "acme/x:1.2-B_c", "registry.example:5000/a/b-c/d__e.f:tag", "localhost/x", "x" + digest, "x:1" + digest, "REG.example/x", digest[1:]} {
		e.add(ref, amd64)
		if _, err := s.Resolve(t.Context(), ref, images.PullNever); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
	for _, ref := range []string{"", "A", "a b", "a:", "a@sha256:12", "../x", "a/../b", "/a", "a//b", "a/", "a?b", "a#b", "a%2fb", "a:b/c:d:e", "a\n", "-a", ".", "a:..", strings.Repeat("a", 600)} {
		_, err := s.Resolve(t.Context(), ref, images.PullMissing)
		var missing *images.UnavailableError
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), "not a valid reference") || strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if n := e.pulls.Load(); n != 0 {
		t.Errorf("%d pulls", n)
	}
}

// Many callers share a pull, and the first one's leaving does not end it.
func TestPullShared(t *testing.T) {
	e := newEngine(t)
	begun, release := make(chan struct{}), make(chan struct{})
	e.pull = func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-release
		e.add("acme/x", amd64)
		_, _ = io.WriteString(w, `{"status":"Done"}`)
	}
	s := open(t, Options{Host: e.host})
	leaver, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := s.Resolve(leaver, "acme/x", images.PullMissing); !errors.Is(err, context.Canceled) {
			t.Errorf("the one that left: %v", err)
		}
	})
	<-begun
	for range 5 {
		all.Go(func() {
			if img, err := s.Resolve(t.Context(), "acme/x", images.PullMissing); err != nil || img.ID != "sha256:1111" {
				t.Errorf("got %+v, %v", img, err)
			}
		})
	}
	leave()
	close(release)
	all.Wait()
	if n := e.pulls.Load(); n != 1 {
		t.Errorf("%d pulls", n)
	}
	if want := []string{"docker.io/acme/x latest linux/amd64"}; !cmp.Equal(e.queries, want) {
		t.Errorf("asked for %q, want %q", e.queries, want)
	}
}

func TestPullTooLong(t *testing.T) {
	e := newEngine(t)
	e.pull = func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	_, err := open(t, Options{Host: e.host, Timeouts: Timeouts{Pull: 30 * time.Millisecond}}).Resolve(t.Context(), "x", images.PullMissing)
	var missing *images.UnavailableError
	if !errors.As(err, &missing) || !missing.Retryable || !strings.Contains(err.Error(), "took longer than 30ms") {
		t.Errorf("got %v", err)
	}
}

// Close ends a pull that nobody answers.
func TestCloseEndsPull(t *testing.T) {
	e := newEngine(t)
	begun := make(chan struct{})
	e.pull = func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}
	s := open(t, Options{Host: e.host})
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := s.Resolve(t.Context(), "x", images.PullMissing); !errors.Is(err, images.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	if _, err := s.Resolve(t.Context(), "x", images.PullMissing); !errors.Is(err, images.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

func TestNoEngine(t *testing.T) {
	s := open(t, Options{Host: "unix:///nowhere/engine.sock"})
	_, err := s.Resolve(t.Context(), "x", images.PullMissing)
	want := "no engine answers at unix:///nowhere/engine.sock: start it, or set DOCKER_HOST: " + sandbox.ErrUnavailable.Error()
	if !errors.Is(err, sandbox.ErrUnavailable) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if _, err := New(Options{Host: "ssh://x"}); err == nil {
		t.Error("an ssh host was accepted")
	}
}

func TestRealEngine(t *testing.T) {
	testutil.Require(t, "docker")
	s := open(t, Options{})
	_, err := s.Resolve(t.Context(), "hotcell-test/never-there:1", images.PullNever)
	var missing *images.UnavailableError
	if !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
	_, err = s.Resolve(t.Context(), "127.0.0.1:9/never-there:1", images.PullMissing)
	if !errors.As(err, &missing) || !missing.Retryable || !strings.Contains(missing.Why, "connection refused") {
		t.Errorf("pull from a registry that is not there: %v", err)
	}
}

// The smallest image is one that the engine can run: tagged, and built for its platform.
func TestSmallest(t *testing.T) {
	e := newEngine(t)
	s := open(t, Options{Host: e.host})
	e.images["json"] = `[]`
	if img, err := s.Smallest(t.Context()); err != nil || img.ID != "" {
		t.Errorf("none: %+v, %v", img, err)
	}
	e.images["json"] = `[{"Id":"big","Size":900,"RepoTags":["big:1"]},{"Id":"right","Size":70,"RepoTags":["right:1"]},
		{"Id":"other","Size":30,"RepoTags":["other:1"]},{"Id":"untagged","Size":20,"RepoTags":[]}]`
	for id, arch := range map[string]string{"big": "amd64", "right": "amd64", "other": "arm64", "untagged": "amd64"} {
		e.images[id] = `{"Id":"sha256:` + id + `","Os":"linux","Architecture":"` + arch + `"}`
	}
	if img, err := s.Smallest(t.Context()); err != nil || img.ID != "sha256:right" || img.Ref != "right:1" {
		t.Errorf("%+v, %v", img, err)
	}
}

// A pull that talks without end is no pull.
func TestAnswersAreBounded(t *testing.T) {
	e := newEngine(t)
	e.pull = func(w http.ResponseWriter, _ *http.Request) {
		text := strings.Repeat(" ", 1<<20)
		for range maxAnswer>>20 + 1 {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	_, err := open(t, Options{Host: e.host}).Resolve(t.Context(), "x", images.PullMissing)
	var missing *images.UnavailableError
	if !errors.As(err, &missing) || !missing.Retryable || !strings.Contains(err.Error(), "was cut") {
		t.Errorf("got %v", err)
	}
}

// An answer is good for a while: the caller does not wait for the engine, and what changed there is seen soon after.
func TestAnswersAreRemembered(t *testing.T) {
	e := newEngine(t)
	e.add("acme/x", amd64)
	s := open(t, Options{Host: e.host, Remember: time.Minute})
	ask := func() (images.Image, error) { return s.Resolve(t.Context(), "acme/x", images.PullNever) }
	first, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	e.add("acme/x", strings.ReplaceAll(amd64, "1111", "2222"))
	if again, err := ask(); err != nil || again.ID != first.ID {
		t.Errorf("asked again at once: %+v, %v", again, err)
	}
	s.age(2 * recheck)
	if again, err := ask(); err != nil || again.ID != first.ID {
		t.Errorf("the one that has it looked after: %+v, %v", again, err)
	}
	testutil.Poll(t, 10*time.Second, func() bool { img, err := ask(); return err == nil && img.ID == "sha256:2222" })

	e.mu.Lock()
	delete(e.images, "acme/x")
	e.mu.Unlock()
	s.age(2 * recheck)
	testutil.Poll(t, 10*time.Second, func() bool { _, err := ask(); return err != nil })
	if _, err := s.Resolve(t.Context(), "acme/x", images.PullNever); err == nil || !strings.Contains(err.Error(), "not present") {
		t.Errorf("an image that is gone: %v", err)
	}
}

// age makes what is remembered older.
func (s *Store) age(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.answers {
		a.seen = a.seen.Add(-d)
	}
}

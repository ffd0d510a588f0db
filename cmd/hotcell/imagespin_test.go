package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/registry"
)

// The life of a pin, with an engine and without one.
func TestPins(t *testing.T) {
	for _, driver := range []string{"docker", "oci"} {
		t.Run(driver, func(t *testing.T) {
			testutil.Require(t, "docker")
			r := registry.New(t)
			ref, digest := r.Push(t, "team/tool:1", registry.Image(t, registry.Native, 1000))
			if driver == "docker" {
				t.Cleanup(func() { // what the commands leave on the engine
					ids, err := exec.Command("docker", "images", "-q", "--no-trunc", "--filter", "reference="+r.Host+"/*/*").Output()
					if err != nil || len(ids) == 0 {
						t.Errorf("nothing to remove: %v", err)
					}
					for id := range strings.FieldsSeq(string(ids)) {
						if out, err := exec.Command("docker", "rmi", "-f", id).CombinedOutput(); err != nil {
							t.Errorf("%s: %s", id, out)
						}
					}
				})
			}
			b, dir := newBench(t, succeed(nil, "")), t.TempDir()
			does := func(code int, says string, args ...string) {
				t.Helper()
				b.out.Reset()
				b.err.Reset()
				args = append([]string{"images"}, append(args, "--data-dir", dir, "--driver", driver)...)
				if got := b.run(args...); got != code || !strings.Contains(b.out.String()+b.err.String(), says) {
					t.Errorf("%v: exit %d, want %d and %q\n%s%s", args, got, code, says, b.out.String(), b.err.String())
				}
			}
			state := func(want string) {
				t.Helper()
				does(exitOK, "", "list", "--json")
				var rows []images.Row
				if err := json.Unmarshal(b.out.Bytes(), &rows); err != nil ||
					!slices.ContainsFunc(rows, func(row images.Row) bool { return row.Ref == ref && row.State == want }) {
					t.Errorf("want %s: %+v, %v", want, rows, err)
				}
			}
			does(exitOK, ref+"  "+digest, "pin", ref)
			state(images.StatePinned)
			_, moved := r.Push(t, "team/tool:1", registry.Image(t, registry.Native, 1000))
			does(exitOK, images.Short(digest), "list")
			does(exitOK, "stale: the registry has "+images.Short(moved), "list")
			does(exitOK, "  pinned\n", "list", "--offline")
			does(exitOK, ref+"  "+moved, "pull", ref)
			state(images.StatePinned)
			does(exitOK, "kept: used", "prune", "--dry-run")
			does(exitOK, "kept: pinned: "+ref, "prune")
			does(exitOK, ref+"  "+digest, "pin", ref+"@"+digest)
			state(images.StateStale)
			does(exitOK, "", "unpin", ref)
			does(exitUsage, "is not pinned", "unpin", ref)
			does(exitFailed, "could not be pulled", "pull", r.Host+"/team/none:1")
			if strings.Contains(b.err.String(), images.PullFirst) {
				t.Errorf("a pull is told to pull: %s", b.err.String())
			}
			b.out.Reset()
			if code := b.run("audit", "list", "--data-dir", dir); code != exitOK || strings.Count(b.out.String(), "  image.pin") != 3 ||
				strings.Count(b.out.String(), `"digest":"`+digest+`"`) != 2 || strings.Count(b.out.String(), "  image.unpin") != 1 {
				t.Errorf("the audit: exit %d: %s%s", code, b.out.String(), b.err.String())
			}
			if strings.Count(b.out.String(), `"image":"`+ref+`"`) != 4 {
				t.Errorf("a pin and its end have different names in the audit: %s", b.out.String())
			}
			text, err := os.ReadFile(filepath.Join(dir, images.LockName))
			if err != nil || string(text) != "{\n  \"version\": 1,\n  \"images\": {}\n}\n" {
				t.Errorf("the lock file: %s, %v", text, err)
			}
		})
	}
}

func TestPinsThatThePolicyRefuses(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	file := filepath.Join(t.TempDir(), "hotcell.yaml")
	if err := os.WriteFile(file, []byte("policy: {images: {registries: [ghcr.io]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"127.0.0.1:1/x:1", "127.0.0.1:1/x:1@sha256:" + strings.Repeat("a", 64)} {
		b.err.Reset()
		if code := b.run("images", "pull", ref, "--config", file, "--data-dir", t.TempDir(), "--driver", "oci"); code != exitFailed ||
			!strings.Contains(b.err.String(), "policy.images.registries does not allow 127.0.0.1:1/x") {
			t.Errorf("exit %d: %s", code, b.err.String())
		}
	}
}

// What can't be understood is said in one line, before anything is done.
func TestImagesUsage(t *testing.T) {
	for want, commands := range map[string][]string{
		"expected NAME..., got nothing": {"pull", "pin"},
		"expected NAME:TAG":             {"pull X!", "pin x:1 ../../y", "pin x:1@sha256:12", "pin sha256:" + strings.Repeat("a", 64), "pull hotcell/builtin:1", "unpin X!"},
		"expected an hour or more":      {"prune --keep 0", "prune --keep -1h", "prune --keep 59m", "prune --keep soon", "prune --keep="},
		"got \"x\"":                     {"prune x", "list x"},
	} {
		for _, command := range commands {
			b := newBench(t, succeed(nil, ""))
			args := append(append([]string{"images"}, strings.Fields(command)...), "--data-dir", t.TempDir(), "--driver", "oci")
			if code := b.run(args...); code != exitUsage || b.out.Len() > 0 || !strings.Contains(b.err.String(), want) || strings.Count(b.err.String(), "\n") != 1 {
				t.Errorf("%s: exit %d, %s%s", command, code, b.out.String(), b.err.String())
			}
		}
	}
}

// Without an engine nothing is claimed of what it has, and the exit code says so.
func TestImagesWithoutAnEngine(t *testing.T) {
	b, dir := newBench(t, succeed(nil, "")), t.TempDir()
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "none.sock"))
	lock := `{"version":1,"images":{"docker.io/acme/x:1":{"id":"sha256:` + strings.Repeat("a", 64) + `","platform":"linux/amd64","by":"pin","since":"2026-11-30T13:39:17Z"}}}`
	if err := os.WriteFile(filepath.Join(dir, images.LockName), []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--data-dir", dir, "--driver", "docker"}
	for _, command := range []string{"pull", "pin"} {
		b.err.Reset()
		if code := b.run(append([]string{"images", command, "acme/x:1"}, flags...)...); code != exitCrash || !strings.Contains(b.err.String(), "no engine answers") || strings.Contains(b.err.String(), "is not available") {
			t.Errorf("%s: exit %d, %s", command, code, b.err.String())
		}
	}
	if code := b.run(append([]string{"images", "list"}, flags...)...); code != exitOK || !strings.Contains(b.out.String(), "unknown: no engine answers") || strings.Contains(b.out.String(), "is not available") {
		t.Errorf("list: exit %d, %s", code, b.out.String())
	}
}

// Ctrl-C ends a pull that hangs, with an engine and without one, and pins nothing.
func TestInterruptedPull(t *testing.T) {
	for _, driver := range []string{"docker", "oci"} {
		t.Run(driver, func(t *testing.T) {
			testutil.Require(t, "docker")
			r := registry.New(t)
			ref, _ := r.Push(t, "team/slow:1", registry.Image(t, registry.Native, 1000))
			hangs := make(chan struct{})
			once := sync.OnceFunc(func() { close(hangs) })
			r.Hook(func(w http.ResponseWriter, req *http.Request) {
				if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") {
					once()
					r.Hang(w, req)
					return
				}
				r.Pass(w, req)
			})
			b, dir := newBench(t, succeed(nil, "")), t.TempDir()
			var stopped sync.WaitGroup
			stopped.Go(func() {
				signals := <-b.signals
				<-hangs
				signals <- os.Interrupt
			})
			if code := b.run("images", "pull", ref, "--data-dir", dir, "--driver", driver); code != exitInterrupted || b.out.Len() > 0 {
				t.Errorf("exit %d, %q, %q", code, b.out.String(), b.err.String())
			}
			stopped.Wait()
			if _, err := os.Stat(filepath.Join(dir, images.LockName)); err == nil {
				t.Error("it was pinned")
			}
		})
	}
}

package integration

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/images"
	imagesdocker "github.com/hotcell/hotcell/images/docker"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/registry"
)

// keeperOf is the image store of one supervisor of a data folder.
func keeperOf(t *testing.T, dir string) *images.Keeper {
	t.Helper()
	lock, ledger := images.OpenLock(filepath.Join(dir, images.LockName)), images.OpenLedger(filepath.Join(dir, "pulled.json"), "test")
	store, err := imagesdocker.New(imagesdocker.Options{Remember: time.Minute, Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		lock.Close()
		ledger.Close()
	})
	return images.NewKeeper(images.KeeperOptions{Store: store, Lock: lock, Ledger: ledger})
}

// Images are collected while calls of another supervisor that need them begin, go on and end: each call gets its answer, and so
// does one that has to pull again.
func TestCollectingDuringCalls(t *testing.T) {
	testutil.Require(t, "docker")
	if rig.Engineless() {
		t.Log("images of the driver oci are no engine's")
		return
	}
	program, err := os.ReadFile(testutil.GoBuild(t, "github.com/hotcell/hotcell/integration/skills/word-count"))
	if err != nil {
		t.Fatal(err)
	}
	reg := registry.New(t)
	tagged, digest := reg.Push(t, "team/count:1", registry.ImageOf(t, registry.Native, 1000, map[string][]byte{"count": program}))
	ref := strings.TrimSuffix(tagged, ":1") + "@" + digest // what is asked for by digest has no pin to keep it
	t.Cleanup(func() {
		if out, err := exec.Command("docker", "rmi", ref).CombinedOutput(); err != nil && !strings.Contains(string(out), "No such image") {
			t.Errorf("remove the image: %s", out)
		}
	})
	dir, store := t.TempDir(), &struct{ images.Store }{}
	r := newRig(t, rig.Options{
		Skills: fstest.MapFS{
			"count/SKILL.md":   {Data: []byte("---\nname: count\ndescription: counts words\n---\n")},
			"count/skill.yaml": {Data: []byte("run: {image: '" + ref + "', frames: true, command: [/count]}\n")},
		},
		Adjust: func(c *executor.Config) { c.Images = store },
	})
	pruner := keeperOf(t, dir)
	for round := range 8 {
		if round > 0 {
			grow(t, filepath.Join(dir, "pulled.json"))
		}
		store.Store = keeperOf(t, dir) // as one that has used none of them for as long
		var both sync.WaitGroup
		both.Go(func() {
			for range 3 {
				if _, err := pruner.Prune(t.Context(), images.PruneOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
		req := request("count", 60)
		req.Arguments = map[string]any{"text": "a b c"}
		if got := ask(t.Context(), r, req, nil); got.answer.Error != nil {
			t.Errorf("round %d: %v", round, got.answer.Error)
		}
		both.Wait()
	}
	if n := reg.Asked("GET /v2/team/count/manifests"); n < 1 {
		t.Errorf("%d pulls", n)
	}
}

// grow makes everything that was pulled look as if nobody had used it for long.
func grow(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	var all struct {
		Images map[string]images.Entry `json:"images"`
	}
	if err = errors.Join(err, json.Unmarshal(text, &all)); err != nil {
		t.Fatal(err)
	}
	for id, e := range all.Images {
		e.Pulled, e.Used = e.Pulled.Add(-100*time.Hour), e.Used.Add(-100*time.Hour)
		all.Images[id] = e
	}
	if text, err = json.Marshal(all); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A call whose image is not to be had ends with the right reason, in time, and leaves nothing: neither a cell nor a pin.
func TestCallsWithoutTheirImage(t *testing.T) {
	testutil.Require(t, "docker")
	if rig.Engineless() {
		t.Log("images of the driver oci are no engine's")
		return
	}
	reg := registry.New(t)
	other, err := registry.Image(t, registry.Native, 10).RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	_, lied := reg.Push(t, "team/lies:1", registry.Image(t, registry.Native, 10))
	reg.Push(t, "team/hangs:1", registry.Image(t, registry.Native, 10))
	reg.Push(t, "team/private:1", registry.Image(t, registry.Native, 10))
	reg.Push(t, "team/foreign:1", registry.Image(t, "s390x", 10))
	reg.Hook(func(w http.ResponseWriter, req *http.Request) {
		path, get := req.URL.Path, req.Method == http.MethodGet
		switch {
		case get && strings.Contains(path, "/hangs/blobs/"):
			reg.Hang(w, req)
		case get && strings.Contains(path, "/lies/manifests/"):
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
			_, _ = w.Write(other)
		case strings.Contains(path, "/private/"):
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			reg.Pass(w, req)
		}
	})
	cases := map[string]struct {
		image     string
		retryable bool
		says      string
	}{
		"hangs":   {"team/hangs:1", true, "not fetched within 3s"},
		"lies":    {"team/lies@" + lied, false, "does not have the digest that it should have"},
		"foreign": {"team/foreign:1", false, "bad image"},
		"missing": {"team/nothing:1", false, "not found"},
		"private": {"team/private:1", false, "could not be pulled"},
	}
	folders := fstest.MapFS{}
	for name, tt := range cases {
		folders[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: has no image\n---\n")}
		folders[name+"/skill.yaml"] = &fstest.MapFile{Data: []byte("run: {image: '" + reg.Host + "/" + tt.image + "', frames: true, command: [/x]}\n")}
	}
	dir := t.TempDir()
	keeper := keeperOf(t, dir)
	waits := func(limit time.Duration) *rig.Rig {
		return newRig(t, rig.Options{Skills: folders, Adjust: func(c *executor.Config) { c.Images, c.PullTimeout = keeper, limit }})
	}
	hasty, patient := waits(3*time.Second), waits(time.Minute) // where it is about something else than time there is enough of it
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			r := patient
			if name == "hangs" {
				r = hasty
			}
			got := ask(t.Context(), r, request(name, 60), nil)
			if code, reason := got.code(); code != a2e.RuntimeError || reason != a2e.ReasonImageUnavailable || got.answer.Error.Retryable != tt.retryable ||
				!strings.Contains(got.answer.Error.Message, tt.says) {
				t.Errorf("%s/%s, %v; want %q, retryable %t", code, reason, got.answer.Error, tt.says, tt.retryable)
			}
		})
	}
	if pins, err := images.OpenLock(filepath.Join(dir, images.LockName)).Pins(); err != nil || len(pins) != 0 {
		t.Errorf("pinned: %v, %v", pins, err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("docker", "rmi", reg.Host+"/team/foreign:1").CombinedOutput(); err != nil && !strings.Contains(string(out), "No such image") {
			t.Errorf("remove the image: %s", out)
		}
	})
}

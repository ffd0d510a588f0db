package kubernetes

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// secrecy: neither what a cell is told nor what it says is in its pod's description, nor on its node's disk.
func (r *real) secrecy(t *testing.T) {
	d := r.driver(t)
	needle := "needle-" + rand.Text()
	spec := r.spec("print", needle)
	spec.OCI.Process.Env = append(spec.OCI.Process.Env, "TOKEN="+needle)
	cell := started(t, d, spec)
	if out, err := io.ReadAll(cell.Stdio().Stdout); err != nil || string(out) != needle+"\n" {
		t.Fatalf("%q, %v", out, err)
	}
	pod := testutil.Kubectl(t, "", "-n", r.namespace, "get", "pod", podOf(cell), "-o", "yaml")
	var log string
	testutil.Poll(t, 30*time.Second, func() bool { // a log is written a moment later
		log = testutil.Kubectl(t, "", "-n", r.namespace, "logs", podOf(cell), "-c", cellContainer)
		return strings.Count(log, "\n") >= 3
	})
	for name, text := range map[string]string{"pod": pod, "log": log} {
		if strings.Contains(text, needle) {
			t.Errorf("the %s has the needle:\n%s", name, text)
		}
	}
	files, _ := filepath.Glob("/var/log/pods/" + r.namespace + "_" + podOf(cell) + "_*/*/*.log") // where the node is this machine
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil || bytes.Contains(data, []byte(needle)) {
			t.Errorf("%s: %v, or it has the needle", f, err)
		}
	}
	t.Logf("a log of %d bytes, %d files of it on this machine", len(log), len(files))
}

// largeTrees: what does not fit into one ConfigMap takes several, and what does not fit into those is refused.
func (r *real) largeTrees(t *testing.T) {
	d := r.driver(t)
	data := make([]byte, 2<<20)
	_, _ = rand.Read(data)
	t1 := sandbox.Tree{
		Name: "test", Digest: fmt.Sprintf("%x", sha256.Sum256(data)), Target: "/skill",
		FS: fstest.MapFS{"a/large": {Data: data, Mode: 0o600}, "empty": {Mode: os.ModeDir | 0o755}},
	}
	for range 2 { // made, and found
		spec := r.spec("read", "/skill/a/large")
		spec.Trees = []sandbox.Tree{t1}
		if out := r.output(t, d, spec); out != string(data) {
			t.Fatalf("%d bytes of %d", len(out), len(data))
		}
	}
	all, err := d.List(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, l := range all {
		if l.Kind == kindVolume && l.Labels[sandbox.LabelDigest] == t1.Digest {
			found = l.Tree == "test" && !l.Created.IsZero()
			if err := d.Remove(bounded(t), l.ID); err != nil {
				t.Error(err)
			}
		}
	}
	if !found {
		t.Errorf("the tree is not listed: %+v", all)
	}
	if left := testutil.Kubectl(t, "", "-n", r.namespace, "get", "configmap", "-l", sandbox.LabelDigest+"="+t1.Digest[:63], "-o", "name"); left != "" {
		t.Errorf("parts are left: %s", left)
	}
	huge := make([]byte, (maxParts+1)*partSize)
	_, _ = rand.Read(huge)
	spec := r.spec("sleep")
	spec.Trees = []sandbox.Tree{{Name: "test", Digest: strings.Repeat("b", 64), Target: "/skill", FS: fstest.MapFS{"huge": {Data: huge}}}}
	fails(t, d, spec, sandbox.ErrUnsupported, "put large files into an image")
}

// envSoak names the variable with how many cells [real.soak] runs.
const envSoak = "HOTCELL_KUBE_SOAK"

// soak: of programs that write and exit at once, many at a time, nothing is lost.
func (r *real) soak(t *testing.T) {
	total, workers := 20, 8
	if text := os.Getenv(envSoak); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", envSoak, err)
		}
		total = n
	}
	d := r.driver(t)
	began := time.Now()
	next := make(chan int, total)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range next {
				want := fmt.Sprintf("cell %d says %s", i, rand.Text())
				spec := r.spec("print", want)
				*spec.OCI.Linux.Resources.CPU.Quota = 12_000 // a node has room for all of them
				if got := r.output(t, d, spec); got != want+"\n" {
					t.Errorf("cell %d: got %q, want %q", i, got, want)
				}
				if i%25 == 0 {
					t.Logf("cell %d is done after %v", i, time.Since(began).Round(time.Second))
				}
			}
		})
	}
	for i := range total {
		next <- i
	}
	close(next)
	all.Wait()
	t.Logf("%d cells, %d at a time, in %v", total, workers, time.Since(began).Round(time.Second))
}

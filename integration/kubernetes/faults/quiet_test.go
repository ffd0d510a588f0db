package faults

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/testutil"
)

// What can be done to one call's pod, and to one namespace. None of it disturbs what else a cluster does.
func TestFaultsOfOneNamespace(t *testing.T) {
	d := serve(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"deleted by hand", d.deletedByHand},
		{"evicted", d.evicted},
		{"quota", d.quota},
		{"a node without the image", d.noImage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.test(t)
			d.works(t)
		})
	}
}

func (d *daemon) deletedByHand(t *testing.T) {
	f := d.begin(t, 60, 120)
	testutil.Kubectl(t, "", "delete", "pod", "-n", d.namespace, d.pod(t), "--wait=false")
	f.ends(t, "sandbox_crash/cell_deleted", "was deleted from the cluster", "by somebody else")
}

func (d *daemon) evicted(t *testing.T) {
	f := d.begin(t, 60, 120)
	d.evict(t)
	f.ends(t, "sandbox_crash/evicted", "was evicted, as when its node is drained")
}

// evict asks the cluster to evict the pod, as kubectl drain does.
func (d *daemon) evict(t *testing.T) {
	t.Helper()
	pod := d.pod(t)
	testutil.Kubectl(t, `{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "`+pod+`", "namespace": "`+d.namespace+`"}}`,
		"create", "--raw", "/api/v1/namespaces/"+d.namespace+"/pods/"+pod+"/eviction", "-f", "-")
}

// quota: the namespace takes one pod, and there is one.
func (d *daemon) quota(t *testing.T) {
	testutil.Kubectl(t, "", "create", "quota", "full", "-n", d.namespace, "--hard=pods=1")
	defer testutil.Kubectl(t, "", "delete", "quota", "full", "-n", d.namespace)
	testutil.Poll(t, time.Minute, func() bool { // a quota is in force once it has been counted, and what was there is gone
		return testutil.Kubectl(t, "", "get", "quota", "full", "-n", d.namespace, "-o", "jsonpath={.status.used.pods}") == "0"
	})
	f := d.begin(t, 5, 60)
	d.fails(t, "sandbox_crash/cluster_quota", "namespace "+d.namespace+" is full", "exceeded quota")
	f.ends(t, "ok")
}

// noImage: hotcell knows the image and no node does.
func (d *daemon) noImage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const text = "an image with nothing in it is the runner's"
	img := images.Layered{Ref: absentRef, Arch: runtime.GOARCH, Files: []images.LayerFile{{
		Name: "x", Mode: 0o755, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	}}}
	if _, err := img.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(d.bin, "images", "import", path, "--config", d.config).CombinedOutput(); err != nil {
		t.Fatalf("images import: %v\n%s", err, out)
	}
	answer, err := d.call("absent", "absent", 0, 120)
	if err != nil {
		t.Fatal(err)
	}
	check(t, answer, "runtime_error/image_unavailable", "does not get image", absentRef)
}

// absentRef names an image that no registry has.
const absentRef = "localhost/hotcell-test/absent:1"

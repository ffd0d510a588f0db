package oci

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/sandboxtest"
)

const testProgram = "../sandboxtest/testdata/program"

var testImage = "sha256:" + strings.Repeat("1", 64)

// real makes drivers on this host, with an image that holds the suite's program.
type real struct {
	dir     string
	runtime string // "" for the default
}

func newReal(t testing.TB) *real {
	t.Helper()
	for _, part := range []string{"linux", "root", "runc", "go"} {
		testutil.Require(t, part)
	}
	r := &real{dir: t.TempDir()}
	program, err := os.ReadFile(testutil.GoBuild(t, testProgram))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"bin/program": program, "bin/not-executable": []byte("x"), "data/from-image": []byte("x"), "scratch/from-image": []byte("x"),
	} {
		path := filepath.Join(r.dir, "image", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if name == "bin/program" {
			mode = 0o755
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// open makes a driver that the caller closes.
func (r *real) open(t testing.TB, instance string) *Driver {
	t.Helper()
	d, err := New(Options{
		Instance: instance, DataDir: filepath.Join(r.dir, "data"), RunDir: filepath.Join(r.dir, "run"),
		Rootfs: func(id string) (string, error) {
			if id != testImage {
				return "", fmt.Errorf("image %s: %w", id, fs.ErrNotExist)
			}
			return filepath.Join(r.dir, "image"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (r *real) driver(t testing.TB, instance string) *Driver {
	t.Helper()
	d := r.open(t, instance)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// spec is one whose image's VOLUME is masked.
func (r *real) spec(program string, args ...string) *sandbox.Spec {
	spec := sandboxtest.NewSpec(append([]string{"/bin/program", program}, args...)...)
	spec.Image = sandbox.Image{ID: testImage, Env: []string{"FROM_IMAGE=1"}, Volumes: []string{"/data"}}
	spec.Runtime = r.runtime
	mask := spec.OCI.Mounts[0]
	mask.Destination = "/data"
	spec.OCI.Mounts = append(spec.OCI.Mounts, mask)
	return spec
}

func (r *real) start(t testing.TB, d *Driver, spec *sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	cell, err := d.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cell.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := cell.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return cell
}

func TestOCI(t *testing.T) {
	r := newReal(t)
	for name, test := range map[string]func(*testing.T){
		"SharedRoot": r.sharedRoot, "LeftBehind": r.leftBehind, "LimitsUnset": r.limitsUnset, "NotExecutable": r.notExecutable,
		"StuckOutput": r.stuckOutput, "Witness": r.witness, "KilledStarting": r.killedStarting, "TreeInUse": r.treeInUse, "GivenUp": r.givenUp, "DeadSupervisor": r.deadSupervisor,
		"Conformance": r.conformance,
	} {
		t.Run(name, test)
	}
}

func (r *real) conformance(t *testing.T) {
	sandboxtest.Run(t, sandboxtest.Options{
		New: func(t *testing.T) sandbox.Driver { return r.open(t, "test-oci") },
		Spec: func(t *testing.T, program string, args ...string) *sandbox.Spec {
			return r.spec(program, args...)
		},
		Has: func(string) bool { return true },
	})
}

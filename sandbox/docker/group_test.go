package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
)

// grouped is a driver with a root group that no other has.
func grouped(t *testing.T, limits Timeouts) (d *Driver, root string) {
	t.Helper()
	testutil.Require(t, "cgroups")
	testutil.Require(t, "cgroupfs")
	root = fmt.Sprintf("/hotcell-docker-%d", os.Getpid())
	d = open(t, Options{Instance: "test", Timeouts: limits, Cgroup: cgroup.Options{Root: root}})
	if _, err := d.learn(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return d, root
}

func groupDirs(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob("/sys/fs/cgroup/*" + pattern)
	if err != nil {
		t.Fatal(err)
	}
	unified, _ := filepath.Glob("/sys/fs/cgroup" + pattern)
	return slices.DeleteFunc(append(found, unified...), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
}

// The kernel's word about an end is there with the exit, and after the cell is destroyed; no group is left of it.
func (r *real) witness(t *testing.T) {
	d, root := grouped(t, Timeouts{})
	for _, tt := range []struct {
		program string
		oom     bool
	}{{"hog", true}, {"list", false}} {
		box, err := d.Create(t.Context(), r.spec(tt.program))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = box.Destroy(context.Background()) }()
		if err := box.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = readAll(box) }()
		exit, err := box.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ev := box.(sandbox.Witness).Evidence()
		if exit.Evidence.OOMKilled != tt.oom || ev.OOMKilled != tt.oom || ev.Confidence != sandbox.ConfidenceKernel || ev.Usage.MemoryPeak == 0 {
			t.Errorf("%s: exit %+v, evidence %+v", tt.program, exit, ev)
		}
		if err := box.Destroy(t.Context()); err != nil {
			t.Error(err)
		}
		if after := box.(sandbox.Witness).Evidence(); after != ev {
			t.Errorf("%s: after its end %+v, before %+v", tt.program, after, ev)
		}
		if left := groupDirs(t, root+"/*"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// Memory that runs out while the engine still sets the cell up is the cell's own, and said so.
func (r *real) startOutOfMemory(t *testing.T) {
	d, root := grouped(t, Timeouts{})
	spec := r.spec("sleep")
	tiny := int64(512 << 10)
	spec.OCI.Linux.Resources.Memory.Limit, spec.OCI.Linux.Resources.Memory.Swap = &tiny, &tiny
	box, err := d.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	err = box.Start(t.Context())
	var start *sandbox.StartError
	if !errors.As(err, &start) || !start.OOM {
		t.Errorf("start: %+v, want it to be out of memory", err)
	}
	t.Logf("%v; evidence %+v", err, box.(sandbox.Witness).Evidence())
	if err := box.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if left := groupDirs(t, root+"/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// deaf is an engine whose kill never comes back.
type deaf struct{ containerAPI }

func (deaf) ContainerKill(ctx context.Context, _, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// A cell whose engine does not kill it is killed all the same.
func (r *real) killWithoutEngine(t *testing.T) {
	d, _ := grouped(t, Timeouts{Direct: 50 * time.Millisecond, Kill: time.Second})
	d.containers = deaf{d.containers} // before anybody uses it
	spec := r.spec("sleep")
	box, err := d.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := box.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if err := box.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = readAll(box) }()
	if err := box.Kill(t.Context()); err != nil {
		t.Errorf("kill: %v", err)
	}
	exit, err := box.Wait(t.Context())
	if err != nil || exit.Code != 137 || exit.Evidence.OOMKilled || exit.Evidence.Pressure {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

// A group without a container is listed and removed; one with a container is neither.
func (r *real) leftGroup(t *testing.T) {
	d, root := grouped(t, Timeouts{})
	box, err := d.Create(t.Context(), r.spec("sleep"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = box.Destroy(context.Background()) }()
	mount := cgroup.Inspect().Mount
	if err := os.MkdirAll(mount+root+"/dead/cell", 0o755); err != nil {
		t.Fatal(err)
	}
	other := open(t, Options{Instance: "other", Cgroup: cgroup.Options{Root: root}})
	groups := func() (ids []string) {
		all, err := other.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if l.Kind == cgroup.ListKind {
				ids = append(ids, l.ID)
			}
		}
		return ids
	}
	id := "cgroup:" + root + "/dead/cell"
	if ids := groups(); len(ids) != 1 || ids[0] != id {
		t.Errorf("listed %v, want %s alone", ids, id)
	}
	for range 2 {
		if err := other.Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if ids := groups(); len(ids) != 0 {
		t.Errorf("listed %v", ids)
	}
	// The reaper of another supervisor removes the container, and with it the group.
	if err := other.Remove(t.Context(), box.ID()); err != nil {
		t.Error(err)
	}
	if left := groupDirs(t, root+"/test/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

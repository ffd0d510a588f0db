package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// instance marks what this run of the tests makes on the engine, which others may be using.
var instance = fmt.Sprintf("itest%d", os.Getpid())

// groups is the control group above all cells of this run, so that its limits are nobody else's.
var groups = "/hotcell-" + instance

// TestMain runs the tests and then looks for what they left: cells, half-filled volumes, volumes, control groups,
// goroutines.
func TestMain(m *testing.M) {
	before := volumes()
	code := m.Run()
	if err := leftovers(before); err != nil {
		fmt.Fprintln(os.Stderr, "left behind:", err)
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// newRig returns a supervisor on the real engine, drained at the test's end.
func newRig(t *testing.T, opts rig.Options) *rig.Rig {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	if opts.Runner == "" {
		opts.Runner = testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell-runner")
	}
	opts.Instance = instance
	opts.Cgroup.Root = groups
	r, err := rig.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(time.Minute); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// underRunsc reports whether this run of the tests is gVisor's; some of what is true of a cell differs there.
func underRunsc() bool { return os.Getenv(rig.EnvRuntime) == "runsc" }

func listed() []sandbox.Listed {
	driver, err := docker.New(docker.Options{Instance: instance, Cgroup: cgroup.Options{Root: groups}})
	if err != nil {
		return nil
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	all, err := driver.List(ctx)
	if err != nil {
		return nil // no engine: then nothing was made on it either
	}
	return all
}

func volumes() map[string]bool {
	names := map[string]bool{}
	for _, l := range listed() {
		if l.Kind == "volume" {
			names[l.ID] = true
		}
	}
	return names
}

// leftovers reports what these tests left, and removes the volumes that they filled: those are a cache by content, and
// only volumes that were there before belong to somebody else.
func leftovers(before map[string]bool) error {
	for _, l := range listed() {
		switch {
		case l.Kind != "volume" && l.Labels[sandbox.LabelInstance] == instance:
			return fmt.Errorf("%s %s is %s", l.Kind, l.Name, l.State)
		case l.Kind == "volume" && !before[l.ID]:
			_ = remove(l.ID) // in use: by another's cell, for those of this run are looked for here too
		}
	}
	if left := groupsLeft(""); len(left) > 0 {
		return fmt.Errorf("control groups %v", left)
	}
	return nil
}

// groupsLeft are the control groups of this run in all trees, at its root ("") or below it ("/*", "/*/*").
func groupsLeft(level string) []string {
	left, _ := filepath.Glob("/sys/fs/cgroup/*" + groups + level)
	unified, _ := filepath.Glob("/sys/fs/cgroup" + groups + level)
	return slices.DeleteFunc(append(left, unified...), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
}

func remove(id string) error {
	driver, err := docker.New(docker.Options{Instance: instance})
	if err != nil {
		return err
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return driver.Remove(ctx, id)
}

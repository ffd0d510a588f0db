package hostile

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// instance marks what this run of the tests makes on the engine, which others may be using.
var instance = fmt.Sprintf("hostile%d", os.Getpid())

// TestMain runs the tests and then looks for what they left: cells, volumes, cgroups, goroutines.
func TestMain(m *testing.M) {
	if flag.Parse(); rig.OnCluster() {
		_ = flag.Set("test.parallel", strconv.Itoa(rig.AtOnce)) // a pod takes its time, of which little is this machine's
	}
	code := m.Run()
	if err := leftovers(); err != nil {
		fmt.Fprintln(os.Stderr, "left behind:", err)
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// leftovers reports what these tests left, and removes the volumes that they filled: those are a cache by content.
func leftovers() error {
	driver, err := docker.New(docker.Options{Instance: instance})
	if err != nil {
		return err
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	all, err := driver.List(ctx)
	if err != nil {
		return nil // no engine: then nothing was made on it either
	}
	for _, l := range all {
		if l.Labels[sandbox.LabelInstance] != instance {
			continue
		}
		if l.Kind != "volume" {
			return fmt.Errorf("%s %s is %s", l.Kind, l.Name, l.State)
		}
		// The runner's volume may serve cells of others by now; each other one holds a skill of these tests alone.
		if err := driver.Remove(ctx, l.ID); err != nil && !strings.Contains(l.ID, "-runner-") {
			return fmt.Errorf("volume %s: %w", l.Name, err)
		}
	}
	return cgroupsLeft()
}

// cgroupsLeft reports a cgroup of this run's cells that is still there.
func cgroupsLeft() error {
	for _, pattern := range []string{"/sys/fs/cgroup/hotcell/", "/sys/fs/cgroup/*/hotcell/"} {
		found, err := filepath.Glob(pattern + instance + "/*")
		if err != nil {
			return err
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				return fmt.Errorf("cgroup %s", path)
			}
		}
	}
	return nil
}

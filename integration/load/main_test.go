package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// instance marks what this run makes on the engine, which others may be using.
var instance = fmt.Sprintf("load%d", os.Getpid())

// groups is the control group above all cells of this run.
var groups = "/hotcell-" + instance

// TestMain runs the test and then looks for what it left.
func TestMain(m *testing.M) {
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

// leftovers reports what is left, and removes the volumes, which are a cache by content.
func leftovers() error {
	driver, err := docker.New(docker.Options{Instance: instance, Cgroup: cgroup.Options{Root: groups}})
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
		_ = driver.Remove(ctx, l.ID) // in use: the runner's serves cells of others by now
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*" + groups, "/sys/fs/cgroup" + groups, filepath.Join(os.TempDir(), "hotcell-*", instance)} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
	}
	return children()
}

// children reports a process of this one that is still there.
func children() error {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		var pid, parent int
		var name, state string
		if _, err := fmt.Sscanf(string(b), "%d %s %s %d", &pid, &name, &state, &parent); err == nil && parent == os.Getpid() {
			return fmt.Errorf("process %d %s (%s)", pid, name, state)
		}
	}
	return nil
}

package hostile

import (
	"os"
	"slices"
	"testing"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/testutil"
)

// selection are rows of every kind that take little time. All rows in all of these ways are a matter of `make soak`.
var selection = []string{
	"privileges", "setuid-programs", "run-places", "write-system", "devices", "runner", "syscalls", "network", "reach-victim",
	"memory", "memory-child", "memory-after-result", "exit-137", "fork-count", "disk-fill", "long-result", "bare-half-result", "bare-silent",
	"image-env", "image-setuid", "first-memory",
}

// TestWarmAndWithoutAnEngine runs a selection of rows in cells that waited for them, and in cells that the driver oci made.
func TestWarmAndWithoutAnEngine(t *testing.T) {
	if os.Getenv(rig.EnvDriver) != "" || os.Getenv(rig.EnvWarm) != "" {
		return // then that is what all rows run in
	}
	var rows []row
	for _, group := range [][]row{
		privilegeRows(), systemRows(), runnerRows(), kernelRows(), reachRows(), memoryRows(), processRows(), diskRows(), outputRows(),
		frameRows(), bareRows(), imageRows(),
	} {
		for _, r := range group {
			if slices.Contains(selection, r.name) {
				rows = append(rows, r)
			}
		}
	}
	if len(rows) != len(selection) {
		var names []string
		for _, r := range rows {
			names = append(names, r.name)
		}
		t.Errorf("the selection names %d rows, and there are %q", len(selection), names)
	}
	load(t, hostileImages())
	for _, way := range []struct{ name, driver, warm string }{
		{"docker, warm", "", "32"},
		{"oci, cold", "oci", ""},
		{"oci, warm", "oci", "32"},
	} {
		t.Run(way.name, func(t *testing.T) {
			if way.driver != "" {
				testutil.Require(t, "root")
				testutil.Require(t, "runc")
			}
			t.Setenv(rig.EnvDriver, way.driver)
			t.Setenv(rig.EnvWarm, way.warm)
			runRows(t, rows)
		})
	}
}

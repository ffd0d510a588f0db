package integration

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/fleet"
	"github.com/hotcell/hotcell/internal/testutil"
)

// binary is the product as people run it: built here, with the runner that `make build` embedded.
func binary(t *testing.T) string {
	t.Helper()
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	if built, _ := filepath.Glob("../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	return testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell")
}

// command runs the binary in an empty folder with a data folder of its own.
func command(t *testing.T, bin, stdin string, args ...string) fleet.Ran {
	t.Helper()
	return fleet.Command(t, bin, stdin, args...)
}

// daemon is a running `hotcell serve`.
type daemon struct{ *fleet.Daemon }

// serve starts the daemon and waits until it says that it is ready. It is stopped at the test's end.
func serve(t *testing.T, bin string, env ...string) *daemon {
	t.Helper()
	return serveIn(t, t.TempDir(), bin, env...)
}

// serveIn is serve with the data folder and the socket of the daemon that was in dir before.
func serveIn(t *testing.T, dir, bin string, env ...string) *daemon {
	t.Helper()
	return &daemon{fleet.Serve(t, dir, bin, env...)}
}

func get(t *testing.T, url string) string {
	t.Helper()
	return fleet.Get(t, url)
}

// skillFolder writes skills of one script each.
func skillFolder(t *testing.T, scripts map[string]string) string {
	t.Helper()
	return fleet.Skills(t, scripts, "")
}

// number is a count from the environment.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	return fleet.Number(t, name, otherwise)
}

func soaking() bool { return fleet.Soaking() }

func patience(limit time.Duration) time.Duration { return fleet.Patience(limit) }

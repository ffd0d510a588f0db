package doors

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// TestMain runs the tests and then looks for goroutines that they left. What daemons leave on the engine is looked for where
// each of them is stopped.
func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// leftovers are the cells and networks of a daemon that are still on the engine. Volumes are a cache by content.
func leftovers(instance string) (found []string) {
	driver, err := docker.New(docker.Options{Instance: instance})
	if err != nil {
		return nil
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all, err := driver.List(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	for _, l := range all {
		if l.Labels[sandbox.LabelInstance] == instance && l.Kind != "volume" {
			found = append(found, l.Kind+" "+l.Name)
		}
	}
	return found
}

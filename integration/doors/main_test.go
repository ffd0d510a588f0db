package doors

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// TestMain runs the tests, stops the daemons, and then looks for goroutines that were left. What daemons leave on the engine is
// looked for where each of them is stopped.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // columns wait for their cells more than they work
		panic(err)
	}
	code := m.Run()
	if err := stopAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
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

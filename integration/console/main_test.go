package console

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds whatever a test waits for.
const patience = 2 * time.Minute

// ends are what is done when all tests have ended, the newest first.
var ends struct {
	sync.Mutex
	list []func() error
}

// atEnd has something done when all tests have ended.
func atEnd(do func() error) {
	ends.Lock()
	defer ends.Unlock()
	ends.list = slices.Insert(ends.list, 0, do)
}

// TestMain runs the tests, stops the browser and the daemons, and then looks for goroutines that were left. What the browser and
// the daemons leave is looked for where each of them is stopped.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	var err error
	for _, end := range ends.list {
		err = errors.Join(err, end())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

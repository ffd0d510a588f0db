package fleet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// Options say what a fleet is.
type Options struct {
	Daemons int
	Bin     string
	Env     []string // of each of them
	Heirs   bool     // who takes a dead one's place has its folder, too; otherwise each has one of its own

	Prepare func(t *testing.T, dir string) // what is to be in a folder before a daemon starts there; nil: nothing
}

// Fleet is daemons of which some are killed, and what became of the calls that they were sent. A test changes it alone.
type Fleet struct {
	Bin string

	t       *testing.T
	opts    Options
	dir     string
	started int

	mu      sync.Mutex
	daemons []*Daemon
	dead    []string             // ids of the killed
	killed  map[string]time.Time // when
	answers map[string]answered
	left    int // calls that have no answer yet
}

type answered struct {
	line   string
	answer *a2e.CallResponse
	again  *a2e.CallResponse // what whoever was asked next said; nil: that one was killed
	at     time.Time         // when it was first sent
	sent   int
}

// New starts a fleet, which is stopped at the test's end.
func New(t *testing.T, opts Options) *Fleet {
	t.Helper()
	f := &Fleet{Bin: opts.Bin, t: t, opts: opts, dir: t.TempDir(), killed: map[string]time.Time{}, answers: map[string]answered{}}
	for range opts.Daemons {
		f.daemons = append(f.daemons, f.start(f.folder()))
	}
	return f
}

// SharedStore starts a database, and tells all daemons and commands that a test starts from now on that it is their store.
func SharedStore(t *testing.T) {
	t.Helper()
	server := testutil.Postgres(t)
	for name, value := range map[string]string{
		"HOTCELL__STORE__URL": "env:FLEET_STORE", "FLEET_STORE": server.URL, "HOTCELL__AUDIT__KEY": "env:FLEET_KEY", "FLEET_KEY": strings.Repeat("5a", 32),
	} {
		t.Setenv(name, value)
	}
}

func (f *Fleet) folder() string {
	f.started++
	dir := filepath.Join(f.dir, fmt.Sprint(f.started))
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	return dir
}

func (f *Fleet) start(dir string) *Daemon {
	if f.opts.Prepare != nil {
		f.opts.Prepare(f.t, dir)
	}
	return Serve(f.t, dir, f.Bin, f.opts.Env...)
}

// Daemons are those that live, each at its place.
func (f *Fleet) Daemons() []*Daemon {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.daemons)
}

// Dead are the ids of those that were killed, in that order.
func (f *Fleet) Dead() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.dead)
}

// Killed returns when one was killed.
func (f *Fleet) Killed(id string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.killed[id]
}

// IDs are those of all that live or were killed.
func (f *Fleet) IDs() []string {
	all := f.Dead()
	for _, d := range f.Daemons() {
		all = append(all, d.ID(f.t))
	}
	return all
}

func (f *Fleet) any() *Daemon {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.daemons[rand.IntN(len(f.daemons))]
}

// Send sends calls, so many at once, and returns a function that waits for their answers.
func (f *Fleet) Send(seed uint64, calls, atOnce int) (wait func()) {
	f.left = calls
	var callers sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		callers.Go(func() {
			for n := range next {
				f.ask(Request(seed, n))
			}
		})
	}
	go func() { // ends with the last call
		defer close(next)
		for n := range calls {
			next <- n
		}
	}()
	return callers.Wait
}

// ask sends a call to any daemon until one answers it, and then once more. Whoever is killed answers nothing; another one does.
func (f *Fleet) ask(id, line string) {
	got := answered{line: line, at: time.Now()}
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		got.sent++
		if answer, _, err := f.any().Call(line); err == nil {
			got.answer = answer
			got.again, _, _ = f.any().Call(line)
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[id] = got
	f.left--
}

// Kill kills one daemon after the other, each after a pause, as long as there are calls without an answer. The next one starts at
// once in its place.
func (f *Fleet) Kill(times int, pause func() time.Duration) {
	for i := range times {
		time.Sleep(pause()) // the moment is what is tested
		f.mu.Lock()
		left := f.left
		f.mu.Unlock()
		if left == 0 {
			return
		}
		f.Replace(i % len(f.daemons))
	}
}

// Replace kills the daemon at a place and starts another one there.
func (f *Fleet) Replace(i int) {
	old := f.daemons[i]
	id, dir := old.ID(f.t), old.Dir
	old.Kill(f.t)
	f.mu.Lock()
	f.dead, f.killed[id] = append(f.dead, id), time.Now()
	f.mu.Unlock()
	if !f.opts.Heirs {
		dir = f.folder()
	}
	next := f.start(dir)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.daemons[i] = next
}

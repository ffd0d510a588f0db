package scale

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// skillsOf are the names of the skills that are called, each by half as many callers as the one before.
const skillsOf = 4

// supervisor is a real one with what belongs to it.
type supervisor struct {
	*executor.Supervisor
	pool       *warm.Driver
	driver     *driver
	journal    *journal
	processors *station
	cells      *gauge // of calls, until they are gone
	counts     *counts
}

// counts is told of the calls of one supervisor.
type counts struct {
	executor.Observer
	cells      *gauge
	warm, cold atomic.Int64
	ended      atomic.Int64
}

func (c *counts) CallEnded(string, control.Call, string) { c.ended.Add(1) }
func (c *counts) CellCreated()                           { c.cells.add(1) }
func (c *counts) CellDestroyed()                         { c.cells.add(-1) }

// What the pool tells.
func (c *counts) Leased(waited bool) {
	if waited {
		c.warm.Add(1)
	} else {
		c.cold.Add(1)
	}
}
func (c *counts) Missed(string)          {}
func (c *counts) Refilled(time.Duration) {}
func (c *counts) Wasted(string)          {}

// fleet is supervisors over one cluster and one database.
type fleet struct {
	opts        Options
	cluster     *cluster
	database    *database
	supervisors []*supervisor
	maxCells    int
}

// newFleet makes what opts say. Each supervisor may have its share of the cluster's places.
func newFleet(opts Options) (*fleet, error) {
	f := &fleet{opts: opts, cluster: newCluster(opts.Costs, opts.Nodes, opts.Seed), database: newDatabase(opts.Costs)}
	f.maxCells = max(1, opts.Nodes*opts.Costs.Places/opts.Supervisors-opts.Pool)
	library, err := skills.Load([]skills.Source{{Label: skills.SourceProject, FS: library(), Path: "scale"}}, nil)
	if err != nil {
		return nil, err
	}
	for i := range opts.Supervisors {
		s, err := f.supervisor(i, library)
		if err != nil {
			return nil, err
		}
		f.supervisors = append(f.supervisors, s)
	}
	return f, nil
}

func (f *fleet) supervisor(i int, library skills.Catalog) (*supervisor, error) {
	s := &supervisor{
		driver: newDriver(f.cluster, f.opts.Seed+uint64(i)<<16), journal: newJournal(f.database),
		processors: newStation(f.opts.Costs.Processors, newGauge(f.opts.Costs.Processors)), cells: newGauge(f.maxCells),
	}
	s.counts = &counts{Observer: executor.Blind, cells: s.cells}
	var host atomic.Pointer[executor.Supervisor]
	s.pool = warm.New(s.driver, warm.Options{
		Max: f.opts.Pool, Watch: s.counts, Elsewhere: f.opts.Elsewhere,
		Room: func(memory int64) bool { h := host.Load(); return h == nil || h.Room(memory) },
		Busy: func() bool { h := host.Load(); return h != nil && h.Busy() },
	})
	var err error
	s.Supervisor, err = executor.New(executor.Config{
		Driver: s.pool, Images: everyImage{}, Skills: library, Instance: fmt.Sprint("s", i), Journal: s.journal, Observer: s.counts,
		Runner:        runnerOf,
		DefaultImages: map[string]string{"python": "image"}, MaxCells: f.maxCells,
	})
	host.Store(s.Supervisor)
	return s, err
}

func skill(i int) string { return fmt.Sprintf("work-%d", i) }

func library() fs.FS {
	all := fstest.MapFS{}
	for i := range skillsOf {
		all[skill(i)+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + skill(i) + "\ndescription: works for a while\n---\n"), Mode: 0o644}
		all[skill(i)+"/main.py"] = &fstest.MapFile{Data: []byte("pass\n"), Mode: 0o644}
	}
	return all
}

// runnerOf is a runner that nobody runs.
func runnerOf(string) (sandbox.Tree, error) {
	return sandbox.Tree{Name: "runner", Digest: fmt.Sprintf("%064x", 1), Target: wall.DirRunner, FS: fstest.MapFS{"runner": {Mode: 0o755}}}, nil
}

// everyImage has all images.
type everyImage struct{}

func (everyImage) Resolve(_ context.Context, ref string, _ images.PullPolicy) (images.Image, error) {
	return images.Image{Ref: ref, ID: "sha256:" + fmt.Sprintf("%064x", 7), OS: "linux", Arch: "amd64"}, nil
}

// told is what a caller knows of its call.
type told struct {
	tenant  int
	at      time.Time     // it was sent
	first   time.Duration // until the first event; 0: there was none
	took    time.Duration // until the answer
	why     string        // "": it succeeded
	counted bool          // it was sent within the window
}

// call makes one call of the supervisor whose turn it is.
func (f *fleet) call(ctx context.Context, n int, tenant int, which int, runs time.Duration) told {
	s := f.supervisors[n%len(f.supervisors)]
	t := told{tenant: tenant, at: time.Now()}
	if err := s.processors.use(ctx, f.opts.Costs.Work); err != nil {
		t.why = err.Error()
		return t
	}
	var once sync.Once
	answer := s.Call(ctx, a2e.Caller{Door: "scale", Principal: fmt.Sprint("tenant-", tenant)},
		&a2e.CallRequest{Name: skill(which), Arguments: map[string]any{"ms": runs.Milliseconds()}},
		a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
			once.Do(func() { t.first = time.Since(t.at) })
			return nil
		}))
	t.took = time.Since(t.at)
	if answer.Error != nil {
		t.why = string(answer.Error.Code) + "/" + answer.Error.Reason()
	}
	return t
}

// restart forgets what was used so far.
func (f *fleet) restart() {
	for _, g := range f.gauges() {
		g.restart()
	}
	for _, s := range f.supervisors {
		s.counts.warm.Store(0)
		s.counts.cold.Store(0)
	}
}

// gauges are all that may be full.
func (f *fleet) gauges() []*gauge {
	all := []*gauge{f.cluster.scheduler.used, f.cluster.starts, f.cluster.places, f.database.writer.used}
	for _, s := range f.supervisors {
		all = append(all, s.driver.api.used, s.processors.used, s.cells)
	}
	return all
}

// close drains all, and says what is left.
func (f *fleet) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var errs []error
	for _, s := range f.supervisors {
		s.pool.Drain()
		if err := s.Drain(ctx); err != nil {
			errs = append(errs, fmt.Errorf("drain: %w", err))
		}
		s.journal.close()
		if left := s.driver.Stats().Live; left != 0 {
			errs = append(errs, fmt.Errorf("%d cells are left", left))
		}
		if s.cells.now != 0 {
			errs = append(errs, fmt.Errorf("%d cells of calls are left", s.cells.now))
		}
	}
	time.Sleep(5 * time.Minute) // for pods of nobody
	if used, over := f.cluster.taken(); used != 0 || over {
		errs = append(errs, fmt.Errorf("%d places are still taken, more than there are: %t", used, over))
	}
	if n := len(f.database.open); n != 0 {
		errs = append(errs, fmt.Errorf("%d calls have no answer in the store", n))
	}
	return errors.Join(append(errs, f.database.faults...)...)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// flavor is what makes cells, and under which runtime.
type flavor struct{ driver, runtime string }

var (
	onDocker = flavor{driver: "docker"}
	onRunsc  = flavor{driver: "docker", runtime: "runsc"}
	onOCI    = flavor{driver: "oci"}
)

func (f flavor) String() string {
	if f.runtime != "" {
		return f.driver + " with " + f.runtime
	}
	return f.driver
}

// places is how many cells wait at most.
const places = 8

// yard holds the supervisors of a run. Each is wired when it is first asked for, as hotcell is: with a journal, with locks,
// with a pool or without.
type yard struct {
	runner string
	idle   time.Duration // of the pools
	places int           // in them
	cells  int           // at once; 0: hotcell's default

	engine  *engine
	cluster *cluster
	sites   map[siteKey]*site
	folders []string
}

type siteKey struct {
	flavor
	warm bool
}

// site is one supervisor, without a front door.
type site struct {
	*rig.Rig
	dir    string // of its own files
	log    *store.Store
	busy   atomic.Int64 // cells of calls that are not destroyed
	called map[string]bool
	stock  int // cells that waited at the beginning of the last load
}

func newYard(runner string) *yard {
	return &yard{runner: runner, idle: time.Hour, places: places, sites: map[siteKey]*site{}}
}

// raw returns the way to the engine without hotcell.
func (y *yard) raw() (*engine, error) {
	if y.engine != nil {
		return y.engine, nil
	}
	e, err := newEngine()
	if err == nil {
		y.engine = e
	}
	return e, err
}

func (y *yard) site(f flavor, warm bool) (*site, error) {
	key := siteKey{f, warm}
	if s := y.sites[key]; s != nil {
		return s, nil
	}
	if err := y.possible(f); err != nil {
		return nil, err
	}
	s, err := y.wire(key)
	if err != nil {
		return nil, fmt.Errorf("a supervisor for %s: %w", f, err)
	}
	y.sites[key] = s
	return s, nil
}

// possible says why a flavor cannot be had here.
func (y *yard) possible(f flavor) error {
	if f == onCluster {
		_, err := y.kube(context.Background())
		return err
	}
	e, err := y.raw()
	if err != nil {
		return err
	}
	if f.runtime != "" && !slices.Contains(e.runtimes, f.runtime) {
		return absent{fmt.Sprintf("the engine has no runtime %s: register it with make %s", f.runtime, f.runtime)}
	}
	return nil
}

func (y *yard) folder() (string, error) {
	dir, err := os.MkdirTemp("", "hotcell-bench-")
	if err == nil {
		y.folders = append(y.folders, dir)
	}
	return dir, err
}

func (y *yard) wire(key siteKey) (*site, error) {
	dir, err := y.folder()
	if err != nil {
		return nil, err
	}
	s := &site{dir: dir, called: map[string]bool{}}
	if s.log, err = openJournal(filepath.Join(dir, "hotcell.db")); err != nil {
		return nil, err
	}
	opts := rig.Options{
		Runner: y.runner, Skills: benchSkills(), Instance: fmt.Sprintf("bench%dx%d", os.Getpid(), len(y.sites)),
		Driver: key.driver, Runtime: key.runtime, Remember: time.Minute,
		Adjust: func(c *executor.Config) {
			c.MaxCells, c.Services = y.cells, []service.Service{far{}}
			c.Journal, c.RunDir, c.Observer = s.log, filepath.Join(dir, "uids"), gauge{executor.Blind, &s.busy}
		},
	}
	if key.flavor == onCluster {
		opts.Skills, opts.Make = clusterSkills(), y.cluster.cells(opts.Instance)
	}
	if key.warm {
		opts.Warm = warm.Options{Max: y.places, Idle: y.idle, MaxAge: time.Hour}
	}
	if s.Rig, err = rig.New(opts); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	if key.driver == onOCI.driver {
		if err := s.Cells.(sandbox.Pinger).Ping(context.Background()); err != nil {
			return nil, errors.Join(absent{err.Error()}, s.close())
		}
	}
	return s, nil
}

// openJournal opens a journal with hotcell's defaults.
func openJournal(path string) (*store.Store, error) {
	return store.Open(context.Background(), store.Options{
		Path: path, Keep: store.Keep{
			Calls: 30 * 24 * time.Hour, Events: 7 * 24 * time.Hour, Artifacts: 7 * 24 * time.Hour, Max: 10 << 30, Replay: executor.Replay,
		},
	})
}

func (s *site) close() error { return errors.Join(s.Close(time.Minute), s.log.Close()) }

func (y *yard) close() (err error) {
	for _, s := range y.sites {
		err = errors.Join(err, s.close())
	}
	if y.cluster != nil {
		err = errors.Join(err, y.cluster.close())
	}
	if y.engine != nil {
		err = errors.Join(err, y.engine.cli.Close())
	}
	removeGroups()
	for _, dir := range y.folders {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// gauge is an observer that counts the cells of calls.
type gauge struct {
	executor.Observer
	busy *atomic.Int64
}

func (g gauge) CellCreated()   { g.busy.Add(1) }
func (g gauge) CellDestroyed() { g.busy.Add(-1) }

// call calls a skill, and tells when its first event and its answer came.
func (s *site) call(ctx context.Context, skill string) (t timing, err error) {
	began := time.Now()
	answer := s.Rig.Call(ctx, a2e.Caller{Door: "bench"}, &a2e.CallRequest{Name: names[skill], Arguments: map[string]any{"text": text}},
		a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
			if t.first == 0 {
				t.first = time.Since(began)
			}
			return nil
		}))
	t.done = time.Since(began)
	if answer.Error != nil {
		return t, answer.Error
	}
	return t, nil
}

// settle waits until the cells of calls are gone.
func (s *site) settle(ctx context.Context) error {
	return await(ctx, func() bool { return s.busy.Load() == 0 })
}

// stocked waits until a cell waits for a skill, with a first call if none ever did, and until all is quiet.
func (s *site) stocked(ctx context.Context, skill string) error {
	if !s.called[skill] {
		if _, err := s.call(ctx, skill); err != nil {
			return err
		}
		s.called[skill] = true
	}
	waits := func() bool { return s.busy.Load() == 0 && len(s.Pool.Waiting(names[skill])) > 0 }
	if err := await(ctx, waits); err != nil {
		return fmt.Errorf("no cell waits for %s: %w", names[skill], err)
	}
	return pause(ctx)
}

// await looks again and again until it is so.
func await(ctx context.Context, so func() bool) error {
	for !so() {
		if err := rest(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

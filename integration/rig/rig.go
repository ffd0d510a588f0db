package rig

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/executor"
	imagesdocker "github.com/hotcell/hotcell/images/docker"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/skills/bundled"
	"github.com/hotcell/hotcell/internal/tools"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
	"github.com/hotcell/hotcell/sandbox/docker"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// PythonImage is the image that Python skills run in, made by scripts/image-python.
const PythonImage = "hotcell/python:3"

// EnvRuntime names the environment variable that runs all cells of a rig under another runtime than the engine's default.
const EnvRuntime = "HOTCELL_RUNTIME"

// EnvWarm names the environment variable that gives rigs without a pool one, of so many cells.
const EnvWarm = "HOTCELL_WARM"

// Options say what differs from a plain supervisor.
type Options struct {
	Runner   string                 // path of a built hotcell-runner
	Engine   string                 // path of a built hotcell-engine; "": there is none
	Skills   fs.FS                  // folders of skills, before the bundled ones; may be nil
	Host     string                 // the engine; "" for the usual one
	Instance string                 // "": "rig"
	Driver   string                 // "docker", "oci" or "kubernetes"; "": that of EnvDriver, else docker
	Runtime  string                 // "": that of EnvRuntime, else the engine's default
	Adjust   func(*executor.Config) // last word on the configuration; may be nil

	// Make has something else make the cells: it sets the driver, and returns what ends it. Nil: Driver says what does.
	Make func(*executor.Config) (end func() error, err error)

	Log *slog.Logger

	Traffic  int64          // that a cell on a cluster may say; 0: the driver's own bound
	Cgroup   cgroup.Options // of the control groups around cells
	NoCgroup bool           // leaves them out

	Remember time.Duration // of what the engine said about images; 0: it is asked for each call

	Warm   warm.Options          // of the pool of waiting cells; with a Max of 0 that of EnvWarm, else there is none
	Leased func(sandbox.Sandbox) // is given each cell that waited before its call gets it; may be nil
}

// Rig is a supervisor and its parts.
type Rig struct {
	*executor.Supervisor
	Driver *docker.Driver
	Cells  sandbox.Driver // what makes the cells: Driver, or that of EnvDriver
	Pool   *warm.Driver   // nil without one
	Folder string         // of files of the driver's that is not docker; "" with docker

	leases *leases
	images *imagesdocker.Store
	counts *counts
	shoot  func(ctx context.Context, id string) error
	end    func() error // of the driver that is not docker

	describe func(ctx context.Context, id string) ([]byte, error)
}

// New wires a rig. Its owner closes it.
func New(opts Options) (*Rig, error) {
	if opts.Instance == "" {
		opts.Instance = "rig"
	}
	runner, err := RunnerTree(opts.Runner)
	if err != nil {
		return nil, err
	}
	library, err := skills.Load(sources(opts.Skills), opts.Log)
	if err != nil {
		return nil, err
	}
	library.Watched(true) // they do not change
	driver, err := docker.New(docker.Options{
		Host: opts.Host, Instance: opts.Instance, Log: opts.Log, Cgroup: opts.Cgroup, NoCgroup: opts.NoCgroup,
	})
	if err != nil {
		return nil, err
	}
	store, err := imagesdocker.New(imagesdocker.Options{Host: opts.Host, Remember: opts.Remember})
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	cfg := executor.Config{
		Driver: driver, Images: store, Skills: library, Instance: opts.Instance, Log: opts.Log,
		Runner:        func(string) (sandbox.Tree, error) { return runner, nil },
		DefaultImages: map[string]string{"python": PythonImage, "sh": PythonImage},
		EmbedEvents:   true,
	}
	if opts.Engine != "" {
		engine, err := program(opts.Engine, "engine", wall.DirEngine)
		if err != nil {
			return nil, errors.Join(err, store.Close(), driver.Close())
		}
		cfg.Engine = func(string) (sandbox.Tree, error) { return engine, nil }
	}
	r := &Rig{Driver: driver, Cells: driver, images: store, shoot: dockerKill, describe: dockerInspect, end: func() error { return nil }}
	if err := r.elsewhere(&cfg, opts); err != nil {
		return nil, errors.Join(err, store.Close(), driver.Close())
	}
	if r.Pool = newPool(opts, cfg.Driver); r.Pool != nil {
		r.leases = &leases{Driver: r.Pool, ids: map[string]bool{}, leased: opts.Leased}
		cfg.Driver = r.leases
	}
	if opts.Adjust != nil {
		opts.Adjust(&cfg)
	}
	if cfg.Policy.Runtime == "" {
		cfg.Policy.Runtime = cmp.Or(opts.Runtime, os.Getenv(EnvRuntime))
	}
	r.counts = &counts{Observer: cfg.Observer}
	if r.counts.Observer == nil {
		r.counts.Observer = executor.Blind
	}
	cfg.Observer = r.counts
	if r.Supervisor, err = executor.New(cfg); err != nil {
		return nil, errors.Join(err, r.end(), store.Close(), driver.Close())
	}
	return r, nil
}

// others have a rig's cells made by another driver than docker.
var others = map[string]func(*Rig, *executor.Config, Options) error{"oci": withoutEngine, kubernetesWord: onCluster}

// elsewhere has cells made by another driver than docker, where that is wanted.
func (r *Rig) elsewhere(cfg *executor.Config, opts Options) error {
	if opts.Make != nil {
		end, err := opts.Make(cfg)
		if err == nil {
			r.Cells, r.end = cfg.Driver, end
		}
		return err
	}
	if other := others[cmp.Or(opts.Driver, os.Getenv(EnvDriver))]; other != nil {
		return other(r, cfg, opts)
	}
	return nil
}

func newPool(opts Options, driver sandbox.Driver) *warm.Driver {
	if opts.Warm.Max == 0 {
		opts.Warm.Max, _ = strconv.Atoi(os.Getenv(EnvWarm))
	}
	if opts.Warm.Max == 0 {
		return nil
	}
	opts.Warm.Log = opts.Log
	return warm.New(driver, opts.Warm)
}

// Close drains the supervisor, at most limit long, and lets the engine go. Each call must have ended by then, and each cell
// be destroyed.
func (r *Rig) Close(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := errors.Join(r.Drain(ctx), r.counts.check())
	if r.Pool != nil {
		r.Pool.Drain()
	}
	return errors.Join(err, r.end(), r.images.Close(), r.Driver.Close())
}

func sources(own fs.FS) []skills.Source {
	var list []skills.Source
	if own != nil {
		list = append(list, skills.Source{Label: skills.SourceProject, FS: own, Path: "rig"})
	}
	return append(list, skills.Source{Label: skills.SourceCore, FS: bundled.FS(), Path: "bundled"})
}

// RunnerTree is the tree of the runner that rigs have, from the file of a built one.
func RunnerTree(path string) (sandbox.Tree, error) { return program(path, "runner", wall.DirRunner) }

// program is the tree of a program that cells have.
func program(path, name, target string) (sandbox.Tree, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return sandbox.Tree{}, fmt.Errorf("%s: %w: build it with 'make build'", name, err)
	}
	files := fstest.MapFS{name: {Data: b, Mode: 0o755}}
	if target == wall.DirRunner { // what else a release's runner brings
		files[tools.PythonFile] = &fstest.MapFile{Data: tools.Python(), Mode: 0o644}
		b = slices.Concat(b, tools.Python())
	}
	sum := sha256.Sum256(b)
	return sandbox.Tree{Name: name, Digest: hex.EncodeToString(sum[:]), Target: target, FS: files}, nil
}

// PythonSkill is a skill of one script, as a folder below name.
func PythonSkill(name, yaml, script string) fstest.MapFS {
	return fstest.MapFS{
		name + "/SKILL.md":   {Data: []byte("---\nname: " + name + "\ndescription: a skill for tests\n---\nRun it.\n"), Mode: 0o644},
		name + "/skill.yaml": {Data: []byte(yaml), Mode: 0o644},
		name + "/main.py":    {Data: []byte(script), Mode: 0o644},
	}
}

// Merge puts several folders into one file system.
func Merge(parts ...fstest.MapFS) fstest.MapFS {
	all := fstest.MapFS{}
	for _, part := range parts {
		for name, file := range part {
			all[name] = file
		}
	}
	return all
}

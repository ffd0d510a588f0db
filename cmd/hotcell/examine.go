package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotcell/hotcell/images"
	imagesdocker "github.com/hotcell/hotcell/images/docker"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

const (
	askLimit   = 5 * time.Second // for one question to an engine, so that its own words say what hangs
	closeLimit = 2 * time.Second // for clients of an engine that may hang; the process ends next
)

// gather asks this host and its engine all that `hotcell doctor` judges.
func gather(ctx context.Context, cfg *config.Config, log *slog.Logger) doctor.Facts {
	id := host.NewInstance()
	if cfg.Sandbox.Driver == host.DriverKubernetes {
		return gatherCluster(ctx, cfg, id, log)
	}
	if cfg.Sandbox.Driver == host.DriverOCI || chosen(ctx, cfg, id) == host.DriverOCI {
		return gatherDirect(ctx, cfg, id, log)
	}
	set := doctorSettings(cfg, embedded)
	owners := func() ([]instance.Info, error) { return instance.List(filepath.Join(cfg.DataDir, host.InstancesDir)) }
	host := func(ctx context.Context, engineRoot string) doctor.Host {
		return doctor.LookAround(ctx, "/", set, engineRoot)
	}
	direct, left := lookDirect, func(ctx context.Context) ([]sandbox.Listed, error) { return directCells(ctx, cfg, id, log) }
	driver, store, err := adapters(id, log)
	if err != nil {
		return doctor.Gather(ctx, set, doctor.Sources{
			Engine: func(context.Context) (sandbox.EngineFacts, error) { return sandbox.EngineFacts{}, err },
			Host:   host, Owners: owners, Direct: direct, DirectThings: left,
		})
	}
	defer within(closeLimit, func() { _ = errors.Join(store.Close(), driver.Close()) })
	try := trial{cfg: cfg, driver: driver, store: store, instance: id, log: log}
	return doctor.Gather(ctx, set, doctor.Sources{
		Engine: driver.Inspect, Host: host, Owners: owners, Direct: direct, DirectThings: left,
		Image: func(ctx context.Context, ref string) doctor.Image { return allowedImage(ctx, cfg, store, ref) },
		Pins:  func(ctx context.Context) (doctor.Pins, error) { return pinFacts(ctx, cfg, true) },
		Cell:  try.cell,
		Groups: func(ctx context.Context) string {
			_, _ = driver.Capabilities(ctx) // by which it learns what engine it has
			return driver.CgroupOff()
		},
		Things: driver.List, Volumes: driver.VolumeBytes,
	})
}

func adapters(id string, log *slog.Logger) (*docker.Driver, *imagesdocker.Store, error) {
	driver, err := docker.New(docker.Options{Instance: id, Log: log, Timeouts: docker.Timeouts{Info: askLimit, List: askLimit}})
	if err != nil {
		return nil, nil, err
	}
	store, err := imagesdocker.New(imagesdocker.Options{Timeouts: imagesdocker.Timeouts{Inspect: askLimit}})
	if err != nil {
		return nil, nil, errors.Join(err, driver.Close())
	}
	return driver, store, nil
}

func doctorSettings(cfg *config.Config, runners fs.FS) doctor.Settings {
	set := doctor.Settings{
		Runtime: cfg.Sandbox.Runtime, MaxCells: cfg.Sandbox.MaxCells, MaxMemory: int64(cfg.Sandbox.MaxMemory),
		Images: cfg.Images.Defaults, NeverPull: cfg.Policy.Images.Pull == images.PullNever,
		DataDir: cfg.DataDir, Socket: cfg.Socket,
		MinUID: compile.MinUID, MaxUID: compile.MaxUID, DefaultMemory: int64(policies.DefaultMemory),
	}
	if limit := cfg.Policy.Limits.Memory; limit > 0 {
		set.DefaultMemory = min(set.DefaultMemory, int64(limit))
	}
	set.References = lookup(cfg)
	for arch := range version(runners).Runners {
		set.Runners = append(set.Runners, arch)
	}
	return set
}

func defaultImage(ctx context.Context, store images.Store, ref string) doctor.Image {
	img, err := store.Resolve(ctx, ref, images.PullNever)
	var gone *images.UnavailableError
	switch {
	case errors.As(err, &gone):
		why, _, _ := strings.Cut(gone.Why, ", and the pull policy")
		why, _, _ = strings.Cut(why, ": docker save") // the hint says so too
		return doctor.Image{Why: why}
	case err != nil:
		return doctor.Image{Failed: plainEngine(err.Error())}
	}
	return doctor.Image{ID: img.ID, Size: img.Size}
}

// pinFacts asks what is pinned, and whether that is there.
func pinFacts(ctx context.Context, cfg *config.Config, engine bool) (p doctor.Pins, err error) {
	log := slog.New(slog.DiscardHandler)
	var kept *host.Keeping
	if engine {
		kept, err = host.EngineImages(cfg, 0, log, nil)
	} else {
		kept, _, err = host.OwnImages(cfg, log)
	}
	if err != nil {
		return p, err
	}
	defer within(closeLimit, func() { _ = kept.Close() })
	pins, err := kept.Lock.Pins()
	if err != nil {
		return p, err
	}
	p.Total = len(pins)
	p.Missing, err = kept.Missing(ctx)
	return p, err
}

// exists reports whether a folder is there.
func exists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// within does something, and stops to wait for it at the limit.
func within(limit time.Duration, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

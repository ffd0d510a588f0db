package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	imagesdocker "github.com/hotcell/hotcell/images/docker"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// askLimit bounds one question to an engine, so that its own words say what hangs.
const askLimit = 5 * time.Second

// gather asks this host and its engine all that `hotcell doctor` judges.
func gather(ctx context.Context, cfg *config.Config, log *slog.Logger) doctor.Facts {
	set := doctorSettings(cfg, embedded)
	owners := func() ([]instance.Info, error) { return instance.List(filepath.Join(cfg.DataDir, instancesDir)) }
	host := func(ctx context.Context, engineRoot string) doctor.Host {
		return doctor.LookAround(ctx, "/", set, engineRoot)
	}
	id := newInstance()
	driver, store, err := adapters(id, log)
	if err != nil {
		return doctor.Gather(ctx, set, doctor.Sources{
			Engine: func(context.Context) (sandbox.EngineFacts, error) { return sandbox.EngineFacts{}, err },
			Host:   host, Owners: owners,
		})
	}
	// An engine that hangs may keep its clients from closing; the process ends next.
	defer func() { go func() { _ = errors.Join(store.Close(), driver.Close()) }() }()
	try := trial{cfg: cfg, driver: driver, store: store, instance: id, log: log}
	return doctor.Gather(ctx, set, doctor.Sources{
		Engine: driver.Inspect, Host: host, Owners: owners,
		Image: func(ctx context.Context, kind, ref string) doctor.Image { return defaultImage(ctx, store, kind, ref) },
		Cell:  try.cell, Things: driver.List, Volumes: driver.VolumeBytes,
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
		Images: cfg.Images.Defaults, NeverPull: cfg.Policy.Images.Pull == "never",
		DataDir: cfg.DataDir, Socket: cfg.Socket,
		MinUID: compile.MinUID, MaxUID: compile.MaxUID, DefaultMemory: int64(policies.DefaultMemory),
	}
	if limit := cfg.Policy.Limits.Memory; limit > 0 {
		set.DefaultMemory = min(set.DefaultMemory, int64(limit))
	}
	for arch := range version(runners).Runners {
		set.Runners = append(set.Runners, arch)
	}
	return set
}

func defaultImage(ctx context.Context, store *imagesdocker.Store, kind, ref string) doctor.Image {
	img, err := store.Resolve(ctx, ref, "never")
	if err != nil {
		return doctor.Image{Kind: kind, Ref: ref, Why: whyNoImage(err)}
	}
	return doctor.Image{Kind: kind, Ref: ref, ID: img.ID, Size: img.Size}
}

// exists reports whether a folder is there.
func exists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

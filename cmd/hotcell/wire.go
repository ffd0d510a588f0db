package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotcell/hotcell/executor"
	imagesdocker "github.com/hotcell/hotcell/images/docker"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/metrics"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/skills/bundled"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
)

// library loads the skills of the configured folders, and the bundled ones after them.
func library(cfg *config.Config, log *slog.Logger) (*skills.Library, error) {
	var sources []skills.Source
	for _, dir := range cfg.Skills.Dirs {
		sources = append(sources, skills.Dir(skills.SourceProject, dir))
	}
	if cfg.Skills.Bundled {
		sources = append(sources, skills.Source{Label: skills.SourceCore, FS: bundled.FS(), Path: "bundled"})
	}
	return skills.Load(sources, log)
}

// open wires a supervisor from the configuration. No engine is asked yet.
func open(_ context.Context, cfg *config.Config, log *slog.Logger) (*system, error) {
	if err := dataFolder(cfg.DataDir); err != nil {
		return nil, err
	}
	lib, err := library(cfg, log)
	if err != nil {
		return nil, usagef("%w", err)
	}
	instance := newInstance()
	driver, err := docker.New(docker.Options{Instance: instance, Log: log})
	if err != nil {
		return nil, usagef("%w", err)
	}
	store, err := imagesdocker.New(imagesdocker.Options{})
	if err != nil {
		return nil, errors.Join(usagef("%w", err), driver.Close())
	}
	closeAll := func() error { return errors.Join(store.Close(), driver.Close()) }
	registry := metrics.NewRegistry()
	watch := metrics.New(registry)
	watch.Build(version(embedded).Version)
	supervisor, err := executor.New(executor.Config{
		Driver: driver, Images: store, Skills: lib,
		Runner: func(arch string) (sandbox.Tree, error) { return runnerTree(embedded, arch) },
		Policy: cfg.OperatorPolicy(), Pull: cfg.Policy.Images.Pull, AllowImage: cfg.Policy.Images.Check,
		DefaultImages: cfg.Images.Defaults,
		MaxCells:      cfg.Sandbox.MaxCells, MaxMemory: int64(cfg.Sandbox.MaxMemory),
		EmbedEvents: cfg.A2E.EmbedEvents, Observer: watch,
		Patience: 24 * time.Hour, // doors cut off peers that do not read; a person at a terminal may pause
		Instance: instance, Host: hostID(), RunDir: runDir(cfg), Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return &system{
		skills: lib, supervisor: supervisor, metrics: registry.Handler(), close: closeAll,
		probe: func(ctx context.Context) error {
			_, err := driver.Capabilities(ctx)
			return err
		},
	}, nil
}

// dataFolder makes the data folder and makes sure that it can be written.
func dataFolder(dir string) error {
	err := os.MkdirAll(dir, 0o750)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".write-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("data folder %s can't be written (%w): choose another with --data-dir or data_dir", dir, plainError(err))
	}
	return nil
}

// runDir holds the locks by which all supervisors on this host share the user ids of cells, whoever runs them and wherever
// their data is. Where the host has no such place, those of one data folder share them.
func runDir(cfg *config.Config) string {
	const shared = "/run/lock/hotcell"
	if err := os.Mkdir(shared, 0o777); err == nil {
		_ = os.Chmod(shared, fs.ModeSticky|0o777) // whatever the umask; a user removes nobody else's locks
	}
	if info, err := os.Lstat(shared); err == nil && info.IsDir() {
		return shared
	}
	return filepath.Join(cfg.DataDir, "uids")
}

// newInstance is the name of this process among supervisors.
func newInstance() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// hostID tells this boot of this host from others, so that cells of dead supervisors are known as such.
func hostID() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil && len(id) > 0 && len(id) < 100 {
		return strings.TrimSpace(string(id))
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "unknown"
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hotcell/hotcell/images"
	imagesdocker "github.com/hotcell/hotcell/images/docker"
	"github.com/hotcell/hotcell/images/layout"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
	"github.com/hotcell/hotcell/sandbox/oci"
)

// The words of sandbox.driver.
const (
	driverAuto = "auto"
	driverOCI  = "oci"
)

// ociRunDir is where all supervisors of this host keep the cells of the driver oci.
const ociRunDir = "/run/hotcell/oci"

// autoLimit is how long a driver that nobody chose waits for an engine.
const autoLimit = time.Second

// maker is what makes cells, and where their images come from.
type maker struct {
	driver      sandbox.Driver
	images      images.Store
	closeImages func() error // nil: nothing to close
}

// makers opens the driver that the configuration names.
func makers(ctx context.Context, cfg *config.Config, id string, log *slog.Logger) (maker, error) {
	if cfg.Sandbox.Driver == driverOCI {
		return withoutEngine(cfg, id, log)
	}
	m, err := withEngine(id, log)
	if err != nil || cfg.Sandbox.Driver != driverAuto {
		return m, err
	}
	runtime, why := insteadOfEngine(ctx, cfg, m.driver)
	if runtime == "" {
		return m, nil
	}
	log.Warn("cells are made by "+runtime+" itself (driver oci): name a driver with --driver or sandbox.driver to have no choice", "because", why)
	if err := errors.Join(m.driver.Close(), m.closeImages()); err != nil {
		return maker{}, err
	}
	return withoutEngine(cfg, id, log)
}

// insteadOfEngine returns the runtime that cells can be made with where no engine answers, and why: "" if one does, or if
// nothing is there to do without.
func insteadOfEngine(ctx context.Context, cfg *config.Config, driver sandbox.Driver) (runtime, why string) {
	pinger, ok := driver.(sandbox.Pinger)
	if !ok || os.Geteuid() != 0 {
		return "", ""
	}
	if !hasImages(ctx, cfg) { // then no call could run, and the engine that is missing is the truer reason
		return "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, autoLimit)
	defer cancel()
	err := pinger.Ping(ctx)
	if err == nil {
		return "", ""
	}
	runtime, none := oci.Find()
	if none != nil {
		return "", ""
	}
	if ctx.Err() != nil {
		return runtime, fmt.Sprintf("no engine answers within %v", autoLimit)
	}
	return runtime, plainEngine(err.Error())
}

func hasImages(ctx context.Context, cfg *config.Config) bool {
	store, err := imported(cfg)
	if err != nil {
		return false
	}
	all, err := store.List(ctx)
	return err == nil && len(all) > 0
}

func withEngine(id string, log *slog.Logger) (maker, error) {
	driver, err := docker.New(docker.Options{Instance: id, Log: log})
	if err != nil {
		return maker{}, usagef("%w", err)
	}
	store, err := imagesdocker.New(imagesdocker.Options{Remember: time.Minute})
	if err != nil {
		return maker{}, errors.Join(usagef("%w", err), driver.Close())
	}
	return maker{driver, store, store.Close}, nil
}

func withoutEngine(cfg *config.Config, id string, log *slog.Logger) (maker, error) {
	store, err := imported(cfg)
	if err != nil {
		return maker{}, err
	}
	driver, err := oci.New(oci.Options{
		Instance: id, DataDir: filepath.Join(cfg.DataDir, "oci"), RunDir: ociRunDir, Rootfs: store.Rootfs, Log: log,
	})
	if err != nil {
		return maker{}, err
	}
	return maker{driver: driver, images: store}, nil
}

// imported are the images of the data folder.
func imported(cfg *config.Config) (*layout.Store, error) {
	dir, err := filepath.Abs(filepath.Join(cfg.DataDir, "images"))
	if err != nil {
		return nil, err
	}
	return layout.New(layout.Options{Dir: dir})
}

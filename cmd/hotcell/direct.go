package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/doctor"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
	"github.com/hotcell/hotcell/sandbox/oci"
)

// chosen is the driver that sandbox.driver auto comes to here: the engine's, unless that does not answer and another can
// make cells.
func chosen(ctx context.Context, cfg *config.Config, id string) string {
	if cfg.Sandbox.Driver != host.DriverAuto {
		return cfg.Sandbox.Driver
	}
	driver, err := docker.New(docker.Options{Instance: id})
	if err != nil {
		return host.DriverAuto
	}
	defer within(closeLimit, func() { _ = driver.Close() })
	if runtime, _ := host.InsteadOfEngine(ctx, cfg, driver); runtime != "" {
		return host.DriverOCI
	}
	return host.DriverAuto
}

// gatherDirect asks this host what doctor judges, where cells are made without an engine.
func gatherDirect(ctx context.Context, cfg *config.Config, id string, log *slog.Logger) doctor.Facts {
	set := doctorSettings(cfg, embedded)
	set.Driver = doctor.DriverOCI
	from := doctor.Sources{
		Host:   func(ctx context.Context, root string) doctor.Host { return doctor.LookAround(ctx, "/", set, root) },
		Owners: func() ([]instance.Info, error) { return instance.List(filepath.Join(cfg.DataDir, host.InstancesDir)) },
		Direct: lookDirect,
	}
	m, err := host.WithoutEngine(cfg, id, log, nil)
	if err != nil {
		from.Engine = func(context.Context) (sandbox.EngineFacts, error) { return sandbox.EngineFacts{}, err }
		return doctor.Gather(ctx, set, from)
	}
	defer within(closeLimit, func() { _ = errors.Join(m.Driver.Close(), m.CloseImages()) })
	inspector, ok := m.Driver.(sandbox.Inspector)
	if !ok {
		from.Engine = func(context.Context) (sandbox.EngineFacts, error) {
			return sandbox.EngineFacts{}, errors.New("the driver can't say what it has")
		}
		return doctor.Gather(ctx, set, from)
	}
	from.Engine, from.Volumes, from.Things = inspector.Inspect, inspector.VolumeBytes, m.Driver.List
	from.Image = func(ctx context.Context, ref string) doctor.Image { return allowedImage(ctx, cfg, m.Images, ref) }
	from.Pins = func(ctx context.Context) (doctor.Pins, error) { return pinFacts(ctx, cfg, false) }
	from.Cell = trial{cfg: cfg, driver: m.Driver, store: m.Images, instance: id, log: log}.cell
	from.Groups = func(context.Context) string { return "" } // there is no cell without one
	return doctor.Gather(ctx, set, from)
}

// allowedImage is one of images.defaults, with what the policy says of it.
func allowedImage(ctx context.Context, cfg *config.Config, store images.Store, ref string) doctor.Image {
	img := defaultImage(ctx, store, ref)
	if err := cfg.Policy.Images.Check(ref); err != nil {
		img.Refused = err.Error()
	}
	return img
}

// lookDirect looks for what can make cells without an engine.
func lookDirect(ctx context.Context) doctor.Direct {
	found := oci.Look(ctx)
	d := doctor.Direct{Hybrid: found.Cgroup.Hybrid, Why: found.Why, UserNS: found.UserNS}
	if found.Cgroup.Version > 0 {
		d.Cgroup = strconv.Itoa(found.Cgroup.Version)
	}
	for _, r := range found.Runtimes {
		d.Runtimes = append(d.Runtimes, doctor.Runtime{Name: r.Name, Path: r.Path, Version: r.Version, Why: r.Why})
	}
	return d
}

// directCells are the cells of the driver oci on this host.
func directCells(ctx context.Context, cfg *config.Config, id string, log *slog.Logger) (cells []sandbox.Listed, err error) {
	m, err := host.WithoutEngine(cfg, id, log, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Driver.Close(), m.CloseImages()) }()
	all, err := m.Driver.List(ctx)
	for _, l := range all {
		if l.Kind == "cell" {
			cells = append(cells, l)
		}
	}
	return cells, err
}

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/images/layout"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/engineapi"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/docker"
	"github.com/hotcell/hotcell/sandbox/kubernetes"
	"github.com/hotcell/hotcell/sandbox/oci"
)

// The words of sandbox.driver.
const (
	DriverAuto = "auto"
	DriverOCI  = "oci"

	DriverKubernetes = "kubernetes"
)

// ociRunDir is where all supervisors of this host keep the cells of the driver oci.
const ociRunDir = "/run/hotcell/oci"

// autoLimit is how long a driver that nobody chose waits for an engine.
const autoLimit = time.Second

// Maker is what makes cells, and where their images come from.
type Maker struct {
	Driver      sandbox.Driver
	Images      *Keeping
	CloseImages func() error
}

// Makers opens the driver that the configuration names. The observer is told of what the engine is asked; it may be nil.
func Makers(ctx context.Context, cfg *config.Config, id string, log *slog.Logger, watch engineapi.Observer) (Maker, error) {
	switch cfg.Sandbox.Driver {
	case DriverOCI:
		return WithoutEngine(cfg, id, log, watch)
	case DriverKubernetes:
		return onCluster(cfg, id, log)
	}
	m, err := withEngine(cfg, id, log, watch)
	if err != nil || cfg.Sandbox.Driver != DriverAuto {
		return m, err
	}
	runtime, why := InsteadOfEngine(ctx, cfg, m.Driver)
	if runtime == "" {
		return m, nil
	}
	log.Warn("cells are made by "+runtime+" itself (driver oci): name a driver with --driver or sandbox.driver to have no choice", "because", why)
	if err := errors.Join(m.Driver.Close(), m.CloseImages()); err != nil {
		return Maker{}, err
	}
	return WithoutEngine(cfg, id, log, watch)
}

// InsteadOfEngine returns the runtime that cells can be made with where no engine answers, and why: "" if one does, or if
// nothing is there to do without.
func InsteadOfEngine(ctx context.Context, cfg *config.Config, driver sandbox.Driver) (runtime, why string) {
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
	return runtime, PlainEngine(err.Error())
}

func hasImages(ctx context.Context, cfg *config.Config) bool {
	store, err := Imported(cfg)
	if err != nil {
		return false
	}
	all, err := store.List(ctx)
	return err == nil && len(all) > 0
}

func withEngine(cfg *config.Config, id string, log *slog.Logger, watch engineapi.Observer) (Maker, error) {
	driver, err := docker.New(docker.Options{Instance: id, Log: log, Watch: watch})
	if err != nil {
		return Maker{}, &ConfigError{err}
	}
	store, err := EngineImages(cfg, time.Minute, log, watch)
	if err != nil {
		return Maker{}, errors.Join(&ConfigError{err}, driver.Close())
	}
	return Maker{driver, store, store.Close}, nil
}

// WithoutEngine opens the driver oci, whose images are those of the data folder.
func WithoutEngine(cfg *config.Config, id string, log *slog.Logger, watch engineapi.Observer) (Maker, error) {
	kept, store, err := OwnImages(cfg, log)
	if err != nil {
		return Maker{}, err
	}
	dir, err := filepath.Abs(filepath.Join(cfg.DataDir, "oci"))
	if err != nil {
		return Maker{}, errors.Join(err, kept.Close())
	}
	driver, err := oci.New(oci.Options{
		Instance: id, DataDir: dir, RunDir: ociRunDir, Rootfs: store.Rootfs, Log: log, Watch: watch,
	})
	if err != nil {
		return Maker{}, errors.Join(err, kept.Close())
	}
	return Maker{driver, kept, kept.Close}, nil
}

// onCluster opens the driver kubernetes. What images are is known from registries and the data folder; nodes have their own.
func onCluster(cfg *config.Config, id string, log *slog.Logger) (Maker, error) {
	kept, _, err := OwnImages(cfg, log)
	if err != nil {
		return Maker{}, err
	}
	driver, err := kubernetes.New(ClusterOptions(cfg, id, log))
	if err != nil {
		return Maker{}, errors.Join(&ConfigError{err}, kept.Close())
	}
	return Maker{driver, kept, kept.Close}, nil
}

// ClusterOptions are those of the driver kubernetes.
func ClusterOptions(cfg *config.Config, id string, log *slog.Logger) kubernetes.Options {
	var empty []string
	for _, arch := range Architectures() {
		empty = append(empty, images.BuiltinID(arch))
	}
	k := cfg.Kubernetes
	tenants := map[string]string{}
	for name, t := range k.Tenants {
		tenants[name] = t.Namespace
	}
	return kubernetes.Options{
		Kubeconfig: k.Kubeconfig, Context: k.Context, Namespace: k.Namespace, Tenants: tenants, RunnerImage: k.RunnerImage, Empty: empty, NeverPull: cfg.Policy.Images.Pull == images.PullNever,
		Enforced: k.NetworkPolicy == config.NetworkPolicyEnforced, Accept: cfg.Sandbox.AcceptUnenforced, Instance: id, Log: log,
	}
}

// Imported are the images of the data folder. None is pulled.
func Imported(cfg *config.Config) (*layout.Store, error) { return openLayout(cfg, nil) }

func openLayout(cfg *config.Config, remote *layout.Remote) (*layout.Store, error) {
	dir, err := filepath.Abs(filepath.Join(cfg.DataDir, "images"))
	if err != nil {
		return nil, err
	}
	return layout.New(layout.Options{Dir: dir, Remote: remote})
}

// PlainEngine drops the category that adapters put behind an engine's failure: their own words say it better.
func PlainEngine(message string) string {
	return strings.TrimSuffix(message, ": "+sandbox.ErrUnavailable.Error())
}

package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/cleanup"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/metrics"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/skills/bundled"
	"github.com/hotcell/hotcell/internal/skills/watch"
	"github.com/hotcell/hotcell/internal/store"
	"github.com/hotcell/hotcell/internal/trace"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// Library loads the skills of the configured folders, and after them what is installed, what is bundled, and what plugins
// bring. The box knows which tools there are.
func Library(cfg *config.Config, box skills.Toolbox, log *slog.Logger) (*skills.Library, error) {
	return library(cfg, box, log, "")
}

// copiesDir is the folder within the data folder for copies of large bundles.
const copiesDir = "bundles"

func library(cfg *config.Config, box skills.Toolbox, log *slog.Logger, copies string) (*skills.Library, error) {
	var sources []skills.Source
	for _, dir := range cfg.Skills.Dirs {
		sources = append(sources, skills.Dir(skills.SourceProject, dir))
	}
	sources = append(sources, skills.Dir(skills.SourceInstalled, cfg.InstalledSkills()))
	if cfg.Skills.Bundled {
		sources = append(sources, skills.Source{Label: skills.SourceCore, FS: bundled.FS(), Path: "bundled"})
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Skills.Plugins)) {
		sources = append(sources, skills.Dir(name, cfg.Skills.Plugins[name]))
	}
	return skills.LoadSafe(sources, box, log, copies)
}

// Open wires a supervisor from the configuration. No engine is asked yet.
func Open(ctx context.Context, cfg *config.Config, o Options) (sys *System, err error) {
	log := o.Log
	box := Toolbox(cfg, log)
	lib, err := library(cfg, box, log, filepath.Join(cfg.DataDir, copiesDir))
	if err != nil {
		box.Close()
		return nil, &ConfigError{err}
	}
	var undo cleanup.Stack
	defer func() {
		if err != nil {
			err = errors.Join(err, undo.Run(ctx, cleanUp))
		}
	}()
	registry, counted := openMetrics(cfg, o)
	p, err := openParts(ctx, cfg, log, counted)
	if err != nil {
		box.Close()
		return nil, err
	}
	undo.Add("parts", func(context.Context) error { return p.close() })
	p.runner = RunnerTrees(o.Programs)
	undo.Add("tools", func(context.Context) error { box.Close(); return nil })
	cat := openCatalog(cfg, o, lib, box, p.journal)
	kept := audit.NewTally(counted.Counting(p.journal))
	out, err := openOutside(cfg, cat.shelf, box, log, kept)
	if err != nil {
		return nil, &ConfigError{err}
	}
	undo.Add("services", func(context.Context) error { out.close(); return nil })
	installer, err := OpenInstaller(ctx, cfg, lib, log)
	if err != nil {
		return nil, err
	}
	out.audit = kept
	traces, err := openTelemetry(ctx, cfg, o.Version, p.me.ID(), log)
	if err != nil {
		return nil, err
	}
	undo.Add("traces", traces.Close)
	supervisor, err := supervise(ctx, cfg, o, p, lib, cat, out, counted, traces.Tracer())
	if err != nil {
		return nil, err
	}
	end := undo.Release()
	return &System{
		Catalog: cat,
		Skills:  lib, Watch: watching(cfg, lib, p, log), Supervisor: supervisor, Metrics: registry.Handler(), Journalled: p.journal.Ready,
		Auth: Authenticator(cfg, p.journal), Installer: AuditedInstaller{installer, p.journal}, Audit: p.journal,
		Explain: explainer{cfg, lib, log}, Images: imageDesk{cfg, p.images, p.journal, lib},
		Canary: newCanary(time.Duration(cfg.Readiness.Canary), song(cfg, p), counted, log),
		Lost:   p.lost,
		Close:  func() error { return end(context.WithoutCancel(ctx)) },
		Probe: func(ctx context.Context) error {
			_, err := p.driver.Capabilities(ctx)
			return err
		},
		Check: func(ctx context.Context) error {
			if c, ok := p.driver.(sandbox.Checker); ok {
				return c.Check(ctx)
			}
			return nil
		},
	}, nil
}

// watching keeps the skills up to date, and does what else a daemon does beside calls, until ctx ends.
func watching(cfg *config.Config, lib *skills.Library, p *parts, log *slog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		var beside sync.WaitGroup
		if cfg.Images.Prune {
			needed := func() map[string]string { return NeededImages(cfg, lib) }
			beside.Go(func() { pruneImages(ctx, p.images, p.journal, needed, time.Duration(cfg.Images.Keep), log) })
		}
		watch.Run(ctx, lib, watch.Options{Log: log})
		beside.Wait()
	}
}

// supervise makes the supervisor of all parts, and closes what an earlier one left unanswered.
func supervise(ctx context.Context, cfg *config.Config, o Options, p *parts, lib skills.Catalog, cat *Catalog, out *outside, observer *metrics.Metrics, tracer trace.Tracer) (*executor.Supervisor, error) {
	log := o.Log
	driver, host := pooled(p.driver, cfg, observer, log)
	gauges := metrics.Gauges{Backlog: p.journal.Backlog, Size: p.journal.Size}
	if pool, ok := driver.(*warm.Driver); ok {
		gauges.Pool = pool.Count
	}
	observer.Ask(gauges)
	supervisor, err := executor.New(executor.Config{
		Driver: driver, Images: p.images.Keeper, Skills: lib, Shelf: cat.shelf, Plugins: cat.plugins, Journal: p.journal, Keeps: cfg.Store.Keep.Requests && cfg.Store.Keep.Events > 0, Runner: p.runner, Engine: EngineTrees(o.Programs),
		Services: out.services, Models: true, Audit: out.audit,
		Policy: cfg.OperatorPolicy(), Pull: cfg.Policy.Images.Pull, AllowImage: cfg.Policy.Images.Check,
		DefaultImages: cfg.Images.Defaults,
		Tenant:        tenants(cfg),
		Quota:         quota(cfg), Spent: p.journal,
		MaxCells: cfg.Sandbox.MaxCells, MaxMemory: int64(cfg.Sandbox.MaxMemory),
		EmbedEvents: cfg.A2E.EmbedEvents, Observer: observer, Tracer: tracer,
		Patience: 24 * time.Hour, // doors cut off peers that do not read; a person at a terminal may pause
		Instance: p.me.ID(), Owners: p.me, Host: HostID(), RunDir: RunDir(cfg), Log: log,
	})
	if err != nil {
		return nil, err
	}
	host.Store(supervisor)
	out.calls.Store(supervisor)
	if err := errors.Join(supervisor.Recall(ctx), supervisor.Recover(ctx)); err != nil {
		return nil, fmt.Errorf("journal %s: %w", cfg.Journal(), err)
	}
	return supervisor, nil
}

// tenants says whose cells those of a call are, where a driver keeps tenants apart.
func tenants(cfg *config.Config) func(a2e.Caller) (string, error) {
	if cfg.Sandbox.Driver != DriverKubernetes || len(cfg.Kubernetes.Tenants) == 0 {
		return nil
	}
	return func(who a2e.Caller) (string, error) { return cfg.Kubernetes.TenantOf(who.Principal, who.Groups) }
}

// podsAtOnce is how many pods are started ahead at a time: each takes a second or two, and its node's work.
const podsAtOnce = 16

// pooled puts the pool of waiting cells in front of a driver, where there is to be one. What it returns beside takes the
// supervisor, which knows how much room the calls in flight leave.
func pooled(driver sandbox.Driver, cfg *config.Config, watch warm.Observer, log *slog.Logger) (sandbox.Driver, *atomic.Pointer[executor.Supervisor]) {
	var host atomic.Pointer[executor.Supervisor]
	if cfg.Pool.Max == 0 {
		return driver, &host
	}
	elsewhere := 0
	if driver.Name() == DriverKubernetes {
		elsewhere = podsAtOnce
	}
	return warm.New(driver, warm.Options{
		Elsewhere: elsewhere, Max: cfg.Pool.Max, Idle: time.Duration(cfg.Pool.Idle), MaxAge: time.Duration(cfg.Pool.MaxAge), Watch: watch, Log: log,
		Room: func(memory int64) bool {
			s := host.Load()
			return s == nil || s.Room(memory)
		},
		Busy: func() bool {
			s := host.Load()
			return s != nil && s.Busy()
		},
	}), &host
}

// InstancesDir is the folder within the data folder by which supervisors know of one another.
const InstancesDir = "instances"

// parts are what a supervisor is wired from. What is opened first is closed last: this process is known as long as anything
// can be its own.
type parts struct {
	me      membership
	journal *store.Store
	driver  sandbox.Driver
	images  *Keeping
	runner  func(arch string) (sandbox.Tree, error)
	lost    <-chan struct{} // closed once others have declared this process dead; nil: they never do
	close   func() error
}

// membership is how this process is known among supervisors.
type membership interface {
	executor.Owners
	ID() string
	io.Closer
}

func openParts(ctx context.Context, cfg *config.Config, log *slog.Logger, watch *metrics.Metrics) (p *parts, err error) {
	// The folder of installed skills is made with it: then changes there are heard of without listening to the journal.
	for _, dir := range []string{cfg.DataDir, cfg.InstalledSkills()} {
		if err := DataFolder(dir); err != nil {
			return nil, err
		}
	}
	p = &parts{}
	var undo cleanup.Stack
	defer func() {
		if err != nil {
			p, err = nil, errors.Join(err, undo.Run(ctx, cleanUp))
		}
	}()
	own, err := instance.Open(filepath.Join(cfg.DataDir, InstancesDir), NewInstance())
	if err != nil {
		return p, err
	}
	p.me = own
	undo.Add("instance", closing(own))
	if p.journal, err = openJournal(ctx, cfg, log, watch); err != nil {
		return p, err
	}
	undo.Add("journal", closing(p.journal))
	if leases := p.journal.Leases(); leases != nil {
		member, err := instance.Join(ctx, own, leases, HostID(), log)
		if err != nil {
			return p, fmt.Errorf("journal %s: %w", cfg.Journal(), err)
		}
		p.me, p.lost = member, member.Lost()
		undo.Add("lease", closing(member))
	}
	made, err := Makers(ctx, cfg, p.me.ID(), log, watch)
	if err != nil {
		return p, err
	}
	p.driver, p.images = made.Driver, made.Images
	undo.Add("driver", closing(made.Driver))
	undo.Add("images", func(context.Context) error { return made.CloseImages() })
	end := undo.Release()
	p.close = func() error { return end(context.WithoutCancel(ctx)) }
	return p, nil
}

func closing(c io.Closer) cleanup.Step {
	return func(context.Context) error { return c.Close() }
}

// DataFolder makes the data folder and makes sure that it can be written. Calls are journalled there: it is its owner's
// alone.
func DataFolder(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = Writable(dir)
	}
	if err != nil {
		return fmt.Errorf("data folder %s can't be written (%w): choose another with --data-dir or data_dir", dir, reason(err))
	}
	return nil
}

// RunDir holds the locks by which all supervisors on this host share the user ids of cells, whoever runs them and wherever
// their data is. Where the host has no such place, those of one data folder share them.
func RunDir(cfg *config.Config) string {
	const shared = "/run/lock/hotcell"
	if err := os.Mkdir(shared, 0o777); err == nil {
		_ = os.Chmod(shared, fs.ModeSticky|0o777) // whatever the umask; a user removes nobody else's locks
	}
	if trusted(shared) {
		return shared
	}
	return filepath.Join(cfg.DataDir, "uids")
}

// trusted reports whether dir is a folder of root's or this user's. Everybody may make folders where that of the locks is,
// and whoever owns it could take locks away or hold them all.
func trusted(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid())
}

// NewInstance is the name of this process among supervisors.
func NewInstance() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// HostID tells this boot of this host from others, so that cells of dead supervisors are known as such.
func HostID() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil && len(id) > 0 && len(id) < 100 {
		return strings.TrimSpace(string(id))
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "unknown"
}

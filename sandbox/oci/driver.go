package oci

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
	"golang.org/x/sys/unix"
)

// Options configure a [Driver].
type Options struct {
	Instance string // the supervisor's id, [a-z0-9-], the value of [sandbox.LabelInstance]
	DataDir  string // roots and trees; supervisors may share it. On the file system of the images
	RunDir   string // cells; all supervisors of a host share it
	// Rootfs returns the tree of an image by its id. Its error wraps [fs.ErrNotExist] where there is none.
	Rootfs   func(id string) (string, error)
	Log      *slog.Logger // nil discards
	Watch    Observer     // is told of each run of a runtime; nil: nobody
	Timeouts Timeouts
	Cgroup   cgroup.Options // of the groups around cells; instance and log are the driver's
}

// Observer is told of each run of a runtime. It must return at once.
type Observer interface {
	// Asked: the operation is runtime_create or runtime_start; fault is "" where it went well, engine or timeout.
	Asked(operation, fault string, took time.Duration)
}

// Timeouts bound what the driver waits for. A zero field takes the default.
type Timeouts struct {
	Start  time.Duration // of a runtime that makes a cell; 30 s
	Kill   time.Duration // until the cell's end is seen after a kill; 10 s
	Direct time.Duration // of a kill, until all processes of the cell are killed one by one; 2 s
}

// Driver makes cells on this host. It is safe for concurrent use.
type Driver struct {
	instance string
	run      string
	rootfs   func(id string) (string, error)
	log      *slog.Logger
	limits   Timeouts
	found    []program
	watch    Observer // may be nil
	groups   *cgroup.Manager
	cache    *cache

	mu    sync.Mutex
	cells map[string]*cell // by id, those of this driver that are not destroyed
	about string           // the default runtime's version, once known
}

var (
	_ sandbox.Driver = (*Driver)(nil)
	_ sandbox.Pinger = (*Driver)(nil)
)

var instancePattern = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// New makes a driver, and this process the reaper of all its descendants. No runtime is asked yet.
func New(opts Options) (*Driver, error) {
	if !instancePattern.MatchString(opts.Instance) {
		return nil, fmt.Errorf("instance %q: expected lower-case letters, digits and dashes", opts.Instance)
	}
	for _, dir := range []string{opts.DataDir, opts.RunDir} {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("folder %q: expected an absolute path", dir)
		}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	d := &Driver{
		instance: opts.Instance, run: opts.RunDir, rootfs: opts.Rootfs, log: opts.Log, limits: opts.Timeouts, watch: opts.Watch,
		found: findRuntimes(), cache: newCache(opts.DataDir), cells: make(map[string]*cell),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	for field, value := range map[*time.Duration]time.Duration{
		&d.limits.Start: 30 * time.Second, &d.limits.Kill: 10 * time.Second, &d.limits.Direct: 2 * time.Second,
	} {
		if *field <= 0 {
			*field = value
		}
	}
	opts.Cgroup.Instance, opts.Cgroup.Log = opts.Instance, d.log
	d.groups = cgroup.New(opts.Cgroup)
	return d, nil
}

// Name returns "oci".
func (d *Driver) Name() string { return "oci" }

// Ping looks whether cells can be made here at all.
func (d *Driver) Ping(context.Context) error {
	p, err := pick(d.found, "")
	if err != nil {
		return unavailable("%v", err)
	}
	switch why := d.groups.Why(); {
	case os.Geteuid() != 0:
		return unavailable("driver oci: cells are made by root: run hotcell as root, or with a Docker engine")
	case why != "":
		return unavailable("driver oci: no cell without a control group around it: %s", why)
	}
	if _, err := os.Stat(p.path); err != nil {
		return unavailable("runtime %s: %v", p.name, err)
	}
	return nil
}

// Capabilities says what this host is.
func (d *Driver) Capabilities(ctx context.Context) (sandbox.Capabilities, error) {
	if err := d.Ping(ctx); err != nil {
		return sandbox.Capabilities{}, err
	}
	about, err := d.version(ctx)
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return sandbox.Capabilities{}, os.NewSyscallError("sysinfo", err)
	}
	return sandbox.Capabilities{
		Engine: about, OS: runtime.GOOS, Arch: runtime.GOARCH, Runtimes: usable(d.found),
		CPUs: runtime.NumCPU(), Memory: int64(info.Totalram) * int64(info.Unit),
	}, nil
}

func (d *Driver) version(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.about != "" {
		return d.about, nil
	}
	p, err := pick(d.found, "")
	if err != nil {
		return "", err
	}
	d.about, err = p.version(ctx)
	return d.about, err
}

// Close releases what the driver holds itself. Cells are not touched.
func (d *Driver) Close() error {
	d.groups.Close()
	_ = os.Remove(filepath.Join(d.run, d.instance)) // stays while there are cells in it
	return nil
}

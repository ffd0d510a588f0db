package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hotcell/hotcell/internal/recent"
	"github.com/hotcell/hotcell/sandbox"
)

// Options configure a [Driver].
type Options struct {
	Kubeconfig string // a file; "": KUBECONFIG, ~/.kube/config, or the pod's own service account
	Context    string // of the file; "": its current one
	Namespace  string // of cells; "hotcell"

	// Tenants are those whose cells are in a namespace of their own, which it names.
	Tenants map[string]string

	// RunnerImage names the image with the runner, from which each pod takes its first program.
	RunnerImage string
	// Enforced says that this cluster enforces NetworkPolicy. Nobody can ask a cluster.
	Enforced bool
	// Empty are the content ids of images that are empty: the runner's stands in for them, so that nodes need not have them.
	Empty []string
	// NeverPull has nodes run only images that they have.
	NeverPull bool
	// Accept are the controls, words of [Controls], that may be missing.
	Accept []string

	Instance string       // the supervisor's id, the value of [sandbox.LabelInstance]
	Log      *slog.Logger // nil discards
	Timeouts Timeouts
	// Traffic is how much a cell may say, in bytes, sealed, all its streams and tunnels together: its node keeps a copy for a
	// while. 0: 512 MiB.
	Traffic int64

	tune func(*rest.Config) // for tests; nil: nothing
	disk int64              // for tests: how much of its node's disk a cell may take; 0: sandbox.PodDisk
}

// defaultTraffic is the bound of [Options.Traffic] where nothing else is said.
const defaultTraffic = 512 << 20

// Timeouts bound what is asked of a cluster. A zero field takes the default.
type Timeouts struct {
	Request  time.Duration // one request; 15 s
	Schedule time.Duration // until a pod has a node; 30 s
	Ready    time.Duration // from the pod's creation until its gate waits, image pulls included; 2 min
	Attach   time.Duration // until the gate has answered; 15 s
	Kill     time.Duration // until the gate has ended its processes, then the pod is deleted; 3 s
	Destroy  time.Duration // all tries together, where the caller sets no deadline; 90 s
	Settle   time.Duration // from the end of the output to the cluster's word of the exit; 10 s
}

func (t Timeouts) withDefaults() Timeouts {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Request, 15 * time.Second},
		{&t.Schedule, 30 * time.Second},
		{&t.Ready, 2 * time.Minute},
		{&t.Attach, 15 * time.Second},
		{&t.Kill, 3 * time.Second},
		{&t.Destroy, 90 * time.Second},
		{&t.Settle, 10 * time.Second},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return t
}

// Driver makes cells on one cluster. It is safe for concurrent use. It has one more of itself for each tenant: all that one
// makes, follows and removes is in its own namespace.
type Driver struct {
	api      *api
	tenant   string             // whose namespace it is; "": that of all others
	tenants  map[string]*Driver // by tenant; nil in a tenant's own
	kept     bool               // tenants are kept apart, so that each namespace has to have bounds
	instance string
	log      *slog.Logger
	limits   Timeouts
	traffic  int64
	image    string // of the runner
	empty    []string
	never    bool // nodes pull nothing
	enforced bool
	accept   map[string]bool
	disk     int64

	facts *recent.Value[facts]
	ready once
	shut  atomic.Bool  // it has been said that the namespace cannot be looked at
	owner atomic.Value // types.UID
	trees treeStore
	pods  *follower

	refused atomic.Int64 // when a node did not let the loader become the runner, in seconds since 1970; 0: never

	knocks chan struct{} // one for each attempt to reach a gate that is under way

	ctx    context.Context // of what outlives a call: the watch, clean-up
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	lates  sync.WaitGroup
}

var (
	_ sandbox.Driver = (*Driver)(nil)
	_ sandbox.Pinger = (*Driver)(nil)
)

// New makes a driver. It reads the kubeconfig and connects with the first request.
func New(opts Options) (*Driver, error) {
	for _, word := range opts.Accept {
		if !slices.Contains(Controls(), word) {
			return nil, fmt.Errorf("accepted control %q: expected some of %s", word, strings.Join(Controls(), ", "))
		}
	}
	if opts.RunnerImage == "" {
		return nil, errors.New("no runner image: make it with hotcell images runner, put it where the cluster's nodes find it, and name it in kubernetes.runner_image")
	}
	if opts.Namespace == "" {
		opts.Namespace = "hotcell"
	}
	limits := opts.Timeouts.withDefaults()
	a, err := connect(opts, limits.Request)
	if err != nil {
		return nil, err
	}
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	opts.Log = log
	known := &recent.Value[facts]{}
	d := newDriver(opts, a, limits, known)
	d.tenants = make(map[string]*Driver)
	for tenant, namespace := range opts.Tenants {
		its := newDriver(opts, a.of(namespace), limits, known)
		its.tenant = tenant
		d.tenants[tenant] = its
	}
	return d, nil
}

// newDriver makes the driver of one namespace.
func newDriver(opts Options, a *api, limits Timeouts, known *recent.Value[facts]) *Driver {
	ctx, cancel := context.WithCancel(context.Background())
	d := &Driver{
		api: a, instance: opts.Instance, log: opts.Log, limits: limits, traffic: cmp.Or(opts.Traffic, defaultTraffic), image: opts.RunnerImage, empty: opts.Empty, never: opts.NeverPull, enforced: opts.Enforced,
		accept: make(map[string]bool), disk: opts.disk, kept: len(opts.Tenants) > 0, facts: known, knocks: make(chan struct{}, knocksAtOnce), ctx: ctx, cancel: cancel,
		ready: once{turn: newTurn()}, trees: treeStore{newTurn(), make(map[string]knownTree)},
	}
	for _, word := range opts.Accept {
		d.accept[word] = true
	}
	d.pods = newFollower(d)
	return d
}

// Name returns "kubernetes".
func (d *Driver) Name() string { return "kubernetes" }

// Host returns the cluster's address, for messages.
func (d *Driver) Host() string { return d.api.host }

// closeLimit is how long Close waits for what is being cleaned up.
const closeLimit = 10 * time.Second

// Close ends the watch and closes connections, after what is being cleaned up is done or ten seconds have passed. Cells
// are not touched. Where there are none, nothing of this supervisor stays in the cluster.
func (d *Driver) Close() error {
	var all sync.WaitGroup
	for _, in := range d.everywhere() {
		all.Go(in.end)
	}
	all.Wait()
	d.api.close()
	return nil
}

// end is Close for one namespace.
func (d *Driver) end() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	timer := time.AfterFunc(closeLimit, d.cancel)
	d.lates.Wait()
	if err := d.disown(d.ctx); err != nil {
		d.log.Warn("the owner of this supervisor's pods is left behind", "err", err)
	}
	timer.Stop()
	d.cancel()
	d.pods.wait()
}

var errClosed = errors.New("kubernetes driver is closed")

// late runs what must be done whatever becomes of who asked for it.
func (d *Driver) late(f func(ctx context.Context)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	d.lates.Go(func() { f(d.ctx) })
	return nil
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

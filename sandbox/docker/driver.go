package docker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/engineapi"
	"github.com/hotcell/hotcell/internal/recent"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
	"golang.org/x/sync/singleflight"
)

// Options configure a [Driver].
type Options struct {
	Host     string       // "unix:///run/docker.sock", "tcp://host:2376"; "" reads DOCKER_HOST and its companions
	Instance string       // the supervisor's id, the value of [sandbox.LabelInstance]
	Log      *slog.Logger // nil discards
	Timeouts Timeouts
	Watch    engineapi.Observer // is told of each request to the engine; nil: nobody

	Cgroup   cgroup.Options // of the groups around cells; instance and log are the driver's
	NoCgroup bool           // leaves them out: what the kernel saw of an end is then unknown
}

// Timeouts bound each request to the engine. A zero field takes the default.
type Timeouts struct {
	Info    time.Duration // facts about the engine; 10 s
	Create  time.Duration // 30 s
	Attach  time.Duration // until the engine has answered the attach, and the wait; 10 s
	Start   time.Duration // 30 s
	Kill    time.Duration // an engine takes up to 12 s of its own; 15 s
	Remove  time.Duration // one try; 30 s
	Destroy time.Duration // all tries together, where the caller sets no deadline; 60 s
	List    time.Duration // and inspecting a volume; 10 s
	Inspect time.Duration // a container after its end; 2 s
	Direct  time.Duration // of an engine's kill, until the cell's processes are killed without it; 2 s
	Settle  time.Duration // from the end of the streams to the engine's word of the exit; 10 s
	Fill    time.Duration // filling one volume; 60 s
	Stale   time.Duration // age after which an unfinished fill is nobody's; 2 min, more than Fill
}

func (t Timeouts) withDefaults() Timeouts {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Info, 10 * time.Second},
		{&t.Create, 30 * time.Second},
		{&t.Attach, 10 * time.Second},
		{&t.Start, 30 * time.Second},
		{&t.Kill, 15 * time.Second},
		{&t.Remove, 30 * time.Second},
		{&t.Destroy, time.Minute},
		{&t.List, 10 * time.Second},
		{&t.Inspect, 2 * time.Second},
		{&t.Direct, 2 * time.Second},
		{&t.Settle, 10 * time.Second},
		{&t.Fill, time.Minute},
		{&t.Stale, 2 * time.Minute},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return t
}

// Driver makes cells on one engine. It is safe for concurrent use.
type Driver struct {
	host     string
	instance string
	log      *slog.Logger
	limits   Timeouts

	containers containerAPI
	volumes    volumeAPI
	system     systemAPI
	dial       dialer
	watch      engineapi.Observer // may be nil

	facts  recent.Value[facts]
	groups *cgroup.Manager // nil: none are made

	ctx    context.Context // of work that outlives a call: fills
	cancel context.CancelFunc
	fills  singleflight.Group
	mu     sync.Mutex
	ready  map[string]string // volume name → id of the lock under which it was filled
	closed bool
	work   sync.WaitGroup // fills in flight

	lateCtx    context.Context // of what is done after its caller has left
	lateCancel context.CancelFunc
	lates      sync.WaitGroup
}

var _ sandbox.Driver = (*Driver)(nil)

// New makes a driver. It reads the environment and checks the host's syntax, and connects with the first request.
func New(opts Options) (*Driver, error) {
	conn, err := connect(opts.Host, opts.Watch)
	if err != nil {
		return nil, err
	}
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	lateCtx, lateCancel := context.WithCancel(context.Background())
	d := &Driver{
		host: conn.host, instance: opts.Instance, log: log, limits: opts.Timeouts.withDefaults(),
		containers: conn.client, volumes: conn.client, system: conn.client, dial: conn.dial, watch: opts.Watch,
		ctx: ctx, cancel: cancel, lateCtx: lateCtx, lateCancel: lateCancel, ready: make(map[string]string),
	}
	if !opts.NoCgroup {
		opts.Cgroup.Instance, opts.Cgroup.Log = opts.Instance, log
		d.groups = cgroup.New(opts.Cgroup)
	}
	return d, nil
}

// Name returns "docker".
func (d *Driver) Name() string { return "docker" }

// Host returns the engine's address, for messages.
func (d *Driver) Host() string { return d.host }

// Close ends fills in flight and closes idle connections. Cells are not touched, but those whose creation nobody waited
// for are removed first, as far as that is done within ten seconds.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.cancel()
	d.work.Wait()
	timer := time.AfterFunc(undoLimit, d.lateCancel)
	d.lates.Wait()
	timer.Stop()
	d.lateCancel()
	d.groups.Close()
	return d.system.Close()
}

var errClosed = errors.New("docker driver is closed")

// begin counts a fill in, unless the driver is closed.
func (d *Driver) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	d.work.Add(1)
	return nil
}

package warm

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// Options shape a [Driver]. A zero field takes the default that its comment names.
type Options struct {
	Max    int           // cells that wait at once, of all keys together; 0: none
	Idle   time.Duration // a key that no call had for so long has no cell waiting; 5 min
	MaxAge time.Duration // a cell that waited longer is replaced; 10 min
	Ready  time.Duration // for a started cell to report ready; 10 s
	CPU    time.Duration // processor time that a waiting cell may use, beside a hundredth of the time that it waits; 10 s
	Words  int64         // bytes that a waiting cell may print beside its ready line; 1 MiB. They are dropped

	// Elsewhere is how many cells are started at a time, where that is the work of other machines than those of the calls that
	// start one of their own. 0: of the same machine, so that one is started at a time, and none while such a call starts.
	Elsewhere int

	// Room says whether waiting cells may have so much memory, by their limits, beside the calls in flight. It must not call
	// the driver. nil: always.
	Room func(memory int64) bool
	// Busy says whether calls queue. Then nothing is started ahead; what waits is kept for them. nil: never.
	Busy func() bool

	Watch Observer // nil: nobody
	Log   *slog.Logger
}

// Observer is told what becomes of leases, for metrics. Its methods must return at once.
type Observer interface {
	Leased(warm bool)            // a call got a cell that waited, or had to have one made
	Missed(why string)           // why one had to be made: unknown, empty, draining
	Refilled(took time.Duration) // a cell that was started ahead is ready
	Wasted(why string)           // no call could have it: not_made, not_ready, died, outdated
}

// Driver makes cells with another driver, and keeps some ready. It is safe for concurrent use.
type Driver struct {
	sandbox.Driver
	pool *pool
}

var (
	_ sandbox.Driver = (*Driver)(nil)
	_ sandbox.Pinger = (*Driver)(nil)
	_ sandbox.Pool   = (*Driver)(nil)
)

// New puts a pool in front of inner, which belongs to the new driver from now on.
func New(inner sandbox.Driver, opts Options) *Driver {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{{&opts.Idle, 5 * time.Minute}, {&opts.MaxAge, 10 * time.Minute}, {&opts.Ready, 10 * time.Second}, {&opts.CPU, 10 * time.Second}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	if opts.Words <= 0 {
		opts.Words = 1 << 20
	}
	if opts.Watch == nil {
		opts.Watch = blind{}
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Driver{Driver: inner, pool: newPool(inner, opts)}
}

// Create returns a waiting cell whose key is that of spec, or makes a cell for spec. The id and the name of a cell that
// waited are its own.
func (d *Driver) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	if spec.Key == "" || spec.Again == nil || d.pool.opts.Max <= 0 {
		return d.Driver.Create(ctx, spec)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, done := d.pool.lease(spec)
	d.pool.opts.Watch.Leased(m != nil)
	if m != nil {
		return m, nil
	}
	box, err := d.Driver.Create(ctx, spec)
	if err != nil {
		done()
		return nil, err
	}
	return &cold{Sandbox: box, done: done}, nil
}

// Lease implements [sandbox.Pool].
func (d *Driver) Lease(key string) (sandbox.Sandbox, string) {
	m := d.pool.leaseKey(key)
	if m == nil {
		return nil, ""
	}
	d.pool.opts.Watch.Leased(true)
	return m, m.name
}

// Ping asks the inner driver's engine.
func (d *Driver) Ping(ctx context.Context) error {
	if p, ok := d.Driver.(sandbox.Pinger); ok {
		return p.Ping(ctx)
	}
	_, err := d.Capabilities(ctx)
	return err
}

// Keeps reports whether a cell of that name was started ahead and is not destroyed yet.
func (d *Driver) Keeps(name string) bool { return d.pool.keeps(name) }

// Waiting returns the ids of the cells that wait for a call of a skill and are ready.
func (d *Driver) Waiting(skill string) []string { return d.pool.ids(skill) }

// Count returns how many cells are ready for a call, are being started, and are being destroyed before any had them.
func (d *Driver) Count() (ready, starting, leaving int) { return d.pool.counted() }

// Max returns how many cells may wait at once.
func (d *Driver) Max() int { return d.pool.opts.Max }

// Drain destroys the cells that wait and starts no more. Calls go on, cold.
func (d *Driver) Drain() { d.pool.drain() }

// Close destroys the cells that wait and closes the inner driver. Cells of calls are not touched.
func (d *Driver) Close() error {
	d.pool.drain()
	return d.Driver.Close()
}

// cold is a cell that is made for its call. While it starts, no cell is started ahead.
type cold struct {
	sandbox.Sandbox
	done func()
}

func (c *cold) Start(ctx context.Context) error {
	defer c.done()
	return c.Sandbox.Start(ctx)
}

func (c *cold) Destroy(ctx context.Context) error {
	c.done()
	return c.Sandbox.Destroy(ctx)
}

// Evidence implements [sandbox.Witness] as far as the inner cell does.
func (c *cold) Evidence() sandbox.Evidence { return evidence(c.Sandbox) }

// Unenforced implements [sandbox.Lenient] as far as the inner cell does.
func (c *cold) Unenforced() []string { return sandbox.Unenforced(c.Sandbox) }

func evidence(box sandbox.Sandbox) sandbox.Evidence {
	if w, ok := box.(sandbox.Witness); ok {
		return w.Evidence()
	}
	return sandbox.Evidence{Confidence: sandbox.ConfidenceNone}
}

type blind struct{}

func (blind) Leased(bool)            {}
func (blind) Missed(string)          {}
func (blind) Refilled(time.Duration) {}
func (blind) Wasted(string)          {}

package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
)

// driver makes cells on a cluster, for one supervisor.
type driver struct {
	*fake.Driver
	cluster *cluster
	api     *pace
	seed    uint64
	serial  atomic.Uint64
	nodes   sync.Map // of cells, by name
}

func newDriver(c *cluster, seed uint64) *driver {
	d := &driver{cluster: c, api: newPace(c.costs.Requests), seed: seed}
	d.Driver = fake.New(d.program)
	all := len(c.nodes) * c.costs.Places
	d.SetCapabilities(sandbox.Capabilities{
		Engine: "simulated", OS: "linux", Arch: "amd64", CPUs: all, Memory: int64(all) << 30, OwnUsers: true,
	})
	return d
}

// ask makes a request of the API.
func (d *driver) ask(ctx context.Context) error {
	if err := d.api.take(ctx); err != nil {
		return err
	}
	return sleep(ctx, d.cluster.costs.Request)
}

// Create makes a pod and returns once it is up, as the driver of clusters does.
func (d *driver) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	if err := d.ask(ctx); err != nil {
		return nil, err
	}
	n, err := d.cluster.place(ctx)
	if err == nil {
		err = d.cluster.start(ctx, n, drawn(d.seed, 2, d.serial.Add(1), d.cluster.costs.Start))
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	var box sandbox.Sandbox
	if err == nil {
		d.nodes.Store(spec.Name, n)
		box, err = d.Driver.Create(ctx, spec)
	}
	if err != nil {
		d.nodes.Delete(spec.Name)
		go d.undo(n)
		return nil, fmt.Errorf("create cell %s: %w", spec.Name, err)
	}
	c := &cell{Sandbox: box, d: d, n: n, name: spec.Name}
	c.stop = context.AfterFunc(n.lost, func() { _ = box.Kill(context.Background()) })
	return c, nil
}

// undo removes a pod that is nobody's.
func (d *driver) undo(n *node) {
	_ = d.ask(context.Background())
	if n != nil {
		_ = d.vacate(context.Background(), n)
	}
}

// vacate waits until a deleted pod is gone, and gives its place back.
func (d *driver) vacate(ctx context.Context, n *node) error {
	wait := d.cluster.costs.Gone
	select {
	case <-n.down:
		select {
		case <-n.lost.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		wait = d.cluster.costs.GiveUp
	default:
	}
	if err := sleep(ctx, wait); err != nil {
		return err
	}
	d.cluster.free(n)
	return nil
}

// cell is one pod.
type cell struct {
	sandbox.Sandbox
	d    *driver
	n    *node
	name string

	gone atomic.Bool
	stop func() bool // does not end it any more once its node is lost
}

// Start attaches.
func (c *cell) Start(ctx context.Context) error {
	if err := sleep(ctx, c.d.cluster.costs.Request); err != nil {
		return err
	}
	return c.Sandbox.Start(ctx)
}

// Wait ends with the cell, or once it is known that its node is lost.
func (c *cell) Wait(ctx context.Context) (sandbox.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.n.lost, cancel)()
	exit, err := c.Sandbox.Wait(ctx)
	if c.n.lost.Err() != nil {
		return exit, fmt.Errorf("wait for cell %s: its node does not answer: %w", c.name, sandbox.ErrUnavailable)
	}
	return exit, err
}

// Destroy deletes the pod and returns once its place is free.
func (c *cell) Destroy(ctx context.Context) error {
	if c.gone.Load() {
		return nil
	}
	if err := c.d.ask(ctx); err != nil {
		return err
	}
	if err := c.d.vacate(ctx, c.n); err != nil {
		return fmt.Errorf("destroy cell %s: %w", c.name, err)
	}
	c.gone.Store(true)
	c.stop()
	c.d.nodes.Delete(c.name)
	return c.Sandbox.Destroy(context.WithoutCancel(ctx))
}

// program is what runs in each cell: it says one thing, works as long as it was asked to, and succeeds. On a node that does
// not answer it hangs.
func (d *driver) program(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
	at, _ := d.nodes.Load(spec.Name)
	n := at.(*node)
	hung := func(d time.Duration) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return false
		case <-ctx.Done():
		case <-n.down:
			<-ctx.Done()
		}
		return true
	}
	_, _ = io.WriteString(stdout, `{"type":"cell/ready","protocol":1}`+"\n")
	in := bufio.NewReaderSize(stdin, 1<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 1
		}
		if wall.TypeOf(line) != wall.TypeRequest {
			continue
		}
		var req struct{ Arguments struct{ MS int64 } }
		if json.Unmarshal(line, &req) != nil || hung(time.Millisecond) {
			return 1
		}
		_, _ = io.WriteString(stdout, `{"type":"skill/event","kind":"status","data":{"message":"here"}}`+"\n")
		if hung(time.Duration(req.Arguments.MS) * time.Millisecond) {
			return 1
		}
		_, _ = io.WriteString(stdout, `{"type":"skill/result","success":true,"data":1}`+"\n"+`{"type":"cell/exit","exit_code":0,"oom_kills":0}`+"\n")
		_, _ = in.ReadBytes('\n')
		return 0
	}
}

package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hotcell/hotcell/executor/admission"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// gate admits calls. Its size comes from the configuration or else from the engine, so it is made when the engine first
// answers.
type gate struct {
	s *Supervisor

	starts admission.Starts // of cells of the calls' own

	mu     sync.Mutex
	queue  *admission.Queue
	caps   sandbox.Capabilities
	asking *question // under way
}

// question is one request to the engine that all who need its answer wait for.
type question struct {
	done chan struct{}
	err  error
}

func newGate(s *Supervisor) *gate { return &gate{s: s} }

// open returns the queue and what the engine is, asking it if that is not known yet. The question outlives whoever asked
// first.
func (g *gate) open(ctx context.Context) (*admission.Queue, sandbox.Capabilities, error) {
	g.mu.Lock()
	if g.queue != nil {
		defer g.mu.Unlock()
		return g.queue, g.caps, nil
	}
	q := g.asking
	if q == nil {
		q = &question{done: make(chan struct{})}
		g.asking = q
		g.s.tidying.Go(func() { g.ask(q) })
	}
	g.mu.Unlock()
	select {
	case <-q.done:
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.queue, g.caps, q.err
	case <-ctx.Done():
		return nil, sandbox.Capabilities{}, ctx.Err()
	}
}

// now returns the queue, nil before there is one.
func (g *gate) now() *admission.Queue {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue
}

// ownUsers reports whether the engine gives each cell a user of its own.
func (g *gate) ownUsers() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.caps.OwnUsers
}

// ask puts the question; the driver bounds its time.
func (g *gate) ask(q *question) {
	caps, err := g.s.cfg.Driver.Capabilities(g.s.base)
	g.mu.Lock()
	defer g.mu.Unlock()
	defer close(q.done)
	g.asking = nil
	if err != nil {
		q.err = err
		return
	}
	cfg := &g.s.cfg
	cells, memory := cfg.MaxCells, cfg.MaxMemory
	if cells == 0 {
		cells = max(4, 2*caps.CPUs)
	}
	if memory == 0 {
		memory = caps.Memory / 4 * 3
	}
	if !caps.OwnUsers {
		cells = min(cells, mostCells) // the rest waits, and is not refused
	}
	g.caps = caps
	g.queue = admission.New(admission.Options{Cells: cells, Memory: memory, Waiting: cfg.MaxQueue, Depth: cfg.Observer.QueueDepth})
}

// admit waits for a share of the host, at most the queue's time-out. A call within a call waits for none.
func (s *Supervisor) admit(ctx context.Context, c *call, memory int64) (*admission.Ticket, sandbox.Capabilities, *a2e.Error) {
	if ticket, caps := s.gate.pass(ctx, memory); ticket != nil {
		return ticket, caps, nil
	}
	c.taking.begin() // it may be long
	wait, cancel := context.WithTimeout(ctx, s.cfg.QueueTimeout)
	defer cancel()
	queue, caps, err := s.gate.open(wait)
	switch {
	case ctx.Err() != nil:
		return nil, caps, cancelledBy(canceller(ctx))
	case err != nil && wait.Err() != nil:
		return nil, caps, s.engineError(fmt.Errorf("%w: it did not answer within %s", sandbox.ErrUnavailable, s.cfg.QueueTimeout))
	case err != nil:
		return nil, caps, s.engineError(err)
	}
	nested := len(service.Chain(ctx)) > 0
	var ticket *admission.Ticket
	if nested {
		ticket, err = queue.Beside(memory)
	} else {
		ticket, err = queue.Acquire(wait, c.who.Principal, memory)
	}
	if err == nil {
		return ticket, caps, nil
	}
	var large *admission.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, caps, a2e.Errorf(a2e.RuntimeError, "the skill reserves %s of memory, and all cells together may have %s (sandbox.max_memory)",
			policies.Bytes(large.Asked), policies.Bytes(large.Budget)).Because(a2e.ReasonUnsupported)
	case errors.Is(err, admission.ErrBusy):
		return nil, caps, a2e.Errorf(a2e.RuntimeError, "no cell or memory is free for a call within a call, which can't wait for one: the call around it holds its own").
			Because(a2e.ReasonQueueFull).Transient()
	case errors.Is(err, admission.ErrFull):
		return nil, caps, a2e.Errorf(a2e.RuntimeError, "%d calls wait already", s.cfg.MaxQueue).Because(a2e.ReasonQueueFull).Transient()
	case ctx.Err() != nil:
		return nil, caps, cancelledBy(canceller(ctx))
	}
	return nil, caps, a2e.Errorf(a2e.RuntimeError, "no cell was free within %s", s.cfg.QueueTimeout).Because(a2e.ReasonQueueTimeout).Transient()
}

// pass returns a share where one is free and nobody waits, else nil.
func (g *gate) pass(ctx context.Context, memory int64) (*admission.Ticket, sandbox.Capabilities) {
	g.mu.Lock()
	queue, caps := g.queue, g.caps
	g.mu.Unlock()
	if queue == nil || len(service.Chain(ctx)) > 0 || ctx.Err() != nil {
		return nil, caps
	}
	return queue.Try(memory), caps
}

// inTurn is how long a call waits at most for a turn that is free.
const inTurn = time.Millisecond

// turn waits until a call may start a cell of its own, at most the queue's time-out, and returns what ends that, which is told
// whether the cell is up. One that has a cell waits for nothing. Without it an engine would get all the starts that there are cells
// for, and where it can't do as many, the time of each call would be over before its cell had come up.
func (s *Supervisor) turn(ctx context.Context, c *call, has sandbox.Sandbox) (done func(up bool), fail *a2e.Error) {
	if has != nil {
		return func(bool) {}, nil
	}
	c.catchUp() // no cell waits for the request, and this may take long
	wait, cancel := context.WithTimeout(ctx, s.cfg.QueueTimeout)
	defer cancel()
	queued := time.Now()
	done, err := s.gate.starts.Acquire(wait, c.who.Principal)
	if waited := time.Since(queued); waited > inTurn {
		c.phase(spanQueue, queued)
		s.watch.Phase("queue", waited, c.spans.call.Exemplar())
	}
	switch {
	case err == nil:
		return done, nil
	case ctx.Err() != nil:
		return nil, cancelledBy(canceller(ctx))
	}
	out, _, _ := s.gate.starts.Use()
	return nil, a2e.Errorf(a2e.RuntimeError, "no cell could be started within %s: the engine is still starting %d others", s.cfg.QueueTimeout, out).
		Because(a2e.ReasonQueueTimeout).Transient()
}

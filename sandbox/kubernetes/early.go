package kubernetes

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/sandbox"
)

// How attempts to reach a gate follow one another, while its cluster does not yet say that it runs. No node starts one sooner than the
// first.
const (
	knockFirst   = 250 * time.Millisecond
	knockAgain   = 50 * time.Millisecond
	knockSeldom  = 400 * time.Millisecond
	knocksAtOnce = 4 // of all cells together: where many come at once, most are told by the cluster
)

// approach reaches a pod's gate as soon as that can be. A container runs up to a second and more before its cluster says so, since a
// kubelet looks at its containers once a second; an attach finds it at once.
type approach struct {
	c     *cell
	ctx   context.Context
	drop  context.CancelFunc // of what is under way
	up    chan struct{}      // closed when the gate has answered
	stop  chan struct{}      // closed when no further attempt is wanted
	begun sync.Once
	work  sync.WaitGroup
}

func (c *cell) approach(ctx context.Context) *approach {
	ctx, drop := context.WithCancel(ctx)
	return &approach{c: c, ctx: ctx, drop: drop, up: make(chan struct{}), stop: make(chan struct{})}
}

// look begins, once there may be somebody to reach.
func (a *approach) look(pod *corev1.Pod) {
	if reachable(pod) {
		a.begun.Do(func() { a.work.Go(a.run) })
	}
}

// end returns when no attempt is under way. One that is may have been heard by the gate, which ends with it: it is waited for, unless
// the cell is not wanted any more.
func (a *approach) end(wanted bool) {
	close(a.stop)
	if !wanted {
		a.drop()
	}
	a.work.Wait()
	a.drop()
}

func (a *approach) run() {
	first := knockFirst
	if a.c.load == nil { // what came before has ended this moment
		first = knockAgain
	}
	wait := time.NewTimer(first)
	defer wait.Stop()
	for pause := knockAgain; ; pause = min(pause*9/8, knockSeldom) {
		select {
		case <-wait.C:
		case <-a.stop:
			return
		case <-a.ctx.Done():
			return
		}
		select {
		case a.c.d.knocks <- struct{}{}:
		case <-a.stop:
			return
		case <-a.ctx.Done():
			return
		}
		reached := a.c.knock(a.ctx)
		<-a.c.d.knocks
		if reached {
			close(a.up)
			return
		}
		wait.Reset(pause)
	}
}

// reachable reports whether a pod's node may be starting its gate.
func reachable(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || len(pod.Status.InitContainerStatuses) != len(pod.Spec.InitContainers) {
		return false
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if t := s.State.Terminated; t == nil || t.ExitCode != 0 {
			return false
		}
	}
	return true
}

// attempt is a connection that may not find anybody.
type attempt struct {
	mu    sync.Mutex
	kept  bool // it is the cell's
	err   error
	ended chan struct{}
}

// end is told why the connection has ended.
func (a *attempt) end(c *cell, err error) {
	a.mu.Lock()
	a.err = err
	kept := a.kept
	a.mu.Unlock()
	close(a.ended)
	if kept {
		c.broke(err)
	}
}

// keep makes the connection the cell's: from now on its end is the cell's.
func (a *attempt) keep(c *cell) {
	a.mu.Lock()
	a.kept = true
	err := a.err
	a.mu.Unlock()
	if err != nil {
		c.broke(err)
	}
}

// knock attaches, says the hello, and reports whether the gate has answered. The gate starts nothing before it is told to, so that this
// may come before it is known in whose image it is: it is the runner's own program in any of them.
func (c *cell) knock(ctx context.Context) bool {
	exec, err := c.d.api.webSocket(c.name)
	if err != nil {
		return false
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &attempt{ended: make(chan struct{})}
	l, err := c.attach(own, exec, func(err error) { a.end(c, err) })
	if err != nil {
		cancel()
		return false
	}
	op, done := context.WithTimeout(ctx, c.d.limits.Attach)
	defer done()
	if err := c.greet(op, l, a.ended); err != nil {
		cancel()
		<-a.ended
		return false
	}
	c.mu.Lock()
	c.early, c.own, c.cancel = l, own, cancel
	c.mu.Unlock()
	a.keep(c)
	return true
}

// pinned reports whether a node that runs an image under the name that pods have for it can have no other: by its digest, or its content
// id.
func (d *Driver) pinned(i sandbox.Image) bool { return i.Digest != "" || d.never || d.isEmpty(i) }

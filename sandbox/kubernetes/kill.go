package kubernetes

import (
	"context"
	"fmt"

	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
)

// Kill has the gate end all processes, and deletes the pod where it does not. Output that nobody has read by then, beyond
// what is buffered, is lost.
func (c *cell) Kill(ctx context.Context) error {
	c.mu.Lock()
	c.killed = true
	done := c.destroyed
	c.mu.Unlock()
	c.stdout.Overflow()
	c.stderr.Overflow()
	if done || c.over() || c.killByGate(ctx) {
		return nil
	}
	one := int64(1)
	err := c.d.api.remove(ctx, c.d.api.in(core, "pods", c.name), c.uid, &one)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return c.d.explain(ctx, "kill cell "+c.name, err)
}

func (c *cell) over() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// killByGate reports whether the cell's processes have ended.
func (c *cell) killByGate(ctx context.Context) bool {
	l := c.connection()
	if l == nil {
		return false
	}
	c.mu.Lock()
	if !c.destroyed { // or nobody would wait for it
		c.work.Go(func() { _ = l.send(seal.Kill, nil) })
	}
	c.mu.Unlock()
	timer := time.NewTimer(c.d.limits.Kill)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-c.cut:
	case <-timer.C:
	case <-ctx.Done():
	}
	return c.over()
}

// quit ends the connection, which ends the cell: its gate sees that nobody is there.
func (c *cell) quit() {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	cancel()
}

// Destroy ends the cell, deletes the pod and returns when the cluster says that it is gone. After an error it may still be
// there, and Destroy may be called again.
func (c *cell) Destroy(ctx context.Context) error {
	c.mu.Lock()
	started := c.started && !c.destroyed
	c.mu.Unlock()
	if started && !c.over() {
		c.stdout.Overflow()
		c.stderr.Overflow()
		c.mu.Lock()
		c.killed = true
		c.mu.Unlock()
		c.killByGate(ctx)
	}
	c.mu.Lock()
	c.destroyed = true
	c.mu.Unlock()
	err := c.d.destroyPod(ctx, c.name, c.uid, c.seen)
	c.quit()
	c.work.Wait()
	c.finish(errCut)
	c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, errDestroyed))
	if err == nil {
		c.d.pods.leave(c.name, c.seen)
	}
	return err
}

// How a deletion is followed: by the watch, and by a look now and then in case that it has broken off.
const (
	lookAgain   = 2 * time.Second
	removePause = 200 * time.Millisecond
	forceAfter  = 20 * time.Second // until a pod on a node that does not answer is given up
)

// destroyPod deletes a pod and returns when it is gone. Its kubelet confirms that; where the node is lost nobody can, and the
// cluster is told to forget it.
func (d *Driver) destroyPod(ctx context.Context, name, uid string, s *sight) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.limits.Destroy)
		defer cancel()
	}
	path := d.api.in(core, "pods", name)
	grace, began := int64(1), time.Now()
	asked := false
	for {
		if !asked {
			err := d.api.remove(ctx, path, uid, &grace)
			switch {
			case err == nil:
				asked = true
			case apierrors.IsNotFound(err), apierrors.IsConflict(err):
				return nil // it is gone, or another has its name
			case refused(err) && !apierrors.IsTooManyRequests(err), ctx.Err() != nil:
				return d.explain(ctx, "remove pod "+name, err)
			}
		}
		if gone := d.awaitGone(ctx, path, uid, s, asked); gone {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("remove pod %s: the cluster has not confirmed it: %w", name, context.Cause(ctx))
		}
		if time.Since(began) > forceAfter && grace > 0 && d.nodeLost(ctx, path) {
			d.log.Warn("pod is forgotten, as its node does not answer: what runs there cannot be known", "pod", name)
			grace, asked = 0, false
		}
	}
}

// awaitGone waits a while for a pod to be gone.
func (d *Driver) awaitGone(ctx context.Context, path, uid string, s *sight, asked bool) bool {
	if !asked {
		_ = sleep(ctx, removePause)
		return false
	}
	pause := removePause
	if s != nil {
		pause = lookAgain
	}
	for until := time.Now().Add(pause); s != nil && time.Now().Before(until); {
		if _, gone := s.look(); gone {
			return true
		}
		select {
		case <-s.changed:
			s.pass()
		case <-ctx.Done():
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	if s == nil {
		_ = sleep(ctx, pause)
	}
	var pod corev1.Pod
	err := d.api.get(ctx, path, nil, &pod)
	return apierrors.IsNotFound(err) || err == nil && string(pod.UID) != uid
}

// pass tells the next one who looks, after this one.
func (s *sight) pass() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		s.tell()
	}
}

func (d *Driver) nodeLost(ctx context.Context, path string) bool {
	var pod corev1.Pod
	if d.api.get(ctx, path, nil, &pod) != nil || pod.Spec.NodeName == "" {
		return false
	}
	var node corev1.Node
	err := d.api.get(ctx, core+"/nodes/"+pod.Spec.NodeName, nil, &node)
	return apierrors.IsNotFound(err) || err == nil && !ready(&node)
}

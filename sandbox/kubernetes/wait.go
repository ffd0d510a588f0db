package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
)

var errCut = io.ErrUnexpectedEOF

// Wait returns how the cell ended. It wraps [sandbox.ErrUnavailable] when the cluster has lost or removed it, and fails for a
// cell that did not start or was destroyed before its end was known.
func (c *cell) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-c.exited:
		return c.exit, c.exitErr
	default:
	}
	select {
	case <-c.exited:
		return c.exit, c.exitErr
	case <-ctx.Done():
		return sandbox.Exit{}, fmt.Errorf("wait for cell %s: %w", c.name, context.Cause(ctx))
	}
}

// await settles the cell: by the gate's word, by the cluster's, or by the end of the connection without either. The streams of a
// cell whose gate has not told of the end do not end before it is known why.
func (c *cell) await(ctx context.Context) {
	defer c.finish(errCut)
	var late, look <-chan time.Time
	cut, waited := c.cut, false
	for {
		if c.over() || c.lookAround(ctx) || c.nodeSilent(ctx, waited) {
			return
		}
		if look, waited = nil, false; c.unreported() {
			look = time.After(lookAtNode)
		}
		select {
		case <-look:
			waited = true
		case e := <-c.ended:
			c.settle(c.exitOf(ctx, e), nil)
			return
		case <-c.seen.changed:
		case <-cut:
			select {
			case e := <-c.ended: // it came before
				c.settle(c.exitOf(ctx, e), nil)
				return
			default:
			}
			cut, late = nil, time.After(c.patience())
			if !c.ask(ctx) {
				c.settle(sandbox.Exit{}, c.lost(ctx))
				return
			}
		case <-late:
			c.settle(sandbox.Exit{}, c.lost(ctx))
			return
		case <-ctx.Done():
			c.settle(sandbox.Exit{}, fmt.Errorf("wait for cell %s: %w", c.name, errDestroyed))
			return
		}
	}
}

// patience is how long the cluster may take to say why a connection has ended.
func (c *cell) patience() time.Duration {
	const unstarted = 2 * time.Second // nothing has happened to it yet, and somebody waits for its start
	if c.connection() == nil {
		return min(unstarted, c.d.limits.Settle)
	}
	return c.d.limits.Settle
}

// ask looks at the pod itself, since the watch may have broken off with the connection. It reports whether the cluster answers. Of
// a pod that is gone the watch, or the list that follows it, tells more.
func (c *cell) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, c.d.limits.Settle)
	defer cancel()
	var pod corev1.Pod
	err := c.d.api.get(ctx, c.d.api.in(core, "pods", c.name), nil, &pod)
	if err == nil {
		c.seen.see(&pod, false)
	}
	return err == nil || refused(err) || errors.Is(err, context.Canceled)
}

// lookAround settles the cell if the cluster says that it has ended.
func (c *cell) lookAround(ctx context.Context) bool {
	pod, gone := c.seen.look()
	if pod == nil {
		return false
	}
	if err := disrupted(pod); err != nil {
		c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, err))
		return true
	}
	if t := ending(pod); t != nil {
		c.settle(c.exitByStatus(ctx, t))
		return true
	}
	if gone || pod.DeletionTimestamp != nil {
		c.mu.Lock()
		ours := c.killed || c.destroyed
		c.mu.Unlock()
		switch {
		case ours && !gone:
			return false
		case ours:
			c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, errDestroyed))
		default:
			c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, c.d.deleted(pod)))
		}
		return true
	}
	return false
}

// exitByStatus is the end of a cell of which the cluster tells. The gate says more, and its last words may be on the way to a slow
// reader. One that found its supervisor gone says nothing: then the connection broke off, whatever has become of the program.
func (c *cell) exitByStatus(ctx context.Context, t *corev1.ContainerStateTerminated) (sandbox.Exit, error) {
	select {
	case e := <-c.ended:
		return merge(e, t), nil
	case <-c.cut:
	case <-time.After(c.d.limits.Settle):
	}
	select {
	case e := <-c.ended:
		return merge(e, t), nil
	default:
	}
	if t.ExitCode == gate.ExitHangup {
		return sandbox.Exit{}, c.lost(ctx)
	}
	return exitOfStatus(t), nil
}

// nodeSilent settles the cell if its node does not answer any more: a cluster marks the pods of such a node as not ready.
// Of a pod of which the cluster has not heard yet that it runs nothing changes then: that is looked at after a while.
func (c *cell) nodeSilent(ctx context.Context, waited bool) bool {
	pod, _ := c.seen.look()
	if pod == nil || !suspect(pod) && !(waited && unreported(pod)) {
		return false
	}
	err := c.d.nodeGone(ctx, pod)
	if err == nil {
		return false
	}
	c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, err))
	return true
}

// unreported reports whether the cluster does not know yet that the cell runs, which was reached before its node had said so.
func (c *cell) unreported() bool {
	pod, _ := c.seen.look()
	return pod != nil && unreported(pod)
}

func unreported(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending || pod.Status.Phase == ""
}

// nodeGone is an error where a pod's node does not answer or is no more, as far as the cluster knows.
func (d *Driver) nodeGone(ctx context.Context, pod *corev1.Pod) error {
	name := pod.Spec.NodeName
	if name == "" {
		return nil
	}
	var node corev1.Node
	switch err := d.api.get(ctx, core+"/nodes/"+name, nil, &node); {
	case apierrors.IsNotFound(err):
		return lostf(sandbox.LossNode, "its node %s is not in the cluster any more", name)
	case err == nil && !ready(&node):
		return lostf(sandbox.LossNode, "its node %s does not answer", name)
	}
	return nil
}

// suspect is a pod that runs and is not ready, though nobody has asked it whether it is.
func suspect(pod *corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Running == nil {
			return false
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionFalse && pod.Status.Phase == corev1.PodRunning
		}
	}
	return false
}

// exitOf is the gate's word. Where memory may have run out the cluster's is waited for: a kubelet hears it from the runtime.
func (c *cell) exitOf(ctx context.Context, e seal.End) sandbox.Exit {
	if e.OOMKills <= 0 && (e.Code != exitKill || e.Killed) {
		return merge(e, nil)
	}
	late := time.NewTimer(c.d.limits.Settle)
	defer late.Stop()
	for {
		pod, gone := c.seen.look()
		if pod != nil {
			if t := ending(pod); t != nil {
				return merge(e, t)
			}
		}
		if gone {
			return merge(e, nil)
		}
		select {
		case <-c.seen.changed:
		case <-late.C:
			return merge(e, nil)
		case <-ctx.Done():
			return merge(e, nil)
		}
	}
}

// exitKill is the exit code of a process that SIGKILL has ended.
const exitKill = 137

// merge is an end in the gate's words and, where they are known, the cluster's. The gate's code stands: it saw the program.
func merge(e seal.End, t *corev1.ContainerStateTerminated) sandbox.Exit {
	exit := sandbox.Exit{Code: e.Code, Evidence: sandbox.Evidence{OOMKilled: e.OOMKills > 0, Confidence: sandbox.ConfidenceRunner}, At: time.Now()}
	if t != nil {
		exit.Evidence.OOMKilled = exit.Evidence.OOMKilled || t.Reason == reasonOOM
		exit.Evidence.Confidence = sandbox.ConfidenceEngine
	}
	return exit
}

// exitOfStatus is an end of which the cluster alone tells.
func exitOfStatus(t *corev1.ContainerStateTerminated) sandbox.Exit {
	return sandbox.Exit{
		Code:     int(t.ExitCode),
		Evidence: sandbox.Evidence{OOMKilled: t.Reason == reasonOOM, Confidence: sandbox.ConfidenceEngine, Error: oneLine(t.Message)},
		At:       time.Now(),
	}
}

// lost says why a cell's connection may have ended while the cluster believes that it runs.
func (c *cell) lost(ctx context.Context) error {
	c.mu.Lock()
	cut := c.why
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.d.limits.Settle)
	defer cancel()
	var now corev1.Pod
	pod, _ := c.seen.look()
	err := c.d.api.get(ctx, c.d.api.in(core, "pods", c.name), nil, &now)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(now.UID) != c.uid:
		return fmt.Errorf("cell %s: %w", c.name, c.d.deleted(pod))
	case err == nil || refused(err):
	case !errors.Is(err, context.Canceled):
		return fmt.Errorf("cell %s: the connection to it broke off, and the cluster at %s does not answer: %s: %w", c.name, c.d.api.host, words(err), sandbox.ErrUnavailable)
	}
	if err := c.d.nodeGone(ctx, pod); err != nil {
		return fmt.Errorf("cell %s: %w", c.name, err)
	}
	return fmt.Errorf("cell %s: the connection to it broke off, and with it went its stdin: %s: %w", c.name, words(cut), sandbox.ErrUnavailable)
}

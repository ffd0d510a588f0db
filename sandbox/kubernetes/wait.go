package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// await settles the cell: by the gate's word, by the cluster's, or by the end of the connection without either.
func (c *cell) await(ctx context.Context) {
	var late <-chan time.Time
	cut := c.cut
	for {
		if c.lookAround() || c.nodeSilent(ctx) {
			return
		}
		select {
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
			cut, late = nil, time.After(c.d.limits.Settle)
		case <-late:
			c.settle(sandbox.Exit{}, c.lost(ctx))
			return
		case <-ctx.Done():
			c.settle(sandbox.Exit{}, fmt.Errorf("wait for cell %s: %w", c.name, errDestroyed))
			return
		}
	}
}

// lookAround settles the cell if the cluster says that it has ended.
func (c *cell) lookAround() bool {
	pod, gone := c.seen.look()
	if pod == nil {
		return false
	}
	if err := disrupted(pod); err != nil {
		c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, err))
		return true
	}
	if t := ending(pod); t != nil {
		select {
		case e := <-c.ended: // the gate says more
			c.settle(merge(e, t), nil)
		case <-c.cut:
			c.settle(exitOfStatus(t), nil)
		case <-time.After(c.d.limits.Settle): // its last words may be on the way to a slow reader
			c.settle(exitOfStatus(t), nil)
		}
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

// nodeSilent settles the cell if its node does not answer any more: a cluster marks the pods of such a node as not ready.
func (c *cell) nodeSilent(ctx context.Context) bool {
	pod, _ := c.seen.look()
	if pod == nil || !suspect(pod) {
		return false
	}
	var node corev1.Node
	if err := c.d.api.get(ctx, core+"/nodes/"+pod.Spec.NodeName, nil, &node); err != nil || ready(&node) {
		return false
	}
	c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: its node %s does not answer: %w", c.name, pod.Spec.NodeName, sandbox.ErrUnavailable))
	return true
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
	pod, _ := c.seen.look()
	why := "the connection to it broke off, and with it went its stdin"
	var node corev1.Node
	if err := c.d.api.get(ctx, core+"/nodes/"+pod.Spec.NodeName, nil, &node); err == nil && !ready(&node) {
		why = "its node " + pod.Spec.NodeName + " does not answer"
	} else if err != nil && !refused(err) && !errors.Is(err, context.Canceled) {
		why = "the cluster at " + c.d.api.host + " does not answer"
	}
	return fmt.Errorf("cell %s: %s: %w", c.name, why, sandbox.ErrUnavailable)
}

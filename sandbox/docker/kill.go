package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/hotcell/hotcell/sandbox"
)

// Kill sends SIGKILL to the cell's first process, and the kernel to all others of its pid namespace. The engine answers
// when it has seen the end, or after up to 12 s without: ctx is the caller's own limit. Output that nobody has read by
// then, beyond what is buffered, is lost.
func (c *cell) Kill(ctx context.Context) error {
	c.stdout.Overflow()
	c.stderr.Overflow()
	op, cancel := context.WithTimeout(ctx, c.d.limits.Kill)
	defer cancel()
	defer c.lastResort()()
	err := c.d.containers.ContainerKill(op, c.id, "KILL")
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil // it does not run
	}
	if err != nil && c.group.Kill() == nil {
		return nil // killed without the engine, which will see
	}
	return c.d.explain(ctx, "kill cell "+c.name, err)
}

// Destroy closes the streams and removes the container, running or not. After an error the container may still be there,
// and Destroy may be called again.
func (c *cell) Destroy(ctx context.Context) error {
	c.mu.Lock()
	c.destroyed = true
	started := c.started
	unwait := c.unwait
	c.attendLocked()
	c.mu.Unlock()
	c.disconnect()
	stop := c.lastResort()
	err := c.d.remove(ctx, c.id, "cell "+c.name)
	stop()
	if err == nil && started {
		ctx, cancel := context.WithTimeout(ctx, c.d.limits.Settle)
		_, _ = c.Wait(ctx) // let those who wait have the real exit
		cancel()
	}
	unwait()
	c.work.Wait()
	c.settle(sandbox.Exit{}, fmt.Errorf("cell %s: %w", c.name, errDestroyed))
	if err == nil {
		return c.group.Remove()
	}
	_ = c.group.Kill() // the engine could not: at least nothing of it runs on
	return err
}

// How removal is retried: the engine may be busy with it itself, or with what the container had mounted.
const (
	removePause = 10 * time.Millisecond
	removeCalm  = time.Second // the longest pause
	removeGone  = 3           // tries without reaching the engine at all
)

// remove kills and removes a container with its anonymous volumes, and returns when it is not there any more. It tries
// until ctx ends (Timeouts.Destroy where ctx has no deadline), less long where no engine answers.
func (d *Driver) remove(ctx context.Context, id, what string) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.limits.Destroy)
		defer cancel()
	}
	unreachable := 0
	for pause := removePause; ; pause = min(2*pause, removeCalm) {
		err := d.removeOnce(ctx, id)
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		if client.IsErrConnectionFailed(err) {
			unreachable++
		}
		if ctx.Err() != nil || unreachable >= removeGone || errdefs.IsInvalidArgument(err) {
			return d.explain(ctx, "remove "+what, err)
		}
		if sleep(ctx, pause) != nil {
			return fmt.Errorf("remove %s: %w; last answer: %s", what, context.Cause(ctx), words(err))
		}
	}
}

func (d *Driver) removeOnce(ctx context.Context, id string) error {
	op, cancel := context.WithTimeout(ctx, d.limits.Remove)
	defer cancel()
	return d.containers.ContainerRemove(op, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
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

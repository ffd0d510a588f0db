package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/hotcell/hotcell/sandbox"
)

// waitTries is how often a wait that was cut is taken up again while the cell still runs.
const waitTries = 3

// Wait returns how the cell ended. It wraps [sandbox.ErrUnavailable] when the engine was lost, and fails for a cell that
// did not start or was destroyed before its end was known.
func (c *cell) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-c.exited:
		return c.exit, c.exitErr
	default:
	}
	c.attend()
	select {
	case <-c.exited:
		return c.exit, c.exitErr
	case <-ctx.Done():
		return sandbox.Exit{}, fmt.Errorf("wait for cell %s: %w", c.name, context.Cause(ctx))
	}
}

// awaitEnd takes the one answer of a registered wait and settles the cell. An answer is believed if the container does not
// run: engines have answered early. One that was lost is looked up, and the wait is taken up again while the container
// runs. Nothing is known about a container that is being started, so that comes first.
func (c *cell) awaitEnd(ctx context.Context, w *registration) {
	for try := 1; ; try++ {
		res, err := w.take()
		select {
		case <-c.up:
		case <-ctx.Done():
		}
		if ctx.Err() != nil && err != nil {
			c.settle(sandbox.Exit{}, c.lost(ctx, err))
			return
		}
		info, ierr := c.inspect(ctx)
		switch {
		case err == nil && (ierr != nil || stopped(info.State)):
			close(c.ended)
			c.settle(c.testify(ctx, c.exitOf(res, info, ierr)), nil)
			return
		case ierr == nil && stopped(info.State):
			c.settle(c.testify(ctx, exitOfState(info.State)), nil)
			return
		case errdefs.IsNotFound(ierr):
			c.settle(sandbox.Exit{}, c.d.vanished(c.name))
			return
		case ierr != nil:
			c.settle(sandbox.Exit{}, c.lost(ctx, ierr))
			return
		case try >= waitTries:
			c.settle(sandbox.Exit{}, fmt.Errorf("wait for cell %s: the engine at %s ends it while the cell runs: %w", c.name, c.d.host, sandbox.ErrUnavailable))
			return
		}
		if w, err = c.register(ctx, ctx, container.WaitConditionNotRunning); err != nil {
			c.settle(sandbox.Exit{}, c.lost(ctx, err))
			return
		}
	}
}

// stopped reports whether a container has run and does not run any more.
func stopped(s *container.State) bool {
	return !s.Running && !s.Restarting && s.Status != container.StateCreated
}

func (c *cell) lost(ctx context.Context, err error) error {
	err = c.d.explain(ctx, "wait for cell "+c.name, err)
	if ctx.Err() != nil {
		return fmt.Errorf("wait for cell %s: %w", c.name, errDestroyed)
	}
	return err
}

// inspect asks for a container's state after its end. While it runs the answer can hang, hence the short deadline.
func (c *cell) inspect(ctx context.Context) (container.InspectResponse, error) {
	op, cancel := context.WithTimeout(ctx, c.d.limits.Inspect)
	defer cancel()
	info, err := c.d.containers.ContainerInspect(op, c.id)
	if err == nil && (info.ContainerJSONBase == nil || info.State == nil) {
		err = fmt.Errorf("inspect cell %s: the engine's answer has no state", c.name)
	}
	return info, err
}

// exitOf adds to the exit code what the engine knows about the end, if it still could be asked.
func (c *cell) exitOf(res container.WaitResponse, info container.InspectResponse, unknown error) sandbox.Exit {
	exit := sandbox.Exit{Code: int(res.StatusCode), Evidence: sandbox.Evidence{Confidence: sandbox.ConfidenceNone}, At: time.Now()}
	if unknown == nil {
		exit.Evidence = exitOfState(info.State).Evidence
	} else {
		c.d.log.Debug("cell could not be inspected after its end", "cell", c.name, "err", unknown)
	}
	if res.Error != nil && res.Error.Message != "" {
		exit.Evidence.Error = res.Error.Message
	}
	return exit
}

func exitOfState(s *container.State) sandbox.Exit {
	return sandbox.Exit{
		Code:     s.ExitCode,
		Evidence: sandbox.Evidence{OOMKilled: s.OOMKilled, Confidence: sandbox.ConfidenceEngine, Error: s.Error},
		At:       time.Now(),
	}
}

package docker

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
)

// enclose makes a control group of our own around a cell that host is the configuration of: its memory limit is the
// call's, and the container's a little higher, so that ours is the one that is hit.
func (d *Driver) enclose(name string, host *container.HostConfig) *cgroup.Group {
	g := d.groups.Enclose(name, host.Memory)
	if g != nil && g.Path() != "" {
		host.CgroupParent = g.Path()
		host.Memory += cgroup.Slack
		host.MemorySwap = host.Memory
	}
	return g
}

// removeGroup gives up the group of a cell that was not made.
func (d *Driver) removeGroup(g *cgroup.Group) {
	if err := g.Remove(); err != nil {
		d.log.Warn("control group is left behind", "err", err)
	}
}

// CgroupOff says why there are no control groups of our own around cells; "" while there are.
func (d *Driver) CgroupOff() string {
	if d.groups == nil {
		return "switched off"
	}
	return d.groups.Why()
}

// dropGroup removes a listed group.
func (d *Driver) dropGroup(id string) error {
	if d.groups == nil {
		return unsupported("remove %s: control groups are switched off", id)
	}
	return d.groups.Drop(id)
}

// abandoned are the groups that no listed container is in.
func abandoned(groups, listed []sandbox.Listed) []sandbox.Listed {
	return slices.DeleteFunc(groups, func(g sandbox.Listed) bool {
		return slices.ContainsFunc(listed, func(c sandbox.Listed) bool {
			instance := c.Labels[sandbox.LabelInstance]
			return c.Kind == kindCell && g.Labels[sandbox.LabelInstance] == instance &&
				(g.Name == c.Name || path.Base(path.Dir(g.ID)) != instance) // or the instance's own group
		})
	})
}

// Evidence implements [sandbox.Witness].
func (c *cell) Evidence() sandbox.Evidence {
	killed := false
	select {
	case <-c.exited:
		killed = c.exit.Code == killedCode
	default:
	}
	return c.group.Evidence(killed)
}

// killedCode is an engine's exit code for a first process that SIGKILL ended, among other things.
const killedCode = 137

// afterthought is how long an engine may take to hear of a kill for memory that it has seen the end of.
const afterthought = 200 * time.Millisecond

// testify puts what the kernel counted in place of the engine's word. Where nobody could look, an engine that knows of a
// kill, but not why, is asked once more.
func (c *cell) testify(ctx context.Context, exit sandbox.Exit) sandbox.Exit {
	killed := exit.Code == killedCode
	ev := c.group.Evidence(killed)
	switch {
	case ev.Confidence == sandbox.ConfidenceKernel:
		ev.Error = exit.Evidence.Error
		exit.Evidence = ev
	case killed && !exit.Evidence.OOMKilled && sleep(ctx, afterthought) == nil:
		if info, err := c.inspect(ctx); err == nil {
			exit.Evidence.OOMKilled = info.State.OOMKilled
		}
	}
	return exit
}

// proven corrects a start error by what the kernel counted: memory that ran out above the cell is not the cell's doing.
func (c *cell) proven(e *sandbox.StartError) *sandbox.StartError {
	ev := c.group.Evidence(e.OOM)
	if ev.Confidence == sandbox.ConfidenceKernel {
		e.OOM = ev.OOMKilled || e.OOM && !ev.Pressure
	}
	return e
}

// lastResort kills the cell's processes without the engine, if it has not been called off by then.
func (c *cell) lastResort() (callOff func()) {
	if c.group == nil {
		return func() {}
	}
	done := make(chan struct{})
	timer := time.AfterFunc(c.d.limits.Direct, func() {
		defer close(done)
		if err := c.group.Kill(); err != nil {
			c.d.log.Warn("cell does not die, with the engine or without", "cell", c.name, "err", err)
		}
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

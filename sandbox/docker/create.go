package docker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/cgroup"
)

// Create makes the volumes of the spec's trees where they are missing, and a container that mounts them. A warning of the
// engine means that it will not enforce something: the container is removed again and the answer is ErrUnsupported.
func (d *Driver) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	f, err := d.learn(ctx, 0)
	if err != nil {
		return nil, err
	}
	config, host, err := convert(spec, f.appArmor)
	if err != nil {
		return nil, err
	}
	config.Labels = d.labels(kindCell, spec.Name, spec.Labels)
	group := d.enclose(spec.Name, host)
	box, err := d.createCell(ctx, spec, config, host, group)
	if err != nil {
		d.removeGroup(group)
		return nil, err
	}
	return box, nil
}

// createCell makes the container of a cell and the volumes that it mounts.
func (d *Driver) createCell(ctx context.Context, spec *sandbox.Spec, config *container.Config, host *container.HostConfig, group *cgroup.Group) (sandbox.Sandbox, error) {
	// A volume that was removed since it was filled comes back empty when a container mounts it. One more round fills it
	// again; who removes faster than that is at war with us.
	for range 2 {
		locks, err := d.fillTrees(ctx, spec)
		if err != nil {
			return nil, fmt.Errorf("create cell %s: %w", spec.Name, err)
		}
		id, err := d.create(ctx, spec.Name, config, host)
		if err != nil {
			return nil, err
		}
		same, err := d.sameTrees(ctx, locks)
		if err == nil && same {
			return newCell(d, id, spec.Name, group), nil
		}
		d.undo(ctx, id, "cell "+spec.Name)
		if err != nil {
			return nil, fmt.Errorf("create cell %s: %w", spec.Name, err)
		}
		d.forget(locks)
	}
	return nil, fmt.Errorf("create cell %s: its volumes are removed by someone as soon as they are filled: %w", spec.Name, sandbox.ErrUnavailable)
}

// create makes one container, or nothing.
func (d *Driver) create(ctx context.Context, name string, config *container.Config, host *container.HostConfig) (string, error) {
	op, cancel := context.WithTimeout(ctx, d.limits.Create)
	defer cancel()
	resp, err := d.containers.ContainerCreate(op, config, host, nil, nil, name)
	if err != nil {
		if gone(err) {
			d.dropLost(ctx, name)
		}
		if errdefs.IsInternal(err) && contains(words(err), "not a directory") {
			return "", fmt.Errorf("create container %s: %w", name, startError(err)) // the image's fault, not the engine's
		}
		return "", d.explain(ctx, "create container "+name, err)
	}
	if len(resp.Warnings) > 0 {
		d.undo(ctx, resp.ID, name)
		return "", unsupported("create container %s: engine at %s warns: %s", name, d.host, strings.Join(resp.Warnings, "; "))
	}
	return resp.ID, nil
}

// undoLimit bounds clean-up that a caller waits for.
const undoLimit = 10 * time.Second

// undo removes a container whatever has become of ctx. What it cannot remove is left to the sweep.
func (d *Driver) undo(ctx context.Context, id, what string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	if err := d.remove(ctx, id, what); err != nil {
		d.log.Warn("container is left behind", "container", what, "err", err)
	}
}

// dropLost looks for a container whose creation was asked for and whose answer was lost, and removes it. The engine may
// still be busy with it, so it looks a few times.
func (d *Driver) dropLost(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	args := filters.NewArgs(filters.Arg("name", "^/?"+name+"$"), filters.Arg("label", sandbox.LabelInstance+"="+d.instance))
	for _, pause := range []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, time.Second} {
		if sleep(ctx, pause) != nil {
			return
		}
		found, err := d.findContainers(ctx, args)
		if err != nil {
			d.log.Warn("container may have been created", "container", name, "err", err)
			return
		}
		for _, c := range found {
			d.undo(ctx, c.ID, name)
			return
		}
	}
}

// Remove destroys what [Driver.List] showed under id. Removing a fill removes its unfinished volume too. A volume that a
// container mounts is not removed: that is an error.
func (d *Driver) Remove(ctx context.Context, id string) error {
	switch {
	case strings.HasPrefix(id, volumePrefix):
		return d.removeVolume(ctx, id)
	case strings.HasPrefix(id, cgroup.ListPrefix):
		return d.dropGroup(id)
	}
	found, err := d.findContainers(ctx, filters.NewArgs(filters.Arg("id", id)))
	if err != nil {
		return err
	}
	for _, c := range found {
		if c.ID != id {
			continue
		}
		if c.Labels[sandbox.LabelKind] == kindFill {
			return d.abandon(ctx, lockOf(c))
		}
		if err := d.remove(ctx, id, "cell "+c.Labels[labelName]); err != nil {
			return err
		}
		return d.groups.Release(c.Labels[sandbox.LabelInstance], c.Labels[labelName])
	}
	return nil
}

package docker

import (
	"context"
	"errors"
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

// made is the answer to a create.
type made struct {
	id  string
	err error
}

// create makes one container, or nothing. It returns when ctx ends at the latest; a container that comes after that is
// removed as soon as it is there.
func (d *Driver) create(ctx context.Context, name string, config *container.Config, host *container.HostConfig) (string, error) {
	answer := make(chan made)
	err := d.late(func(work context.Context) {
		id, err := d.createNow(work, name, config, host)
		select {
		case answer <- made{id, err}:
		case <-ctx.Done():
			if err == nil {
				d.undo(work, id, "cell "+name)
			}
		}
	})
	if err != nil {
		return "", fmt.Errorf("create container %s: %w", name, err)
	}
	select {
	case m := <-answer:
		return m.id, m.err
	case <-ctx.Done():
		return "", fmt.Errorf("create container %s: %w", name, context.Cause(ctx))
	}
}

func (d *Driver) createNow(ctx context.Context, name string, config *container.Config, host *container.HostConfig) (string, error) {
	op, cancel := context.WithTimeout(ctx, d.limits.Create)
	defer cancel()
	resp, err := d.containers.ContainerCreate(op, config, host, nil, nil, name)
	if err != nil {
		d.dropLost(ctx, name, err)
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

// How long to look for a container whose creation was asked for and not acknowledged: an engine that broke off may still
// be busy with it, and one that took too long even more so.
var (
	soon  = []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, time.Second}
	later = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, 40 * time.Second}
)

// dropLost looks for a container that may be there though its create failed, and removes it. It is not taken over: the
// engine's warnings are lost with its answer, and they say what it does not enforce.
func (d *Driver) dropLost(ctx context.Context, name string, err error) {
	switch {
	case refused(err):
		return
	case errdefs.IsInternal(err) || errdefs.IsUnavailable(err):
		// An engine cleans up after itself; what stands between it and us may have said this in its place.
		_ = d.late(func(work context.Context) { d.dropNamed(work, name, soon, false) })
		return
	}
	slow := errors.Is(err, context.DeadlineExceeded)
	found, looked := d.dropNamed(ctx, name, soon, false)
	if found || looked && !slow {
		return
	}
	// It is too slow, or gone and may come back: one that is back has nothing under way any more, so one look will do.
	_ = d.late(func(work context.Context) { d.dropNamed(work, name, later, !slow) })
}

// dropNamed looks after each pause, at most once where that is enough, and reports whether it found something and whether
// it could look at all.
func (d *Driver) dropNamed(ctx context.Context, name string, pauses []time.Duration, once bool) (found, looked bool) {
	args := filters.NewArgs(filters.Arg("name", "^/?"+name+"$"), filters.Arg("label", sandbox.LabelInstance+"="+d.instance))
	for _, pause := range pauses {
		if sleep(ctx, pause) != nil {
			break
		}
		containers, err := d.findContainers(ctx, args)
		if err != nil {
			d.log.Warn("container may have been created", "container", name, "err", err)
			continue
		}
		looked = true
		for _, c := range containers {
			d.insist(ctx, name, func(ctx context.Context) error { return d.dropListed(ctx, c) })
			return true, true
		}
		if once {
			break
		}
	}
	return false, looked
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
		if c.ID == id {
			return d.dropListed(ctx, c)
		}
	}
	return nil
}

// dropListed removes a container with what belongs to it. That of a fill is an unfinished volume, which would count as a
// complete one without it.
func (d *Driver) dropListed(ctx context.Context, c container.Summary) error {
	if c.Labels[sandbox.LabelKind] == kindFill {
		return d.abandon(ctx, lockOf(c))
	}
	if err := d.remove(ctx, c.ID, "cell "+c.Labels[labelName]); err != nil {
		return err
	}
	return d.groups.Release(c.Labels[sandbox.LabelInstance], c.Labels[labelName])
}

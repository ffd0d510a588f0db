package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/hotcell/hotcell/sandbox"
)

// How a volume is known to be complete.
//
// A volume's labels cannot change once it exists, so they cannot say that it is filled. Instead a container that never
// starts, the lock, exists while a volume with its digest is being filled; its name makes it the only one on the engine.
// The volume carries the lock's id. Two rules follow:
//
//   - a lock is removed only after its volume is complete or gone, so a volume without a lock is complete;
//   - a volume is looked at before the locks are, and after a cell's creation once more: if it still carries the same
//     lock's id, it is the volume that was found complete, and the cell keeps it from being removed.

// volumePrefix starts the name of each of our volumes.
const volumePrefix = "hotcell-"

// mostReady is how many volumes are known to be complete without a look.
const mostReady = 4096

// errBusy: someone else is filling the volume, or holds one that is in the way.
var errBusy = errors.New("volume is being filled by another process, or in use")

// fillTrees returns the lock ids of the spec's volumes by volume name, filling those that are missing.
func (d *Driver) fillTrees(ctx context.Context, spec *sandbox.Spec) (map[string]string, error) {
	locks := make(map[string]string, len(spec.Trees))
	for _, t := range spec.Trees {
		lock, err := d.ensure(ctx, t, spec.Image)
		if err != nil {
			return nil, fmt.Errorf("tree %s: %w", t.Name, err)
		}
		locks[volumeName(t)] = lock
	}
	return locks, nil
}

// sameTrees reports whether the volumes are those that were found complete.
func (d *Driver) sameTrees(ctx context.Context, locks map[string]string) (bool, error) {
	for name, lock := range locks {
		_, now, err := d.volumeLabels(ctx, name)
		if err != nil || now != lock {
			return false, err
		}
	}
	return true, nil
}

func (d *Driver) forget(locks map[string]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, lock := range locks {
		if d.ready[name] == lock {
			delete(d.ready, name)
		}
	}
}

// ensure returns the lock id of a complete volume for a tree. Concurrent callers share one fill, which goes on when one
// of them leaves.
func (d *Driver) ensure(ctx context.Context, t sandbox.Tree, image sandbox.Image) (string, error) {
	name := volumeName(t)
	d.mu.Lock()
	lock, ok := d.ready[name]
	d.mu.Unlock()
	if ok {
		return lock, nil
	}
	shared := d.fills.DoChan(name, func() (any, error) {
		if err := d.begin(); err != nil {
			return "", err
		}
		defer d.work.Done()
		ctx, cancel := context.WithTimeout(d.ctx, d.limits.Stale+2*d.limits.Fill)
		defer cancel()
		lock, err := d.findOrFill(ctx, t, image)
		if err == nil {
			d.mu.Lock()
			if len(d.ready) >= mostReady {
				clear(d.ready)
			}
			d.ready[name] = lock
			d.mu.Unlock()
		}
		return lock, err
	})
	select {
	case res := <-shared:
		return res.Val.(string), res.Err
	case <-ctx.Done():
		return "", fmt.Errorf("fill volume %s: %w", name, context.Cause(ctx))
	}
}

// findOrFill returns the lock id of the complete volume, filling it if nobody else does.
func (d *Driver) findOrFill(ctx context.Context, t sandbox.Tree, image sandbox.Image) (string, error) {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		lock, err := d.complete(ctx, t)
		if err != nil || lock != "" {
			return lock, err
		}
		lock, err = d.fill(ctx, t, image)
		if !errors.Is(err, errBusy) {
			return lock, err
		}
		if sleep(ctx, pause) != nil {
			return "", fmt.Errorf("%w: waited too long for volume %s or container %s: %w", sandbox.ErrUnavailable, volumeName(t), lockName(t.Digest), err)
		}
	}
}

// complete returns the lock id of the tree's volume if it is there and complete, else "".
func (d *Driver) complete(ctx context.Context, t sandbox.Tree) (string, error) {
	digest, lock, err := d.volumeLabels(ctx, volumeName(t))
	if err != nil || digest != t.Digest || lock == "" {
		return "", err
	}
	locks, err := d.listContainers(ctx, sandbox.LabelKind+"="+kindFill, sandbox.LabelDigest+"="+t.Digest)
	if err != nil || len(locks) > 0 {
		return "", err
	}
	return lock, nil
}

// volumeLabels returns a volume's digest and lock id, both "" if it is not there.
func (d *Driver) volumeLabels(ctx context.Context, name string) (digest, lock string, err error) {
	op, cancel := context.WithTimeout(ctx, d.limits.List)
	defer cancel()
	v, err := d.volumes.VolumeInspect(op, name)
	switch {
	case errdefs.IsNotFound(err):
		return "", "", nil
	case err != nil:
		return "", "", d.explain(ctx, "inspect volume "+name, err)
	}
	return v.Labels[sandbox.LabelDigest], v.Labels[labelLock], nil
}

// removeVolume returns nil when the volume is not there any more, and an error that wraps errBusy while it is in use.
func (d *Driver) removeVolume(ctx context.Context, name string) error {
	op, cancel := context.WithTimeout(ctx, d.limits.Remove)
	defer cancel()
	err := d.volumes.VolumeRemove(op, name, false)
	switch {
	case errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err):
		return fmt.Errorf("volume %s: %w", name, errBusy)
	}
	return d.explain(ctx, "remove volume "+name, err)
}

// abandon removes what was made under a lock: the containers that fill, the volume, and last the lock itself.
func (d *Driver) abandon(ctx context.Context, lock string) error {
	fills, err := d.listContainers(ctx, sandbox.LabelKind+"="+kindFill, labelLock+"="+lock)
	if err != nil {
		return err
	}
	for _, c := range fills {
		if err := d.remove(ctx, c.ID, "fill "+c.Labels[labelName]); err != nil {
			return err
		}
	}
	volumes, err := d.listVolumes(ctx, labelLock+"="+lock)
	if err != nil {
		return err
	}
	for _, v := range volumes {
		if err := d.removeVolume(ctx, v.Name); err != nil {
			return err
		}
	}
	return d.remove(ctx, lock, "lock of a fill")
}

// lockOf is the id of the lock that a fill belongs to: a lock's own.
func lockOf(c container.Summary) string {
	if lock := c.Labels[labelLock]; lock != "" {
		return lock
	}
	return c.ID
}

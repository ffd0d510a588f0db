package docker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/hotcell/hotcell/sandbox"
)

// fillTarget is where a fill has its volume.
const fillTarget = "/hotcell-volume"

func lockName(digest string) string { return "hotcell-fill-" + digest[:12] }

// fill fills the tree's volume under a lock and returns the lock's id. errBusy means that another holds the lock: look
// again later. A lock that is too old is nobody's, and is abandoned on the way.
func (d *Driver) fill(ctx context.Context, t sandbox.Tree, image sandbox.Image) (string, error) {
	labels := map[string]string{
		sandbox.LabelDigest:  t.Digest,
		sandbox.LabelExpires: strconv.FormatInt(time.Now().Add(d.limits.Stale).Unix(), 10),
	}
	lock, err := d.createFill(ctx, lockName(t.Digest), image, labels, nil)
	if errdefs.IsConflict(err) {
		return "", d.dropStale(ctx, t.Digest)
	}
	if err != nil {
		return "", err
	}
	filled, err := d.fillLocked(ctx, t, image, labels, lock)
	if err != nil {
		d.insist(ctx, lockName(t.Digest), func(ctx context.Context) error { return d.abandon(ctx, lock) })
		return "", err
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	if err := d.remove(cleanup, lock, lockName(t.Digest)); err != nil {
		d.undo(ctx, lock, lockName(t.Digest))
		return "", err // the volume counts as unfinished while the lock is there
	}
	return filled, nil
}

// fillLocked makes the volume complete and returns the id of the lock that it carries: another's, if another has filled
// it between our look and our lock.
func (d *Driver) fillLocked(ctx context.Context, t sandbox.Tree, image sandbox.Image, labels map[string]string, lock string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limits.Fill)
	defer cancel()
	name := volumeName(t)
	digest, by, err := d.volumeLabels(ctx, name)
	switch {
	case err != nil:
		return "", err
	case digest == t.Digest && by != "":
		return by, nil
	}
	if err := d.removeVolume(ctx, name); err != nil { // one without our labels: empty, made by mounting what was not there
		return "", err
	}
	labels = maps.Clone(labels)
	labels[labelLock] = lock
	volume := &mount.Mount{
		Type: mount.TypeVolume, Source: name, Target: fillTarget,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: map[string]string{
			sandbox.LabelManaged: "1", sandbox.LabelKind: kindVolume, sandbox.LabelDigest: t.Digest, labelLock: lock,
		}},
	}
	id, err := d.createFill(ctx, lockName(t.Digest)+"-"+lock[:12], image, labels, volume)
	if err != nil {
		return "", err
	}
	if err := d.copyTree(ctx, id, t.FS); err != nil {
		return "", err
	}
	return lock, d.remove(ctx, id, "fill of volume "+name)
}

// createFill makes a container that never starts. Errors of the kind "conflict" come through as they are.
func (d *Driver) createFill(ctx context.Context, name string, image sandbox.Image, labels map[string]string, volume *mount.Mount) (string, error) {
	config := &container.Config{
		Image: image.ID, Entrypoint: []string{"/never"}, NetworkDisabled: true, User: "65534:65534",
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		Labels:      d.labels(kindFill, name, labels),
	}
	host := &container.HostConfig{
		NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"},
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Tmpfs:         make(map[string]string),
	}
	for _, v := range image.Volumes { // or the engine would copy what the image has there
		host.Tmpfs[v] = "size=4k"
	}
	if volume != nil {
		host.Mounts = []mount.Mount{*volume}
	}
	op, cancel := lingering(ctx, d.limits.Create)
	defer cancel()
	resp, err := d.containers.ContainerCreate(op, config, host, nil, nil, name)
	if err != nil {
		if errdefs.IsConflict(err) {
			return "", err
		}
		d.dropLost(ctx, name, err)
		return "", d.explain(ctx, "create container "+name, err)
	}
	return resp.ID, nil
}

// lingering is a context for a request whose answer is wanted even though ctx ends, for what it makes has to be removed: it
// goes on for a while, at most until the limit.
func lingering(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	op, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(undoLimit, cancel) })
	return op, func() { stop(); cancel() }
}

// dropStale abandons the digest's lock if it is so old that whoever made it has given up. It returns errBusy: look again.
func (d *Driver) dropStale(ctx context.Context, digest string) error {
	fills, err := d.listContainers(ctx, sandbox.LabelKind+"="+kindFill, sandbox.LabelDigest+"="+digest)
	if err != nil {
		return err
	}
	for _, c := range fills {
		if time.Since(time.Unix(c.Created, 0)) < d.limits.Stale {
			continue
		}
		d.log.Warn("unfinished volume of another process is thrown away", "fill", c.Labels[labelName])
		if err := d.abandon(ctx, lockOf(c)); err != nil && !errors.Is(err, errBusy) {
			return err
		}
	}
	return errBusy
}

// copyTree sends the tree's files through the engine into the container's volume.
func (d *Driver) copyTree(ctx context.Context, id string, tree fs.FS) error {
	r, w := io.Pipe()
	var writer sync.WaitGroup
	var werr error
	writer.Go(func() {
		werr = writeTree(w, tree)
		w.CloseWithError(werr)
	})
	err := d.containers.CopyToContainer(ctx, id, fillTarget, r, container.CopyToContainerOptions{})
	r.CloseWithError(errStopped)
	writer.Wait()
	if werr != nil && !errors.Is(werr, errStopped) {
		return werr
	}
	return d.explain(ctx, "fill volume", err)
}

// errStopped: the engine has stopped reading.
var errStopped = errors.New("engine stopped reading")

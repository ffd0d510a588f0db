package kubernetes

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
)

// Create makes a pod, and waits until its gate waits: what keeps it from that, an image that a node does not get or a
// cluster without room, is an error of Create.
func (d *Driver) Create(ctx context.Context, spec *sandbox.Spec) (sandbox.Sandbox, error) {
	in, err := d.of(spec.Tenant)
	if err != nil {
		return nil, err
	}
	c, err := in.create(ctx, spec, false)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// create makes a cell. One that is told only later what it runs has an init container, and hears nothing before Start.
func (d *Driver) create(ctx context.Context, spec *sandbox.Spec, later bool) (*cell, error) {
	f, err := d.learn(ctx, 0)
	if err != nil {
		return nil, sandbox.Unmade(err)
	}
	if err := d.classKnown(ctx, spec.Runtime, f); err != nil {
		return nil, sandbox.Unmade(fmt.Errorf("create cell %s: %w", spec.Name, err))
	}
	p, err := convert(spec, settings{
		image: d.image, empty: d.empty, never: d.never, arch: f.caps.Arch, uid: newUID(), disk: d.disk, enforced: d.enforced, accept: d.accept,
		unloaded: later || d.loaderRefused(),
	})
	if err != nil {
		return nil, err
	}
	if err := d.prepare(ctx); err != nil {
		return nil, sandbox.Unmade(err)
	}
	if err := d.mountTrees(ctx, spec, p); err != nil {
		return nil, sandbox.Unmade(fmt.Errorf("create cell %s: %w", spec.Name, err))
	}
	d.describe(p, spec)
	s := d.pods.follow(spec.Name)
	pod, err := d.makePod(ctx, p.pod)
	if err != nil {
		d.pods.leave(spec.Name, s)
		return nil, err
	}
	s.made(pod)
	p.hello.Key = seal.NewKey()
	c := newCell(d, pod, s, p)
	c.later = later
	if err := d.awaitGate(ctx, spec, c); err != nil {
		err = fmt.Errorf("create cell %s: %w", spec.Name, err)
		c.quit()
		gone := d.undo(ctx, pod)
		d.pods.leave(spec.Name, s)
		c.work.Wait()
		if c.refusedLoader() && gone { // its name is free again
			return d.create(ctx, spec, later)
		}
		if gone {
			err = sandbox.Unmade(err)
		}
		return nil, err
	}
	return c, nil
}

// The user ids of cells: so many that no two cells of a node have one, whichever supervisor made them. What they read belongs to
// ownerUID, as whom nothing of theirs runs.
const (
	ownerUID = FirstUID - 1
	FirstUID = 1 << 30
	LastUID  = FirstUID + countUID - 1
	countUID = 1 << 30
)

func newUID() int64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return FirstUID + int64(binary.BigEndian.Uint32(b[:])%countUID)
}

// annotationUnenforced says of a pod which controls it lacks, which the operator has accepted.
const annotationUnenforced = "hotcell.unenforced"

// annotationNonce tells a pod from another of its name.
const annotationNonce = "hotcell.nonce"

// describe adds who the pod belongs to, and when it is garbage.
func (d *Driver) describe(p *plan, spec *sandbox.Spec) {
	said := map[string]string{}
	maps.Copy(said, spec.Labels)
	said[sandbox.LabelManaged], said[sandbox.LabelInstance], said[sandbox.LabelKind] = "1", d.instance, kindCell
	p.pod.Labels = map[string]string{}
	for key, value := range said {
		p.pod.Labels[key] = labelValue(value)
	}
	p.pod.Annotations = maps.Clone(said)
	p.pod.Annotations[annotationNonce] = rand.Text()
	if len(p.without) > 0 {
		p.pod.Annotations[annotationUnenforced] = strings.Join(p.without, ",")
	}
	p.pod.OwnerReferences = d.ownedBy()
	if unix, err := strconv.ParseInt(said[sandbox.LabelExpires], 10, 64); err == nil {
		left := max(int64(time.Until(time.Unix(unix, 0)).Seconds()), 1)
		p.pod.Spec.ActiveDeadlineSeconds = &left
	}
}

// makePod makes the pod, or nothing: one whose making was not acknowledged is looked for and removed.
func (d *Driver) makePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	made := &corev1.Pod{}
	err := d.api.post(ctx, d.api.in(core, "pods"), pod, made)
	if err == nil {
		return made, nil
	}
	said := d.explain(ctx, "create pod "+pod.Name, err)
	if refused(err) {
		if class := pod.Spec.RuntimeClassName; class != nil {
			if err := classRefused(*class, err); errors.Is(err, sandbox.ErrUnsupported) {
				said = err
			}
		}
		return nil, sandbox.Unmade(said)
	}
	name, nonce := pod.Name, pod.Annotations[annotationNonce]
	_ = d.late(func(ctx context.Context) { d.dropLost(ctx, name, nonce) })
	return nil, said
}

// How long to look for a pod whose making was not acknowledged.
var lostPauses = []time.Duration{0, 200 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second}

func (d *Driver) dropLost(ctx context.Context, name, nonce string) {
	for _, pause := range lostPauses {
		if sleep(ctx, pause) != nil {
			return
		}
		var pod corev1.Pod
		if d.api.get(ctx, d.api.in(core, "pods", name), nil, &pod) != nil {
			continue
		}
		if pod.Annotations[annotationNonce] == nonce {
			if err := d.destroyPod(ctx, name, string(pod.UID), nil); err != nil {
				d.log.Warn("pod is left behind", "pod", name, "err", err)
			}
		}
		return
	}
}

// awaitGate returns when the pod's gate waits, in the image that the spec means.
func (d *Driver) awaitGate(ctx context.Context, spec *sandbox.Spec, c *cell) (err error) {
	s, a := c.seen, c.approach(ctx)
	defer func() { a.end(err == nil) }()
	up, reached := a.up, false
	var loads <-chan time.Time // how long a loader that runs may yet take
	late := time.NewTimer(d.limits.Ready)
	defer late.Stop()
	placed := time.NewTimer(d.limits.Schedule)
	defer placed.Stop()
	look := time.NewTicker(lookAtNode)
	defer look.Stop()
	var why error // it is unplaced
	for {
		pod, gone := s.look()
		if gone || pod.DeletionTimestamp != nil {
			return d.deleted(pod)
		}
		at, err := progress(pod)
		switch {
		case at == running && (c.load == nil || reached):
			return d.sameImage(spec.Image, pod)
		case at == running && loads == nil:
			placed.Stop()
			loads = time.After(loaderGrace)
		case at == over:
			return d.called(spec.Image, err)
		case at == waiting && pod.Spec.NodeName != "":
			placed.Stop()
		}
		why = err
		if !c.later {
			a.look(pod)
		}
		select {
		case <-s.changed:
		case <-look.C:
			if err := d.nodeGone(ctx, pod); err != nil {
				return err
			}
		case <-up:
			if d.pinned(spec.Image) {
				return nil
			}
			up, reached = nil, true
		case <-loads:
			return d.sameImage(spec.Image, pod)
		case <-placed.C:
			if why == nil {
				why = fmt.Errorf("the cluster's scheduler has not looked at it within %v: %w", d.limits.Schedule, sandbox.ErrUnavailable)
			}
			return why
		case <-late.C:
			return fmt.Errorf("it has not come up within %v%s: %w", d.limits.Ready, d.lastWarning(ctx, pod), sandbox.ErrUnavailable)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lookAtNode is how often the node of a pod that does not come up is asked for.
const lookAtNode = 5 * time.Second

// called adds an image's name to why a node does not have it, where the pod has its content id alone.
func (d *Driver) called(i sandbox.Image, err error) error {
	if d.never && i.Digest == "" && i.Ref != "" && errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("image %s: %w", i.Ref, err)
	}
	return err
}

// deleted is for a pod that somebody else has removed.
func (d *Driver) deleted(pod *corev1.Pod) error {
	if err := disrupted(pod); err != nil {
		return err
	}
	d.ready.again() // somebody may have removed the owner of all of them
	return lostf(sandbox.LossDeleted, "its pod was deleted from the cluster at %s by somebody else", d.api.host)
}

// lastWarning is what the cluster last complained about a pod.
func (d *Driver) lastWarning(ctx context.Context, pod *corev1.Pod) string {
	var events corev1.EventList
	err := d.api.get(ctx, d.api.in(core, "events"), url.Values{"fieldSelector": {"involvedObject.uid=" + string(pod.UID) + ",type=Warning"}}, &events)
	if err != nil || len(events.Items) == 0 {
		return ""
	}
	last := events.Items[len(events.Items)-1]
	return " (" + last.Reason + ": " + oneLine(last.Message) + ")"
}

// isEmpty reports whether the runner's image stands in for one.
func (d *Driver) isEmpty(i sandbox.Image) bool { return slices.Contains(d.empty, i.ID) }

// sameImage compares what the node runs with what is meant: a reference may name something else there. What a node says of an
// image is its content id, or a digest of a registry.
func (d *Driver) sameImage(want sandbox.Image, pod *corev1.Pod) error {
	if d.isEmpty(want) || d.never && want.Digest == "" { // the pod names it by its content
		return nil
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name != cellContainer {
			continue
		}
		_, has, _ := strings.Cut("@"+s.ImageID, "@")
		if i := strings.LastIndexByte(s.ImageID, '@'); i >= 0 {
			has = s.ImageID[i+1:]
		}
		_, digest, _ := strings.Cut(want.Digest, "@")
		if want.Ref == "" || slices.Contains([]string{want.ID, digest}, has) {
			return nil
		}
		return fmt.Errorf("node %s has another image under the name %s: %s, expected %s: %w", pod.Spec.NodeName, want.Ref, has, cmpWords(digest, want.ID), sandbox.ErrNotFound)
	}
	return errors.New("the pod's status has no container")
}

// undo removes a pod that is nobody's, whatever has become of ctx, and reports whether it is known to be gone.
func (d *Driver) undo(ctx context.Context, pod *corev1.Pod) bool {
	name, uid := pod.Name, string(pod.UID)
	s := d.pods.find(name)
	done := make(chan error, 1)
	if d.late(func(ctx context.Context) {
		err := d.destroyPod(ctx, name, uid, s)
		if err != nil {
			d.log.Warn("pod is left behind", "pod", name, "err", err)
		}
		done <- err
	}) != nil {
		return false
	}
	select {
	case err := <-done:
		return err == nil
	case <-ctx.Done():
		return false
	}
}

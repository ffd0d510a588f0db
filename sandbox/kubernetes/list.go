package kubernetes

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
)

// The kinds of things that this driver makes, values of [sandbox.LabelKind].
const (
	kindCell     = "cell"
	kindVolume   = "volume"   // a tree, in ConfigMaps
	kindInstance = "instance" // the ConfigMap that owns a supervisor's pods
)

// List returns the pods, the trees and the owners of pods with hotcell's labels in all namespaces, of every instance.
func (d *Driver) List(ctx context.Context) ([]sandbox.Listed, error) {
	var all []sandbox.Listed
	for _, in := range d.everywhere() {
		some, err := in.list(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// list is List for one namespace. A tenant's that may not be looked at (any more) has nothing that could be removed, and does
// not keep that of others from it.
func (d *Driver) list(ctx context.Context) ([]sandbox.Listed, error) {
	var pods corev1.PodList
	if err := d.api.get(ctx, d.api.in(core, "pods"), url.Values{"labelSelector": {ofKinds(kindCell)}}, &pods); err != nil {
		if d.tenant != "" && apierrors.IsForbidden(err) {
			if !d.shut.Swap(true) {
				d.log.Warn("a tenant's namespace cannot be looked at, and what is left behind there is not removed", "tenant", d.tenant, "namespace", d.api.namespace, "error", words(err))
			}
			return nil, nil
		}
		return nil, d.explain(ctx, "list pods", err)
	}
	d.shut.Store(false)
	var maps metav1.PartialObjectMetadataList
	if err := d.api.metas(ctx, d.api.in(core, "configmaps"), url.Values{"labelSelector": {ofKinds(kindVolume, kindInstance)}}, &maps); err != nil {
		return nil, d.explain(ctx, "list trees", err)
	}
	var out []sandbox.Listed
	for i := range pods.Items {
		p := &pods.Items[i]
		out = append(out, sandbox.Listed{
			ID: d.idOf(p.Name, string(p.UID)), Kind: kindCell, Name: p.Name, State: stateOf(p), Labels: own(p.Annotations), Created: p.CreationTimestamp.Time,
		})
	}
	return append(out, listMaps(d.prefix(), maps.Items)...), nil
}

// ofKinds selects what hotcell has made of some kinds.
func ofKinds(kinds ...string) string {
	return sandbox.LabelManaged + "=1," + sandbox.LabelKind + " in (" + strings.Join(kinds, ",") + ")"
}

// listMaps are the trees, one for all its parts, and the owners. A tree that a supervisor did not live to complete, or to remove, is
// one, too.
func listMaps(prefix string, items []metav1.PartialObjectMetadata) []sandbox.Listed {
	var out []sandbox.Listed
	seen := map[string]bool{}
	for i := range items {
		m := &items[i]
		l := sandbox.Listed{ID: m.Name, Kind: m.Labels[sandbox.LabelKind], Name: m.Name, Labels: own(m.Annotations), Created: m.CreationTimestamp.Time}
		if l.Kind == kindVolume {
			last := strings.LastIndexByte(m.Name, '-')
			if last < 0 || seen[m.Name[:last]] {
				continue
			}
			l.ID, l.Name, l.Tree = m.Name[:last], m.Name[:last], m.Labels[labelTree]
			seen[l.ID] = true
		}
		l.ID = prefix + l.ID
		l.Labels[sandbox.LabelManaged], l.Labels[sandbox.LabelKind] = "1", l.Kind
		out = append(out, l)
	}
	return out
}

// own are hotcell's annotations, which hold what labels cannot.
func own(all map[string]string) map[string]string {
	l := make(map[string]string)
	for key, value := range all {
		if strings.HasPrefix(key, "hotcell.") && value != "" && key != annotationNonce {
			l[key] = value
		}
	}
	return l
}

// stateOf is a pod's phase in the contract's words. A gate that waits runs, for a cluster.
func stateOf(p *corev1.Pod) string {
	switch {
	case p.DeletionTimestamp != nil:
		return "removing"
	case p.Status.Phase == corev1.PodRunning:
		return "running"
	case p.Status.Phase == corev1.PodSucceeded, p.Status.Phase == corev1.PodFailed:
		return "exited"
	}
	return "created"
}

// Remove destroys a listed thing by its id.
func (d *Driver) Remove(ctx context.Context, id string) error {
	for _, in := range d.tenants {
		if its, ok := strings.CutPrefix(id, in.prefix()); ok {
			return in.remove(ctx, its)
		}
	}
	return d.remove(ctx, id)
}

// remove is Remove for one namespace, without the prefix.
func (d *Driver) remove(ctx context.Context, id string) error {
	name, uid, pod := strings.Cut(id, "/")
	switch {
	case pod && uid != "" && demands.Name.MatchString(name):
		return d.destroyPod(ctx, name, uid, nil)
	case strings.HasPrefix(id, "hotcell-tree-") && demands.Name.MatchString(id):
		return d.removeTree(ctx, id)
	case strings.HasPrefix(id, ownerPrefix) && demands.Name.MatchString(id):
		return d.removeOwner(ctx, id)
	}
	return fmt.Errorf("remove %q: %w", id, sandbox.ErrNotFound)
}

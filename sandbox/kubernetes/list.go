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
	kindCell   = "cell"
	kindVolume = "volume" // a tree, in ConfigMaps
)

// List returns the pods and trees with hotcell's labels in all namespaces, of every instance.
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
	selector := sandbox.LabelManaged + "=1," + sandbox.LabelKind + "="
	if err := d.api.get(ctx, d.api.in(core, "pods"), url.Values{"labelSelector": {selector + kindCell}}, &pods); err != nil {
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
	if err := d.api.metas(ctx, d.api.in(core, "configmaps"), url.Values{"labelSelector": {selector + kindVolume}}, &maps); err != nil {
		return nil, d.explain(ctx, "list trees", err)
	}
	var out []sandbox.Listed
	for i := range pods.Items {
		p := &pods.Items[i]
		out = append(out, sandbox.Listed{
			ID: d.idOf(p.Name, string(p.UID)), Kind: kindCell, Name: p.Name, State: stateOf(p), Labels: own(p.Annotations), Created: p.CreationTimestamp.Time,
		})
	}
	for i := range maps.Items {
		m := &maps.Items[i]
		tree, first := strings.CutSuffix(m.Name, "-0")
		if !first {
			continue
		}
		labels := own(m.Annotations)
		labels[sandbox.LabelManaged], labels[sandbox.LabelKind] = "1", kindVolume
		out = append(out, sandbox.Listed{
			ID: d.prefix() + tree, Kind: kindVolume, Name: tree, Tree: m.Labels[labelTree], Labels: labels, Created: m.CreationTimestamp.Time,
		})
	}
	return out, nil
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
	}
	return fmt.Errorf("remove %q: %w", id, sandbox.ErrNotFound)
}

package kubernetes

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/sandbox"
)

// The kinds of things that this driver makes, values of [sandbox.LabelKind].
const (
	kindCell     = "cell"
	kindVolume   = "volume"   // a tree, in ConfigMaps
	kindInstance = "instance" // the ConfigMap that owns a supervisor's pods
)

// List returns the pods, the trees and the owners of pods with hotcell's labels in the namespace, of every instance.
func (d *Driver) List(ctx context.Context) ([]sandbox.Listed, error) {
	var pods corev1.PodList
	if err := d.api.get(ctx, d.api.in(core, "pods"), url.Values{"labelSelector": {ofKinds(kindCell)}}, &pods); err != nil {
		return nil, d.explain(ctx, "list pods", err)
	}
	var maps metav1.PartialObjectMetadataList
	if err := d.api.metas(ctx, d.api.in(core, "configmaps"), url.Values{"labelSelector": {ofKinds(kindVolume, kindInstance)}}, &maps); err != nil {
		return nil, d.explain(ctx, "list trees", err)
	}
	var out []sandbox.Listed
	for i := range pods.Items {
		p := &pods.Items[i]
		out = append(out, sandbox.Listed{
			ID: idOf(p.Name, string(p.UID)), Kind: kindCell, Name: p.Name, State: stateOf(p), Labels: own(p.Annotations), Created: p.CreationTimestamp.Time,
		})
	}
	return append(out, listMaps(maps.Items)...), nil
}

// ofKinds selects what hotcell has made of some kinds.
func ofKinds(kinds ...string) string {
	return sandbox.LabelManaged + "=1," + sandbox.LabelKind + " in (" + strings.Join(kinds, ",") + ")"
}

// listMaps are the trees, one for all its parts, and the owners. A tree that a supervisor did not live to complete, or to remove, is
// one, too.
func listMaps(items []metav1.PartialObjectMetadata) []sandbox.Listed {
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
	name, uid, pod := strings.Cut(id, "/")
	switch {
	case pod && uid != "" && namePattern.MatchString(name):
		return d.destroyPod(ctx, name, uid, nil)
	case strings.HasPrefix(id, "hotcell-tree-") && namePattern.MatchString(id):
		return d.removeTree(ctx, id)
	case strings.HasPrefix(id, ownerPrefix) && namePattern.MatchString(id):
		return d.removeOwner(ctx, id)
	}
	return fmt.Errorf("remove %q: %w", id, sandbox.ErrNotFound)
}

package kubernetes

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
)

// The kinds of things that this driver makes, values of [sandbox.LabelKind].
const (
	kindCell   = "cell"
	kindVolume = "volume" // a tree, in ConfigMaps
)

// List returns the pods and trees with hotcell's labels in the namespace, of every instance.
func (d *Driver) List(ctx context.Context) ([]sandbox.Listed, error) {
	var pods corev1.PodList
	selector := sandbox.LabelManaged + "=1," + sandbox.LabelKind + "="
	if err := d.api.get(ctx, d.api.in(core, "pods"), url.Values{"labelSelector": {selector + kindCell}}, &pods); err != nil {
		return nil, d.explain(ctx, "list pods", err)
	}
	var maps metav1.PartialObjectMetadataList
	if err := d.api.metas(ctx, d.api.in(core, "configmaps"), url.Values{"labelSelector": {selector + kindVolume}}, &maps); err != nil {
		return nil, d.explain(ctx, "list trees", err)
	}
	var out []sandbox.Listed
	for i := range pods.Items {
		p := &pods.Items[i]
		out = append(out, sandbox.Listed{
			ID: idOf(p.Name, string(p.UID)), Kind: kindCell, Name: p.Name, State: stateOf(p), Labels: own(p.Annotations), Created: p.CreationTimestamp.Time,
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
			ID: tree, Kind: kindVolume, Name: tree, Tree: m.Labels[labelTree], Labels: labels, Created: m.CreationTimestamp.Time,
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
	name, uid, pod := strings.Cut(id, "/")
	switch {
	case pod && uid != "" && demands.Name.MatchString(name):
		return d.destroyPod(ctx, name, uid, nil)
	case strings.HasPrefix(id, "hotcell-tree-") && demands.Name.MatchString(id):
		return d.removeTree(ctx, id)
	}
	return fmt.Errorf("remove %q: %w", id, sandbox.ErrNotFound)
}

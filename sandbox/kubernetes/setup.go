package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hotcell/hotcell/sandbox"
)

// policyName is the NetworkPolicy that closes the network of all cells of a namespace.
const policyName = "hotcell-deny-all"

// prepare makes what each cell relies on, once, after a look at the bounds: the policy that closes the network, and the owner of this
// supervisor's pods.
func (d *Driver) prepare(ctx context.Context) error {
	return d.ready.do(ctx, func() error {
		if err := d.vouch(ctx); err != nil {
			return err
		}
		if err := d.closeNetwork(ctx); err != nil {
			return err
		}
		return d.ensureOwner(ctx)
	})
}

// closeNetwork makes the NetworkPolicy where it is not there, and looks whether one that is there closes the network. It is never widened
// by hotcell, and a cell's pod carries no label that an operator's own policies would ask for.
func (d *Driver) closeNetwork(ctx context.Context) error {
	path := d.api.in(networking, "networkpolicies")
	policy := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{Kind: "NetworkPolicy", APIVersion: "networking.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: policyName, Labels: map[string]string{sandbox.LabelManaged: "1"}},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{sandbox.LabelKind: kindCell}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	}
	err := d.api.post(ctx, path, policy, nil)
	if err == nil {
		return nil
	}
	var there networkingv1.NetworkPolicy
	switch readErr := d.api.get(ctx, path+"/"+policyName, nil, &there); {
	case readErr != nil && apierrors.IsAlreadyExists(err):
		return d.explain(ctx, "read NetworkPolicy "+policyName, readErr)
	case readErr != nil:
		return d.explain(ctx, "make NetworkPolicy "+policyName, err)
	case !closes(&there):
		return fmt.Errorf("NetworkPolicy %s in namespace %s lets something through: somebody else has made or changed it: delete it, and the next cell makes it anew: %w", policyName, d.api.namespace, sandbox.ErrUnavailable)
	}
	return nil // made before, or by whoever may
}

// ownerName is the ConfigMap that owns the pods of a supervisor: who deletes it deletes them all.
func (d *Driver) ownerName() string { return ownerPrefix + short(d.instance) }

const ownerPrefix = "hotcell-instance-"

func (d *Driver) ensureOwner(ctx context.Context) error {
	owner := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: d.ownerName(), Annotations: map[string]string{sandbox.LabelInstance: d.instance},
			Labels: map[string]string{sandbox.LabelManaged: "1", sandbox.LabelKind: kindInstance},
		},
	}
	err := d.api.post(ctx, d.api.in(core, "configmaps"), owner, owner)
	if apierrors.IsAlreadyExists(err) {
		err = d.api.get(ctx, d.api.in(core, "configmaps", owner.Name), nil, owner)
	}
	if err != nil {
		return d.explain(ctx, "make the owner of this supervisor's pods", err)
	}
	d.owner.Store(owner.UID)
	return nil
}

// How long the cluster's collector is given to remove the pods of a supervisor whose owner is gone, and how often it is looked.
const (
	collectLimit = 3 * time.Second
	collectPause = 200 * time.Millisecond
)

// removeOwner removes the ConfigMap of a supervisor that is gone, and waits a while for the cluster to collect the pods of its that there
// still are: all at once, which one deletion after the other is not.
func (d *Driver) removeOwner(ctx context.Context, name string) error {
	err := d.api.remove(ctx, d.api.in(core, "configmaps", name), "", nil)
	if err != nil && !apierrors.IsNotFound(err) {
		return d.explain(ctx, "remove "+name, err)
	}
	for until := time.Now().Add(collectLimit); time.Now().Before(until); {
		if owns, err := d.owns(ctx, name); err != nil || !owns {
			return err
		}
		if err := sleep(ctx, collectPause); err != nil {
			return err
		}
	}
	return nil
}

// owns reports whether there are pods of an owner.
func (d *Driver) owns(ctx context.Context, name string) (bool, error) {
	var pods metav1.PartialObjectMetadataList
	if err := d.api.metas(ctx, d.api.in(core, "pods"), url.Values{"labelSelector": {ofKinds(kindCell)}}, &pods); err != nil {
		return false, d.explain(ctx, "list pods", err)
	}
	return slices.ContainsFunc(pods.Items, func(p metav1.PartialObjectMetadata) bool {
		return slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Name == name })
	}), nil
}

// disown removes this supervisor's own, where it has made one and no pod of it is left.
func (d *Driver) disown(ctx context.Context) error {
	if len(d.ownedBy()) == 0 {
		return nil
	}
	if owns, err := d.owns(ctx, d.ownerName()); err != nil || owns {
		return err
	}
	return d.removeOwner(ctx, d.ownerName())
}

// ownedBy is the reference by which a cluster collects a pod whose owner is gone.
func (d *Driver) ownedBy() []metav1.OwnerReference {
	uid, _ := d.owner.Load().(types.UID)
	if uid == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: d.ownerName(), UID: uid}}
}

var labelPattern = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`)

// labelValue is a value as labels can have it: one that they cannot becomes its digest.
func labelValue(v string) string {
	if labelPattern.MatchString(v) {
		return v
	}
	return short(v)
}

// short is a name's digest, short enough to read.
func short(v string) string {
	sum := sha256.Sum256([]byte(v))
	return hex.EncodeToString(sum[:8])
}

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/sandbox"
)

var _ sandbox.Checker = (*Driver)(nil)

// of returns the driver of a tenant's namespace; "" has that of all others.
func (d *Driver) of(tenant string) (*Driver, error) {
	if tenant == d.tenant {
		return d, nil
	}
	if in := d.tenants[tenant]; in != nil {
		return in, nil
	}
	return nil, unsupported("tenant %.60q: has no namespace: expected one in kubernetes.tenants", tenant)
}

// everywhere returns the drivers of all namespaces.
func (d *Driver) everywhere() []*Driver {
	all := []*Driver{d}
	for _, tenant := range slices.Sorted(maps.Keys(d.tenants)) {
		all = append(all, d.tenants[tenant])
	}
	return all
}

// idOf names a pod among those of all namespaces, and which one of its name it is.
func (d *Driver) idOf(name, uid string) string { return d.prefix() + name + "/" + uid }

// prefix is before the ids of what is in a tenant's namespace. No name has a colon.
func (d *Driver) prefix() string {
	if d.tenant == "" {
		return ""
	}
	return d.api.namespace + ":"
}

// setting is where the configuration names the namespace.
func (d *Driver) setting() string {
	if d.tenant == "" {
		return "kubernetes.namespace"
	}
	return "kubernetes.tenants." + d.tenant + ".namespace"
}

// Check implements [sandbox.Checker]: where tenants are kept apart, each namespace of cells takes restricted pods alone and has
// bounds. All that are not so are named.
func (d *Driver) Check(ctx context.Context) error {
	var all []error
	for _, in := range d.everywhere() {
		err := in.vouch(ctx)
		if errors.Is(err, sandbox.ErrUnavailable) {
			return err
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// askTenants looks whether each namespace is as it has to be.
func (d *Driver) askTenants(ctx context.Context, f *sandbox.ClusterFacts) {
	if !d.kept {
		return
	}
	for _, in := range d.everywhere() {
		t := sandbox.ClusterTenant{Tenant: in.tenant, Namespace: in.api.namespace}
		if err := in.vouch(ctx); err != nil {
			t.Fault = strings.TrimSuffix(strings.TrimSuffix(err.Error(), ": "+sandbox.ErrUnsupported.Error()), ": "+sandbox.ErrUnavailable.Error())
		}
		f.Tenants = append(f.Tenants, t)
	}
}

// vouch makes sure that the namespace is one of a tenant among others.
func (d *Driver) vouch(ctx context.Context) error {
	if !d.kept {
		return nil
	}
	what := fmt.Sprintf("namespace %s (%s)", d.api.namespace, d.setting())
	const help = "deploy/kubernetes/tenant makes one as it has to be"
	var namespace metav1.PartialObjectMetadata
	err := d.api.meta(ctx, core+"/namespaces/"+d.api.namespace, &namespace)
	switch {
	case apierrors.IsNotFound(err):
		return unsupported("%s: is not there: %s", what, help)
	case apierrors.IsForbidden(err):
		return unsupported("%s: is not there, or is one in which hotcell has no rights: %s: %s", what, words(err), help)
	case err != nil:
		return d.explain(ctx, "look at "+what, err)
	case namespace.DeletionTimestamp != nil:
		return unsupported("%s: is being deleted", what)
	}
	if got := namespace.Labels[labelEnforce]; got != levelRestricted {
		return unsupported("%s: its label %s is %q, expected %s: %s", what, labelEnforce, got, levelRestricted, help)
	}
	var quotas corev1.ResourceQuotaList
	if err := d.api.get(ctx, d.api.in(core, "resourcequotas"), nil, &quotas); err != nil {
		if apierrors.IsForbidden(err) {
			return unsupported("%s: hotcell has no right to list its quotas: %s: %s", what, words(err), help)
		}
		return d.explain(ctx, "list the quotas of "+what, err)
	}
	if missing := unbounded(quotas.Items); len(missing) > 0 {
		return unsupported("%s: no ResourceQuota bounds %s there, so that one tenant could take all of the cluster: %s", what, strings.Join(missing, " and "), help)
	}
	return nil
}

// unbounded returns which of memory and processors no quota bounds for cells, whose requests are their limits.
func unbounded(quotas []corev1.ResourceQuota) []string {
	var missing []string
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceCPU} {
		if !slices.ContainsFunc(quotas, func(q corev1.ResourceQuota) bool { return bounds(&q, name) }) {
			missing = append(missing, string(name))
		}
	}
	return missing
}

// bounds reports whether a quota holds for all cells and bounds a resource of them.
func bounds(q *corev1.ResourceQuota, name corev1.ResourceName) bool {
	all := q.Spec.ScopeSelector == nil && !slices.ContainsFunc(q.Spec.Scopes, func(s corev1.ResourceQuotaScope) bool { return s != corev1.ResourceQuotaScopeNotBestEffort })
	for _, key := range []corev1.ResourceName{name, "requests." + name, "limits." + name} {
		if _, there := q.Spec.Hard[key]; there && all {
			return true
		}
	}
	return false
}

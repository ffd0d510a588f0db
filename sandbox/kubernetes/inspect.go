package kubernetes

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hotcell/hotcell/sandbox"
)

var _ sandbox.ClusterInspector = (*Driver)(nil)

// InspectCluster implements [sandbox.ClusterInspector]. All but the first question are asked at once.
func (d *Driver) InspectCluster(ctx context.Context) (sandbox.ClusterFacts, error) {
	f := sandbox.ClusterFacts{Address: d.api.host, Namespace: d.api.namespace, RunnerImage: d.image}
	began := time.Now()
	version, err := d.version(ctx)
	if err != nil {
		return f, d.explain(ctx, "ask the cluster what it is", err)
	}
	f.Version, f.Took = version, time.Since(began)
	var all sync.WaitGroup
	for _, ask := range []func(context.Context, *sandbox.ClusterFacts){
		d.askAccount, d.askNodes, d.askRights, d.askSecurity, d.askQuota, d.askTenants, d.askClasses, d.askPolicy,
	} { // each has fields of its own
		all.Go(func() { ask(ctx, &f) })
	}
	all.Wait()
	return f, nil
}

// why is an error in words, without its category.
func (d *Driver) why(ctx context.Context, what string, err error) string {
	return strings.TrimSuffix(d.explain(ctx, what, err).Error(), ": "+sandbox.ErrUnavailable.Error())
}

// askAccount: whom does the cluster take this supervisor for? Older ones do not tell.
func (d *Driver) askAccount(ctx context.Context, f *sandbox.ClusterFacts) {
	var answer struct {
		Status struct {
			UserInfo struct {
				Username string `json:"username"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	review := map[string]any{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
	if d.api.post(ctx, "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, &answer) == nil {
		f.Account = answer.Status.UserInfo.Username
	}
}

func (d *Driver) askNodes(ctx context.Context, f *sandbox.ClusterFacts) {
	var nodes corev1.NodeList
	if err := d.api.get(ctx, core+"/nodes", nil, &nodes); err != nil {
		f.NodesFailed = d.why(ctx, "list the cluster's nodes", err)
		return
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		info := n.Status.NodeInfo
		closed := n.Spec.Unschedulable || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
		f.Nodes = append(f.Nodes, sandbox.ClusterNode{
			Name: n.Name, Arch: info.Architecture, Kernel: info.KernelVersion, Runtime: info.ContainerRuntimeVersion, System: info.OSImage,
			Ready: ready(n), Closed: closed || info.OperatingSystem != "linux",
		})
	}
}

func (d *Driver) askClasses(ctx context.Context, f *sandbox.ClusterFacts) {
	var classes nodev1.RuntimeClassList
	if err := d.api.get(ctx, runtimeClasses, nil, &classes); err != nil {
		f.ClassesFailed = d.why(ctx, "list runtime classes", err)
		return
	}
	f.Classes = make(map[string]string, len(classes.Items))
	for _, c := range classes.Items {
		f.Classes[c.Name] = c.Handler
	}
}

// askPolicy looks at the NetworkPolicy that closes the network of cells. Where there is none, the first cell makes it.
func (d *Driver) askPolicy(ctx context.Context, f *sandbox.ClusterFacts) {
	var p networkingv1.NetworkPolicy
	err := d.api.get(ctx, d.api.in(networking, "networkpolicies", policyName), url.Values{}, &p)
	switch {
	case apierrors.IsNotFound(err):
		f.DenyAll = "none"
	case err != nil:
		f.DenyAll = d.why(ctx, "read NetworkPolicy "+policyName, err)
	case closes(&p):
		f.DenyAll = "there"
	default:
		f.DenyAll = "open"
	}
}

// closes reports whether a policy lets nothing in or out of cells.
func closes(p *networkingv1.NetworkPolicy) bool {
	s := p.Spec
	for key, value := range s.PodSelector.MatchLabels {
		if key != sandbox.LabelKind || value != kindCell {
			return false
		}
	}
	return len(s.PodSelector.MatchExpressions) == 0 && len(s.Ingress) == 0 && len(s.Egress) == 0 &&
		slices.Contains(s.PolicyTypes, networkingv1.PolicyTypeIngress) && slices.Contains(s.PolicyTypes, networkingv1.PolicyTypeEgress)
}

// askQuota reads what the namespace may use. Of several quotas for one thing the tightest counts.
func (d *Driver) askQuota(ctx context.Context, f *sandbox.ClusterFacts) {
	var quotas corev1.ResourceQuotaList
	if err := d.api.get(ctx, d.api.in(core, "resourcequotas"), nil, &quotas); err != nil {
		f.Quota.Failed = d.why(ctx, "list resource quotas", err)
		return
	}
	tightest := map[string]sandbox.QuotaRow{}
	for _, q := range quotas.Items {
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue // not of all pods
		}
		for name, hard := range q.Status.Hard {
			used := q.Status.Used[name]
			row := sandbox.QuotaRow{Resource: string(name), Hard: hard.Value(), Used: used.Value(), Text: used.String() + " of " + hard.String()}
			if strings.HasSuffix(row.Resource, "cpu") {
				row.Hard, row.Used = hard.MilliValue(), used.MilliValue()
			}
			if before, ok := tightest[row.Resource]; !ok || row.Hard-row.Used < before.Hard-before.Used {
				tightest[row.Resource] = row
			}
		}
	}
	for _, row := range tightest {
		f.Quota.Rows = append(f.Quota.Rows, row)
	}
	slices.SortFunc(f.Quota.Rows, func(a, b sandbox.QuotaRow) int { return strings.Compare(a.Resource, b.Resource) })
}

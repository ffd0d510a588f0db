package kubernetes

import (
	"context"
	"net/url"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/sandbox"
)

// The levels of pod security.
const (
	levelRestricted = "restricted" // of pods that can do no harm
	levelBaseline   = "baseline"
	levelPrivileged = "privileged" // any pod is taken
)

// labelEnforce is the label by which a namespace says which pods it takes.
const labelEnforce = "pod-security.kubernetes.io/enforce"

// violation is how a cluster refuses a pod that is not restricted enough.
var violation = regexp.MustCompile(`violates PodSecurity "(restricted|baseline)[:"]`)

// askSecurity tries which pods the namespace takes. None is made: the cluster judges them and drops them.
func (d *Driver) askSecurity(ctx context.Context, f *sandbox.ClusterFacts) {
	var ns metav1.PartialObjectMetadata
	switch err := d.api.meta(ctx, core+"/namespaces/"+d.api.namespace, &ns); {
	case err == nil:
		f.PodSecurity.Label = ns.Labels[labelEnforce]
	case apierrors.IsNotFound(err):
		f.NoNamespace = true
		return
	}
	for _, try := range []struct {
		privileged bool
		passes     string // the level of a namespace that takes it, as far as that is known then
	}{{false, levelBaseline}, {true, levelPrivileged}} {
		err := d.dryRun(ctx, lax(try.privileged))
		switch {
		case err != nil && violation.MatchString(err.Error()):
			f.PodSecurity.Level = violation.FindStringSubmatch(err.Error())[1]
			return
		case apierrors.IsNotFound(err):
			f.NoNamespace = true
			return
		case err == nil, isQuota(err): // quotas are asked after pod security
			f.PodSecurity.Level = try.passes
		default:
			f.PodSecurity.Level, f.PodSecurity.Failed = "", d.why(ctx, "try which pods the namespace takes", err)
			return
		}
	}
}

// dryRun has the cluster judge a pod without making it.
func (d *Driver) dryRun(ctx context.Context, pod map[string]any) error {
	req := d.api.client.Post().AbsPath(d.api.in(core, "pods"))
	return d.api.do(ctx, req, url.Values{"dryRun": {"All"}}, pod, nil, plainJSON)
}

var quotaWords = regexp.MustCompile(`exceeded quota|failed quota|(minimum|maximum) .* usage per`)

func isQuota(err error) bool {
	return apierrors.IsForbidden(err) && quotaWords.MatchString(err.Error())
}

// lax is a pod that a namespace for cells must not take.
func lax(privileged bool) map[string]any {
	c := map[string]any{
		"name": "c", "image": "hotcell.invalid/none:1", "imagePullPolicy": "Never",
		"resources": map[string]any{"limits": map[string]any{"cpu": "1m", "memory": "1Mi", "ephemeral-storage": "1Mi"}},
	}
	if privileged {
		c["securityContext"] = map[string]any{"privileged": true}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"generateName": "hotcell-never-"},
		"spec": map[string]any{"containers": []any{c}, "automountServiceAccountToken": false},
	}
}

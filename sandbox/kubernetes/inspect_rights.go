package kubernetes

import (
	"context"
	"strings"
	"sync"

	"github.com/hotcell/hotcell/sandbox"
)

// right is a verb on a resource, in the namespace of cells or in the whole cluster.
type right struct {
	verbs             string // with blanks; each is asked for by itself
	group, resource   string
	sub, name         string
	cluster, optional bool
	why               string // what it is for, or what it would be good for
}

// needed are the rights that the driver uses. docs/kubernetes.md and deploy/kubernetes give these.
func needed() []right {
	return []right{
		{verbs: "create get list watch delete", resource: "pods", why: "cells are pods"},
		{verbs: "create get", resource: "pods", sub: "attach", why: "to speak with cells"},
		{verbs: "create get list delete", resource: "configmaps", why: "trees of skills, and owners of pods"},
		{verbs: "list", resource: "events", optional: true, why: "the cluster's own reasons"},
		{verbs: "list", resource: "resourcequotas", optional: true, why: "what bounds tenants, and what is left"},
		{verbs: "get", group: "networking.k8s.io", resource: "networkpolicies", name: policyName, why: "to know that cells have no network"},
		{verbs: "create", group: "networking.k8s.io", resource: "networkpolicies", optional: true, why: "to make " + policyName + " where it is missing"},
		{verbs: "get list", resource: "nodes", cluster: true, why: "what a cell may have, and whether its node is lost"},
		{verbs: "list", group: "node.k8s.io", resource: "runtimeclasses", cluster: true, optional: true, why: "names for messages"},
	}
}

// excessive are rights that nobody should have with the account of a supervisor: whoever takes its token has them, too.
func excessive() []right {
	return []right{
		{verbs: "*", group: "*", resource: "*", cluster: true, why: "everything, as cluster-admin"},
		{verbs: "get", resource: "secrets", why: "to read secrets"},
		{verbs: "list", resource: "secrets", cluster: true, why: "to read all secrets of the cluster"},
		{verbs: "create", resource: "pods", cluster: true, why: "to make pods in other namespaces"},
		{verbs: "create", resource: "pods", sub: "exec", why: "to run programs within cells"},
		{verbs: "get", resource: "nodes", sub: "proxy", cluster: true, why: "to command kubelets"},
		{verbs: "update delete", group: "networking.k8s.io", resource: "networkpolicies", why: "to open the network of cells"},
		{verbs: "update", resource: "namespaces", cluster: true, why: "to take away the label that restricts pods"},
		{verbs: "update delete", resource: "resourcequotas", why: "to take away bounds"},
		{verbs: "create", resource: "serviceaccounts", sub: "token", why: "to become another account"},
		{verbs: "create bind", group: "rbac.authorization.k8s.io", resource: "rolebindings", why: "to give itself more"},
		{verbs: "create bind", group: "rbac.authorization.k8s.io", resource: "clusterrolebindings", cluster: true, why: "to give itself more"},
		{verbs: "impersonate", resource: "users", cluster: true, why: "to act as anybody"},
	}
}

// askRights asks for each right by itself: a list of them all is not complete with every kind of authorizer.
func (d *Driver) askRights(ctx context.Context, f *sandbox.ClusterFacts) {
	var failed sync.Once
	ask := func(all []right) []sandbox.ClusterRight {
		var work sync.WaitGroup
		single := each(all)
		out := make([]sandbox.ClusterRight, len(single))
		for i, r := range single {
			work.Go(func() {
				allowed, err := d.may(ctx, r)
				out[i] = sandbox.ClusterRight{What: r.String(), For: r.why, Optional: r.optional, Allowed: allowed}
				if err != nil {
					out[i].Failed = words(err)
					failed.Do(func() { f.RightsFailed = d.why(ctx, "ask what this account may do", err) })
				}
			})
		}
		work.Wait()
		return out
	}
	f.Needed, f.Excess = ask(needed()), ask(excessive())
}

// each has one right for each verb.
func each(all []right) (single []right) {
	for _, r := range all {
		for verb := range strings.FieldsSeq(r.verbs) {
			one := r
			one.verbs = verb
			single = append(single, one)
		}
	}
	return single
}

// String is a right for people: "create pods/attach".
func (r right) String() string {
	text := r.verbs + " " + r.resource
	if r.sub != "" {
		text += "/" + r.sub
	}
	if r.name != "" {
		text += " " + r.name
	}
	if r.cluster {
		text += " (cluster)"
	}
	return text
}

// may asks the cluster whether this supervisor has a right.
func (d *Driver) may(ctx context.Context, r right) (bool, error) {
	attributes := map[string]any{"verb": r.verbs, "group": r.group, "resource": r.resource, "subresource": r.sub, "name": r.name}
	if !r.cluster {
		attributes["namespace"] = d.api.namespace
	}
	review := map[string]any{
		"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": map[string]any{"resourceAttributes": attributes},
	}
	var answer struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	if err := d.api.post(ctx, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, &answer); err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

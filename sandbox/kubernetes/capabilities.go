package kubernetes

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/sandbox"
)

// factsFor is how long facts about a cluster are believed.
const factsFor = 30 * time.Second

// facts are what the driver knows about its cluster.
type facts struct {
	caps   sandbox.Capabilities
	listed bool // caps.Runtimes are all that there are
}

// Capabilities asks the cluster what it is. Its processors and memory are those of the nodes that take cells. The answer may
// be half a minute old.
func (d *Driver) Capabilities(ctx context.Context) (sandbox.Capabilities, error) {
	f, err := d.learn(ctx, factsFor)
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	caps := f.caps
	caps.Runtimes = slices.Clone(caps.Runtimes)
	caps.Unenforced = d.unenforced()
	return caps, nil
}

// pingLimit bounds a [Driver.Ping].
const pingLimit = 2 * time.Second

// Ping implements [sandbox.Pinger].
func (d *Driver) Ping(ctx context.Context) error {
	op, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	_, err := d.version(op)
	if err != nil {
		d.facts.Put(nil)
	}
	return d.explain(ctx, "ask the cluster whether it lives", err)
}

func (d *Driver) version(ctx context.Context) (string, error) {
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := d.api.get(ctx, "/version", nil, &v); err != nil {
		return "", err
	}
	return v.GitVersion, nil
}

// learn returns facts that are at most maxAge old; 0 means as old as there are.
func (d *Driver) learn(ctx context.Context, maxAge time.Duration) (*facts, error) {
	if f := d.facts.Get(maxAge); f != nil {
		return f, nil
	}
	version, err := d.version(ctx)
	if err != nil {
		return nil, d.explain(ctx, "ask the cluster what it is", err)
	}
	var nodes corev1.NodeList
	if err := d.api.get(ctx, core+"/nodes", nil, &nodes); err != nil {
		return nil, d.explain(ctx, "list the cluster's nodes", err)
	}
	f := &facts{caps: capabilities(version, nodes.Items)}
	if f.caps.CPUs == 0 {
		return nil, fmt.Errorf("the cluster at %s has no node that is ready: %w", d.api.host, sandbox.ErrUnavailable)
	}
	var classes struct {
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := d.api.get(ctx, runtimeClasses, nil, &classes); err == nil { // or nobody knows, and the cluster decides
		f.listed = true
		for _, c := range classes.Items {
			f.caps.Runtimes = append(f.caps.Runtimes, c.Metadata.Name)
		}
		slices.Sort(f.caps.Runtimes)
	}
	d.facts.Put(f)
	return f, nil
}

// capabilities counts the nodes of the architecture that most of them have; where as many have another, this program's own.
func capabilities(version string, nodes []corev1.Node) sandbox.Capabilities {
	byArch := make(map[string][]corev1.Node)
	for _, n := range nodes {
		if n.Status.NodeInfo.OperatingSystem == "linux" && ready(&n) {
			arch := n.Status.NodeInfo.Architecture
			byArch[arch] = append(byArch[arch], n)
		}
	}
	caps := sandbox.Capabilities{Engine: "kubernetes " + strings.TrimPrefix(version, "v"), OS: "linux", OwnUsers: true}
	for arch, of := range byArch {
		if len(of) > len(byArch[caps.Arch]) || len(of) == len(byArch[caps.Arch]) && arch == runtime.GOARCH {
			caps.Arch = arch
		}
	}
	var milli int64
	for _, n := range byArch[caps.Arch] {
		milli += n.Status.Allocatable.Cpu().MilliValue()
		caps.Memory += n.Status.Allocatable.Memory().Value()
	}
	caps.CPUs = int(milli / 1000)
	return caps
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

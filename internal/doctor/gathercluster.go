package doctor

import (
	"context"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/sandbox"
)

// How long questions about a cluster may take, in which pods have to be started.
const (
	clusterTotal = 70 * time.Second // all together
	clusterAsk   = 20 * time.Second // what the API server answers
	clusterPods  = 60 * time.Second // the cells, from their images to their ends
)

// Cluster is what is known of a cluster on which cells are pods.
type Cluster struct {
	Facts    *sandbox.ClusterFacts // nil: none answered
	None     string                // why not, with what to do
	Network  sandbox.NetworkTry
	Said     bool     // kubernetes.network_policy says that NetworkPolicy is enforced
	Accepted []string // sandbox.accept_unenforced
}

// ClusterSources are the ways to ask about a cluster and this host.
type ClusterSources struct {
	Cluster func(context.Context) (sandbox.ClusterFacts, error)
	Network func(context.Context) (sandbox.NetworkTry, error) // makes cells
	Cell    func(context.Context) Cell                        // makes one
	Host    func(context.Context) Host
	Image   func(ctx context.Context, ref string) Image
	Pins    func(context.Context) (Pins, error)
	Things  func(context.Context) ([]sandbox.Listed, error)
	Owners  func() ([]instance.Info, error)
}

// GatherCluster asks everything about a cluster. It takes less than a minute and a half, whatever the cluster does.
func GatherCluster(ctx context.Context, set Settings, cluster Cluster, from ClusterSources) Facts {
	ctx, cancel := context.WithTimeoutCause(ctx, clusterTotal, errTotal)
	defer cancel()
	set.Driver = DriverKubernetes
	f := Facts{Settings: set, Cluster: cluster, Host: from.Host(ctx)}
	f.owners(Sources{Owners: from.Owners})
	if from.Cluster == nil {
		return f
	}
	facts, err := bounded(ctx, clusterAsk, from.Cluster)
	if err != nil {
		f.Cluster.None = reason(err)
		return f
	}
	f.Cluster.Facts = &facts
	shared := Sources{Image: from.Image, Pins: from.Pins}
	if !facts.NoNamespace {
		f.Left.Things, err = bounded(ctx, clusterAsk, from.Things)
		if err != nil {
			f.Left.Failed = reason(err)
		}
	}
	var all sync.WaitGroup
	if facts.NoNamespace {
		why := "there is no namespace for cells"
		f.Cluster.Network.Failed, f.Cell = why, Cell{Skipped: why}
	} else {
		all.Go(func() { f.network(ctx, from) })
		all.Go(func() { f.podCell(ctx, from) })
	}
	f.images(ctx, shared)
	f.pins(ctx, shared)
	all.Wait()
	return f
}

func (f *Facts) network(ctx context.Context, from ClusterSources) {
	try, err := bounded(ctx, clusterPods, from.Network)
	if err != nil {
		try.Failed = reason(err)
	}
	f.Cluster.Network = try
}

func (f *Facts) podCell(ctx context.Context, from ClusterSources) {
	cell, err := bounded(ctx, clusterPods, func(ctx context.Context) (Cell, error) { return from.Cell(ctx), nil })
	if err != nil {
		cell = Cell{Failed: reason(err)}
	}
	f.Cell = cell
}

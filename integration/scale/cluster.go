package scale

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// How long the driver of clusters waits for a place and for a start.
const (
	placeLimit = 30 * time.Second
	readyLimit = 2 * time.Minute
)

// cluster is nodes, the scheduler that places pods on them, and the kubelets that start these.
type cluster struct {
	costs     Costs
	scheduler *station
	starts    *gauge // of all kubelets
	places    *gauge

	mu      sync.Mutex
	rng     *rand.Rand
	nodes   []*node
	pending []*pod // that no node has room for, in the order of their turns
}

// node is one machine.
type node struct {
	kubelet *station
	used    int             // places
	cordon  bool            // gets no more pods
	down    chan struct{}   // closed once it does not answer any more
	lost    context.Context // ends once that is known
	know    context.CancelFunc
}

// pod is one that waits for a place.
type pod struct{ placed chan *node }

func newCluster(costs Costs, nodes int, seed uint64) *cluster {
	c := &cluster{
		costs: costs, scheduler: newStation(1, newGauge(1)), rng: rand.New(rand.NewPCG(seed, 1)),
		starts: newGauge(nodes * costs.Starts), places: newGauge(nodes * costs.Places),
	}
	for range nodes {
		n := &node{kubelet: newStation(costs.Starts, c.starts), down: make(chan struct{})}
		n.lost, n.know = context.WithCancel(context.Background())
		c.nodes = append(c.nodes, n)
	}
	return c
}

// place has the scheduler find a node for a pod. What it returns gives the place back.
func (c *cluster) place(ctx context.Context) (*node, error) {
	ctx, cancel := context.WithTimeout(ctx, placeLimit)
	defer cancel()
	if err := c.scheduler.use(ctx, c.costs.Schedule); err != nil {
		return nil, fmt.Errorf("the scheduler has not looked at it within %v: %w", placeLimit, sandbox.ErrUnavailable)
	}
	c.mu.Lock()
	n := c.pick()
	if n != nil {
		c.mu.Unlock()
		return n, nil
	}
	p := &pod{placed: make(chan *node, 1)}
	c.pending = append(c.pending, p)
	c.mu.Unlock()
	select {
	case n := <-p.placed:
		return n, nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	for i, other := range c.pending {
		if other == p {
			c.pending = append(c.pending[:i], c.pending[i+1:]...)
			break
		}
	}
	c.mu.Unlock()
	select {
	case n := <-p.placed:
		c.free(n)
	default:
	}
	return nil, fmt.Errorf("no node has room within %v: %w", placeLimit, sandbox.ErrUnavailable)
}

// pick takes a place: the emptier of two nodes, or of all where both are full. The caller holds mu.
func (c *cluster) pick() *node {
	var best *node
	better := func(n *node) {
		if !n.cordon && n.used < c.costs.Places && (best == nil || n.used < best.used) {
			best = n
		}
	}
	better(c.nodes[c.rng.IntN(len(c.nodes))])
	better(c.nodes[c.rng.IntN(len(c.nodes))])
	for i := 0; best == nil && i < len(c.nodes); i++ {
		better(c.nodes[i])
	}
	if best != nil {
		best.used++
		c.places.add(1)
	}
	return best
}

// free gives a place back, to the next pod that waits for one.
func (c *cluster) free(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.used--
	c.places.add(-1)
	if len(c.pending) == 0 {
		return
	}
	if next := c.pick(); next != nil {
		c.pending[0].placed <- next
		c.pending = c.pending[1:]
	}
}

// start has a node's kubelet start a pod.
func (c *cluster) start(ctx context.Context, n *node, took time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	err := n.kubelet.use(ctx, took)
	select {
	case <-n.down:
		<-ctx.Done()
		err = context.Cause(ctx)
	default:
	}
	if err != nil {
		return fmt.Errorf("it has not come up: %w", sandbox.ErrUnavailable)
	}
	return nil
}

// fail ends a share of the nodes: at once for whoever is on them, and later for those who need to know.
func (c *cluster) fail(share float64) (failed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	failed = int(share * float64(len(c.nodes)))
	for _, i := range c.rng.Perm(len(c.nodes))[:failed] {
		n := c.nodes[i]
		close(n.down)
		time.AfterFunc(c.costs.NotReady, func() {
			c.mu.Lock()
			n.cordon = true
			c.mu.Unlock()
			n.know()
		})
	}
	return failed
}

// taken is how many places are taken, and whether a node has more than it may.
func (c *cluster) taken() (used int, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		used += n.used
		over = over || n.used > c.costs.Places || n.used < 0
	}
	return used, over
}

// spread draws a time whose middle is given, and which is twice that one time in twenty, and never more than three times.
func spread(rng *rand.Rand, middle time.Duration) time.Duration {
	return min(3*middle, time.Duration(float64(middle)*math.Exp(rng.NormFloat64()*math.Ln2/1.645)))
}

// drawn is spread for the nth of something, whatever the order in which they come.
func drawn(seed, stream, n uint64, middle time.Duration) time.Duration {
	return spread(rand.New(rand.NewPCG(seed^stream<<32, n)), middle)
}

package kubernetes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// How a network is tried.
const (
	tryFor      = 4 * time.Second // a network plugin may need a while until it knows a new pod
	tryPort     = 40123
	kubeletPort = 10250
	tryTidy     = 20 * time.Second // for cells to be gone, whatever has become of the context
	maxReach    = 64 << 10         // bytes of an answer
)

// TryNetwork implements [sandbox.ClusterInspector]. What runs in both cells is the runner's program, out of the runner's image.
func (d *Driver) TryNetwork(ctx context.Context, spec func() (*sandbox.Spec, error)) (try sandbox.NetworkTry, err error) {
	var both [2]*cell
	defer func() {
		if left := d.removeAll(ctx, both[:]); left != nil {
			try.Left = left.Error()
		}
	}()
	if err := d.createAll(ctx, both[:], spec); err != nil {
		return try, err
	}
	try.Came = true
	listener, dialler := both[0], both[1]
	word := rand.Text()
	if err := d.listen(ctx, listener, word); err != nil {
		return try, err
	}
	from, to := dialler.where(), listener.where()
	if !from.known() || !to.known() { // what is not tried would look closed
		return try, fmt.Errorf("the cluster does not say which addresses the cells and their nodes have: %w", sandbox.ErrUnavailable)
	}
	try.Node, try.Targets = from.node, d.targets(ctx, to, from)
	found, err := d.dial(ctx, dialler, word, try.Targets)
	if err != nil {
		return try, err
	}
	for i := range try.Targets {
		t := &try.Targets[i]
		tried, said := found[t.At]
		if !said {
			return try, fmt.Errorf("the cell that was to dial does not say whether it reached %s: %w", t.Name, sandbox.ErrUnavailable)
		}
		t.Reached = tried
		_, t.At, _ = strings.Cut(t.At, "/")
	}
	return try, nil
}

// createAll makes cells at the same time.
func (d *Driver) createAll(ctx context.Context, cells []*cell, spec func() (*sandbox.Spec, error)) error {
	errs := make([]error, len(cells))
	var work sync.WaitGroup
	for i := range cells {
		work.Go(func() {
			s, err := spec()
			if err != nil {
				errs[i] = err
				return
			}
			in, err := d.of(s.Tenant)
			if err != nil {
				errs[i] = err
				return
			}
			if cells[i], err = in.create(ctx, s, true); err != nil {
				errs[i] = errors.New(strings.TrimPrefix(err.Error(), "create cell "+s.Name+": ")) // nobody knows that name
			}
		})
	}
	work.Wait()
	for _, err := range errs {
		if err != nil {
			return err // both would say the same
		}
	}
	return nil
}

// removeAll destroys cells at the same time, also where nobody waits any more.
func (d *Driver) removeAll(ctx context.Context, cells []*cell) error {
	op, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryTidy)
	defer cancel()
	errs := make([]error, len(cells))
	var work sync.WaitGroup
	for i, c := range cells {
		if c != nil {
			work.Go(func() { errs[i] = c.Destroy(op) })
		}
	}
	work.Wait()
	return errors.Join(errs...)
}

// run starts the runner's program in a cell that has heard of nothing yet. What the cell's own spec says to run never runs.
func (c *cell) run(ctx context.Context, args ...string) error {
	c.hello.Runner, c.hello.Args = false, append([]string{gate.ImageProgram}, args...)
	return c.Start(ctx)
}

// listen has a cell listen.
func (d *Driver) listen(ctx context.Context, c *cell, word string) error {
	if err := c.run(ctx, wall.ListenFlag, strconv.Itoa(tryPort), word); err != nil {
		return err
	}
	first := make([]byte, 1)
	stop := context.AfterFunc(ctx, c.quit)
	defer stop()
	if _, err := c.Stdio().Stdout.Read(first); err != nil {
		return fmt.Errorf("the cell that was to listen does not: %s: %w", words(err), sandbox.ErrUnavailable)
	}
	return nil
}

// dial has a cell dial, and returns what it reached.
func (d *Driver) dial(ctx context.Context, c *cell, word string, targets []sandbox.TriedTarget) (wall.Reach, error) {
	args := []string{wall.ReachFlag, strconv.FormatInt(tryFor.Milliseconds(), 10), word}
	for _, t := range targets {
		args = append(args, t.At)
	}
	if err := c.run(ctx, args...); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, c.quit)
	defer stop()
	said, err := io.ReadAll(io.LimitReader(c.Stdio().Stdout, maxReach))
	found := wall.Reach{}
	if err == nil {
		err = json.Unmarshal(said, &found)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("the cell that was to dial does not say what it reached: %s: %w", words(err), sandbox.ErrUnavailable)
	}
	return found, nil
}

// spot is where a pod is.
type spot struct{ node, host, address string }

// known reports whether the cluster has said where.
func (s spot) known() bool {
	for _, text := range []string{s.host, s.address} {
		if _, err := netip.ParseAddr(text); err != nil {
			return false
		}
	}
	return s.node != ""
}

func (c *cell) where() spot {
	pod, _ := c.seen.look()
	return spot{node: pod.Spec.NodeName, host: pod.Status.HostIP, address: pod.Status.PodIP}
}

// targets are what a cell tries to reach. Each listens for sure.
func (d *Driver) targets(ctx context.Context, listener, dialler spot) []sandbox.TriedTarget {
	var all []sandbox.TriedTarget
	add := func(name, network, host string, port int) {
		if _, err := netip.ParseAddr(host); err == nil {
			all = append(all, sandbox.TriedTarget{Name: name, At: network + "/" + net.JoinHostPort(host, strconv.Itoa(port))})
		}
	}
	another := "another cell"
	if listener.node == dialler.node {
		another += " on its node"
	}
	add(another+" (TCP)", wall.ReachTCP, listener.address, tryPort)
	add(another+" (UDP)", wall.ReachUDP, listener.address, tryPort)
	add("its node's kubelet", wall.ReachOpen, dialler.host, kubeletPort)
	if listener.node != dialler.node {
		add("another node's kubelet", wall.ReachOpen, listener.host, kubeletPort)
	}
	host, port := d.apiServer(ctx)
	add("the API server", wall.ReachOpen, host, port)
	return all
}

// apiServer is where pods would reach the API server: where it says that it is, or else where this supervisor reaches it.
func (d *Driver) apiServer(ctx context.Context) (host string, port int) {
	var v struct {
		Servers []struct {
			Address string `json:"serverAddress"`
		} `json:"serverAddressByClientCIDRs"`
	}
	at := ""
	if d.api.get(ctx, "/api", nil, &v) == nil && len(v.Servers) > 0 {
		at = v.Servers[0].Address
	} else if u, err := url.Parse(d.api.host); err == nil {
		at = u.Host
	}
	host, text, err := net.SplitHostPort(at)
	if err != nil {
		host, text = at, "443"
	}
	port, _ = strconv.Atoi(text)
	return host, port
}

// Leave removes what a supervisor that ends for good has in the cluster beside cells: the owner of its pods, and with it
// whatever pods were left. Volumes stay.
func (d *Driver) Leave(ctx context.Context) error {
	return d.api.remove(ctx, d.api.in(core, "configmaps", d.ownerName()), "", nil)
}

package doctor

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/instance"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// clusters are the kinds of clusters that have golden files: by name, what differs from one on which all is well.
func clusters() map[string]func(*Facts) {
	return map[string]func(*Facts){
		"cluster":      func(*Facts) {},
		"cluster-open": openCluster,
		"cluster-lies": func(f *Facts) { reach(f, "another cell (TCP)", "the API server") },
		"cluster-late": func(f *Facts) {
			f.Cluster.Network.Targets[0].Reached = wall.Reached{Tries: 20, Got: 3, First: 2, Last: 640}
		},
		"cluster-unsaid":   func(f *Facts) { f.Cluster.Said, f.Cell.Lacks = false, append(f.Cell.Lacks, "network") },
		"cluster-refused":  refusedCluster,
		"cluster-gvisor":   gvisorCluster,
		"cluster-empty":    emptyCluster,
		"cluster-none":     func(f *Facts) { f.noCluster("no cluster is configured: set kubernetes.kubeconfig or KUBECONFIG") },
		"cluster-nowhere":  noNamespaceCluster,
		"cluster-unknown":  unknownCluster,
		"cluster-hostile":  hostileCluster,
		"cluster-unsealed": unsealedCluster,
		"cluster-tenants":  func(f *Facts) { f.Cluster.Facts.Tenants = tenantsOf("") },
		"cluster-untenanted": func(f *Facts) {
			f.Cluster.Facts.Tenants = tenantsOf("namespace hotcell-beta (kubernetes.tenants.beta.namespace): no ResourceQuota bounds memory there")
		},
	}
}

// onGoodCluster is a cluster as deploy/kubernetes makes it, with a network plugin that enforces NetworkPolicy.
func onGoodCluster() Facts {
	f := reference()
	f.Engine, f.NoEngine, f.Direct = nil, "", Direct{}
	f.Settings.Driver, f.Settings.MinUID, f.Settings.MaxUID = DriverKubernetes, 1<<30, 1<<31-1
	needed := []sandbox.ClusterRight{
		{What: "create pods", For: "cells are pods", Allowed: true},
		{What: "create networkpolicies", For: "to make hotcell-deny-all where it is missing", Optional: true},
	}
	excess := []sandbox.ClusterRight{{What: "* * (cluster)", For: "everything, as cluster-admin"}, {What: "get secrets", For: "to read secrets"}, {What: "create pods/exec", For: "to run programs within cells"}}
	f.Cluster = Cluster{
		Facts: &sandbox.ClusterFacts{
			Address: "https://10.0.0.1:6443", Took: 9 * time.Millisecond, Version: "v1.34.4", Account: "system:serviceaccount:hotcell-system:hotcell",
			Nodes: []sandbox.ClusterNode{
				{Name: "a", Arch: "amd64", Kernel: "6.12.1", Runtime: "containerd://2.2.1", Ready: true},
				{Name: "b", Arch: "amd64", Kernel: "6.12.1", Runtime: "containerd://2.2.1", Ready: true},
				{Name: "c", Arch: "amd64", Kernel: "6.12.1", Runtime: "containerd://2.2.1", Ready: true, Closed: true},
			},
			Namespace: "hotcell-cells", Needed: needed, Excess: excess, DenyAll: "there",
			PodSecurity: sandbox.PodSecurity{Level: "restricted"},
			Quota: sandbox.ClusterQuota{Rows: []sandbox.QuotaRow{
				{Resource: "configmaps", Hard: 1000, Used: 1000, Text: "1k of 1k"}, {Resource: "limits.memory", Hard: 100 << 30, Used: 1 << 30, Text: "1Gi of 100Gi"},
				{Resource: "pods", Hard: 100, Used: 4, Text: "4 of 100"}, {Resource: "requests.cpu", Hard: 100_000, Used: 2000, Text: "2 of 100"},
			}},
			Classes: map[string]string{"fast": "crun"}, RunnerImage: "registry.example/hotcell/runner:1",
		},
		Network: sandbox.NetworkTry{Came: true, Node: "a", Targets: []sandbox.TriedTarget{
			shut("another cell (TCP)", "10.1.2.3:40123"), shut("another cell (UDP)", "10.1.2.3:40123"), shut("its node's kubelet", "10.0.0.2:10250"), shut("the API server", "10.0.0.1:6443"),
		}},
		Said: true, Accepted: []string{"seccomp", "paths", "mounts"},
	}
	f.Cell.Image, f.Cell.Source, f.Cell.Lacks = "registry.example/hotcell/runner:1", sandbox.ConfidenceEngine, []string{"seccomp", "mounts", "paths"}
	p := f.Cell.Probe
	p.UID, p.GID, p.Groups = 1<<30+7, 1<<30+7, []int{1<<30 + 7}
	p.Interfaces, p.PIDs, p.UserPIDs = []string{"lo", "eth0"}, 28000, 48
	p.Mounts = append(p.Mounts, wall.ProbeMount{At: "/etc/hosts", Kind: "ext4", Denied: true}, wall.ProbeMount{At: "/dev/termination-log", Kind: "ext4"})
	return f
}

// tenantsOf are two, of which one has something wrong with it.
func tenantsOf(fault string) []sandbox.ClusterTenant {
	return []sandbox.ClusterTenant{
		{Namespace: "hotcell-cells"}, {Tenant: "acme", Namespace: "hotcell-acme"}, {Tenant: "beta", Namespace: "hotcell-beta", Fault: fault},
	}
}

func shut(name, at string) sandbox.TriedTarget {
	return sandbox.TriedTarget{Name: name, At: at, Reached: wall.Reached{Tries: 20, First: -1, Last: -1, Why: "connection timed out"}}
}

// reach has a cell reach some of its targets.
func reach(f *Facts, names ...string) {
	for i := range f.Cluster.Network.Targets {
		if t := &f.Cluster.Network.Targets[i]; slices.Contains(names, t.Name) {
			t.Reached = wall.Reached{Tries: 20, Got: 20, First: 1, Last: 4000, Open: true}
		}
	}
}

// openCluster is one for tests: an administrator's account, no quota, and NetworkPolicy that nobody enforces.
func openCluster(f *Facts) {
	for i := range f.Cluster.Facts.Excess {
		f.Cluster.Facts.Excess[i].Allowed = true
	}
	f.Cluster.Facts.Account, f.Cluster.Facts.Quota, f.Cluster.Facts.PodSecurity = "admin", sandbox.ClusterQuota{}, sandbox.PodSecurity{Level: "privileged"}
	f.Cluster.Said, f.Cluster.Accepted, f.Cell.Lacks = false, []string{"seccomp", "network", "paths", "mounts", "pids"}, []string{"seccomp", "mounts", "network", "paths"}
	f.Cell.Probe.Tries[wall.TryVsock] = ""
	reach(f, "another cell (TCP)", "another cell (UDP)", "its node's kubelet", "the API server")
}

// refusedCluster is one whose operator has accepted nothing, with an account that may hardly anything.
func refusedCluster(f *Facts) {
	openCluster(f)
	f.Cluster.Accepted = nil
	for i := range f.Cluster.Facts.Needed {
		f.Cluster.Facts.Needed[i].Allowed = false
	}
	f.Cluster.Facts.Excess[0].Allowed = false
	f.Cluster.Facts.Version, f.Cluster.Facts.PodSecurity = "v1.24.17", sandbox.PodSecurity{Label: "baseline", Level: "baseline"}
	f.Cluster.Facts.Quota.Rows = []sandbox.QuotaRow{{Resource: "pods", Hard: 4, Used: 4, Text: "4 of 4"}}
	f.Settings.Runtime = "gvisor"
}

func gvisorCluster(f *Facts) {
	gvisorCell(f)
	f.Settings.Runtime, f.Cluster.Facts.Classes = "gvisor", map[string]string{"gvisor": "runsc", "fast": "crun"}
	f.Cluster.Accepted, f.Cell.Lacks = append(f.Cluster.Accepted, "pids"), append(f.Cell.Lacks, "pids")
}

func gvisorCell(f *Facts) {
	p := f.Cell.Probe
	p.Memory, p.UserPIDs, p.CPU, p.Swap, p.Status["Seccomp"] = 0, -1, -1, -1, "0"
	p.Tries[wall.TryUserNS] = ""
}

// emptyCluster has no room: quotas are nearly used up, and no cell came up.
func emptyCluster(f *Facts) {
	f.Settings.MaxCells = 20
	f.Cluster.Facts.Quota.Rows[2] = sandbox.QuotaRow{Resource: "pods", Hard: 100, Used: 97, Text: "97 of 100"}
	f.Cluster.Facts.Nodes[0].Ready = false
	f.Cluster.Facts.Took = 3 * time.Second
	f.Cluster.Network = sandbox.NetworkTry{Failed: "its node does not get the runner's image r:1 (kubernetes.runner_image): not found", Left: "remove pod x: the cluster has not confirmed it"}
	f.Cell = Cell{Failed: "sandbox_crash: no node of the cluster takes it: 0/3 nodes are available"}
}

func (f *Facts) noCluster(why string) {
	f.Cluster.Facts, f.Cluster.None, f.Cluster.Network, f.Cell = nil, why, sandbox.NetworkTry{}, Cell{}
}

func noNamespaceCluster(f *Facts) {
	c := f.Cluster.Facts
	c.NoNamespace, c.PodSecurity, c.Quota, c.DenyAll = true, sandbox.PodSecurity{}, sandbox.ClusterQuota{}, "none"
	f.Cluster.Network, f.Cell = sandbox.NetworkTry{Failed: "there is no namespace for cells"}, Cell{Skipped: "there is no namespace for cells"}
}

// unknownCluster is one that answers little.
func unknownCluster(f *Facts) {
	const why = "the cluster at https://10.0.0.1:6443 refuses: forbidden"
	c := f.Cluster.Facts
	c.NodesFailed, c.RightsFailed, c.ClassesFailed, c.DenyAll, c.Account = "list the cluster's nodes: "+why, "ask what this account may do: "+why, "list runtime classes: "+why, why, ""
	c.Needed, c.Excess, c.Classes, c.Nodes = nil, nil, nil, nil
	c.PodSecurity, c.Quota = sandbox.PodSecurity{Failed: "try which pods the namespace takes: " + why}, sandbox.ClusterQuota{Failed: "list resource quotas: " + why}
	f.Cluster.Network = sandbox.NetworkTry{Failed: "list the cluster's nodes: " + why}
	f.Cell = Cell{Failed: "sandbox_crash: list the cluster's nodes: " + why}
	f.Left.Failed = "list pods: " + why
}

// hostileCluster is a cluster, a cell and a configuration that try to steer the terminal of who reads about them.
func hostileCluster(f *Facts) {
	const evil = "\x1b]0;owned\x07\x1b[2J1.0\r\n✓ cluster fine\u202e\u0085\x9b31m\xff"
	long := evil + strings.Repeat("x", 5000)
	c := f.Cluster.Facts
	for _, field := range []*string{&c.Address, &c.Version, &c.Account, &c.Namespace, &c.RunnerImage, &f.Cluster.Network.Node, &c.PodSecurity.Label} {
		*field = long
	}
	for i := range c.Nodes {
		c.Nodes[i] = sandbox.ClusterNode{Name: evil, Arch: evil, Kernel: long, Runtime: evil, Ready: true}
	}
	c.Needed[0] = sandbox.ClusterRight{What: evil, For: long}
	c.Excess[1] = sandbox.ClusterRight{What: evil, For: long, Allowed: true}
	c.Classes = map[string]string{evil: evil, long: evil}
	c.Quota.Rows[2].Resource, c.Quota.Rows[2].Text = "pods", long
	f.Cluster.Network.Targets[0] = sandbox.TriedTarget{Name: long, At: evil, Reached: wall.Reached{Open: true}}
	f.Cluster.Network.Left = long
	f.Cell.Lacks = []string{"seccomp", evil}
	f.Cell.Probe.Interfaces = []string{evil}
	f.Left.Things = []sandbox.Listed{{Kind: "cell", Name: evil, State: evil, Labels: map[string]string{sandbox.LabelInstance: evil}}}
}

// unsealedCluster is one whose pods can do more than they should.
func unsealedCluster(f *Facts) {
	f.Cluster.Facts.DenyAll = "open"
	p := f.Cell.Probe
	p.UID, p.Status["Seccomp"], p.UserPIDs = 65700, "0", 28000
	p.Mounts = append(p.Mounts, wall.ProbeMount{At: "/host", Kind: "ext4"}, wall.ProbeMount{At: "/etc/hosts", Kind: "ext4"})
	reach(f, "its node's kubelet")
}

func TestClusters(t *testing.T) {
	for name, change := range clusters() {
		t.Run(name, func(t *testing.T) {
			f := onGoodCluster()
			change(&f)
			r := Examine(f)
			var text strings.Builder
			if err := r.Print(&text, nil); err != nil {
				t.Fatal(err)
			}
			testutil.Golden(t, filepath.Join("testdata", name+".txt"), []byte(text.String()))
			wholeReport(t, name, r)
			got := slices.DeleteFunc(ids(r), func(id string) bool { return id == "probe-left" || id == "tenants" && len(f.Cluster.Facts.Tenants) > 0 })
			if want := ids(Examine(onGoodCluster())); !slices.Equal(got, want) {
				t.Errorf("checks %q, want %q", got, want)
			}
		})
	}
}

// On a cluster nobody answers for, nothing of it is called good.
func TestNothingIsGoodWithoutACluster(t *testing.T) {
	f := onGoodCluster()
	f.noCluster("no cluster is configured")
	for _, c := range Examine(f).Checks {
		if c.Level == OK && !slices.Contains([]string{"data-dir", "socket", "supervisors", "poisoned", "credentials"}, c.ID) {
			t.Errorf("%s is good: %s", c.ID, c.Found)
		}
	}
}

// answeringCluster are sources that all answer at once.
func answeringCluster() ClusterSources {
	f := onGoodCluster()
	return ClusterSources{
		Cluster: func(context.Context) (sandbox.ClusterFacts, error) { return *f.Cluster.Facts, nil },
		Network: func(context.Context) (sandbox.NetworkTry, error) { return f.Cluster.Network, nil },
		Cell:    func(context.Context) Cell { return f.Cell },
		Host:    func(context.Context) Host { return f.Host },
		Image:   func(context.Context, string) Image { return Image{ID: "sha256:1", Size: 1} },
		Pins:    func(context.Context) (Pins, error) { return Pins{}, nil },
		Things:  func(context.Context) ([]sandbox.Listed, error) { return nil, nil },
		Owners:  func() ([]instance.Info, error) { return nil, nil },
	}
}

// Whoever hangs, also against its context, the examination of a cluster ends within a minute and a half.
func TestWhoeverHangsOnACluster(t *testing.T) {
	deaf := make(chan struct{})
	for name, tt := range map[string]struct {
		change func(*ClusterSources)
		check  string
		level  Level
	}{
		"nobody": {func(*ClusterSources) {}, "network-policy", OK},
		"cluster": {func(s *ClusterSources) {
			s.Cluster = func(context.Context) (sandbox.ClusterFacts, error) { <-deaf; return sandbox.ClusterFacts{}, nil }
		}, "cluster", Fail},
		"network": {func(s *ClusterSources) {
			s.Network = func(context.Context) (sandbox.NetworkTry, error) { <-deaf; return sandbox.NetworkTry{}, nil }
		}, "network-policy", Skip},
		"all": {func(s *ClusterSources) {
			s.Network = func(context.Context) (sandbox.NetworkTry, error) { <-deaf; return sandbox.NetworkTry{}, nil }
			s.Cell = func(context.Context) Cell { <-deaf; return Cell{} }
			s.Image = func(context.Context, string) Image { <-deaf; return Image{} }
			s.Things = func(context.Context) ([]sandbox.Listed, error) { <-deaf; return nil, nil }
		}, "cell", Fail},
		"nothing is known": {func(s *ClusterSources) {
			s.Cluster = func(context.Context) (sandbox.ClusterFacts, error) { return sandbox.ClusterFacts{}, errors.New("dead") }
		}, "cluster", Fail},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				deaf = make(chan struct{})
				from := answeringCluster()
				tt.change(&from)
				began := time.Now()
				f := onGoodCluster()
				r := Examine(GatherCluster(t.Context(), f.Settings, Cluster{Said: true, Accepted: f.Cluster.Accepted}, from))
				if took := time.Since(began); took >= 75*time.Second {
					t.Errorf("it took %s", took)
				}
				close(deaf)
				if c := r.Check(tt.check); c.Level != tt.level {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}

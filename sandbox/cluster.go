package sandbox

import (
	"context"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// ClusterInspector is a driver whose cells are on a cluster that can say what it lets hotcell do, for people who ask what it
// can enforce.
type ClusterInspector interface {
	// InspectCluster asks, and changes nothing. It fails with ErrUnavailable where no cluster answers; what else is not
	// answered is said in the facts.
	InspectCluster(ctx context.Context) (ClusterFacts, error)
	// TryNetwork makes two cells just like the spec's, of which one dials the other, their node and the API server. Both
	// are gone when it returns, or an error says that they may not be.
	TryNetwork(ctx context.Context, spec func() (*Spec, error)) (NetworkTry, error)
}

// PodDisk is how much of its node's disk a pod may take: its trees, and what the kubelet keeps of its sealed output.
const PodDisk = 512 << 20

// ClusterFacts is what a cluster says about itself, and what it lets this supervisor do. Texts are as they came. Each part
// that is not known has a reason.
type ClusterFacts struct {
	Address string        // of the API server
	Took    time.Duration // until it had answered
	Version string        // "v1.34.4"
	Account string        // whom the cluster takes this supervisor for, "" where it does not tell

	Nodes       []ClusterNode
	NodesFailed string

	Namespace   string // of cells
	NoNamespace bool   // it is not there

	Needed       []ClusterRight // what the driver does
	Excess       []ClusterRight // the first one has all others in it: what it never does, and nobody should be able to with its account
	RightsFailed string

	PodSecurity PodSecurity
	Quota       ClusterQuota

	Tenants []ClusterTenant // where tenants are kept apart

	Classes       map[string]string // runtime class → handler
	ClassesFailed string

	DenyAll string // "there", "none" (the first cell makes it), "open" (it lets something through), or why it is not known

	RunnerImage string
}

// ClusterNode is a node that may take cells.
type ClusterNode struct {
	Name, Arch, Kernel, Runtime, System string // Runtime: "containerd://1.7.24"
	Ready                               bool
	Closed                              bool // cordoned, or tainted so that no cell gets there
}

// ClusterTenant is a namespace of cells among those of several tenants.
type ClusterTenant struct {
	Tenant, Namespace string // no tenant: all others
	Fault             string // why no cells are made there; "": they are
}

// ClusterRight is something that an account may do or not.
type ClusterRight struct {
	What     string // "create pods/attach", for people
	For      string // what it is for, or what it would be good for
	Optional bool   // the driver does without
	Allowed  bool
	Failed   string // why it is not known
}

// PodSecurity is what a namespace does with pods that are less restricted than cells, as it was tried without making any.
type PodSecurity struct {
	Label  string // the namespace's own, "" where it may not be read or has none
	Level  string // the level that is enforced: "restricted", "baseline", "privileged" (any pod is taken)
	Failed string // why that is not known
}

// ClusterQuota is what a namespace may use, and uses.
type ClusterQuota struct {
	Rows   []QuotaRow
	Failed string // why it is not known
}

// QuotaRow is one bound. Amounts are bytes, thousandths of a processor, or counts.
type QuotaRow struct {
	Resource   string // "pods", "limits.memory"
	Hard, Used int64
	Text       string // "3 of 100"
}

// NetworkTry is what a cell reached.
type NetworkTry struct {
	Came   bool   // both cells came up
	Node   string // of the one that dialled
	Failed string // why nothing is known
	Left   string // why a cell of the try may not be gone

	Targets []TriedTarget
}

// TriedTarget is one thing that a cell tried to reach.
type TriedTarget struct {
	Name string // "another cell (tcp)", "its node", "the API server"
	At   string // address
	wall.Reached
}

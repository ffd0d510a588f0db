package kubernetes

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
)

var runtimePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,126}[a-z0-9])?$`)

// identity: a fixed hostname, or the pod's name would show.
func (c *conversion) identity() error {
	hostname, err := c.left.Identity("its pod's name")
	if err != nil {
		return err
	}
	if c.spec.Runtime != "" {
		if !runtimePattern.MatchString(c.spec.Runtime) {
			return unsupported("runtime %q: expected the name of a RuntimeClass", c.spec.Runtime)
		}
		class := c.spec.Runtime
		c.pod.Spec.RuntimeClassName = &class
	}
	c.cell.Image = c.reference(c.spec.Image)
	if slices.Contains(c.empty, c.spec.Image.ID) {
		c.cell.Image = c.image
	}
	c.pod.Spec.Hostname = hostname
	return nil
}

// reference is what a node knows an image by: its digest where a registry has it, else its name; where nodes run what they have and
// nothing else, its content id.
func (c *conversion) reference(i sandbox.Image) string {
	if c.never {
		return cmp.Or(i.Digest, i.ID)
	}
	return cmp.Or(i.Digest, i.Ref, i.ID)
}

// variable is a name that the image may give to the gate, and that every cluster takes.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment is the gate's to set: neither the image nor the cluster adds to it, and the pod does not show it. The gate itself
// gets nothing from the image, which could bring it down.
func (c *conversion) environment() error {
	env, _, err := c.left.Environment()
	if err != nil {
		return err
	}
	c.hello.Env = slices.Clone(env)
	for _, entry := range c.spec.Image.Env {
		v := corev1.EnvVar{}
		if v.Name, _, _ = strings.Cut(entry, "="); variable.MatchString(v.Name) && !slices.Contains(c.cell.Env, v) {
			c.cell.Env = append(c.cell.Env, v)
		}
	}
	return nil
}

// user is a number that no other cell of the cluster has, in place of the spec's, which is one of a supervisor's own: what
// the kernel counts by user, it then counts by cell.
func (c *conversion) user() error {
	if _, _, err := c.left.User(); err != nil {
		return err
	}
	uid, gid, yes := c.uid, c.uid, true
	c.pod.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsUser: &uid, RunAsGroup: &gid, RunAsNonRoot: &yes,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	return nil
}

// privileges: no capability, and none to be gained.
func (c *conversion) privileges() error {
	oomScore, err := c.left.Privileges()
	if err != nil {
		return err
	}
	for _, k := range []*corev1.Container{&c.cell, &c.init} {
		yes, no := true, false
		k.SecurityContext = &corev1.SecurityContext{
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, AllowPrivilegeEscalation: &no, Privileged: &no,
			ReadOnlyRootFilesystem: &yes,
		}
	}
	if oomScore != nil {
		c.hello.OOMScore = *oomScore
	}
	return nil
}

// seccomp: a pod can name a profile that is a file on its node, and not bring one along.
func (c *conversion) seccomp() error {
	if _, err := c.left.Seccomp(); err != nil {
		return err
	}
	c.lacks(ControlSeccomp, "its node's own profile applies in place of hotcell's")
	return nil
}

// The kernel's numbers of resource limits.
var rlimits = map[string]int{
	"RLIMIT_CPU": 0, "RLIMIT_FSIZE": 1, "RLIMIT_DATA": 2, "RLIMIT_STACK": 3, "RLIMIT_CORE": 4, "RLIMIT_RSS": 5, "RLIMIT_NPROC": 6,
	"RLIMIT_NOFILE": 7, "RLIMIT_MEMLOCK": 8, "RLIMIT_LOCKS": 10, "RLIMIT_SIGPENDING": 11, "RLIMIT_MSGQUEUE": 12,
	"RLIMIT_NICE": 13, "RLIMIT_RTPRIO": 14, "RLIMIT_RTTIME": 15,
}

// rlimits are the gate's to set. That of a file's size keeps the file small that a kubelet gives each container to write
// its last words to, on the node's disk. It lies one page above the largest folder: a folder that is full is told as such first,
// and nobody dies of that.
func (c *conversion) rlimits() error {
	for _, r := range c.left.Process.Rlimits {
		number, ok := rlimits[r.Type]
		if !ok {
			return unsupported("process.rlimits: %s", r.Type)
		}
		c.hello.Limits = append(c.hello.Limits, seal.Limit{Resource: number, Soft: r.Soft, Hard: r.Hard})
	}
	c.left.Process.Rlimits = nil
	if !c.limited("RLIMIT_FSIZE") && c.largest > 0 {
		size := uint64(c.largest) + page
		c.hello.Limits = append(c.hello.Limits, seal.Limit{Resource: rlimits["RLIMIT_FSIZE"], Soft: size, Hard: size})
	}
	return nil
}

// page is the smallest piece of a file that takes room.
const page = 4096

func (c *conversion) limited(name string) bool {
	return slices.ContainsFunc(c.hello.Limits, func(l seal.Limit) bool { return l.Resource == rlimits[name] })
}

// pids: the gate bounds the processes of the cell's user, who has no others.
func (c *conversion) pids() error {
	limit, err := c.left.PIDs()
	if err != nil {
		return err
	}
	n := uint64(limit)
	c.hello.Limits = append(c.hello.Limits, seal.Limit{Resource: rlimits["RLIMIT_NPROC"], Soft: n, Hard: n})
	if c.spec.Runtime != "" {
		c.lacks(ControlPIDs, "runtime class "+c.spec.Runtime+" may not heed the limit of a user's processes")
	}
	return nil
}

// namespaces: all of them, each the pod's own. That of the network has an interface, which a NetworkPolicy closes.
func (c *conversion) namespaces() error {
	if err := c.left.Namespaces(); err != nil {
		return err
	}
	if !c.enforced {
		c.lacks(ControlNetwork, "whether this cluster enforces NetworkPolicy is not known: where it does, say so with kubernetes.network_policy: enforced")
	}
	return nil
}

// devices: the runtime's few harmless ones. A rule that denies all is what it does anyway.
func (c *conversion) devices() error {
	return c.left.Devices()
}

// plainPath is one that can also stand in what the init container is told.
func plainPath(p string) bool { return demands.CleanAbs(p) && !strings.ContainsAny(p, ":=") }

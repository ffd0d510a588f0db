package kubernetes

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

var (
	namePattern    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,126}[a-z0-9])?$`)
	runtimePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,126}[a-z0-9])?$`)
)

// identity: a fixed hostname, or the pod's name would show.
func (c *conversion) identity() error {
	if !namePattern.MatchString(c.spec.Name) {
		return unsupported("spec name %q: expected lower-case letters, digits and dashes", c.spec.Name)
	}
	if c.spec.Image.ID == "" {
		return unsupported("spec of %q: image id is empty", c.spec.Name)
	}
	if c.oci.Hostname == "" {
		return unsupported("hostname: must be set, or the cell would see its pod's name")
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
	c.pod.Spec.Hostname = c.oci.Hostname
	c.oci.Hostname, c.oci.Version = "", ""
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

// environment is the gate's to set: neither the image nor the cluster adds to it, and the pod does not show it.
func (c *conversion) environment() error {
	have := make(map[string]bool)
	for _, entry := range c.process.Env {
		key, _, ok := strings.Cut(entry, "=")
		if !ok || key == "" || strings.ContainsRune(entry, 0) {
			return unsupported("process.env %q: expected KEY=VALUE", key)
		}
		if have[key] {
			return unsupported("process.env: %s is there twice", key)
		}
		have[key] = true
	}
	c.hello.Env = slices.Clone(c.process.Env)
	c.process.Env = nil
	return nil
}

// user is a number that no other cell of the cluster has, in place of the spec's, which is one of a supervisor's own: what
// the kernel counts by user, it then counts by cell.
func (c *conversion) user() error {
	u := &c.process.User
	if u.UID == 0 || u.GID == 0 {
		return unsupported("process.user %d:%d: root is never used", u.UID, u.GID)
	}
	uid, gid, yes := c.uid, c.uid, true
	c.pod.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsUser: &uid, RunAsGroup: &gid, RunAsNonRoot: &yes,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	u.UID, u.GID = 0, 0
	return nil
}

// privileges: no capability, and none to be gained.
func (c *conversion) privileges() error {
	p := &c.process
	if !p.NoNewPrivileges {
		return unsupported("process.noNewPrivileges: must be true")
	}
	for _, k := range []*corev1.Container{&c.cell, &c.init} {
		yes, no := true, false
		k.SecurityContext = &corev1.SecurityContext{
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, AllowPrivilegeEscalation: &no, Privileged: &no,
			ReadOnlyRootFilesystem: &yes,
		}
	}
	if p.OOMScoreAdj != nil {
		c.hello.OOMScore = *p.OOMScoreAdj
	}
	p.NoNewPrivileges, p.OOMScoreAdj = false, nil
	return nil
}

// seccomp: a pod can name a profile that is a file on its node, and not bring one along.
func (c *conversion) seccomp() error {
	s := c.linux.Seccomp
	switch {
	case s == nil || s.DefaultAction == "":
		return unsupported("linux.seccomp: must be set with a default action")
	case len(s.Flags) > 0 || s.ListenerPath != "" || s.ListenerMetadata != "":
		return unsupported("linux.seccomp: flags and listeners")
	}
	c.lacks(ControlSeccomp, "its node's own profile applies in place of hotcell's")
	c.linux.Seccomp = nil
	return nil
}

// The kernel's numbers of resource limits.
var rlimits = map[string]int{
	"RLIMIT_CPU": 0, "RLIMIT_FSIZE": 1, "RLIMIT_DATA": 2, "RLIMIT_STACK": 3, "RLIMIT_CORE": 4, "RLIMIT_RSS": 5, "RLIMIT_NPROC": 6,
	"RLIMIT_NOFILE": 7, "RLIMIT_MEMLOCK": 8, "RLIMIT_LOCKS": 10, "RLIMIT_SIGPENDING": 11, "RLIMIT_MSGQUEUE": 12,
	"RLIMIT_NICE": 13, "RLIMIT_RTPRIO": 14, "RLIMIT_RTTIME": 15,
}

// rlimits are the gate's to set. That of a file's size keeps the file small that a kubelet gives each container to write
// its last words to, on the node's disk.
func (c *conversion) rlimits() error {
	for _, r := range c.process.Rlimits {
		number, ok := rlimits[r.Type]
		if !ok {
			return unsupported("process.rlimits: %s", r.Type)
		}
		c.hello.Limits = append(c.hello.Limits, seal.Limit{Resource: number, Soft: r.Soft, Hard: r.Hard})
	}
	c.process.Rlimits = nil
	if !c.limited("RLIMIT_FSIZE") && c.largest > 0 {
		size := uint64(c.largest)
		c.hello.Limits = append(c.hello.Limits, seal.Limit{Resource: rlimits["RLIMIT_FSIZE"], Soft: size, Hard: size})
	}
	return nil
}

func (c *conversion) limited(name string) bool {
	return slices.ContainsFunc(c.hello.Limits, func(l seal.Limit) bool { return l.Resource == rlimits[name] })
}

// pids: the gate bounds the processes of the cell's user, who has no others.
func (c *conversion) pids() error {
	p := c.linux.Resources.Pids
	if p == nil || p.Limit == nil || *p.Limit <= 0 {
		return unsupported("linux.resources.pids.limit: must be set")
	}
	n := uint64(*p.Limit)
	c.hello.Limits = append(c.hello.Limits, seal.Limit{Resource: rlimits["RLIMIT_NPROC"], Soft: n, Hard: n})
	if c.spec.Runtime != "" {
		c.lacks(ControlPIDs, "runtime class "+c.spec.Runtime+" may not heed the limit of a user's processes")
	}
	c.linux.Resources.Pids = nil
	return nil
}

// namespaces: all of them, each the pod's own. That of the network has an interface, which a NetworkPolicy closes.
func (c *conversion) namespaces() error {
	for _, kind := range []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.NetworkNamespace, specs.MountNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.CgroupNamespace,
	} {
		if !oneOf(c.linux.Namespaces, kind) {
			return unsupported("linux.namespaces: a cell has a %s namespace of its own", kind)
		}
	}
	if len(c.linux.Namespaces) > 6 {
		return unsupported("linux.namespaces: others than pid, network, mount, ipc, uts and cgroup")
	}
	if !c.enforced {
		c.lacks(ControlNetwork, "whether this cluster enforces NetworkPolicy is not known: where it does, say so with kubernetes.network_policy: enforced")
	}
	c.linux.Namespaces = nil
	return nil
}

// devices: the runtime's few harmless ones. A rule that denies all is what it does anyway.
func (c *conversion) devices() error {
	for _, d := range c.linux.Resources.Devices {
		if d.Allow {
			return unsupported("linux.resources.devices: allows %s %s", d.Type, d.Access)
		}
	}
	c.linux.Resources.Devices = nil
	return nil
}

func cleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsAny(p, "\x00:=")
}

// oneOf reports whether a namespace kind is in the list, and has no path.
func oneOf(list []specs.LinuxNamespace, kind specs.LinuxNamespaceType) bool {
	for _, ns := range list {
		if ns.Type == kind {
			return ns.Path == ""
		}
	}
	return false
}

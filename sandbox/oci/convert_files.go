package oci

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/sandbox/demands"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// root is never writable: it is the one tree of all cells of an image.
func (c *conversion) root() error {
	if !c.left.OCI.Root.Readonly {
		return unsupported("root.readonly: must be true: cells of an image share its tree")
	}
	c.out.Root = &specs.Root{Readonly: true}
	c.left.OCI.Root = nil
	return nil
}

// kernelFiles are what engines mount into every container, without terminals.
func (c *conversion) kernelFiles() error {
	c.out.Mounts = []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", "ro"}},
	}
	for _, m := range c.out.Mounts {
		if !kernels(m.Destination) {
			c.points = append(c.points, point{m.Destination, 0o755})
		}
	}
	return nil
}

// kernels reports whether a path lies in what the kernel or a runtime fills.
func kernels(path string) bool {
	return slices.ContainsFunc([]string{"/proc/", "/dev/", "/sys/"}, func(p string) bool { return strings.HasPrefix(path, p) })
}

// sharedMemory: no /dev/shm at all where the spec gives it no size.
func (c *conversion) sharedMemory() error {
	if c.spec.ShmSize > 0 {
		c.out.Mounts = append(c.out.Mounts, specs.Mount{
			Destination: "/dev/shm", Type: "tmpfs", Source: "shm",
			Options: []string{"nosuid", "noexec", "nodev", "mode=1777", fmt.Sprintf("size=%d", c.spec.ShmSize)},
		})
	}
	return nil
}

// tmpfs: the only mounts of a spec. Each has a size, since the kernel's default is half of the machine's memory.
func (c *conversion) tmpfs() error {
	seen := make(map[string]bool)
	for _, m := range c.left.OCI.Mounts {
		switch {
		case m.Type != "tmpfs" || len(m.UIDMappings)+len(m.GIDMappings) > 0:
			return unsupported("mount %s of type %q: only tmpfs", m.Destination, m.Type)
		case !demands.CleanAbs(m.Destination) || m.Destination == "/" || kernels(m.Destination+"/"):
			return unsupported("mount %q: expected a clean absolute path outside of /proc, /dev and /sys", m.Destination)
		case seen[m.Destination]:
			return unsupported("mount %s: is there twice", m.Destination)
		}
		seen[m.Destination] = true
		mode, sized := fs.FileMode(0o777)|fs.ModeSticky, false
		for _, option := range m.Options {
			if strings.Contains(option, ",") {
				return unsupported("mount %s: option %q", m.Destination, option)
			}
			sized = sized || strings.HasPrefix(option, "size=")
			if octal, ok := strings.CutPrefix(option, "mode="); ok {
				n, err := strconv.ParseUint(octal, 8, 12)
				if err != nil {
					return unsupported("mount %s: option %q", m.Destination, option)
				}
				mode = fs.FileMode(n & 0o777)
				if n&0o1000 != 0 {
					mode |= fs.ModeSticky
				}
			}
		}
		if !sized {
			return unsupported("mount %s: a tmpfs needs a size", m.Destination)
		}
		c.out.Mounts = append(c.out.Mounts, specs.Mount{Destination: m.Destination, Type: "tmpfs", Source: "tmpfs", Options: m.Options})
		c.points = append(c.points, point{m.Destination, mode})
	}
	c.left.OCI.Mounts = nil
	return nil
}

var (
	treePattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// trees become read-only mounts of folders.
func (c *conversion) trees() error {
	for _, t := range c.spec.Trees {
		if !treePattern.MatchString(t.Name) || !digestPattern.MatchString(t.Digest) {
			return unsupported("tree %q with digest %q: expected [a-z0-9-] and hex sha-256", t.Name, t.Digest)
		}
		if !demands.CleanAbs(t.Target) || t.Target == "/" || kernels(t.Target+"/") {
			return unsupported("tree %s: target %q: expected a clean absolute path outside of /proc, /dev and /sys", t.Name, t.Target)
		}
		c.out.Mounts = append(c.out.Mounts, specs.Mount{
			Destination: t.Target, Type: "bind", Source: t.Digest, Options: []string{"bind", "ro", "nosuid", "nodev", "private"},
		})
		c.points = append(c.points, point{t.Target, 0o755})
	}
	return nil
}

// imageVolumes: an image's VOLUME wants to be writable, so the policy masks it. One that is not masked is a mistake.
func (c *conversion) imageVolumes() error {
	for _, v := range c.spec.Image.Volumes {
		if !slices.ContainsFunc(c.points, func(p point) bool { return p.path == v }) {
			return unsupported("image volume %s: not masked by a tmpfs mount", v)
		}
	}
	return nil
}

// paths: a spec can only add to what engines mask and protect by themselves.
func (c *conversion) paths() error {
	masked, readOnly := c.left.Paths()
	c.out.Linux.MaskedPaths = union(demands.Masked(), masked)
	c.out.Linux.ReadonlyPaths = union(demands.ReadOnly(), readOnly)
	return nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

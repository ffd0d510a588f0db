package docker

import (
	"regexp"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
)

func (c *conversion) root() error {
	c.host.ReadonlyRootfs = c.left.OCI.Root.Readonly
	c.left.OCI.Root = nil
	return nil
}

// tmpfs: the only mounts of a spec. Each has a size, since the kernel's default is half of the machine's memory.
func (c *conversion) tmpfs() error {
	for _, m := range c.left.OCI.Mounts {
		if m.Type != "tmpfs" || len(m.UIDMappings)+len(m.GIDMappings) > 0 {
			return unsupported("mount %s of type %q: only tmpfs", m.Destination, m.Type)
		}
		if !demands.CleanAbs(m.Destination) || m.Destination == "/" {
			return unsupported("mount %q: expected a clean absolute path", m.Destination)
		}
		if _, twice := c.host.Tmpfs[m.Destination]; twice {
			return unsupported("mount %s: is there twice", m.Destination)
		}
		sized := false
		for _, option := range m.Options {
			if strings.Contains(option, ",") {
				return unsupported("mount %s: option %q", m.Destination, option)
			}
			sized = sized || strings.HasPrefix(option, "size=")
		}
		if !sized {
			return unsupported("mount %s: a tmpfs needs a size", m.Destination)
		}
		if c.host.Tmpfs == nil {
			c.host.Tmpfs = make(map[string]string)
		}
		c.host.Tmpfs[m.Destination] = strings.Join(m.Options, ",")
	}
	c.left.OCI.Mounts = nil
	return nil
}

var (
	treePattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// trees become read-only mounts of named volumes.
func (c *conversion) trees() error {
	for _, t := range c.spec.Trees {
		if !treePattern.MatchString(t.Name) || !digestPattern.MatchString(t.Digest) {
			return unsupported("tree %q with digest %q: expected [a-z0-9-] and hex sha-256", t.Name, t.Digest)
		}
		if !demands.CleanAbs(t.Target) || t.Target == "/" {
			return unsupported("tree %s: target %q: expected a clean absolute path", t.Name, t.Target)
		}
		c.host.Mounts = append(c.host.Mounts, mount.Mount{
			Type: mount.TypeVolume, Source: volumeName(t), Target: t.Target, ReadOnly: true,
			VolumeOptions: &mount.VolumeOptions{NoCopy: true},
		})
	}
	return nil
}

// treeOf returns the name of the tree that a volume of a name holds.
func treeOf(volume string) string {
	rest, ours := strings.CutPrefix(volume, volumePrefix)
	i := strings.LastIndexByte(rest, '-')
	if !ours || i < 0 {
		return ""
	}
	return rest[:i]
}

// volumeName is short enough to read and long enough not to collide; the full digest is on the volume's label.
func volumeName(t sandbox.Tree) string { return volumePrefix + t.Name + "-" + t.Digest[:12] }

// imageVolumes: an image's VOLUME would be a writable directory on the engine's disk, unless something is mounted there.
func (c *conversion) imageVolumes() error {
	for _, v := range c.spec.Image.Volumes {
		_, masked := c.host.Tmpfs[v]
		for _, t := range c.spec.Trees {
			masked = masked || t.Target == v
		}
		if !masked {
			return unsupported("image volume %s: not masked by a tmpfs mount", v)
		}
	}
	return nil
}

// sharedMemory: no /dev/shm at all where the spec gives it no size.
func (c *conversion) sharedMemory() error {
	if c.spec.ShmSize <= 0 {
		c.host.IpcMode = "none"
		return nil
	}
	c.host.IpcMode, c.host.ShmSize = "private", c.spec.ShmSize
	return nil
}

// paths leaves both lists nil, which means the engine's own: newer engines mask more. (An empty list would mask nothing.)
// A spec that masks more than that gets its own list with the engine's added.
func (c *conversion) paths() error {
	masked, readOnly := c.left.Paths()
	c.host.MaskedPaths = beyond(demands.Masked(), masked)
	c.host.ReadonlyPaths = beyond(demands.ReadOnly(), readOnly)
	return nil
}

// beyond returns nil when want is within base, else both together.
func beyond(base, want []string) []string {
	union := slices.Clone(base)
	for _, p := range want {
		if !slices.Contains(union, p) {
			union = append(union, p)
		}
	}
	if len(union) == len(base) {
		return nil
	}
	slices.Sort(union)
	return union
}

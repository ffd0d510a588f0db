package kubernetes

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

func (c *conversion) root() error {
	if !c.left.OCI.Root.Readonly {
		return unsupported("root.readonly: must be true")
	}
	c.left.OCI.Root = nil
	return nil
}

// tmpfs become emptyDirs in memory. A kubelet gives each the size of its limit, and no other option.
func (c *conversion) tmpfs() error {
	for _, m := range c.left.OCI.Mounts {
		if m.Type != "tmpfs" || len(m.UIDMappings)+len(m.GIDMappings) > 0 {
			return unsupported("mount %s of type %q: only tmpfs", m.Destination, m.Type)
		}
		if !plainPath(m.Destination) || m.Destination == "/" {
			return unsupported("mount %q: expected a clean absolute path", m.Destination)
		}
		if c.mounted(m.Destination) {
			return unsupported("mount %s: is there twice", m.Destination)
		}
		size, err := sizeOf(m)
		if err != nil {
			return err
		}
		readOnly := slices.Contains(m.Options, "ro")
		if !readOnly {
			c.largest = max(c.largest, size)
			if slices.Contains(m.Options, "noexec") || slices.ContainsFunc(m.Options, func(o string) bool { return strings.HasPrefix(o, "nr_inodes=") }) {
				c.lacks(ControlMounts, "its writable folders have a size, but programs run from all of them and the number of files has no limit of its own")
			}
		}
		c.memoryDir(fmt.Sprintf("tmpfs-%d", len(c.pod.Spec.Volumes)), m.Destination, size, readOnly)
	}
	c.left.OCI.Mounts = nil
	return nil
}

func (c *conversion) mounted(target string) bool {
	return slices.ContainsFunc(c.cell.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == target })
}

// sizeOf reads a tmpfs's size. Each has one, since the kernel's default is half of the machine's memory.
func sizeOf(m specs.Mount) (int64, error) {
	for _, option := range m.Options {
		text, ok := strings.CutPrefix(option, "size=")
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
			return n, nil
		}
		return 0, unsupported("mount %s: size %q: expected bytes", m.Destination, text)
	}
	return 0, unsupported("mount %s: a tmpfs needs a size", m.Destination)
}

// memoryDir mounts a new emptyDir in memory.
func (c *conversion) memoryDir(name, target string, size int64, readOnly bool) {
	c.volume(name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: resource.NewQuantity(size, resource.BinarySI),
	}})
	c.cell.VolumeMounts = append(c.cell.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: target, ReadOnly: readOnly})
}

func (c *conversion) volume(name string, source corev1.VolumeSource) {
	c.pod.Spec.Volumes = append(c.pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
}

var (
	treePattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Where the init container has what it unpacks and unpacks to.
const (
	partsDir = "/parts/"
	treesDir = "/unpacked/"
)

// trees are unpacked by the init container into folders of the pod, which the cell has read-only, and whose files are another
// user's. The runner's own are in its image, all others in ConfigMaps. There is always a gate.
func (c *conversion) trees() error {
	for i, t := range c.spec.Trees {
		if err := c.validTree(t, c.spec.Trees[:i]); err != nil {
			return err
		}
	}
	if c.direct() {
		return c.directTrees()
	}
	owner := int64(ownerUID)
	c.init.SecurityContext.RunAsUser, c.init.SecurityContext.RunAsGroup = &owner, &owner
	jobs := []string{gate.UnpackFlag}
	gated := false
	for i, t := range c.spec.Trees {
		name := fmt.Sprintf("tree-%d", i)
		source := gate.FromImage + "=" + t.Name + "-" + t.Digest
		if !inImage(t) {
			source = gate.FromParts + "=" + partsDir + name
		}
		jobs = append(jobs, source+"="+c.folder(name, t.Target))
		gated = gated || t.Target == wall.DirRunner
	}
	if !gated {
		jobs = append(jobs, gate.FromSelf+"=="+c.folder("gate", wall.DirRunner))
	}
	c.init.Command = append([]string{gate.ImageProgram}, jobs...)
	return nil
}

func (c *conversion) validTree(t sandbox.Tree, before []sandbox.Tree) error {
	if !treePattern.MatchString(t.Name) || !digestPattern.MatchString(t.Digest) {
		return unsupported("tree %q with digest %q: expected [a-z0-9-] and hex sha-256", t.Name, t.Digest)
	}
	twice := slices.ContainsFunc(before, func(b sandbox.Tree) bool { return b.Target == t.Target })
	if !plainPath(t.Target) || t.Target == "/" || c.mounted(t.Target) || twice {
		return unsupported("tree %s: target %q: expected a clean absolute path of its own", t.Name, t.Target)
	}
	return nil
}

// inImage reports whether a tree is one that the runner's image brings.
func inImage(t sandbox.Tree) bool { return t.Target == wall.DirRunner || t.Target == wall.DirEngine }

// folder is a volume that the init container fills, and where it does.
func (c *conversion) folder(name, target string) string {
	c.volume(name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	c.cell.VolumeMounts = append(c.cell.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: target, ReadOnly: true})
	c.init.VolumeMounts = append(c.init.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: treesDir + name})
	return treesDir + name
}

// imageVolumes: an image's VOLUME would be a writable directory on the node's disk, unless something is mounted there.
func (c *conversion) imageVolumes() error {
	for _, v := range c.spec.Image.Volumes {
		if !c.mounted(v) {
			return unsupported("image volume %s: not masked by a tmpfs mount", v)
		}
	}
	return nil
}

// dirShm is where a runtime mounts 64 MiB for each pod, unless something is mounted there.
const dirShm = "/dev/shm"

// sharedMemory has the spec's size, and is read-only where it has none.
func (c *conversion) sharedMemory() error {
	if c.spec.ShmSize <= 0 {
		c.memoryDir("shm", dirShm, 4096, true)
		return nil
	}
	c.memoryDir("shm", dirShm, c.spec.ShmSize, false)
	return nil
}

func (c *conversion) paths() error {
	masked, readOnly := c.left.Paths()
	for _, l := range []struct{ want, have []string }{{masked, demands.Masked()}, {readOnly, demands.ReadOnly()}} {
		for _, p := range l.want {
			if !slices.Contains(l.have, p) {
				c.lacks(ControlPaths, "its node's runtime hides what it hides, and "+p+" is not known to be among it")
			}
		}
	}
	return nil
}

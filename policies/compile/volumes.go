package compile

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// What an image may declare as volumes.
const (
	maxVolumes    = 16
	maxVolumePath = 256 // bytes
)

// maskedVolumes covers each volume that the image declares, so that no engine makes a writable place on the host's disk. Volumes at the cell's own places are covered already.
func maskedVolumes(spec *sandbox.Spec, _ policies.Effective, w Workload) error {
	volumes, err := cleanVolumes(w.Image.Volumes)
	if err != nil {
		return err
	}
	spec.Image.Volumes = volumes
	for _, target := range volumes {
		if slices.Contains(ownPlaces(), target) {
			continue
		}
		spec.OCI.Mounts = append(spec.OCI.Mounts, mask(target))
	}
	return nil
}

// mask is an empty, read-only tmpfs of one page.
func mask(target string) specs.Mount {
	return specs.Mount{
		Destination: target,
		Type:        "tmpfs",
		Source:      "tmpfs",
		Options:     []string{"ro", "nosuid", "nodev", "noexec", "size=4096", "nr_inodes=2", "mode=0555"},
	}
}

// dirTmp is where gVisor mounts a tmpfs of its own, writable and without a size, unless something is mounted there.
const dirTmp = "/tmp"

// closedTmp masks /tmp, which is read-only in any case, so that no runtime opens it. Where the image declares a volume at,
// in or above it, that mask suffices.
func closedTmp(spec *sandbox.Spec, _ policies.Effective, _ Workload) error {
	for _, volume := range spec.Image.Volumes {
		if within(volume, dirTmp) || within(dirTmp, volume) {
			return nil
		}
	}
	spec.OCI.Mounts = append(spec.OCI.Mounts, mask(dirTmp))
	return nil
}

// cleanVolumes returns the paths of an image's volumes as engines resolve them, sorted, each once.
func cleanVolumes(declared []string) ([]string, error) {
	if len(declared) > maxVolumes {
		return nil, fmt.Errorf("image declares %d volumes, at most %d can be masked: %w", len(declared), maxVolumes, sandbox.ErrUnsupported)
	}
	var volumes []string
	for _, volume := range declared {
		target, problem := cleanVolume(volume)
		if problem == "" {
			problem = conflict(target, volumes)
		}
		if problem != "" {
			return nil, fmt.Errorf("image volume %.64q %s, it cannot be masked: %w", volume, problem, sandbox.ErrUnsupported)
		}
		volumes = append(volumes, target)
	}
	slices.Sort(volumes)
	return slices.Compact(volumes), nil
}

// ownPlaces are the paths at which a cell mounts something itself.
func ownPlaces() []string {
	return []string{wall.DirWorkspace, wall.DirOut, wall.DirRun, wall.DirSkill, wall.DirRunner}
}

// cleanVolume returns the path as engines resolve it, or what is wrong with it.
func cleanVolume(volume string) (target, problem string) {
	switch {
	case len(volume) > maxVolumePath:
		return "", fmt.Sprintf("is longer than %d bytes", maxVolumePath)
	case !path.IsAbs(volume):
		return "", "is not absolute"
	case !utf8.ValidString(volume) || strings.ContainsFunc(volume, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", "has unprintable characters"
	case strings.ContainsAny(volume, `,:\`):
		return "", "has a comma, colon or backslash"
	case slices.Contains(strings.Split(volume, "/"), ".."):
		return "", `has ".." in it`
	}
	return path.Clean(volume), ""
}

// conflict says why a clean path must not be covered, or "". Masks that lie within one another would depend on the order
// in which a runtime mounts them.
func conflict(target string, others []string) string {
	if slices.Contains(ownPlaces(), target) {
		return ""
	}
	for _, own := range ownPlaces() {
		if within(own, target) || within(target, own) {
			return "overlaps " + own
		}
	}
	for _, system := range []string{"/proc", "/sys", "/dev", "/etc"} {
		if within(target, system) {
			return "is in " + system
		}
	}
	if slices.Contains([]string{"/usr", "/usr/bin", "/usr/lib", "/bin", "/sbin", "/lib", "/lib64"}, target) {
		return "holds the image's programs"
	}
	for _, other := range others {
		if target != other && (within(target, other) || within(other, target)) {
			return "overlaps the volume " + other
		}
	}
	return ""
}

// within reports whether a clean path is the folder or lies below it.
func within(target, folder string) bool {
	return target == folder || folder == "/" || strings.HasPrefix(target, folder+"/")
}

package compile

import (
	"fmt"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
	"github.com/hotcell/hotcell/sandbox"
)

// bytesPerInode is how many bytes of a tmpfs come with one file. Inodes are kernel memory that the size does not count,
// so empty files are bounded too.
const bytesPerInode = 8 << 10

// minInodes is enough for the few files of the smallest tmpfs.
const minInodes = 128

// readOnlyRoot leaves nothing of the image writable.
func readOnlyRoot(spec *sandbox.Spec, _ policies.Effective, _ Workload) error {
	spec.OCI.Root = &specs.Root{Readonly: true}
	return nil
}

// scratch mounts the writable places. Programs may run from /workspace: a skill that builds or unpacks something there,
// a Python package with a native module above all, would break without, and an interpreter runs what it likes anyway.
// What leaves the cell or holds secrets never needs to be run.
func scratch(spec *sandbox.Spec, eff policies.Effective, w Workload) error {
	memory := eff.Limits.Memory
	spec.OCI.Mounts = append(spec.OCI.Mounts,
		tmpfs(wall.DirWorkspace, eff.Limits.Workspace, w.UID, "exec"),
		tmpfs(wall.DirOut, eff.Limits.Out, w.UID, "noexec"),
		tmpfs(wall.DirRun, policies.RunSize(memory), w.UID, "noexec"),
	)
	spec.ShmSize = int64(policies.ShmSize(memory))
	return nil
}

// tmpfs is a private file system in memory that belongs to the cell's user. Where the image has the folder, some runtimes
// keep its mode; the owner is set in any case.
func tmpfs(target string, size policies.Bytes, uid uint32, exec string) specs.Mount {
	return specs.Mount{
		Destination: target,
		Type:        "tmpfs",
		Source:      "tmpfs",
		Options: []string{
			"nosuid", "nodev", exec,
			fmt.Sprintf("size=%d", int64(size)),
			fmt.Sprintf("nr_inodes=%d", max(minInodes, int64(size)/bytesPerInode)),
			"mode=0700",
			fmt.Sprintf("uid=%d", uid),
			fmt.Sprintf("gid=%d", uid),
		},
	}
}

package hostile

import (
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

func diskRows() []row {
	const sizes = "the sizes of the tmpfs, half of the memory together"
	return []row{
		{name: "disk-fill", what: "finds and fills every writable place", stops: sizes, args: []string{"disk-fill"}, check: held(15)},
		{name: "disk-inodes", what: "makes empty files without end", stops: "the inodes of the tmpfs", args: []string{"disk-inodes"}, check: held(8), runsc: tooMuch},
		{name: "disk-inodes-shm", what: "makes empty files in /dev/shm, which has as many as the memory holds", stops: "the memory limit of the cell's cgroup",
			yaml: small, args: []string{"disk-inodes-shm"}, code: a2e.OutOfMemory, says: "64Mi"},
		{name: "disk-attributes", what: "hides data in attributes of files", stops: sizes, args: []string{"disk-attributes"}, check: held(5), runsc: tooMuch},
		{name: "disk-then-memory", what: "fills the disks and then the memory", stops: "the memory limit of the cell's cgroup", yaml: small,
			args: []string{"disk-then-memory"}, code: a2e.OutOfMemory, says: "64Mi"},
		{name: "disk-read-only", what: "changes the bundle, the runner and the image", stops: "a read-only root, read-only volumes",
			args: []string{"disk-read-only"}, check: held(100)},
		{name: "loopback-flood", what: "floods its own network", stops: "the processor quota, and the deadline", args: []string{"loopback-flood"}, seconds: 2, code: a2e.Timeout},
	}
}

func TestDisk(t *testing.T) { runRows(t, diskRows()) }

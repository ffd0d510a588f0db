package cgroup

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mounts are the trees of control groups that this host shows.
type mounts struct {
	version     int               // 1 or 2, by where the memory controller is; 0: nowhere
	controllers map[string]string // v1: controller → mount point
	unified     string            // the v2 tree's mount point; beside v1 too, without controllers of use; "": none
	all         []string          // every mount point
	readOnly    bool              // the memory controller's mount is
	localEvents bool              // v2: memory.events doesn't count what happens below
}

const mountinfo = "/proc/self/mountinfo"

func hostMounts() (mounts, error) {
	f, err := os.Open(mountinfo)
	if err != nil {
		return mounts{}, err
	}
	defer func() { _ = f.Close() }() // read only
	return readMounts(f)
}

// readMounts reads the lines of mountinfo: id parent device root point options [tags] - type source superoptions.
func readMounts(r io.Reader) (mounts, error) {
	m := mounts{controllers: map[string]string{}}
	var devices []string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		left, right, ok := strings.Cut(lines.Text(), " - ")
		mount, fs := strings.Fields(left), strings.Fields(right)
		if !ok || len(mount) < 6 || len(fs) < 3 || !strings.HasPrefix(fs[0], "cgroup") || slices.Contains(devices, mount[2]) {
			continue // a tree that is mounted twice counts once
		}
		devices = append(devices, mount[2])
		m.add(fs[0], mount[4], strings.Split(mount[5], ","), strings.Split(fs[2], ","))
	}
	if err := lines.Err(); err != nil {
		return mounts{}, err
	}
	switch {
	case m.controllers["memory"] != "":
		m.version = 1
	case m.unified != "" && slices.Contains(fields(filepath.Join(m.unified, "cgroup.controllers")), "memory"):
		m.version = 2
	}
	return m, nil
}

func (m *mounts) add(kind, point string, options, super []string) {
	m.all = append(m.all, point)
	switch kind {
	case "cgroup2":
		m.unified = point
		m.localEvents = slices.Contains(super, "memory_localevents")
		m.readOnly = m.readOnly || m.controllers["memory"] == "" && slices.Contains(options, "ro")
	case "cgroup":
		for _, name := range super {
			m.controllers[name] = point
		}
		if slices.Contains(super, "memory") {
			m.readOnly = slices.Contains(options, "ro")
		}
	}
}

// memory is the mount point of the tree that limits memory.
func (m *mounts) memory() string {
	if m.version == 1 {
		return m.controllers["memory"]
	}
	return m.unified
}

// Facts are what this host's control groups are like.
type Facts struct {
	Version  int    // 1 or 2: where the memory controller is; 0: nowhere
	Hybrid   bool   // v1, with a v2 tree beside it
	Mount    string // of the memory controller
	Writable bool   // groups can be made
	Why      string // why groups of hotcell's own cannot be used here; "": they can, if the engine agrees
}

// Inspect looks at the host and changes nothing.
func Inspect() Facts {
	m, err := hostMounts()
	if err != nil {
		return Facts{Why: "control groups of this host can't be looked at: " + err.Error()}
	}
	return m.facts()
}

func (m *mounts) facts() Facts {
	f := Facts{Version: m.version, Hybrid: m.version == 1 && m.unified != "", Mount: m.memory()}
	if m.version == 0 {
		f.Why = "no memory controller is mounted on this host"
		return f
	}
	if f.Version == 1 && filepath.Base(f.Mount) != "memory" {
		f.Why = "the memory controller is mounted at " + f.Mount + ", expected a folder named memory"
		return f
	}
	err := unix.Access(f.Mount, unix.W_OK)
	f.Writable = err == nil && !m.readOnly
	switch {
	case m.readOnly:
		f.Why = f.Mount + " is mounted read-only"
	case err != nil:
		f.Why = f.Mount + " can't be written: " + err.Error() + ": run hotcell as root to have out-of-memory evidence from the kernel"
	case m.localEvents:
		f.Why = f.Mount + " is mounted with memory_localevents, so a group doesn't see what happens in a container below it"
	}
	return f
}

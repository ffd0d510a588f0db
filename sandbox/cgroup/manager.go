package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/sandbox"
)

// DefaultRoot is the group above all cells of all supervisors on a host.
const DefaultRoot = "/hotcell"

// Slack is how much more memory a container may have than the group around it, so that the group's limit binds.
const Slack = 16 << 20

// Options configure a [Manager].
type Options struct {
	Root     string // the group above all cells; "": [DefaultRoot]
	Instance string // the supervisor's id, [a-z0-9-]
	Memory   int64  // bytes for all cells of this host together; 0: the host's memory less a reserve
	Log      *slog.Logger
}

// Engine is what a manager has to know of the engine that makes the containers.
type Engine struct {
	Local   bool   // it is reached over a unix socket
	Driver  string // its cgroup driver: "cgroupfs" or "systemd"
	Version string // its cgroup version: "1" or "2"
}

// kind is what differs between the versions of cgroups. A container is the path of the group that the engine makes
// within a cell's.
type kind interface {
	share(root string, q quota) error
	hold(instance string) error
	enclose(path string, limit int64) (*ring, error)
	entered(path string) bool
	atLimit(path string, limit int64) bool
	kills(container string) (n int64, ok bool)
	throttled(container string) (time.Duration, bool)
	usage(path string) sandbox.Usage
}

// Manager makes the groups of one supervisor. It is safe for concurrent use.
type Manager struct {
	root, instance string
	quota          quota
	log            *slog.Logger
	mounts         mounts
	kind           kind
	settle         time.Duration

	mu      sync.Mutex
	systemd bool   // the engine's groups are systemd's: there are none of our own
	why     string // why the manager is off
	shared  bool   // the root has its limits
	live    map[string]*Group
}

var (
	rootPath = regexp.MustCompile(`^/[a-z0-9-]+$`)
	word     = regexp.MustCompile(`^[a-z0-9-]+$`)
)

// New looks at the host and changes nothing. A manager that cannot work is made all the same: [Manager.Why] tells.
func New(opts Options) *Manager {
	m, err := hostMounts()
	if err != nil {
		return &Manager{why: "control groups of this host can't be looked at: " + err.Error()}
	}
	return newManager(opts, m)
}

func newManager(opts Options, mt mounts) *Manager {
	m := &Manager{root: opts.Root, instance: opts.Instance, log: opts.Log, mounts: mt, settle: defaultSettle, live: map[string]*Group{}}
	if m.root == "" {
		m.root = DefaultRoot
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	switch {
	case !rootPath.MatchString(m.root):
		m.why = fmt.Sprintf("root group %q: expected one level of lower-case letters, digits and dashes, like %s", m.root, DefaultRoot)
	case !word.MatchString(m.instance):
		m.why = fmt.Sprintf("instance %q: expected lower-case letters, digits and dashes", m.instance)
	default:
		m.why = mt.facts().Why
	}
	if m.why == "" {
		m.quota, m.why = hostQuota(opts.Memory)
	}
	m.kind = v1{mt}
	if mt.version == 2 {
		m.kind = v2{mt}
	}
	return m
}

// Why says why no groups are made; "" while they are.
func (m *Manager) Why() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.why
}

func (m *Manager) switchOff(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.why == "" {
		m.why = why
		m.log.Warn("no control groups around cells: out-of-memory verdicts come from the engine", "why", why)
	}
}

// Use tells what engine makes the containers. Where it cannot be one that uses this host's groups, the manager switches
// itself off.
func (m *Manager) Use(e Engine) {
	if m == nil {
		return
	}
	if why := m.misfit(e); why != "" {
		m.switchOff(why)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Driver == "systemd" && !m.systemd {
		m.systemd, m.kind = true, scope{v2{m.mounts}}
	}
}

func (m *Manager) misfit(e Engine) string {
	switch {
	case m.mounts.version == 0:
		return m.mounts.facts().Why
	case !e.Local:
		return "the engine is not reached over a unix socket, so it may be on another host"
	case e.Driver != "cgroupfs" && (e.Driver != "systemd" || m.mounts.version == 1):
		return fmt.Sprintf("the engine's cgroup driver is %q: groups of hotcell's own need cgroupfs (dockerd --exec-opt native.cgroupdriver=cgroupfs)", e.Driver)
	case e.Version != "" && e.Version != fmt.Sprint(m.mounts.version):
		return fmt.Sprintf("the engine sees cgroup v%s and this host v%d: it is elsewhere", e.Version, m.mounts.version)
	}
	return ""
}

// Enclose makes the group of a cell with its memory limit in bytes. Its owner removes it with [Group.Remove]. Where the
// manager is off, or the group cannot be made, there is none and the cell does without: it is nil, and all its methods
// can be called.
func (m *Manager) Enclose(cell string, limit int64) *Group {
	if m == nil {
		return nil
	}
	if m.Why() != "" {
		return nil
	}
	g, err := m.enclose(cell, limit)
	if err != nil {
		m.log.Warn("a cell has no control group of hotcell's own", "cell", cell, "err", err)
		return nil
	}
	return g
}

func (m *Manager) enclose(cell string, limit int64) (*Group, error) {
	if !word.MatchString(cell) {
		return nil, fmt.Errorf("cell %q: expected lower-case letters, digits and dashes", cell)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live[cell] != nil {
		return nil, fmt.Errorf("cell %s has a group already", cell)
	}
	if err := m.prepare(); err != nil {
		return nil, err
	}
	g := newGroup(m, cell, limit)
	var err error
	if g.ring, err = m.kind.enclose(g.path, limit); err != nil {
		_ = removeAll(m.mounts.all, g.path)
		return nil, err
	}
	m.live[cell] = g
	g.listen()
	return g, nil
}

// prepare makes the levels above the cells: the root with its limits for the first cell, or when another supervisor took
// it away as the last to leave.
func (m *Manager) prepare() error {
	for try := 1; ; try++ {
		if !m.shared {
			if err := m.kind.share(m.root, m.quota); err != nil {
				return err
			}
		}
		err := m.kind.hold(m.instancePath())
		if m.shared = err == nil; m.shared || try == prepareTries || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// prepareTries is how often the levels above are made again while others take them away.
const prepareTries = 5

func (m *Manager) instancePath() string { return path.Join(m.root, m.instance) }

// forget notes that a group is gone, and removes the instance's with its last.
func (m *Manager) forget(g *Group) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, g.cell)
	if len(m.live) == 0 {
		m.clear(m.instancePath())
	}
}

// clear removes a level that may be in use by others, where it is not. Cells are first seen in the memory tree: while one
// is there a runtime may be on its way through the others.
func (m *Manager) clear(level string) {
	if memory := m.mounts.controllers["memory"]; memory != "" {
		if err := unix.Rmdir(memory + level); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	for _, point := range m.mounts.all {
		_ = unix.Rmdir(point + level) // busy: someone needs it
	}
}

// Close removes the root group if no other supervisor has cells.
func (m *Manager) Close() {
	if m == nil || m.mounts.version == 0 || !rootPath.MatchString(m.root) || !word.MatchString(m.instance) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.live) == 0 {
		m.clear(m.instancePath())
	}
	m.clear(m.root)
}

// quota is what all cells of a host may use together.
type quota struct {
	memory int64
	pids   int64
	shares int64 // of the processor, where an ordinary group has 1024
}

// lowShares is what one ordinary process of the host has: however many cells there are, together they get no more beside each
// of the host's own. With less, the start of a cell waits for everything else that the engine does for it: half of this made
// a start on a quiet machine a third slower.
const lowShares = 1024

// hostQuota leaves a host an eighth of its memory, at least 1 GiB but no more than half, and a quarter of its process
// ids.
func hostQuota(memory int64) (quota, string) {
	q := quota{memory: memory, shares: lowShares, pids: 1 << 15}
	if q.memory == 0 {
		total, ok := totalMemory()
		if !ok {
			return q, "/proc/meminfo doesn't tell how much memory this host has"
		}
		q.memory = total - min(max(total/8, 1<<30), total/2)
	}
	for _, file := range []string{"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"} {
		if n, ok := number(file); ok {
			q.pids = min(q.pids, n*3/4)
		}
	}
	return q, ""
}

func totalMemory() (int64, bool) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			n, ok := parse(f[1])
			return n << 10, ok && n > 0
		}
	}
	return 0, false
}

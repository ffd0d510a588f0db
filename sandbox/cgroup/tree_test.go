package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// tree writes files below a folder and returns it. A value ends with a newline, as the kernel's do.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fixture is a manager over a v2 tree with one cell in it, whose container has started.
func fixture(t *testing.T, files map[string]string) *Group {
	t.Helper()
	all := map[string]string{"cgroup.controllers": "cpuset cpu io memory pids", "cgroup.subtree_control": "cpu memory pids"}
	for name, value := range files {
		all["hotcell/i/c/"+name] = value
	}
	mt := mounts{version: 2, unified: tree(t, all)}
	mt.all = []string{mt.unified}
	m := newManager(Options{Instance: "i"}, mt)
	if why := m.Why(); why != "" {
		t.Fatal(why)
	}
	g := newGroup(m, "c", 64*mib)
	g.Starting("box")
	return g
}

const quietEvents = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0"

// Version 2, as its documentation has it: oom counts limits that were hit in the group or below it, oom_kill every kill
// there, whoever's limit it was.
func TestVersion2(t *testing.T) {
	box := map[string]string{"box/cpu.stat": "usage_usec 900\nnr_throttled 3\nthrottled_usec 2500", "box/memory.events": quietEvents}
	for _, tt := range []struct {
		name, events  string
		oom, pressure bool
	}{
		{"nothing", quietEvents, false, false},
		{"reclaimed at the limit", "low 0\nhigh 0\nmax 51\noom 0\noom_kill 0\noom_group_kill 0", false, false},
		{"an oom that found memory after all", "low 0\nhigh 0\nmax 51\noom 1\noom_kill 0\noom_group_kill 0", false, false},
		{"own limit", "low 0\nhigh 0\nmax 51\noom 1\noom_kill 1\noom_group_kill 0", true, false},
		{"limit above", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0", false, true},
		{"an old kernel's file", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2", true, false},
	} {
		for _, there := range []bool{true, false} {
			name := tt.name
			files := map[string]string{
				"memory.events": tt.events, "memory.peak": "67108864", "memory.current": "0", "pids.peak": "7",
				"cpu.stat": "usage_usec 1500000\nuser_usec 1\nsystem_usec 2\nnr_throttled 0\nthrottled_usec 0",
			}
			if there {
				for k, v := range box {
					files[k] = v
				}
			} else {
				name += ", container gone"
			}
			t.Run(name, func(t *testing.T) {
				ev := fixture(t, files).Evidence(true)
				want := sandbox.Evidence{
					OOMKilled: tt.oom, Pressure: tt.pressure, Confidence: sandbox.ConfidenceKernel,
					Usage: sandbox.Usage{MemoryPeak: 64 * mib, CPU: 1500 * time.Millisecond, PIDsPeak: 7},
				}
				if there {
					want.Usage.Throttled = 2500 * time.Microsecond
				}
				if ev != want {
					t.Errorf("got %+v, want %+v", ev, want)
				}
			})
		}
	}
}

// What was counted while the container was there is not forgotten with it.
func TestThrottledTimeIsKept(t *testing.T) {
	g := fixture(t, map[string]string{"memory.events": quietEvents, "memory.current": "4096", "box/cpu.stat": "throttled_usec 1000"})
	_ = g.Evidence(false)
	if err := os.RemoveAll(filepath.Join(g.m.mounts.unified, g.path, "box")); err != nil {
		t.Fatal(err)
	}
	if ev := g.Evidence(false); ev.Usage.Throttled != time.Millisecond {
		t.Errorf("throttled %v", ev.Usage.Throttled)
	}
}

// An engine that puts its containers elsewhere is found out with the first one.
func TestAnEngineElsewhere(t *testing.T) {
	g := fixture(t, map[string]string{"memory.events": quietEvents, "memory.current": "0", "memory.peak": "0"})
	g.Started()
	if ev := g.Evidence(true); ev != (sandbox.Evidence{Confidence: sandbox.ConfidenceNone}) {
		t.Errorf("evidence %+v", ev)
	}
	if why := g.m.Why(); !strings.Contains(why, "/hotcell/i/c") {
		t.Errorf("why = %q", why)
	}
	if other := g.m.Enclose("d", 64*mib); other != nil {
		t.Error("it goes on making groups")
	}
	if err := g.Kill(); err == nil {
		t.Error("a cell that is not here was killed")
	}
}

func TestVersion2Groups(t *testing.T) {
	mt := mounts{version: 2, unified: tree(t, map[string]string{
		"cgroup.subtree_control": "", "hotcell/cgroup.subtree_control": "", "hotcell/i/cgroup.subtree_control": "", "hotcell/memory.swap.max": "max",
	})}
	mt.all = []string{mt.unified}
	m := newManager(Options{Instance: "i", Memory: 1 << 30}, mt)
	g := m.Enclose("c", 64*mib)
	if g == nil {
		t.Fatal("no group")
	}
	for file, want := range map[string]string{
		"hotcell/memory.max": "1073741824", "hotcell/memory.swap.max": "0", "hotcell/cpu.weight": "100",
		"hotcell/i/c/memory.max": "67108864", "cgroup.subtree_control": "+memory",
	} {
		if got := strings.Join(fields(mt.unified, file), " "); !strings.HasPrefix(got, want) {
			t.Errorf("%s = %q, want %q", file, got, want)
		}
	}
	if n, ok := number(mt.unified, "hotcell/pids.max"); !ok || n < 1000 {
		t.Errorf("pids.max = %d, %v", n, ok)
	}
}

func TestNamesAreChecked(t *testing.T) {
	mt := mounts{version: 2, unified: t.TempDir()}
	mt.all = []string{mt.unified}
	for _, o := range []Options{{Root: "hotcell", Instance: "i"}, {Root: "/a/b", Instance: "i"}, {Root: "/..", Instance: "i"}, {Instance: ""}, {Instance: "a/b"}, {Instance: "A"}} {
		if m := newManager(o, mt); m.Why() == "" {
			t.Errorf("%+v was taken", o)
		}
	}
	m := newManager(Options{Instance: "i"}, mt)
	for _, cell := range []string{"", "..", "a/b", "../x", "A", "a b"} {
		if _, err := m.enclose(cell, 64*mib); err == nil {
			t.Errorf("cell %q was taken", cell)
		}
	}
	if entries, _ := os.ReadDir(mt.unified); len(entries) != 0 {
		t.Errorf("made %v", entries)
	}
}

func TestEnginesThatDoNotFit(t *testing.T) {
	mt := mounts{version: 1, unified: "/x", controllers: map[string]string{"memory": "/memory"}}
	for _, tt := range []struct {
		engine Engine
		says   string
	}{
		{Engine{Local: true, Driver: "cgroupfs", Version: "1"}, ""},
		{Engine{Driver: "cgroupfs", Version: "1"}, "unix socket"},
		{Engine{Local: true, Driver: "systemd", Version: "1"}, "systemd"},
		{Engine{Local: true, Driver: "cgroupfs", Version: "2"}, "v2"},
	} {
		m := &Manager{mounts: mt}
		why := m.misfit(tt.engine)
		if (why == "") != (tt.says == "") || !strings.Contains(why, tt.says) {
			t.Errorf("%+v: %q, want it to say %q", tt.engine, why, tt.says)
		}
	}
}

func TestMounts(t *testing.T) {
	controllers := filepath.Join(tree(t, map[string]string{"cgroup.controllers": "cpu memory pids"}))
	bare := tree(t, map[string]string{"cgroup.controllers": ""})
	for _, tt := range []struct {
		name, lines string
		version     int
		memory      string
		all         int
		why         string // part of it
	}{
		{
			"hybrid", `25 1 0:21 / /sys/fs/cgroup rw - tmpfs tmpfs rw
30 25 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 25 0:28 / ` + bare + ` rw - cgroup2 cgroup2 rw
33 25 0:26 / /elsewhere/memory rw,relatime - cgroup cgroup rw,memory`, 1, "/sys/fs/cgroup/memory", 3, "",
		},
		{"unified", "30 25 0:26 / " + controllers + " rw,nosuid - cgroup2 cgroup2 rw,nsdelegate", 2, controllers, 1, ""},
		{"read-only", "30 25 0:26 / " + controllers + " ro,nosuid - cgroup2 cgroup2 rw", 2, controllers, 1, "read-only"},
		{"local events", "30 25 0:26 / " + controllers + " rw - cgroup2 cgroup2 rw,memory_localevents", 2, controllers, 1, "memory_localevents"},
		{"oddly mounted", "30 25 0:26 / /mem rw - cgroup cgroup rw,memory", 1, "/mem", 1, "folder named memory"},
		{"no memory controller", "30 25 0:26 / " + bare + " rw - cgroup2 cgroup2 rw", 0, bare, 1, "no memory controller"},
		{"nothing", "garbage\n1 2 3 - cgroup", 0, "", 0, "no memory controller"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := readMounts(strings.NewReader(tt.lines))
			if err != nil {
				t.Fatal(err)
			}
			if m.version != tt.version || m.memory() != tt.memory || len(m.all) != tt.all {
				t.Errorf("got version %d, memory %q, %v", m.version, m.memory(), m.all)
			}
			if why := m.facts().Why; tt.why != "" && !strings.Contains(why, tt.why) {
				t.Errorf("why = %q, want it to say %q", why, tt.why)
			}
		})
	}
}

func TestQuota(t *testing.T) {
	total, ok := totalMemory()
	if !ok {
		t.Fatal("no memory")
	}
	q, why := hostQuota(0)
	if why != "" || q.memory < total/2 || q.memory > total-total/8 || q.pids < 100 || q.shares != lowShares {
		t.Errorf("quota %+v of %d bytes, %q", q, total, why)
	}
}

// A manager that is not there, and a group that is not, can be asked all the same.
func TestNone(t *testing.T) {
	var m *Manager
	m.Use(Engine{})
	g := m.Enclose("c", 1)
	g.Starting("x")
	g.Started()
	if ev := g.Evidence(true); ev.Confidence != sandbox.ConfidenceNone {
		t.Errorf("evidence %+v", ev)
	}
	if err := g.Kill(); err == nil {
		t.Error("killed")
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if l := m.List(); len(l) != 0 {
		t.Errorf("listed %v", l)
	}
	m.Close()
}

func TestListOfTrees(t *testing.T) {
	dir := tree(t, map[string]string{
		"memory/hotcell/i/mine/cgroup.procs": "", "memory/hotcell/dead/cell-1/x/cgroup.procs": "", "pids/hotcell/dead/cell-2/x": "",
		"memory/hotcell/Odd/cell/x": "", "pids/hotcell/empty/x": "", "memory/other/dead/cell/x": "",
	})
	m := newManager(Options{Instance: "i"}, mounts{
		version: 1, controllers: map[string]string{"memory": dir + "/memory", "pids": dir + "/pids"}, all: []string{dir + "/memory", dir + "/pids"},
	})
	m.live["mine"] = &Group{}
	var ids []string
	for _, l := range m.List() {
		ids = append(ids, l.ID)
		expires, err := strconv.ParseInt(l.Labels[sandbox.LabelExpires], 10, 64)
		if d := time.Until(time.Unix(expires, 0)); err != nil || d < emptyFor-time.Minute || d > emptyFor {
			t.Errorf("%s expires in %v, %v", l.ID, d, err)
		}
	}
	want := []string{"cgroup:/hotcell/dead/cell-1", "cgroup:/hotcell/dead/cell-2", "cgroup:/hotcell/empty"}
	if !slices.Equal(ids, want) {
		t.Errorf("listed %v, want %v", ids, want)
	}
}

// An instance's group was empty when it was listed. Whoever lives in it by now lives on.
func TestAnInstanceThatCameBack(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	dir := tree(t, map[string]string{"memory/hotcell/other/new/cgroup.procs": strconv.Itoa(child.Process.Pid)})
	m := newManager(Options{Instance: "i"}, mounts{version: 1, controllers: map[string]string{"memory": dir + "/memory"}, all: []string{dir + "/memory"}})
	if err := m.Drop("cgroup:/hotcell/other"); err == nil {
		t.Error("it is said to be gone")
	}
	_ = child.Process.Signal(syscall.SIGTERM) // comes after a SIGKILL that was sent before
	<-ended
	if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", child.ProcessState)
	}
	if _, err := os.Stat(dir + "/memory/hotcell/other/new"); err != nil {
		t.Errorf("its group: %v", err)
	}
}

// A group that could not be removed is listed again, and goes with the next try: its owner may have given up.
func TestARemovalThatFailed(t *testing.T) {
	g := fixture(t, map[string]string{"stuck/x": ""})
	g.m.live["c"] = g
	if l := g.m.List(); len(l) != 0 {
		t.Errorf("a cell in use is listed: %+v", l)
	}
	if err := g.Remove(); err == nil {
		t.Fatal("it went")
	}
	l := g.m.List()
	if len(l) != 1 || l[0].ID != "cgroup:/hotcell/i/c" {
		t.Fatalf("listed %+v", l)
	}
	if err := g.m.Drop(l[0].ID); err == nil {
		t.Error("it went the second time")
	}
	if err := os.Remove(filepath.Join(g.m.mounts.unified, "hotcell/i/c/stuck/x")); err != nil {
		t.Fatal(err)
	}
	if err := g.m.Drop(l[0].ID); err != nil {
		t.Error(err)
	}
	if len(g.m.live) != 0 || len(g.m.List()) != 0 {
		t.Errorf("still there: %v, %+v", g.m.live, g.m.List())
	}
}

// What was seen at the end stands, whatever becomes of the groups, and nothing is read again.
func TestTheEndStands(t *testing.T) {
	g := fixture(t, map[string]string{"memory.events": quietEvents, "memory.peak": "4096", "box/cpu.stat": "throttled_usec 1000"})
	end := g.Ended(false)
	if end.Confidence != sandbox.ConfidenceKernel || end.Usage.MemoryPeak != 4096 {
		t.Fatalf("got %+v, want the kernel's word", end)
	}
	if err := os.WriteFile(filepath.Join(g.m.mounts.unified, g.path, "memory.peak"), []byte("8192\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ev := g.Evidence(true); ev != end {
		t.Errorf("got %+v, want %+v", ev, end)
	}
}

func TestNoRootIsDestroyed(t *testing.T) {
	g := fixture(t, nil)
	for _, path := range []string{"/", "", "/hotcell/../..", "hotcell"} {
		if err := g.m.destroy(path); err == nil {
			t.Errorf("destroyed %q", path)
		}
	}
}

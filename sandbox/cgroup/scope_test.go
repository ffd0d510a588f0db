package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// scoped is a cell in a scope of systemd's that has started.
func scoped(t *testing.T) (g *Group, dir string) {
	t.Helper()
	const box = "system.slice/docker-box.scope/"
	mt := mounts{version: 2, unified: tree(t, map[string]string{
		"cgroup.controllers": "cpu memory pids", box + "memory.events": quietEvents, box + "memory.peak": "4096",
		box + "cpu.stat": "usage_usec 2000\nthrottled_usec 1000", box + "pids.peak": "2",
	})}
	mt.all = []string{mt.unified}
	m := newManager(Options{Instance: "i"}, mt)
	m.Use(Engine{Local: true, Driver: "systemd", Version: "2"})
	if why := m.Why(); why != "" {
		t.Fatal(why)
	}
	g = m.Enclose("c", 64*mib)
	if g == nil || g.Path() != "" {
		t.Fatalf("got %+v, want a group that is not ours", g)
	}
	g.Starting("box")
	g.Started()
	t.Cleanup(func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
		if entries, _ := os.ReadDir(mt.unified); len(entries) != 2 {
			t.Errorf("left or taken away: %v", entries)
		}
	})
	return g, filepath.Join(mt.unified, box)
}

// Under systemd the container's own scope is looked at: it tells all while it is there, and a kill that was seen stays
// seen when it is gone.
func TestAScopeOfSystemds(t *testing.T) {
	for _, tt := range []struct {
		name, events  string
		oom, pressure bool
	}{
		{"own limit", "low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\noom_group_kill 0\n", true, false},
		{"limit above", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, dir := scoped(t)
			want := sandbox.Evidence{
				Confidence: sandbox.ConfidenceKernel,
				Usage:      sandbox.Usage{MemoryPeak: 4096, CPU: 2 * time.Millisecond, Throttled: time.Millisecond, PIDsPeak: 2},
			}
			if tt.oom { // else the watch alone has looked
				if ev := g.Evidence(false); ev != want {
					t.Errorf("got %+v, want %+v", ev, want)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte(tt.events), 0o600); err != nil {
				t.Fatal(err)
			}
			testutil.Poll(t, 10*time.Second, func() bool {
				g.mu.Lock()
				defer g.mu.Unlock()
				return g.kills > 0
			})
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			want.OOMKilled, want.Pressure = tt.oom, tt.pressure
			if ev := g.Evidence(true); ev != want {
				t.Errorf("gone: %+v, want %+v", ev, want)
			}
		})
	}
}

// A scope that is gone before a kill was seen proves nothing.
func TestAScopeThatIsGone(t *testing.T) {
	g, dir := scoped(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if ev := g.Evidence(true); ev != (sandbox.Evidence{Confidence: sandbox.ConfidenceNone}) {
		t.Errorf("got %+v", ev)
	}
}

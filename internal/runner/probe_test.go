package runner

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/wall"
)

// files writes files below a new folder.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range content {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLook(t *testing.T) {
	root := files(t, map[string]string{
		"proc/self/status":       "Name:\tx\nUid:\t65601\t65601\t65601\t65601\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\nodd\n",
		"proc/self/mountinfo":    "20 1 0:5 / / ro,relatime - overlay overlay rw\n21 20 0:6 / /w rw - tmpfs tmpfs rw,size=1k\n22 20 0:7 / /s rw shared:1 - ext4 /dev/vda ro\nshort - x\n",
		"proc/self/net/dev":      "Inter-|   Receive\n face |bytes\n    lo: 0 0\n  eth0: 1 2\n",
		"proc/self/attr/current": "docker-default (enforce)\n\x00",
		"proc/1/stat":            "", "proc/7/stat": "", "proc/sys/x": "",
	})
	p := look(root)
	want := wall.Probe{
		UID: p.UID, GID: p.GID, Groups: p.Groups, Core: p.Core, Files: p.Files, UserPIDs: p.UserPIDs, // this process's
		Status:     map[string]string{"Uid": "65601 65601 65601 65601", "CapEff": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"},
		Mounts:     []wall.ProbeMount{{At: "/", Kind: "overlay", ReadOnly: true}, {At: "/w", Kind: "tmpfs"}, {At: "/s", Kind: "ext4", ReadOnly: true}},
		Interfaces: []string{"lo", "eth0"}, Processes: 2, Label: "docker-default (enforce)",
		Memory: -1, Swap: -1, PIDs: -1, CPU: -1,
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestCgroupLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  [4]int64 // memory, swap, pids, cpu
	}{
		{"v2", map[string]string{"cgroup.controllers": "", "memory.max": "67108864\n", "memory.swap.max": "0\n", "pids.max": "48\n", "cpu.max": "50000 100000\n"}, [4]int64{67108864, 0, 48, 500}},
		{"v2 without limits", map[string]string{"cgroup.controllers": "", "memory.max": "max\n", "memory.swap.max": "max\n", "pids.max": "max\n", "cpu.max": "max 100000\n"}, [4]int64{0, math.MaxInt64, 0, 0}},
		{"v2 without swap", map[string]string{"cgroup.controllers": "", "memory.max": "1\n"}, [4]int64{1, -1, -1, -1}},
		{"v1", map[string]string{"memory/memory.limit_in_bytes": "67108864\n", "memory/memory.memsw.limit_in_bytes": "67108864\n", "pids/pids.max": "48\n",
			"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, [4]int64{67108864, 0, 48, 500}},
		{"v1 without limits", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.memsw.limit_in_bytes": "9223372036854771712\n", "pids/pids.max": "max\n",
			"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, [4]int64{0, math.MaxInt64, 0, 0}},
		{"v1 with swap", map[string]string{"memory/memory.limit_in_bytes": "100\n", "memory/memory.memsw.limit_in_bytes": "300\n"}, [4]int64{100, 200, -1, -1}},
		{"garbage", map[string]string{"cgroup.controllers": "", "memory.max": "-5", "pids.max": "x", "cpu.max": "1 0"}, [4]int64{-1, -1, -1, -1}},
	} {
		var p wall.Probe
		cgroupLimits(&p, files(t, tt.files))
		if got := [4]int64{p.Memory, p.Swap, p.PIDs, p.CPU}; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Every try is made and answered; what comes out depends on who runs the test.
func TestProbe(t *testing.T) {
	var out bytes.Buffer
	if code := Probe(&out); code != 0 {
		t.Fatalf("exit %d", code)
	}
	var p wall.Probe
	if err := json.Unmarshal(out.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if p.UID != os.Getuid() || len(p.Status) == 0 || len(p.Mounts) == 0 || len(p.Interfaces) == 0 || p.Processes == 0 {
		t.Errorf("%+v", p)
	}
	for _, what := range []string{wall.TryWriteRoot, wall.TryUserNS, wall.TryMount, wall.TryAlg, wall.TryVsock, wall.TryPacket, wall.TryIOUring, wall.TryBPF, wall.TryKeyctl, wall.TryRunner} {
		if _, tried := p.Tries[what]; !tried {
			t.Errorf("%s was not tried", what)
		}
	}
}

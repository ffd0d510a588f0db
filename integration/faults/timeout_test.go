package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/testutil"
)

// What a long run asks of time-outs.
const (
	answerLate = 250 * time.Millisecond // at the 99th percentile, from the deadline to the answer
	goneLate   = time.Second            // each, from the deadline until nothing of the cell runs
)

// overstayers are skills that do not end by their deadline, each in its own way.
func overstayers() (names []string, scripts map[string]string) {
	scripts = map[string]string{
		"spins":   "while True: pass",
		"deaf":    "import signal, time\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: time.sleep(60)",
		"forks":   "import os, time\nfor _ in range(20):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(300)\ntime.sleep(300)",
		"chatter": "import time\nwhile True:\n    print('on', flush=True)\n    time.sleep(0.01)",
	}
	return []string{"spins", "deaf", "forks", "chatter"}, scripts
}

// A call that runs out of time is told so in time, and nothing of its cell runs on. The long run measures both; the short
// one only waits for them.
func TestTimeoutsAreAnsweredInTime(t *testing.T) {
	n, long := soak(t, "HOTCELL_SOAK_TIMEOUTS", 5)
	names, scripts := overstayers()
	skills := common()
	for name, script := range scripts {
		skills = rig.Merge(skills, rig.PythonSkill(name, "", script))
	}
	testutil.Require(t, "linux")
	b := newBench(t, skills, nil)
	for _, name := range names { // fill the volumes
		expect(t, b.call(t, name, 1), "timeout")
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.listen(ctx, "waits", 60, func(string) {
		if !lives(b.cell(t)) {
			t.Error("no process of a cell that runs is seen")
		}
		cancel()
	})
	b.awaitNoCells(t)
	var mu sync.Mutex
	var answered, gone []time.Duration
	work := make(chan int, n)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for i := range work {
				a, g := b.overstay(t, names[i%len(names)])
				mu.Lock()
				answered, gone = append(answered, a), append(gone, g)
				mu.Unlock()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
	slices.Sort(answered)
	slices.Sort(gone)
	if answered[0] < 0 {
		t.Errorf("an answer came %v before the deadline", -answered[0])
	}
	if !long {
		return
	}
	fmt.Printf("soak: time-outs: %d, answered after p50 %v, p99 %v, max %v; cell ended after p50 %v, p99 %v, max %v\n", n,
		at(answered, 50), at(answered, 99), at(answered, 100), at(gone, 50), at(gone, 99), at(gone, 100))
	if p99 := at(answered, 99); p99 > answerLate {
		t.Errorf("answered %v after the deadline at p99, want at most %v", p99, answerLate)
	}
	if last := at(gone, 100); last > goneLate {
		t.Errorf("a cell ran on for %v after the deadline, want at most %v", last, goneLate)
	}
}

// at is a percentile of sorted times.
func at(sorted []time.Duration, percent int) time.Duration {
	i := max(0, (len(sorted)*percent+99)/100-1)
	return sorted[i].Round(time.Millisecond / 10)
}

// overstay calls a skill that does not end, and returns how long after the deadline the answer came and its cell was over.
func (b *bench) overstay(t *testing.T, name string) (answered, gone time.Duration) {
	t.Helper()
	answer := b.call(t, name, 1)
	now := time.Now()
	expect(t, answer, "timeout")
	view, _, err := b.Show(context.Background(), answer.ID)
	if err != nil || view.Deadline.IsZero() {
		t.Errorf("call %s: deadline %v, %v", answer.ID, view.Deadline, err)
		return 0, 0
	}
	testutil.Poll(t, hang, func() bool { return view.Cell == "" || !lives(view.Cell) }) // none was made in time
	return now.Sub(view.Deadline), time.Since(view.Deadline)
}

// lives reports whether a process of a container runs. The engine learns of the last one's end only later.
func lives(container string) bool {
	groups, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, file := range groups {
		group, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(group, []byte(container)) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if _, state, ok := bytes.Cut(stat, []byte(") ")); err == nil && ok && state[0] != 'Z' && state[0] != 'X' {
			return true
		}
	}
	return false
}

package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

const mib = 1 << 20

// newReal is a manager on this host's own control groups, below a root that no other has.
func newReal(t testing.TB, opts Options) *Manager {
	t.Helper()
	testutil.Require(t, "root")
	testutil.Require(t, "cgroups")
	if f := Inspect(); f.Why != "" {
		t.Fatal(f.Why)
	}
	opts.Root = fmt.Sprintf("/hotcell-unit-%d", os.Getpid())
	opts.Instance = "i1"
	m := New(opts)
	if why := m.Why(); why != "" {
		t.Fatal(why)
	}
	t.Cleanup(func() {
		m.Close()
		for _, point := range m.mounts.all {
			if _, err := os.Stat(point + m.root); err == nil {
				t.Errorf("%s is left", point+m.root)
				_ = removeAll(m.mounts.all, m.root)
			}
		}
	})
	return m
}

// box is a process in a group below a cell's, as an engine's runtime would put it there.
type box struct {
	t     testing.TB
	m     *Manager
	g     *Group
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
	path  string
}

// put starts a process and moves it into a container group of the cell.
func put(t testing.TB, m *Manager, cell string, limit int64, what string, size int) *box {
	t.Helper()
	g := m.Enclose(cell, limit)
	if g == nil {
		t.Fatal("no group")
	}
	b := &box{t: t, m: m, g: g, path: g.Path() + "/box"}
	b.cmd = exec.Command("/proc/self/exe")
	b.cmd.Env = append(os.Environ(), envPlay+"="+what, envPlay+"_MIB="+strconv.Itoa(size), "GOMEMLIMIT=off", "GOGC=off")
	b.stdin, _ = b.cmd.StdinPipe()
	out, _ := b.cmd.StdoutPipe()
	b.out = bufio.NewReader(out)
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.cmd.ProcessState == nil { // the test failed on its way
			_ = b.cmd.Process.Kill()
			_ = b.cmd.Wait()
			_ = b.g.Remove()
		}
	})
	b.hear("up")
	b.enter()
	return b
}

// enter does what a runtime does: a group in every tree, with a limit that is too high to bind.
func (b *box) enter() {
	b.t.Helper()
	b.g.Starting("box")
	if b.m.mounts.version == 2 {
		for _, dir := range []string{b.m.mounts.unified, b.m.mounts.unified + b.m.root, b.m.mounts.unified + b.m.instancePath(), b.m.mounts.unified + b.g.Path()} {
			_ = write("+memory +pids +cpu", dir, "cgroup.subtree_control")
		}
	}
	for _, point := range b.m.mounts.all {
		dir := point + b.path
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.t.Fatal(err)
		}
		for _, f := range []string{"cpuset.cpus", "cpuset.mems"} { // a v1 cpuset starts empty
			for _, level := range []string{b.m.root, b.m.instancePath(), b.g.Path(), b.path} {
				if v, err := os.ReadFile(filepath.Join(point, f)); err == nil && b.m.mounts.version == 1 {
					_ = write(string(v), point, level, f)
				}
			}
		}
		if err := write(strconv.Itoa(b.cmd.Process.Pid), dir, "cgroup.procs"); err != nil {
			b.t.Fatal(err)
		}
	}
	if b.m.mounts.version == 1 {
		_ = write("2", "/proc/"+strconv.Itoa(b.cmd.Process.Pid), "oom_score_adj")
	}
	_ = write("1000", "/proc/"+strconv.Itoa(b.cmd.Process.Pid), "oom_score_adj")
}

func (b *box) hear(word string) {
	b.t.Helper()
	if line, err := b.out.ReadString('\n'); err != nil || line != word+"\n" {
		b.t.Errorf("process said %q, %v; want %q", line, err, word)
	}
}

func (b *box) step() { _, _ = b.stdin.Write([]byte{'x'}) }

// end waits for the process and removes its groups at once, like a runtime; it reports whether SIGKILL ended it.
func (b *box) end() bool {
	b.t.Helper()
	err := b.cmd.Wait()
	if err := removeAll(b.m.mounts.all, b.path); err != nil {
		b.t.Error(err)
	}
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

func (b *box) gone() {
	b.t.Helper()
	if err := b.g.Remove(); err != nil {
		b.t.Error(err)
	}
}

func (b *box) want(killed, oom, pressure bool) sandbox.Evidence {
	b.t.Helper()
	ev := b.g.Evidence(killed)
	if ev.OOMKilled != oom || ev.Pressure != pressure || ev.Confidence != sandbox.ConfidenceKernel {
		b.t.Errorf("%s: oom %v, pressure %v, confidence %q; want %v, %v, kernel", b.g.Path(), ev.OOMKilled, ev.Pressure, ev.Confidence, oom, pressure)
	}
	return ev
}

func TestAKillAtTheOwnLimit(t *testing.T) {
	m := newReal(t, Options{})
	b := put(t, m, "hog", 32*mib, "eat", 0)
	b.g.Started()
	b.step()
	if !b.end() {
		t.Fatal("the hog was not killed")
	}
	ev := b.want(true, true, false)
	if peak := ev.Usage.MemoryPeak; peak < 31*mib || peak > 33*mib {
		t.Errorf("peak %d bytes, want about 32 MiB", peak)
	}
	if ev.Usage.CPU <= 0 {
		t.Errorf("no processor time: %+v", ev.Usage)
	}
	b.gone()
	if after := b.g.Evidence(false); after != ev {
		t.Errorf("after the removal: %+v, before: %+v", after, ev)
	}
}

func TestEndsThatAreNoKillForMemory(t *testing.T) {
	m := newReal(t, Options{})
	t.Run("exit", func(t *testing.T) {
		b := put(t, m, "quiet", 32*mib, "exit", 0)
		b.step()
		b.end()
		b.want(false, false, false)
		b.gone() // which rings
		if ev := b.g.Evidence(true); ev.OOMKilled || ev.Pressure {
			t.Errorf("after the removal: %+v", ev)
		}
	})
	t.Run("killed from outside, alive when asked", func(t *testing.T) {
		b := put(t, m, "victim", 64*mib, "eat", 16)
		b.step()
		b.hear("ate")
		b.want(false, false, false)
		_ = b.cmd.Process.Kill()
		b.end()
		b.want(true, false, false)
		b.gone()
	})
	t.Run("killed from outside, at its limit for file pages that could be dropped", func(t *testing.T) {
		b := put(t, m, "reader", 32*mib, "sleep", 0)
		dir, err := os.MkdirTemp("/var/tmp", "cgroup-") // on a disk: files in memory could not be dropped
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
			t.Skipf("%s is in memory (%v)", dir, err)
		}
		file := filepath.Join(dir, "big")
		if err := os.WriteFile(file, make([]byte, 80*mib), 0o600); err != nil {
			t.Fatal(err)
		}
		dd := exec.Command("sh", "-c", fmt.Sprintf("echo $$ > %s/cgroup.procs && exec cat %s > %s.copy", filepath.Join(m.mounts.memory(), b.path), file, file))
		if out, err := dd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_ = b.cmd.Process.Kill()
		b.end()
		if ev := b.want(true, false, false); ev.Usage.MemoryPeak < 31*mib {
			t.Errorf("peak %d: the test has not filled the group", ev.Usage.MemoryPeak)
		}
		b.gone()
	})
}

// settled reports whether a ring was found to have meant nothing.
func (g *Group) settled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ring == nil || g.rung > 0
}

func TestAKillAboveIsPressure(t *testing.T) {
	m := newReal(t, Options{Memory: 48 * mib})
	m.settle = 300 * time.Millisecond
	calm := put(t, m, "calm", 64*mib, "eat", 2)
	calm.step()
	calm.hear("ate")
	hog := put(t, m, "hog", 256*mib, "eat", 0)
	hog.step()
	if !hog.end() {
		t.Fatal("the hog was not killed")
	}
	hog.want(true, false, true)
	if kills, _ := m.kind.kills(calm.path); kills > 0 { // the kernel took both: seen on a busy machine, and true then
		calm.want(true, false, true)
	} else {
		calm.want(false, false, false)
		testutil.Poll(t, 10*time.Second, func() bool { return calm.g.settled() || calm.g.Evidence(false).Pressure })
	}
	pressed := calm.g.Evidence(false).Pressure
	_ = calm.cmd.Process.Kill()
	calm.end()
	calm.want(true, false, pressed) // it heard the ring too: a ring of which nothing came is nothing
	hog.gone()
	calm.gone()
}

// The root keeps all cells of a host together, and is there as long as one supervisor has cells.
func TestTheRootHasLimits(t *testing.T) {
	m := newReal(t, Options{Memory: 512 * mib})
	g := m.Enclose("c", 64*mib)
	defer func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}()
	want := map[string]string{"memory.limit_in_bytes": "536870912", "memory.memsw.limit_in_bytes": "536870912", "cpu.shares": "1024"}
	if m.mounts.version == 2 {
		want = map[string]string{"memory.max": "536870912", "memory.swap.max": "0", "cpu.weight": "100"}
	}
	for file, value := range want {
		controller, _, _ := strings.Cut(file, ".")
		point := m.mounts.unified
		if m.mounts.version == 1 {
			point = m.mounts.controllers[controller]
		}
		if got := strings.Join(fields(point, m.root, file), " "); got != value {
			t.Errorf("%s = %q, want %s", file, got, value)
		}
	}
	other := newManager(Options{Root: m.root, Instance: "i2", Memory: 256 * mib}, m.mounts)
	second := other.Enclose("c", 64*mib) // shrinks it
	if second == nil {
		t.Fatal("no group")
	}
	m.Close() // which must not take the root from under the other
	if err := second.Remove(); err != nil {
		t.Error(err)
	}
	other.Close()
	if n, ok := number(m.mounts.memory(), g.Path(), map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[m.mounts.version]); !ok || n != 64*mib {
		t.Errorf("the first cell's limit: %d, %v", n, ok)
	}
}

// Many groups that run out of memory at once: each has the verdict of its own.
func TestManyKillsAtOnce(t *testing.T) {
	m := newReal(t, Options{})
	const cells = 12
	var boxes []*box
	for i := range cells {
		boxes = append(boxes, put(t, m, fmt.Sprintf("hog-%d", i), 24*mib, "eat", 0))
	}
	for _, b := range boxes {
		b.step()
	}
	done := make(chan struct{})
	for _, b := range boxes {
		go func() {
			defer func() { done <- struct{}{} }()
			killed := b.end()
			b.want(killed, true, false)
			b.gone()
		}()
	}
	for range boxes {
		<-done
	}
}

func TestKillWithoutAnEngine(t *testing.T) {
	m := newReal(t, Options{})
	b := put(t, m, "stuck", 32*mib, "sleep", 0)
	if point := m.mounts.controllers["freezer"]; point != "" { // paused by the engine, which then died
		if err := write("FROZEN", point, b.path, "freezer.state"); err != nil {
			t.Fatal(err)
		}
	}
	dead := make(chan bool)
	go func() { dead <- b.end() }()
	if err := b.g.Kill(); err != nil {
		t.Error(err)
	}
	if !<-dead {
		t.Error("not killed")
	}
	b.want(true, false, false)
	b.gone()
}

func TestLeftGroups(t *testing.T) {
	m := newReal(t, Options{})
	mine := m.Enclose("mine", 32*mib)
	other := newManager(Options{Root: m.root, Instance: "i2"}, m.mounts)
	b := put(t, other, "left", 32*mib, "sleep", 0) // and then its supervisor was killed
	found := m.List()
	if len(found) != 1 || found[0].ID != "cgroup:"+m.root+"/i2/left" || found[0].Kind != "cgroup" || found[0].Name != "left" ||
		found[0].Labels[sandbox.LabelInstance] != "i2" || found[0].State != "populated" || time.Since(found[0].Created) > time.Minute {
		t.Fatalf("listed %+v", found)
	}
	for _, id := range []string{"cgroup:" + mine.Path(), "cgroup:" + m.root + "/i1", "cgroup:/i2/left", "cgroup:" + m.root + "/i2/../left", "cgroup:" + m.root, "cgroup:/"} {
		if err := m.Drop(id); err == nil {
			t.Errorf("%s was dropped", id)
		}
	}
	dead := make(chan bool)
	go func() { dead <- b.cmd.Wait() != nil }()
	if err := m.Drop(found[0].ID); err != nil {
		t.Error(err)
	}
	if !<-dead {
		t.Error("what was in the group lives")
	}
	if found := m.List(); len(found) != 0 {
		t.Errorf("still listed: %+v", found)
	}
	if err := m.Drop("cgroup:" + m.root + "/i2/left"); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if found[0].Labels[sandbox.LabelExpires] != "" {
		t.Errorf("a group with processes expires: %+v", found[0])
	}
	for _, cell := range []struct{ instance, cell string }{{"i2", "left"}, {"i1", "none"}, {"I", "../x"}, {"i1", "mine"}, {"i1", "mine"}} {
		if err := m.Release(cell.instance, cell.cell); err != nil {
			t.Errorf("release of %v: %v", cell, err)
		}
	}
	if err := mine.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(m.mounts.memory() + mine.Path()); err == nil {
		t.Error("the released group is there")
	}
	if err := b.g.Remove(); err != nil { // its supervisor's, which has nothing left to remove
		t.Error(err)
	}
}

func BenchmarkGroup(b *testing.B) {
	m := newReal(b, Options{})
	for i := 0; b.Loop(); i++ {
		g := m.Enclose("c"+strconv.Itoa(i), 64*mib)
		g.Starting("x")
		_ = g.Evidence(false)
		if err := g.Remove(); err != nil {
			b.Fatal(err)
		}
	}
}

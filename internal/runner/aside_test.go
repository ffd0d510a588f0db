package runner

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A runner that steps aside comes back: all of its threads may run wherever they might before.
func TestWhoStepsAsideComesBack(t *testing.T) {
	before := allowed(t, os.Getpid())
	for range 20 {
		o := boot(t, `read -r request; echo here; while read -r more; do :; done`, prestart).play()
		if o.result == nil || string(o.result.Data) != `"here"` {
			t.Fatalf("result %+v, exit %+v", o.result, o.exit)
		}
	}
	for cpus, threads := range allowed(t, os.Getpid()) {
		if before[cpus] == 0 {
			t.Errorf("%d threads may run on processors %s alone, before it was %v", threads, cpus, before)
		}
	}
}

// The skill keeps all processors: it is the runner who leaves.
func TestASkillKeepsItsProcessors(t *testing.T) {
	before := allowed(t, os.Getpid())
	o := boot(t, `read -r request; sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status`, prestart, func(c *Config) { c.Env = os.Environ() }).play()
	var cpus string
	if o.result != nil {
		cpus = strings.Trim(string(o.result.Data), `"`)
	}
	if before[cpus] == 0 {
		t.Errorf("the skill may run on %q, its parent on %v; exit %+v", cpus, before, o.exit)
	}
}

// allowed counts the threads of a process by the processors that they may run on.
func allowed(t *testing.T, pid int) map[string]int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatalf("tasks of %d: %v", pid, err)
	}
	count := map[string]int{}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // it has ended
		}
		if _, cpus, ok := strings.Cut(string(text), "Cpus_allowed_list:\t"); ok {
			cpus, _, _ = strings.Cut(cpus, "\n")
			count[cpus]++
		}
	}
	return count
}

// Its wait ends with what comes first: words on either stream, the end of both, or its limit.
func TestAwait(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(p *pipes)
		limit time.Duration
	}{
		{"stdout", func(p *pipes) { _, _ = syscall.Write(p.ends[1], []byte("x")) }, time.Minute},
		{"stderr", func(p *pipes) { _, _ = syscall.Write(p.ends[2], []byte("x")) }, time.Minute},
		{"end", func(p *pipes) { p.closeFar() }, time.Minute},
		{"limit", func(*pipes) {}, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := openPipes()
			if err != nil {
				t.Fatal(err)
			}
			defer p.closeNear()
			defer p.closeFar()
			tt.do(p)
			done := make(chan struct{})
			go func() { defer close(done); p.await(tt.limit) }()
			select {
			case <-done:
			case <-time.After(patience):
				t.Fatal("it waits")
			}
		})
	}
}

func TestProcessor(t *testing.T) {
	c := &child{stat: openStat(os.Getpid())}
	defer c.stat.close()
	if n := c.processor(); n < 0 || n >= runtime.NumCPU() {
		t.Errorf("on processor %d of %d", n, runtime.NumCPU())
	}
	for _, s := range []stat{-1, openStat(1 << 30)} {
		if n := (&child{stat: s}).processor(); n != -1 {
			t.Errorf("of no process: %d", n)
		}
	}
}

// A tap gives what is there, what comes later and the end, and waits for no more than a moment once the process has ended.
func TestTap(t *testing.T) {
	p, err := openPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeFar()
	tp := &tap{fd: p.stdout}
	out := p.ends[1]
	say := func(s string) {
		t.Helper()
		if _, err := syscall.Write(out, []byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 100)
	read := func(want string) {
		t.Helper()
		if n, err := tp.Read(buf); err != nil || string(buf[:n]) != want {
			t.Fatalf("%q, %v, want %q", buf[:n], err, want)
		}
	}
	say("there")
	read("there")
	later := time.AfterFunc(50*time.Millisecond, func() { say("later") })
	defer later.Stop()
	read("later")
	tp.finish()
	say("last")
	read("last")
	if n, err := tp.Read(buf); n != 0 || !os.IsTimeout(err) {
		t.Fatalf("of one that says no more: %q, %v", buf[:n], err)
	}
	tp.close()

	q, err := openPipes()
	if err != nil {
		t.Fatal(err)
	}
	q.closeFar()
	tq := &tap{fd: q.stderr}
	if n, err := tq.Read(buf); n != 0 || err != io.EOF {
		t.Fatalf("of a closed one: %d, %v", n, err)
	}
	tq.close()
}

// A file must be new, and is whole or an error says why not.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	data := strings.Repeat("x", 1<<20)
	if err := create(name, 0o400, []byte(data)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	fi, _ := os.Stat(name)
	if err != nil || string(got) != data || fi.Mode() != 0o400 {
		t.Errorf("%d bytes, %v, %v", len(got), fi.Mode(), err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{name: os.ErrExist, link: os.ErrExist, filepath.Join(dir, "no", "f"): os.ErrNotExist, "/dev/full": os.ErrExist} {
		if err := create(name, 0o400, nil); err == nil || !strings.Contains(err.Error(), name) || !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("a link was followed")
	}
}

// Where the kernel does not let it leave, a runner stays where it is, and its goroutine does not keep a thread for that.
func TestWhoMayNotStepAsideStays(t *testing.T) {
	p, err := openPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeNear()
	defer p.closeFar()
	c := &child{p: p, stat: openStat(os.Getpid())}
	defer c.stat.close()
	locked := make(chan bool)
	go func() {
		runtime.LockOSThread() // which ends with this goroutine, and what it may not do with it
		refuse(t, syscall.SYS_SCHED_SETAFFINITY)
		c.aside()
		runtime.UnlockOSThread()
		var header [64]byte
		kept := strings.Contains(string(header[:runtime.Stack(header[:], false)]), "locked to thread")
		runtime.LockOSThread()
		locked <- kept
	}()
	if <-locked {
		t.Error("its goroutine keeps its thread")
	}
}

// refuse has one call of this thread fail from now on.
func refuse(t *testing.T, call uint32) {
	const setNoNewPrivs, filterMode, refused = 38, 2, 0x00050000 | uint32(syscall.EPERM)
	filter := []syscall.SockFilter{
		{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, Jf: 1, K: call},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: refused},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 0x7fff0000},
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, err1 := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0)
	_, _, err2 := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_SECCOMP, filterMode, uintptr(unsafe.Pointer(&program)))
	if err1 != 0 || err2 != 0 {
		t.Errorf("seccomp: %v, %v", err1, err2)
	}
}

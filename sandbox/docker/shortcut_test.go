package docker

import (
	"bufio"
	"bytes"
	"context"
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

	"github.com/hotcell/hotcell/internal/testutil"
)

// shortened starts a cell that does a trick with its stdin, and gives it the shorter way once it is ready.
func (r *real) shortened(t *testing.T, d *Driver, tricks ...string) (c *cell, out *bufio.Reader) {
	t.Helper()
	in := real{Driver: d, image: r.image, runtime: r.runtime}
	spec := in.spec("stdin", tricks...)
	*spec.OCI.Linux.Resources.Pids.Limit = 256 // its processes have threads, how many depends on how busy the machine is
	c = in.start(t, spec).(*cell)
	out = bufio.NewReader(c.Stdio().Stdout)
	if line, err := out.ReadString('\n'); line != "ready\n" || err != nil {
		said, _ := io.ReadAll(c.Stdio().Stderr)
		t.Fatalf("%v: %q, %v, %s", tricks, line, err, said)
	}
	c.Shorten()
	return c, out
}

// inTime fails the test where do takes too long.
func inTime(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(40 * time.Second):
		t.Fatalf("%s: takes too long", what)
	}
}

func direct(c *cell) *os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.direct
}

// descriptors of this process that are pipes.
func pipes(t *testing.T) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range all {
		if link, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(link, "pipe:") {
			n++
		}
	}
	return n
}

// Whatever is written comes whole and in its order, by the shorter way as far as the pipe takes it at once; EOF follows, though the
// engine has the pipe open too.
func (r *real) shortcut(t *testing.T) {
	testutil.Require(t, "root")
	d, _ := grouped(t, Timeouts{})
	for _, tt := range []struct {
		trick  string
		before int  // bytes that the cell wrote itself
		keeps  bool // a small request goes the shorter way whole
	}{{"plain", 0, true}, {"tiny", 0, false}, {"full", 64 << 10, false}, {"threads", 0, true}} {
		for _, size := range []int{6, takes, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", tt.trick, size), func(t *testing.T) {
				c, out := r.shortened(t, d, tt.trick)
				if direct(c) == nil {
					t.Fatal("no shorter way")
				}
				request := bytes.Repeat([]byte("12345\n"), size/6+1)[:size]
				written := make(chan error, 1)
				go func() {
					_, err := c.Stdio().Stdin.Write(request[:size/2])
					if err == nil {
						_, err = c.Stdio().Stdin.Write(request[size/2:])
					}
					written <- err
				}()
				var came []byte
				inTime(t, "reading", func() {
					came = make([]byte, tt.before+size)
					if _, err := io.ReadFull(out, came); err != nil {
						t.Error(err)
					}
				})
				if err := <-written; err != nil {
					t.Error(err)
				}
				if !bytes.Equal(came[tt.before:], request) {
					t.Error("what came is not what was written")
				}
				if got := direct(c) != nil; size <= takes && tt.trick != "tiny" && got != tt.keeps {
					t.Errorf("the shorter way is kept: %v, want %v", got, tt.keeps)
				}
				if err := c.Stdio().Stdin.Close(); err != nil {
					t.Error(err)
				}
				inTime(t, "EOF", func() {
					if line, err := bufio.NewReader(c.Stdio().Stderr).ReadString('\n'); line != "eof\n" || err != nil {
						t.Errorf("stderr: %q, %v", line, err)
					}
				})
			})
		}
	}
}

// What Takes says is taken at once, whatever a cell has done to its stdin and though it never reads; and it is destroyed in time.
func (r *real) shortcutTakes(t *testing.T) {
	testutil.Require(t, "root")
	d, _ := grouped(t, Timeouts{})
	for _, trick := range []string{"plain", "tiny", "full", "pipe", "socket", "fifo", "file", "null", "stdout", "closed"} {
		t.Run(trick, func(t *testing.T) {
			c, _ := r.shortened(t, d, trick, "never")
			taken, own := c.Stdio().Takes, direct(c) != nil
			if want := trick == "plain" || trick == "tiny" || trick == "full"; own != want {
				t.Errorf("it has a shorter way: %v, want %v", own, want)
			}
			inTime(t, "the first write", func() {
				if n, err := c.Stdio().Stdin.Write(make([]byte, taken)); n != taken || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			})
			big := make(chan error, 1)
			go func() {
				_, err := c.Stdio().Stdin.Write(make([]byte, 8<<20))
				big <- err
			}()
			inTime(t, "destroying it", func() {
				if err := c.Destroy(context.Background()); err != nil {
					t.Error(err)
				}
			})
			inTime(t, "the write that it never read", func() { <-big })
		})
	}
}

// A cell that has ended takes nothing.
func (r *real) shortcutDead(t *testing.T) {
	testutil.Require(t, "root")
	d, _ := grouped(t, Timeouts{})
	c, _ := r.shortened(t, d, "plain")
	if direct(c) == nil {
		t.Fatal("no shorter way")
	}
	if err := c.group.Kill(); err != nil {
		t.Fatal(err)
	}
	testutil.Poll(t, 30*time.Second, func() bool { // the engine's process beside it may hold its end for a moment yet
		_, err := c.Stdio().Stdin.Write([]byte("hello\n"))
		return err != nil
	})
	c.Shorten() // again, and after its end: nothing to be had
}

// No descriptor stays, however a cell goes.
func (r *real) shortcutCloses(t *testing.T) {
	testutil.Require(t, "root")
	d, _ := grouped(t, Timeouts{})
	before := pipes(t)
	for i := range 12 {
		c, _ := r.shortened(t, d, []string{"plain", "full", "pipe"}[i%3])
		switch i % 4 {
		case 0:
			_ = c.Stdio().Stdin.Close()
		case 1:
			_, _ = c.Stdio().Stdin.Write(make([]byte, takes))
		case 2:
			c.Shorten()
		}
		if err := c.Destroy(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Shorten()
	}
	if after := pipes(t); after > before {
		t.Errorf("%d pipes are open, %d before", after, before)
	}
}

// Where there is no shorter way the engine's is taken.
func (r *real) shortcutNone(t *testing.T) {
	d := open(t, Options{Instance: "test", NoCgroup: true})
	c, out := r.shortened(t, d, "plain")
	if direct(c) != nil {
		t.Error("a cell that nobody can look at has a shorter way")
	}
	hears(t, c, out)
}

// Under gVisor the first process that the host sees is the sandbox: the engine's way is taken.
func (r *real) shortcutSandbox(t *testing.T) {
	d, _ := grouped(t, Timeouts{})
	c, out := r.shortened(t, d, "plain")
	if direct(c) != nil {
		t.Error("a sandbox passes for a cell's first process")
	}
	hears(t, c, out)
}

// hears fails the test where the cell does not say what is written to it.
func hears(t *testing.T, c *cell, out *bufio.Reader) {
	t.Helper()
	if _, err := c.Stdio().Stdin.Write([]byte("hello\n")); err != nil {
		t.Error(err)
	}
	if line, err := out.ReadString('\n'); line != "hello\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

// The first process of a namespace that a cell has made within its own is not taken for the cell's.
func TestFirstProcess(t *testing.T) {
	testutil.Require(t, "root")
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skipf("needs unshare: %v", err)
	}
	cmd := exec.Command(unshare, "--pid", "--fork", "--kill-child", unshare, "--pid", "--fork", "--kill-child", "sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	first := childOf(t, cmd.Process.Pid)
	if parent, ok := lineage(first); !ok || parent != cmd.Process.Pid {
		t.Errorf("the first process: %v, parent %d", ok, parent)
	}
	nested := childOf(t, first)
	if _, ok := lineage(nested); ok {
		t.Error("the first process of a nested namespace passes for the cell's")
	}
	if _, ok := lineage(os.Getpid()); ok {
		t.Error("this process passes for a cell's")
	}
}

func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	testutil.Poll(t, 30*time.Second, func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		fields := strings.Fields(string(b))
		if len(fields) == 1 {
			child, _ = strconv.Atoi(fields[0])
		}
		return child > 0
	})
	return child
}

// A descriptor that is another file by now is not opened: opening some does something.
func TestOpenPipe(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	self := func(f *os.File) (path, name string) {
		path = fmt.Sprintf("/proc/self/fd/%d", f.Fd())
		name, err := os.Readlink(path)
		if err != nil {
			t.Fatal(err)
		}
		return path, name
	}
	path, name := self(write)
	f, err := openPipe(path, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := push(f, []byte("x")); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := push(f, make([]byte, 1<<20)); n <= 0 || n >= 1<<20 || err != nil {
		t.Errorf("a pipe took %d bytes at once, %v", n, err)
	}
	if n, err := push(f, []byte("x")); n != 0 || err != nil {
		t.Errorf("a full pipe took %d bytes, %v", n, err)
	}
	_ = read.Close()
	if _, err := push(f, []byte("x")); err == nil {
		t.Error("a pipe that nobody reads took a byte")
	}
	_ = f.Close()
	if _, err := push(f, []byte("x")); err == nil {
		t.Error("a pipe that is closed took a byte")
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(fifo)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []struct{ path, name string }{
		{path, "pipe:[1]"}, {"/dev/full", name}, {fifo, fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino)},
		{fifo + "none", name},
	} {
		if f, err := openPipe(other.path, other.name); err == nil {
			_ = f.Close()
			t.Errorf("%s was opened as %s", other.path, other.name)
		}
	}
}

package runner

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// child is the skill's process with the goroutines that serve it.
type child struct {
	pid   int
	p     *pipes
	ended chan status   // gets the one status of the process
	over  chan struct{} // closed once it has
	gone  chan struct{} // closed when no process is left to wait for

	stdout, stderr *tap
	serving        sync.WaitGroup // stdin, stdout and stderr
}

// status is how a process ended.
type status struct {
	wait  syscall.WaitStatus
	usage syscall.Rusage
}

func (s status) success() bool { return s.wait.Exited() && s.wait.ExitStatus() == 0 }

func (s status) exit() wall.Exit {
	e := wall.Exit{
		UserMS:   time.Duration(s.usage.Utime.Nano()).Milliseconds(),
		SystemMS: time.Duration(s.usage.Stime.Nano()).Milliseconds(),
		MaxRSSKB: s.usage.Maxrss,
	}
	if s.wait.Signaled() {
		e.Signal = int(s.wait.Signal())
	} else {
		e.ExitCode = s.wait.ExitStatus()
	}
	return e
}

// newChild starts to reap.
func newChild(pid int, everything bool, p *pipes) *child {
	c := &child{
		pid: pid, p: p, ended: make(chan status, 1), over: make(chan struct{}), gone: make(chan struct{}),
		stdout: &tap{f: p.stdout}, stderr: &tap{f: p.stderr},
	}
	go c.reap(everything)
	return c
}

// pipeTakes is how much a pipe that is empty takes at once: one page, where its user has many pipes already.
const pipeTakes = 4 << 10

// feed gives the process its request, in the background where that may take its time, and then EOF. A process that doesn't read
// it, or closes its stdin, loses nothing but that.
func (c *child) feed(request []byte) {
	line := append(request[:len(request):len(request)], '\n') // in one piece, or the process wakes twice
	feed := func() {
		_, _ = c.p.stdin.Write(line)
		_ = c.p.stdin.Close()
	}
	if len(line) <= pipeTakes {
		feed()
		return
	}
	c.serving.Go(feed)
}

// reap waits for the process and, as PID 1, for every orphan of the cell until none is left.
func (c *child) reap(everything bool) {
	defer close(c.gone)
	const wAll = 0x40000000 // __WALL: clone children too
	target, options := c.pid, 0
	if everything {
		target, options = -1, wAll
	}
	for {
		var st status
		pid, err := syscall.Wait4(target, &st.wait, options, &st.usage)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return // ECHILD: no process is left that could leave another one
		case pid == c.pid:
			c.ended <- st
			close(c.over)
			if !everything {
				return
			}
		}
	}
}

// listen starts to read what the process says.
func (c *child) listen(t *talk) {
	c.serving.Go(func() { t.readStdout(c.stdout) })
	c.serving.Go(func() { t.readStderr(c.stderr) })
}

// drain waits until all that the process has said is read. Where a process that could not be killed holds the pipes
// open, it waits until nothing has come for a while.
func (c *child) drain() {
	_ = c.p.stdin.Close()
	c.stdout.finish()
	c.stderr.finish()
	c.serving.Wait()
	_ = c.p.stdout.Close()
	_ = c.p.stderr.Close()
}

// terminate asks the process and its group to end.
func (c *child) terminate() { _ = syscall.Kill(-c.pid, syscall.SIGTERM) }

// kill ends the process and its group.
func (c *child) kill() { _ = syscall.Kill(-c.pid, syscall.SIGKILL) }

// killAll ends everything in the cell but the runner. Outside of a namespace of its own it must not do that: there it
// ends the skill's process group.
func (l *life) killAll() {
	if l.initial {
		_ = syscall.Kill(-1, syscall.SIGKILL) // the kernel spares PID 1 and lets no fork slip through
		return
	}
	if pid := l.pid.Load(); pid > 1 {
		_ = syscall.Kill(-int(pid), syscall.SIGKILL)
	}
}

// killRest ends what the skill's process has left running, and waits for it to be gone.
func (l *life) killRest(c *child) {
	l.killAll()
	select {
	case <-c.gone:
	case <-time.After(killGrace):
	}
}

// tap is the runner's end of one of the skill's output pipes.
type tap struct {
	f      *os.File
	ending atomic.Bool
}

// Read reads; once the process has ended it waits for more only so long.
func (t *tap) Read(p []byte) (int, error) {
	if t.ending.Load() {
		t.hurry()
	}
	return t.f.Read(p)
}

func (t *tap) finish() {
	t.ending.Store(true)
	t.hurry()
}

func (t *tap) hurry() { _ = t.f.SetReadDeadline(time.Now().Add(drainGrace)) }

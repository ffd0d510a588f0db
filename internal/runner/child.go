package runner

import (
	"os"
	"sync"
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

	stat           stat
	fed            bool     // the process has got its whole request
	stdin          *os.File // where it has not, at once
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
		stat: openStat(pid), stdout: &tap{fd: p.stdout}, stderr: &tap{fd: p.stderr},
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
	if len(line) <= pipeTakes {
		n, err := syscall.Write(c.p.stdin, line)
		if line = line[max(n, 0):]; len(line) == 0 || err == syscall.EPIPE {
			_ = syscall.Close(c.p.stdin)
			c.fed = true
			return
		}
	}
	c.stdin = os.NewFile(uintptr(c.p.stdin), "pipe")
	c.serving.Go(func() {
		_, _ = c.stdin.Write(line)
		_ = c.stdin.Close()
	})
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
	c.serving.Go(func() {
		if c.fed {
			c.aside()
		}
		c.serving.Go(func() { t.readStderr(c.stderr) }) // not before: it would be in the way
		t.readStdout(c.stdout)
	})
}

// drain waits until all that the process has said is read. Where a process that could not be killed holds the pipes
// open, it waits until nothing has come for a while.
func (c *child) drain() {
	if c.stdin != nil {
		_ = c.stdin.Close()
	}
	c.stdout.finish()
	c.stderr.finish()
	c.serving.Wait()
	c.stdout.close()
	c.stderr.close()
	c.stat.close()
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

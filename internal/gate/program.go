package gate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/seal"
)

// program starts a program that is not the runner and relays its streams.
func (g *gate) program(h seal.Hello) int {
	c, err := start(h)
	if err != nil {
		return g.fail(failure(h.Args[0], err))
	}
	g.mu.Lock()
	g.group = c.pid
	dead := g.killed || g.gone
	g.mu.Unlock()
	if dead {
		g.killAll()
	}
	_ = g.say.Say(seal.Started, nil) // an error comes back with the output
	var out sync.WaitGroup
	out.Go(func() { _, _ = io.Copy(g.say.Stream(seal.Stdout), c.stdout) })
	out.Go(func() { _, _ = io.Copy(g.say.Stream(seal.Stderr), c.stderr) })
	g.feed.open(c.stdin)
	go func() {
		_, _ = io.Copy(&g.feed, g.source)
		_ = c.stdin.Close()
	}()
	status := g.reap(c.pid)
	g.killAll() // what it left running
	if g.boss {
		g.reapRest()
	}
	drained := make(chan struct{})
	go func() { out.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-g.quits:
	}
	_ = c.stdin.Close()
	_ = g.source.Close()
	return g.end(code(status))
}

// code is a status as a shell has it.
func code(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// child is the program with the near ends of its pipes.
type child struct {
	pid                   int
	stdin, stdout, stderr *os.File
}

func start(h seal.Hello) (*child, error) {
	path, err := find(h.Args[0], h.Env)
	if err != nil {
		return nil, err
	}
	var near, far [3]*os.File
	defer func() {
		for _, f := range far {
			_ = f.Close()
		}
	}()
	for i := range near {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if near[i], far[i] = r, w; i == 0 {
			near[i], far[i] = w, r
		}
	}
	dir := h.Dir
	if dir == "" {
		dir = "/"
	}
	pid, err := syscall.ForkExec(path, h.Args, &syscall.ProcAttr{
		Dir: dir, Env: h.Env, Files: []uintptr{far[0].Fd(), far[1].Fd(), far[2].Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	return &child{pid, near[0], near[1], near[2]}, nil
}

// find looks for a program as execvp does, in the PATH that the program is to have.
func find(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, entry := range env {
		list, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", syscall.ENOENT
}

// failure says why a program did not start.
func failure(name string, err error) *seal.Failure {
	f := &seal.Failure{Code: 126, Message: name + ": " + err.Error()}
	if errors.Is(err, syscall.ENOENT) {
		f.Code = 127
	}
	return f
}

// reap waits for the program. As the first process of a namespace it is the parent of orphans too.
func (g *gate) reap(pid int) syscall.WaitStatus {
	which := pid
	if g.boss {
		which = -1
	}
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(which, &status, 0, nil)
		switch {
		case got == pid && (status.Exited() || status.Signaled()):
			return status
		case err != nil && !errors.Is(err, syscall.EINTR):
			return syscall.WaitStatus(exitHangup << 8)
		}
	}
}

// reapRest waits for what was killed to be gone, a while.
func (g *gate) reapRest() {
	for until := time.Now().Add(diesGrace); time.Now().Before(until); {
		got, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.ECHILD) {
			return
		}
		if got <= 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

package runner

import (
	"errors"
	"os"
	"syscall"
)

// pipes are the skill's three streams, as descriptors: a file of one would have a thread woken beside whoever waits for it. The near
// ends don't block; the skill must not find the far ends like that.
type pipes struct {
	stdin, stdout, stderr int
	ends                  []int
}

func openPipes() (*pipes, error) {
	p := &pipes{}
	var err1, err2, err3 error
	p.stdin, err1 = p.open(1)
	p.stdout, err2 = p.open(0)
	p.stderr, err3 = p.open(0)
	if err := errors.Join(err1, err2, err3); err != nil {
		p.closeNear()
		p.closeFar()
		return nil, err
	}
	return p, nil
}

// open makes a pipe, returns the given end and keeps the other one for the skill.
func (p *pipes) open(near int) (int, error) {
	var fd [2]int
	if err := syscall.Pipe2(fd[:], syscall.O_CLOEXEC); err != nil {
		return -1, os.NewSyscallError("pipe", err)
	}
	p.ends = append(p.ends, fd[1-near])
	if err := syscall.SetNonblock(fd[near], true); err != nil {
		_ = syscall.Close(fd[near])
		return -1, os.NewSyscallError("fcntl", err)
	}
	return fd[near], nil
}

// Stdin is the wall's inbound side, read without a thread of its own where it is a pipe: what waits for a line then goes on in the
// thread that has read it. The reading end of a cell's stdin is nobody's but the runner's.
func Stdin() *os.File {
	if st, err := os.Stdin.Stat(); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		return os.Stdin
	}
	if err := syscall.SetNonblock(0, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(0, "stdin")
}

func (p *pipes) far() []uintptr {
	fds := make([]uintptr, len(p.ends))
	for i, fd := range p.ends {
		fds[i] = uintptr(fd)
	}
	return fds
}

func (p *pipes) closeFar() {
	for _, fd := range p.ends {
		_ = syscall.Close(fd)
	}
	p.ends = nil
}

func (p *pipes) closeNear() {
	for _, fd := range []int{p.stdin, p.stdout, p.stderr} {
		if fd >= 0 {
			_ = syscall.Close(fd)
		}
	}
}

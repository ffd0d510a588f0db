package runner

import (
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// tcp is a socket of the cell's loopback device.
//
// Package net would do, but for one thing: its system calls let the Go runtime start another thread when one takes long,
// and when the skill has used up the cell's limit of processes, that is the runner's death. Here nothing blocks in a system
// call, and so the runtime is not told of any.
type tcp struct {
	f   *os.File // in the runtime's poller
	raw syscall.RawConn
}

const backlog = 128

var loopback = [4]byte{127, 0, 0, 1}

// listenOn listens on 127.0.0.1.
func listenOn(port int) (*tcp, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: loopback}); err == nil {
		err = syscall.Listen(fd, backlog)
	}
	if err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	return newTCP(fd)
}

// newTCP takes over a descriptor that does not block.
func newTCP(fd int) (*tcp, error) {
	f := os.NewFile(uintptr(fd), "socket")
	raw, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &tcp{f, raw}, nil
}

// quick makes a system call that does not block, again where a signal came between.
func quick(number, a, b, c, d uintptr) (uintptr, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(number, a, b, c, d, 0, 0)
		if errno != syscall.EINTR {
			return n, errno
		}
	}
}

// accept waits for the next connection.
func (s *tcp) accept() (*tcp, error) {
	var fd uintptr
	var errno syscall.Errno
	err := s.raw.Read(func(own uintptr) bool {
		fd, errno = quick(syscall.SYS_ACCEPT4, own, 0, 0, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		return errno != syscall.EAGAIN
	})
	switch {
	case err != nil:
		return nil, err
	case errno != 0:
		return nil, errno
	}
	return newTCP(int(fd))
}

// read waits for bytes and reads some of them. It asks for a buffer when there may be some, and hands it back when there
// were none yet.
func (s *tcp) read(get func() []byte, put func()) (int, error) {
	var n uintptr
	var errno syscall.Errno
	err := s.raw.Read(func(fd uintptr) bool {
		p := get()
		n, errno = quick(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), 0)
		if errno == syscall.EAGAIN {
			put()
			return false
		}
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

// Write writes all of p.
func (s *tcp) Write(p []byte) (int, error) {
	done := 0
	var errno syscall.Errno
	err := s.raw.Write(func(fd uintptr) bool {
		for done < len(p) {
			var n uintptr
			n, errno = quick(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&p[done])), uintptr(len(p)-done), syscall.MSG_NOSIGNAL)
			if errno != 0 {
				return errno != syscall.EAGAIN
			}
			done += int(n)
		}
		return true
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return done, err
}

// closeWrite sends the end of what is written.
func (s *tcp) closeWrite() {
	_ = s.raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_WR) })
}

// abort closes so that the other side finds the connection broken, and not ended.
func (s *tcp) abort() {
	_ = s.raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	})
	s.close()
}

func (s *tcp) close() { _ = s.f.Close() }

func (s *tcp) setReadDeadline(at time.Time) { _ = s.f.SetReadDeadline(at) }

func (s *tcp) setDeadline(at time.Time) { _ = s.f.SetDeadline(at) }

package runner

import (
	"net/netip"
	"syscall"
	"time"
)

// plug is a socket that blocks for so long and no longer. Package net would do, and would make the program of each cell an
// eighth larger.
type plug int

// plugOf makes a socket whose system calls end within a limit.
func plugOf(family, kind int, limit time.Duration) (plug, error) {
	fd, err := syscall.Socket(family, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	until := syscall.NsecToTimeval(int64(limit))
	for _, option := range []int{syscall.SO_SNDTIMEO, syscall.SO_RCVTIMEO} {
		if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &until); err != nil {
			_ = syscall.Close(fd)
			return -1, err
		}
	}
	return plug(fd), nil
}

func (p plug) close() { _ = syscall.Close(int(p)) }

// bindTo makes a socket at a port of all addresses, of both families where there are two. 0 stands for a free port.
func bindTo(kind, port int, limit time.Duration) (plug, error) {
	p, err := plugOf(syscall.AF_INET6, kind, limit)
	if err == nil {
		_ = syscall.SetsockoptInt(int(p), syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 0)
		if err = syscall.Bind(int(p), &syscall.SockaddrInet6{Port: port}); err == nil {
			return p, nil
		}
		p.close()
	}
	if p, err = plugOf(syscall.AF_INET, kind, limit); err != nil {
		return -1, err
	}
	if err = syscall.Bind(int(p), &syscall.SockaddrInet4{Port: port}); err != nil {
		p.close()
		return -1, err
	}
	return p, nil
}

// port is where a socket is bound to.
func (p plug) port() int {
	at, _ := syscall.Getsockname(int(p))
	switch at := at.(type) {
	case *syscall.SockaddrInet4:
		return at.Port
	case *syscall.SockaddrInet6:
		return at.Port
	}
	return 0
}

// connectTo makes a socket that is connected.
func connectTo(kind int, addr netip.AddrPort, limit time.Duration) (plug, error) {
	family := syscall.AF_INET
	if addr.Addr().Is6() {
		family = syscall.AF_INET6
	}
	p, err := plugOf(family, kind, limit)
	if err != nil {
		return -1, err
	}
	var to syscall.Sockaddr = &syscall.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
	if addr.Addr().Is4() {
		to = &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	}
	if err := again(func() error { return syscall.Connect(int(p), to) }); err != nil {
		p.close()
		if err == syscall.EINPROGRESS || err == syscall.EAGAIN {
			err = syscall.ETIMEDOUT
		}
		return -1, err
	}
	return p, nil
}

// again does what a signal has interrupted once more.
func again(do func() error) error {
	for {
		if err := do(); err != syscall.EINTR {
			return err
		}
	}
}

func (p plug) write(b []byte) error {
	return again(func() error { _, err := syscall.Write(int(p), b); return err })
}

// read fills b as far as it comes.
func (p plug) read(b []byte) (n int, err error) {
	for n < len(b) {
		got := 0
		err = again(func() (err error) { got, err = syscall.Read(int(p), b[n:]); return err })
		if err != nil || got <= 0 {
			return n, err
		}
		n += got
	}
	return n, nil
}

package runner

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

const (
	maxConnections = 120 // of all ports at a time; more have to wait. Below what a tunnel allows
	acceptPause    = 10 * time.Millisecond
	portsMemory    = 64 << 20 // bytes, soft: what streams may hold, and the rest
)

// ports are the loopback ports of the cell and the tunnel behind them.
type ports struct {
	tunnel    *wall.Tunnel
	listeners []*tcp
	open      atomic.Bool   // the lease has come
	slots     chan struct{} // one for each connection
	done      chan struct{} // closed by close
	tasks     sync.WaitGroup

	mu     sync.Mutex
	conns  map[*tcp]bool // that are open
	closed bool
}

// errEnding is why connections break when the cell ends.
var errEnding = errors.New("the cell is ending")

// openPorts listens on the loopback ports. Where none are asked for it returns nil.
func openPorts(say *voice, want []wall.Port) (*ports, error) {
	if len(want) == 0 {
		return nil, nil
	}
	debug.SetMemoryLimit(portsMemory)
	p := &ports{
		tunnel: wall.NewTunnel(say, wall.TunnelOptions{Dials: true}),
		slots:  make(chan struct{}, maxConnections),
		conns:  map[*tcp]bool{},
		done:   make(chan struct{}),
	}
	for _, port := range want {
		s, err := listenOn(port.Number)
		if err != nil {
			p.close()
			return nil, &startError{cannotStart, portError(port, err)}
		}
		p.listeners = append(p.listeners, s)
		p.tasks.Go(func() { p.listen(s, port.Name) })
	}
	return p, nil
}

// portError says in plain words why a port is not to be had.
func portError(port wall.Port, err error) string {
	what := fmt.Sprintf("loopback port %d for %s", port.Number, port.Name)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return what + ": something in the cell listens there already"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return what + ": the cell's loopback device is not up"
	}
	return what + ": " + err.Error()
}

// admit lets connections through from now on.
func (p *ports) admit() {
	if p != nil {
		p.open.Store(true)
	}
}

// handle takes a line of the tunnel. Its error has broken the tunnel.
func (p *ports) handle(kind string, line []byte) error {
	if p == nil {
		return nil
	}
	return p.tunnel.Handle(kind, line)
}

// finish ends the ports. Once it has returned no line of the tunnel is sent any more.
func (p *ports) finish() {
	if p != nil {
		p.close()
		p.tunnel.Wait()
	}
}

// close ends the ports and all that goes through them.
func (p *ports) close() {
	if p == nil {
		return
	}
	p.tunnel.Close(errEnding)
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	for _, s := range p.listeners {
		s.close()
	}
	for s := range p.conns {
		s.close()
	}
	p.mu.Unlock()
	p.tasks.Wait()
}

// listen accepts connections as long as there are slots.
func (p *ports) listen(l *tcp, name string) {
	for {
		p.slots <- struct{}{}
		s, err := l.accept()
		if err == nil && p.track(s) {
			p.tasks.Go(func() {
				defer func() { <-p.slots }()
				defer p.forget(s)
				p.serve(s, name)
			})
			continue
		}
		<-p.slots
		if err == nil || errors.Is(err, os.ErrClosed) {
			return
		}
		select { // it broke while it waited, or there are no descriptors or memory now: the next one may do better
		case <-time.After(acceptPause):
		case <-p.done:
			return
		}
	}
}

// track notes a connection, so that close finds it. It reports false when the ports are closed.
func (p *ports) track(s *tcp) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		s.close()
		return false
	}
	p.conns[s] = true
	return true
}

func (p *ports) forget(s *tcp) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, s)
	s.close()
}

package egress

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

var errBytes = errors.New("the call has moved as many bytes as it may")

// meter is a connection to the outside whose bytes count for the call.
type meter struct {
	net.Conn
	*grant
	in, out atomic.Int64

	idle  time.Duration
	timer *time.Timer
	once  sync.Once
	cause atomic.Pointer[string] // why it was cut
}

// watch cuts the connection when nothing has moved for so long. A cell that does not read what came has a little more time
// to take the rest.
func (m *meter) watch(idle time.Duration, cell net.Conn) {
	m.idle = idle
	m.timer = time.AfterFunc(idle, func() {
		m.blame("nothing moved for " + idle.String())
		_ = cell.SetWriteDeadline(time.Now().Add(time.Second))
		m.Close()
	})
}

// Read counts what comes in.
func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	return m.count(&m.in, n, err)
}

// Write counts what goes out.
func (m *meter) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	return m.count(&m.out, n, err)
}

func (m *meter) count(dir *atomic.Int64, n int, err error) (int, error) {
	dir.Add(int64(n))
	if n > 0 {
		m.timer.Reset(m.idle)
	}
	if n > 0 && !m.take(n) {
		m.blame(errBytes.Error())
		m.Close()
		return 0, errBytes
	}
	return n, err
}

// CloseWrite tells the other end that nothing more comes.
func (m *meter) CloseWrite() error { return closeWrite(m.Conn) }

// Close may be called more than once.
func (m *meter) Close() error {
	m.once.Do(func() {
		if m.timer != nil {
			m.timer.Stop()
		}
		_ = m.Conn.Close()
	})
	return nil
}

// blame keeps the first reason.
func (m *meter) blame(reason string) { m.cause.CompareAndSwap(nil, &reason) }

func (m *meter) why() string {
	if p := m.cause.Load(); p != nil {
		return *p
	}
	return ""
}

// closeWrite closes one direction, or everything where the connection knows no directions.
func closeWrite(c io.Closer) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

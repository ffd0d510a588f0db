package wall

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Port is the name of the port that the stream was opened to.
func (c *Conn) Port() string { return c.port }

// LocalAddr returns the port's name.
func (c *Conn) LocalAddr() net.Addr { return addr(c.port) }

// RemoteAddr returns the port's name.
func (c *Conn) RemoteAddr() net.Addr { return addr(c.port) }

// SetDeadline bounds reads and writes.
func (c *Conn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// SetReadDeadline bounds reads, those that wait already included.
func (c *Conn) SetReadDeadline(at time.Time) error { return c.setDeadline(&c.readBy, &c.readers, at) }

// SetWriteDeadline bounds writes, those that wait already included.
func (c *Conn) SetWriteDeadline(at time.Time) error { return c.setDeadline(&c.writeBy, &c.writers, at) }

func (c *Conn) setDeadline(d *deadline, waiters *sync.Cond, at time.Time) error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if c.shut {
		return net.ErrClosed
	}
	d.set(at, func() {
		c.t.mu.Lock()
		defer c.t.mu.Unlock()
		waiters.Broadcast()
	})
	waiters.Broadcast()
	return nil
}

// deadline is a moment and the timer that wakes who waits then.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(at time.Time, wake func()) {
	d.stop()
	d.at = at
	if wait := time.Until(at); !at.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, wake)
	}
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

// addr names an end of a stream.
type addr string

func (addr) Network() string  { return "cell" }
func (a addr) String() string { return string(a) }

package kubernetes

import (
	"io"
	"sync"
)

// takes is how much an inlet that is empty takes at once.
const takes = 64 << 10

// inlet is a pipe to a connection whose writer does not wait for it, as long as little is under way.
type inlet struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte // unread
	closed  bool
}

func newInlet() *inlet {
	i := &inlet{}
	i.changed.L = &i.mu
	return i
}

// Write takes all of p, once less than [takes] is under way. It fails once the inlet is closed.
func (i *inlet) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.data) >= takes && !i.closed {
		i.changed.Wait()
	}
	if i.closed {
		return 0, io.ErrClosedPipe
	}
	i.data = append(i.data, p...)
	i.changed.Broadcast()
	return len(p), nil
}

// Read implements io.Reader.
func (i *inlet) Read(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.data) == 0 && !i.closed {
		i.changed.Wait()
	}
	if i.closed {
		return 0, io.EOF
	}
	n := copy(p, i.data)
	if i.data = i.data[:copy(i.data, i.data[n:])]; len(i.data) == 0 && cap(i.data) > 1<<10 {
		i.data = nil // a connection that waits holds nothing
	}
	i.changed.Broadcast()
	return n, nil
}

// Close ends both sides. What is unread is lost, as the connection is.
func (i *inlet) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed, i.data = true, nil
	i.changed.Broadcast()
	return nil
}

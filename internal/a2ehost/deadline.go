package a2ehost

import (
	"io"
	"sync"
	"time"
)

// deadlineOutput gives each Write its own deadline.
type deadlineOutput struct {
	w   io.Writer
	set func(time.Time) error

	mu   sync.Mutex
	most time.Duration
}

// Write implements [io.Writer].
func (o *deadlineOutput) Write(p []byte) (int, error) {
	o.arm()
	return o.w.Write(p)
}

func (o *deadlineOutput) arm() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.set(time.Now().Add(o.most)) // a connection that is closed says so in Write
}

func (o *deadlineOutput) limit(d time.Duration) {
	o.mu.Lock()
	o.most = d
	o.mu.Unlock()
	o.arm()
}

package rig

import (
	"sync"

	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// leases is a pool that remembers which cells waited for their calls.
type leases struct {
	*warm.Driver
	leased func(sandbox.Sandbox) // may be nil

	mu  sync.Mutex
	ids map[string]bool
}

func (l *leases) Lease(key string) (sandbox.Sandbox, string) {
	box, name := l.Driver.Lease(key)
	if box == nil {
		return nil, ""
	}
	l.mu.Lock()
	l.ids[box.ID()] = true
	l.mu.Unlock()
	if l.leased != nil {
		l.leased(box)
	}
	return box, name
}

// Waited reports whether the cell of that id waited for its call.
func (r *Rig) Waited(id string) bool {
	if r.leases == nil {
		return false
	}
	r.leases.mu.Lock()
	defer r.leases.mu.Unlock()
	return r.leases.ids[id]
}

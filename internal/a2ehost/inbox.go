package a2ehost

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// inboxWait is how long a request waits to be taken by a session that has no room, before its client is told to come back.
const inboxWait = 10 * time.Second

// inbox hands requests that arrived one by one to a session's reading.
type inbox struct {
	letters chan letter
	over    <-chan struct{} // closed when the session is over
	header  *auth.Secret    // the claim's, set for each request

	size int

	shut chan struct{} // closed when no more is taken
	once sync.Once
	gate sync.RWMutex // read: for handing over; written: once there is no more
}

// letter is one request.
type letter struct {
	m       a2e.Message
	err     error // in the place of m
	size    int   // bytes
	header  auth.Secret
	release func() // of the memory that it took
}

func newInbox(over <-chan struct{}) *inbox {
	return &inbox{letters: make(chan letter, 4), over: over, shut: make(chan struct{})}
}

// Decode implements source. The end of the session is the end of the input.
func (i *inbox) Decode() (a2e.Message, error) {
	select {
	case <-i.over:
		return nil, io.EOF
	default:
	}
	select {
	case l := <-i.letters:
		l.release()
		i.size, *i.header = l.size, l.header
		return l.m, l.err
	case <-i.over:
		return nil, io.EOF
	}
}

// Size implements source.
func (i *inbox) Size() int { return i.size }

// put hands a request over in the order of arrival, and reports false when there is no room or the session is over. Then the
// letter is still the caller's.
func (i *inbox) put(ctx context.Context, l letter) bool {
	i.gate.RLock()
	defer i.gate.RUnlock()
	if i.isShut() {
		return false
	}
	late := time.NewTimer(inboxWait)
	defer late.Stop()
	select {
	case i.letters <- l:
		return true
	case <-late.C:
	case <-ctx.Done():
	case <-i.over:
	case <-i.shut:
	}
	return false
}

func (i *inbox) isShut() bool {
	select {
	case <-i.over:
		return true
	case <-i.shut:
		return true
	default:
		return false
	}
}

// close refuses what comes, and throws away what was not read.
func (i *inbox) close() {
	i.once.Do(func() { close(i.shut) })
	i.gate.Lock()
	defer i.gate.Unlock()
	for {
		select {
		case l := <-i.letters:
			l.release()
		default:
			return
		}
	}
}

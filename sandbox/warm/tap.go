package warm

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/hotcell/hotcell/sandbox"
)

// faucet is a stream of a waiting cell: what it says is dropped until it is restored.
type faucet interface {
	io.Reader
	// Restore opens it: the reader gets first, and then what the cell says from now on. It reports false when the stream has
	// ended before.
	Restore(first []byte) bool
}

// drop has heard see what a stream says, and ended its end, until it is restored. A stream that cannot be diverted is read for
// that, by a goroutine that ends with the cell, or with its lease.
func drop(from io.Reader, heard func([]byte), ended func()) faucet {
	if d, ok := from.(sandbox.Divertible); ok {
		d.Divert(heard, ended)
		return d
	}
	t := newTap(from, heard, ended)
	go t.pump()
	return t
}

// tap reads a stream of a waiting cell and drops what it says, until it is opened: what is read from then on is for the
// tap's own reader.
type tap struct {
	from  io.Reader
	heard func(p []byte) // sees what is dropped
	ended func()         // the stream ended before the tap was opened

	mu     sync.Mutex
	open   bool
	first  []byte        // for the reader, before all else
	rest   []byte        // what the pump had in its hands when the tap was opened
	err    error         // the end that the pump met
	handed chan struct{} // closed once the pump has let go
}

// drip is how much of a waiting cell's stream is read at a time, and the longest first line.
const drip = 1 << 10

func newTap(from io.Reader, heard func([]byte), ended func()) *tap {
	return &tap{from: from, heard: heard, ended: ended, handed: make(chan struct{})}
}

// pump reads until the tap is open or the stream ends.
func (t *tap) pump() {
	defer close(t.handed)
	buf := make([]byte, drip)
	for {
		n, err := t.from.Read(buf)
		t.mu.Lock()
		if t.open {
			if t.rest = buf[:n]; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.err = err
			}
			t.mu.Unlock()
			return
		}
		t.err = err
		t.mu.Unlock()
		t.heard(buf[:n])
		if err != nil {
			t.ended()
			return
		}
	}
}

// Restore implements faucet.
func (t *tap) Restore(first []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return false
	}
	t.open, t.first = true, first
	return true
}

// Read is for one reader, once the tap is open.
func (t *tap) Read(p []byte) (int, error) {
	if n := copy(p, t.first); n > 0 {
		t.first = t.first[n:]
		return n, nil
	}
	t.take()
	if n := copy(p, t.rest); n > 0 {
		t.rest = t.rest[n:]
		return n, nil
	}
	if t.err != nil {
		return 0, t.err
	}
	return t.from.Read(p)
}

// take waits until the pump has let go, which it does at once where the stream can be interrupted: what the cell says next goes to
// the reader without a detour.
func (t *tap) take() {
	select {
	case <-t.handed:
		return
	default:
	}
	if s, ok := t.from.(sandbox.Interruptible); ok {
		s.Interrupt(true)
		defer s.Interrupt(false)
	}
	<-t.handed
}

// Close drops what is left, where the stream can.
func (t *tap) Close() error {
	if c, ok := t.from.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

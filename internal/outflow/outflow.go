package outflow

import (
	"io"
	"sync"
)

// Size is how much of one stream waits for its reader, beside what an engine holds itself.
const Size = 256 << 10

// Buffer is one stream on its way to its reader: a bounded queue of bytes. Writing blocks while it is full, and with it
// what fills it and so the other stream, until the reader reads, closes its end, or the cell is killed or destroyed:
// an engine does not see the end of a cell whose output is stuck. After Close what is written is dropped; after Overflow,
// what does not fit. While it is diverted it holds nothing, and no writer waits.
type Buffer struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte // unread bytes are data[start:]
	start   int
	end     error // what the reader gets after the last byte; nil while more may come
	closed  bool  // by the reader
	lossy   bool  // what does not fit is dropped
	lost    bool  // something was, and the end is io.ErrUnexpectedEOF

	heard   func(p []byte) // takes what is written; nil: the stream is not diverted
	ended   func()         // is told of the end
	handing bool           // heard has what came before the diversion
}

// New returns an empty buffer.
func New() *Buffer {
	b := &Buffer{}
	b.changed.L = &b.mu
	return b
}

// Write appends all of p. It fails only after Finish.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	written := 0
	for written < len(p) {
		for b.end == nil && b.stuck() {
			b.changed.Wait()
		}
		if b.end != nil {
			return written, io.ErrClosedPipe
		}
		if heard := b.heard; heard != nil {
			b.mu.Unlock() // it may take locks under which Restore is called
			heard(p[written:])
			b.mu.Lock()
			return len(p), nil
		}
		if b.closed {
			return len(p), nil
		}
		n := min(len(p)-written, Size-(len(b.data)-b.start))
		if n == 0 || b.lost { // lossy: nothing after the gap
			b.lost = true
			return len(p), nil
		}
		b.append(p[written : written+n])
		written += n
		b.changed.Broadcast()
	}
	return written, nil
}

// stuck reports whether a writer has to wait.
func (b *Buffer) stuck() bool {
	if b.heard != nil {
		return b.handing
	}
	return len(b.data)-b.start >= Size && !b.closed && !b.lossy
}

// append keeps the backing array at no more than twice what is unread, plus a little.
func (b *Buffer) append(p []byte) {
	if b.start > 0 && len(b.data)+len(p) > cap(b.data) {
		b.data = b.data[:copy(b.data, b.data[b.start:])]
		b.start = 0
	}
	b.data = append(b.data, p...)
}

// Read implements io.Reader. What was written before the end can be read after it.
func (b *Buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for len(b.data) == b.start && b.end == nil && !b.closed {
		b.changed.Wait()
	}
	switch {
	case b.closed:
		return 0, io.ErrClosedPipe
	case len(b.data) == b.start:
		return 0, b.end
	}
	n := copy(p, b.data[b.start:])
	b.start += n
	if b.start == len(b.data) {
		b.data, b.start = b.data[:0], 0
	}
	b.changed.Broadcast()
	return n, nil
}

// Close is the reader's: what is unread and what still comes is dropped, and no writer waits for this stream again.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.data, b.start = true, nil, 0
	b.changed.Broadcast()
	return nil
}

// Divert hands what has come and what comes to heard, in its order, in place of keeping it, until [Buffer.Restore]; ended is
// told of the stream's end until then. Both are called by who writes and who ends the stream, and first by Divert itself, with
// no lock held. Where somebody else cuts the stream, ended may be told while heard is on.
func (b *Buffer) Divert(heard func(p []byte), ended func()) {
	b.mu.Lock()
	early, over := b.data[b.start:], b.end != nil
	b.data, b.start = nil, 0
	b.heard, b.ended, b.handing = heard, ended, true
	b.changed.Broadcast()
	b.mu.Unlock()
	if len(early) > 0 {
		heard(early)
	}
	b.mu.Lock()
	b.handing = false
	b.changed.Broadcast()
	b.mu.Unlock()
	if over {
		ended()
	}
}

// Restore ends a diversion: first, and what is written from now on, is for the reader. It reports false, and changes nothing,
// where the stream has ended before.
func (b *Buffer) Restore(first []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		return false
	}
	b.heard, b.ended = nil, nil
	b.append(first)
	b.changed.Broadcast()
	return true
}

// Overflow lets no writer wait any more.
func (b *Buffer) Overflow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lossy = true
	b.changed.Broadcast()
}

// Finish is the writer's: err follows the last byte. The first call counts.
func (b *Buffer) Finish(err error) {
	if ended := b.finish(err); ended != nil {
		ended()
	}
}

// finish returns who is to be told of the end.
func (b *Buffer) finish(err error) (ended func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost {
		err = io.ErrUnexpectedEOF
	}
	if b.end == nil {
		b.end, ended = err, b.ended
	}
	b.changed.Broadcast()
	return ended
}

package outflow

import (
	"io"
	"os"
	"sync"
)

// Size is how much of one stream waits for its reader, beside what an engine holds itself.
const Size = 256 << 10

// Buffer is one stream on its way to its reader: a bounded queue of bytes. Writing blocks while it is full, and with it
// what fills it and so the other stream, until the reader reads, closes its end, or the cell is killed or destroyed:
// an engine does not see the end of a cell whose output is stuck. After Close what is written is dropped; after Overflow,
// what does not fit.
type Buffer struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte // unread bytes are data[start:]
	start   int
	end     error // what the reader gets after the last byte; nil while more may come
	closed  bool  // by the reader
	lossy   bool  // what does not fit is dropped
	lost    bool  // something was, and the end is io.ErrUnexpectedEOF
	off     bool  // no reader waits
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
		for len(b.data)-b.start >= Size && !b.closed && !b.lossy && b.end == nil {
			b.changed.Wait()
		}
		if b.end != nil {
			return written, io.ErrClosedPipe
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
	for len(b.data) == b.start && b.end == nil && !b.closed && !b.off {
		b.changed.Wait()
	}
	switch {
	case b.closed:
		return 0, io.ErrClosedPipe
	case len(b.data) == b.start && b.end != nil:
		return 0, b.end
	case len(b.data) == b.start:
		return 0, os.ErrDeadlineExceeded
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

// Interrupt on has a Read that waits, and each that would, return [os.ErrDeadlineExceeded], until it is off.
func (b *Buffer) Interrupt(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = on
	b.changed.Broadcast()
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost {
		err = io.ErrUnexpectedEOF
	}
	if b.end == nil {
		b.end = err
	}
	b.changed.Broadcast()
}

package fake

import (
	"io"
	"sync"
)

// pipeSize is how much a stream holds before its writer blocks, as with the kernel's pipes.
const pipeSize = 64 << 10

// pipe is a bounded queue of bytes. After finish it takes no more, and gives err after its last byte.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	end     error
	refused bool // writes fail, though the end is not there yet
	cut     int  // bytes after which it ends with io.ErrUnexpectedEOF; 0 for never
	written int
}

func newPipe() *pipe {
	p := &pipe{}
	p.changed.L = &p.mu
	return p
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := 0; ; {
		for len(p.data) >= pipeSize && p.end == nil && !p.refused {
			p.changed.Wait()
		}
		if p.end == io.ErrUnexpectedEOF && p.cut > 0 {
			return len(b), nil // cut between the cell and its reader: the cell does not know
		}
		if p.end != nil || p.refused {
			return n, io.ErrClosedPipe
		}
		part := b[n:min(len(b), n+pipeSize-len(p.data))]
		if p.cut > 0 {
			part = part[:min(len(part), p.cut-p.written)]
		}
		p.data = append(p.data, part...)
		p.written += len(part)
		n += len(part)
		if p.cut > 0 && p.written == p.cut {
			p.end = io.ErrUnexpectedEOF
		}
		p.changed.Broadcast()
		if n == len(b) {
			return n, nil
		}
	}
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.data) == 0 && p.end == nil {
		p.changed.Wait()
	}
	if len(p.data) == 0 {
		return 0, p.end
	}
	n := copy(b, p.data)
	p.data = p.data[n:]
	p.changed.Broadcast()
	return n, nil
}

// finish ends the stream with err. The first call counts.
func (p *pipe) finish(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil {
		p.end = err
	}
	p.changed.Broadcast()
}

// refuse fails writers; readers get what is there and wait for the end.
func (p *pipe) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = true
	p.changed.Broadcast()
}

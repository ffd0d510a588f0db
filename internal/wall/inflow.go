package wall

const (
	creditStep = Window / 4 // credit is given back in pieces of at least this
	keepInflow = 64 << 10   // a larger buffer is given up when it is empty
)

// inflow holds what a stream has received and nobody has read yet, at most [Window] bytes.
type inflow struct {
	buf    []byte
	r, w   int   // buf[r:w] has not been read
	credit int64 // how many bytes may come
	owed   int64 // how many bytes were read and not given back as credit
	ended  bool  // no more bytes come
}

// room returns space for n bytes behind what is there.
func (f *inflow) room(n int) []byte {
	if f.r > 0 && len(f.buf)-f.w < n {
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	}
	if len(f.buf)-f.w < n {
		grown := make([]byte, max(f.w+n, min(2*len(f.buf), Window)))
		copy(grown, f.buf[:f.w])
		f.buf = grown
	}
	return f.buf[f.w:]
}

func (f *inflow) read(p []byte) int {
	n := copy(p, f.buf[f.r:f.w])
	f.r += n
	f.owed += int64(n)
	if f.r == f.w {
		f.r, f.w = 0, 0
		if len(f.buf) > keepInflow {
			f.buf = nil
		}
	}
	return n
}

// take hands out all bytes with their buffer. They count as read when they are given back.
func (f *inflow) take() []byte {
	b := f.buf[f.r:f.w]
	f.buf, f.r, f.w = nil, 0, 0
	return b
}

// give takes back what take has handed out.
func (f *inflow) give(b []byte) {
	f.owed += int64(len(b))
	if b = b[:cap(b)]; f.buf == nil && len(b) <= keepInflow {
		f.buf = b
	}
}

func (f *inflow) drop() { f.buf, f.r, f.w = nil, 0, 0 }

// due reports whether it is time to give credit back.
func (f *inflow) due() bool { return f.owed >= creditStep && !f.ended }

func (f *inflow) takeOwed() int64 {
	n := f.owed
	f.owed = 0
	f.credit += n
	return n
}

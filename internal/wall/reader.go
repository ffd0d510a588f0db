package wall

import (
	"bytes"
	"io"
	"unicode/utf8"
)

const (
	firstBuffer = 4 << 10        // what a reader begins with, and keeps of a cell that says little at a time
	startBuffer = 64 << 10       // what it goes on with once a read has filled that
	keepBuffer  = 1<<20 + 64<<10 // a larger buffer is given back once its long line is through
	cutPrefix   = 4 << 10        // what is kept of a line that is cut
	emptyReads  = 100            // reads in a row that bring nothing before the source counts as broken
)

// Line is one line of the stream.
type Line struct {
	Bytes   []byte // without the line feed, valid UTF-8 (bad bytes become U+FFFD); valid until the next call of Next
	Cut     bool   // the line was too long: Bytes is its beginning, at most 4 KiB
	Dropped int64  // of a cut line: the bytes that are lost
	Type    string // of a cut line: the type that its beginning claims
	Open    bool   // the stream ended before this line's line feed
}

// Reader splits a hostile stream into lines in bounded memory. It is not safe for concurrent use.
type Reader struct {
	src     io.Reader
	maxLine int
	maxLong int
	buf     []byte // buf[r:w] has not been handed out
	r, w    int
	err     error
}

// NewReader returns a Reader whose lines have at most maxLine bytes, or maxLong where a line says early on that it is a
// request or a result. A lie about that gains a cell nothing but maxLong bytes of buffer.
func NewReader(src io.Reader, maxLine, maxLong int) *Reader {
	return &Reader{src: src, maxLine: maxLine, maxLong: max(maxLine, maxLong)}
}

// Next returns the next line. After the last one it returns the source's own error: io.EOF at an orderly end,
// io.ErrUnexpectedEOF or another where the stream broke. A last line without a line feed comes before that error.
func (r *Reader) Next() (Line, error) {
	r.settle()
	limit, seen := r.maxLine, 0
	for {
		pending := r.buf[r.r:r.w]
		if i := bytes.IndexByte(pending[seen:], '\n'); i >= 0 {
			r.r += seen + i + 1
			return r.line(pending[:seen+i], false), nil
		}
		seen = len(pending)
		if seen > limit {
			limit = r.limit(pending)
		}
		if seen > limit {
			return r.skip(), nil
		}
		if r.err != nil {
			r.r = r.w
			if seen == 0 {
				return Line{}, r.err
			}
			return r.line(pending, true), nil
		}
		r.fill(limit)
	}
}

// settle gives back a buffer that one long line has blown up.
func (r *Reader) settle() {
	if n := r.w - r.r; len(r.buf) > keepBuffer && n <= startBuffer {
		small := make([]byte, startBuffer)
		copy(small, r.buf[r.r:r.w])
		r.buf, r.r, r.w = small, 0, n
	}
}

// fill reads once. It makes room first, up to one byte more than limit.
func (r *Reader) fill(limit int) {
	full := r.w == len(r.buf)
	small := len(r.buf) <= firstBuffer
	switch {
	case r.r == r.w:
		r.r, r.w = 0, 0
	case full && !small:
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	switch {
	case r.buf == nil:
		r.buf = make([]byte, firstBuffer)
	case full && (small || r.w == len(r.buf)):
		grown := make([]byte, max(startBuffer, min(2*len(r.buf), limit+1)))
		r.w = copy(grown, r.buf[r.r:r.w])
		r.buf, r.r = grown, 0
	}
	for range emptyReads {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// limit decides how long a line may be that begins with b. It looks at the same bytes however the stream was split.
func (r *Reader) limit(b []byte) int {
	switch r.claim(b) {
	case TypeRequest, TypeResult:
		return r.maxLong
	}
	return r.maxLine
}

// claim returns the type that the beginning of a long line claims.
func (r *Reader) claim(b []byte) string { return peekType(b[:min(len(b), r.maxLine)]) }

// line makes a Line of a whole line.
func (r *Reader) line(b []byte, open bool) Line {
	limit := r.maxLine
	if len(b) > limit {
		limit = r.limit(b)
	}
	total := len(b)
	if total <= limit && !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
		total = len(b) // a replacement can be longer than what it stands for
	}
	if total <= limit {
		return Line{Bytes: b, Open: open}
	}
	return cut(beginning(b, r.maxLine), r.claim(b), int64(total), open)
}

// cut makes a Line of the beginning of a line that had total bytes.
func cut(head []byte, claim string, total int64, open bool) Line {
	dropped := total - int64(len(head))
	head = bytes.ToValidUTF8(head, []byte("\uFFFD"))
	return Line{Bytes: beginning(head, cutPrefix), Cut: true, Dropped: dropped, Type: claim, Open: open}
}

// skip drops the pending bytes and all that follow up to the next line feed.
func (r *Reader) skip() Line {
	head, claim := bytes.Clone(beginning(r.buf[r.r:r.w], r.maxLine)), r.claim(r.buf[r.r:r.w])
	total := int64(0)
	for {
		pending := r.buf[r.r:r.w]
		i := bytes.IndexByte(pending, '\n')
		if i >= 0 || r.err != nil {
			open := i < 0
			if open {
				i, r.r = len(pending), r.w
			} else {
				r.r += i + 1
			}
			total += int64(i)
			return cut(head, claim, total, open)
		}
		total += int64(len(pending))
		r.r, r.w = 0, 0
		r.fill(r.maxLine)
	}
}

// beginning returns what is kept of a line that is cut, at most limit bytes. It doesn't end inside a character.
func beginning(b []byte, limit int) []byte {
	b = b[:min(len(b), limit, cutPrefix)]
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

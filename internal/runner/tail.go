package runner

import (
	"bytes"
	"strings"
)

const maxTail = 4 << 10 // bytes of stderr in the exit line

// tail keeps the last lines of a stream.
type tail struct{ b []byte }

// add appends a line.
func (t *tail) add(line string) {
	t.b = append(append(t.b, line...), '\n')
	t.cut()
}

// raw appends what need not end with a line.
func (t *tail) raw(b []byte) {
	t.b = append(t.b, b...)
	t.cut()
}

func (t *tail) cut() {
	if over := len(t.b) - (maxTail + 2); over > maxTail {
		t.b = append(t.b[:0], t.b[over:]...)
	}
}

// String returns at most maxTail bytes, whole lines where one fits.
func (t *tail) String() string {
	b := bytes.TrimRight(t.b, "\n")
	if over := len(b) - maxTail; over > 0 {
		whole := b[over-1] == '\n'
		b = b[over:]
		if i := bytes.IndexByte(b, '\n'); !whole && i >= 0 {
			b = b[i+1:]
		}
	}
	return strings.ToValidUTF8(string(b), "")
}

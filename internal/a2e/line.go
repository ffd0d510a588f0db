package a2e

import "bytes"

// headSize is how much is kept of a line that is given up, in bytes: enough for the longest id, type and name.
const headSize = 16 << 10

// line is one line in the making. It is kept in the pieces in which it came, so that growing copies nothing; put
// together, it is there twice for a moment.
type line struct {
	pieces  [][]byte
	size    int    // bytes in pieces
	lent    int    // bytes that are borrowed
	tooLong bool   // nothing but the head is kept
	head    []byte // the beginning
}

func (l *line) add(part []byte) {
	l.pieces = append(l.pieces, bytes.Clone(part))
	l.size += len(part)
}

// join returns the line that part ends. A line of one piece is not copied.
func (l *line) join(part []byte) []byte {
	if len(l.pieces) == 0 {
		return part
	}
	whole := make([]byte, 0, l.size+len(part))
	for _, piece := range l.pieces {
		whole = append(whole, piece...)
	}
	l.pieces = nil
	return append(whole, part...)
}

// start returns a copy of the line's beginning; part is what came behind the pieces.
func (l *line) start(part []byte) []byte {
	if len(l.pieces) > 0 {
		part = l.pieces[0]
	}
	return bytes.Clone(part[:min(len(part), headSize)])
}

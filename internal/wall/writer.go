package wall

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// joinLine is the longest line that [Writer.Line] copies to send it together with its line feed.
const joinLine = 64 << 10

// Writer writes lines whole, one after another. It is safe for concurrent use. After the first error of the stream
// every call returns that error: half a line may be out, and nothing may follow it.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Encode writes v as one line. JSON is written without HTML escaping.
func (w *Writer) Encode(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return w.write(b.Bytes(), nil)
}

// Line writes raw, which is JSON already, and a line feed.
func (w *Writer) Line(raw []byte) error {
	if bytes.IndexByte(raw, '\n') >= 0 {
		return errors.New("a line must not hold a line feed")
	}
	lf := []byte{'\n'}
	if len(raw) > joinLine {
		return w.write(raw, lf)
	}
	return w.write(append(bytes.Clone(raw), lf...), nil)
}

// Send writes lines that have their line feeds already, in one piece.
func (w *Writer) Send(lines []byte) error { return w.write(lines) }

func (w *Writer) write(parts ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range parts {
		if w.err != nil {
			return w.err
		}
		if len(p) > 0 {
			_, w.err = w.w.Write(p)
		}
	}
	return w.err
}

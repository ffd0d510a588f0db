package docker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
)

// The stream numbers in a frame's header.
const (
	frameStdin  = 0
	frameStdout = 1
	frameStderr = 2
	frameSystem = 3 // the engine's own error text, the last frame
)

// maxFrame is the longest payload that is believed. Engines write at most 32 KiB at a time.
const maxFrame = 1 << 20

// How much is read at a time: little for a cell that says little, such as one that waits, and more from its first longer frame on.
const (
	littleRead = 1 << 10
	longRead   = 32 << 10
)

var errFrame = errors.New("bad frame from the engine")

// demux takes an attached stream apart: frames of {number, 0, 0, 0, length as 4 bytes big endian} and payload. It returns
// nil at an end between two frames, io.ErrUnexpectedEOF at an end within one, and an error for a frame that is none. A
// sink that returns an error ends it with that error.
func demux(r io.Reader, stdout, stderr io.Writer) error {
	in := &frames{r: r, buf: make([]byte, littleRead)}
	for {
		header, err := in.header()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		length := binary.BigEndian.Uint32(header[4:])
		if header[1]|header[2]|header[3] != 0 || length > maxFrame {
			return fmt.Errorf("%w: header % x", errFrame, header)
		}
		var sink io.Writer
		switch header[0] {
		case frameStdin, frameStdout:
			sink = stdout
		case frameStderr:
			sink = stderr
		case frameSystem:
			return in.systemError(int(length))
		default:
			return fmt.Errorf("%w: stream %d", errFrame, header[0])
		}
		if err := in.copy(sink, int(length)); err != nil {
			return err
		}
		if len(in.got) == 0 {
			runtime.Gosched() // or the reader would wait for a look at whether more has come
		}
	}
}

// frames reads a stream, a buffer at a time.
type frames struct {
	r   io.Reader
	buf []byte
	got []byte // of buf: what has come and is not used yet
	err error  // what follows it
}

// more reads once, behind what has come. The buffer is not full then.
func (f *frames) more() error {
	if f.err != nil {
		return f.err
	}
	have := copy(f.buf, f.got)
	n, err := f.r.Read(f.buf[have:])
	f.got, f.err = f.buf[:have+n], err
	if n > 0 {
		return nil
	}
	return err
}

// header returns the next frame's header, or io.EOF where none comes.
func (f *frames) header() (h [8]byte, err error) {
	for len(f.got) < len(h) {
		if err := f.more(); err != nil {
			if errors.Is(err, io.EOF) && len(f.got) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return h, err
		}
	}
	f.got = f.got[copy(h[:], f.got):]
	return h, nil
}

// copy gives a frame's payload to w.
func (f *frames) copy(w io.Writer, length int) error {
	for length > 0 {
		if len(f.got) == 0 {
			if length > len(f.buf) && len(f.buf) < longRead {
				f.buf = make([]byte, longRead)
			}
			if err := f.more(); err != nil {
				if errors.Is(err, io.EOF) {
					return io.ErrUnexpectedEOF
				}
				return err
			}
			continue
		}
		part := f.got[:min(length, len(f.got))]
		if _, err := w.Write(part); err != nil {
			return err
		}
		f.got, length = f.got[len(part):], length-len(part)
	}
	return nil
}

// systemError returns the engine's text.
func (f *frames) systemError(length int) error {
	var text bytes.Buffer
	if err := f.copy(&text, min(length, 4096)); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("engine ended the stream: %s", words(errors.New(text.String())))
}

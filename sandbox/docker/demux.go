package docker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// littleFrame is how long a payload is at most that takes no more memory than a cell that waits does.
const littleFrame = 1 << 10

var errFrame = errors.New("bad frame from the engine")

// demux takes an attached stream apart: frames of {number, 0, 0, 0, length as 4 bytes big endian} and payload. It returns
// nil at an end between two frames, io.ErrUnexpectedEOF at an end within one, and an error for a frame that is none. A
// sink that returns an error ends it with that error. It needs little memory for a cell that says little, such as one that
// waits, and a fixed amount for any other.
func demux(r io.Reader, stdout, stderr io.Writer) error {
	buf := make([]byte, littleFrame)
	var header [8]byte
	for {
		if _, err := io.ReadFull(r, header[:]); err != nil {
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
			return systemError(r, length)
		default:
			return fmt.Errorf("%w: stream %d", errFrame, header[0])
		}
		if length > littleFrame && len(buf) == littleFrame {
			buf = make([]byte, 32<<10)
		}
		if err := copyFrame(sink, r, int(length), buf); err != nil {
			return err
		}
	}
}

func copyFrame(w io.Writer, r io.Reader, length int, buf []byte) error {
	for length > 0 {
		n, err := r.Read(buf[:min(length, len(buf))])
		if n > 0 {
			length -= n
			if _, werr := w.Write(buf[:n]); werr != nil {
				return werr
			}
		}
		if err != nil && length > 0 {
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

func systemError(r io.Reader, length uint32) error {
	text, err := io.ReadAll(io.LimitReader(r, int64(min(length, 4096))))
	if err != nil {
		return err
	}
	return fmt.Errorf("engine ended the stream: %s", words(errors.New(string(text))))
}

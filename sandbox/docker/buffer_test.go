package docker

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

func TestBufferBlocksWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBuffer()
		wrote := 0
		go func() {
			n, err := b.Write(make([]byte, bufferSize+10))
			if err != nil {
				t.Error(err)
			}
			wrote = n
			b.finish(io.EOF)
		}()
		synctest.Wait()
		if wrote != 0 {
			t.Errorf("the write returned %d with the buffer full", wrote)
		}
		if n, err := b.Read(make([]byte, 10)); n != 10 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
		synctest.Wait()
		if wrote != bufferSize+10 {
			t.Errorf("the write returned %d with room in the buffer", wrote)
		}
		if rest, err := io.ReadAll(b); len(rest) != bufferSize || err != nil {
			t.Errorf("rest of %d bytes, %v", len(rest), err)
		}
	})
}

// A stream whose reader has closed it holds up nothing, and an unread one only until then.
func TestBufferClosedByReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stdout, stderr := newBuffer(), newBuffer()
		in := strings.Repeat(frame(2, strings.Repeat("e", 100_000)), 10) + frame(1, "result")
		go func() {
			if err := demux(strings.NewReader(in), stdout, stderr); err != nil {
				t.Error(err)
			}
			stdout.finish(io.EOF)
			stderr.finish(io.EOF)
		}()
		synctest.Wait()
		if len(stdout.data) != 0 {
			t.Error("stdout went past a full stderr")
		}
		_ = stderr.Close()
		if out, err := io.ReadAll(stdout); string(out) != "result" || err != nil {
			t.Errorf("stdout %q, %v", out, err)
		}
		if _, err := stderr.Read(make([]byte, 1)); err != io.ErrClosedPipe {
			t.Errorf("read after close: %v", err)
		}
	})
}

func TestBufferEnds(t *testing.T) {
	b := newBuffer()
	if _, err := b.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	b.finish(io.ErrUnexpectedEOF)
	b.finish(io.EOF)
	if n, err := b.Write([]byte("d")); n != 0 || err != io.ErrClosedPipe {
		t.Errorf("write after the end: %d, %v", n, err)
	}
	if data, err := io.ReadAll(b); string(data) != "abc" || err != io.ErrUnexpectedEOF {
		t.Errorf("got %q, %v", data, err)
	}
}

// Memory stays within twice the buffer, however the reader and the writer alternate, and no byte is lost.
func TestBufferMemory(t *testing.T) {
	b := newBuffer()
	want := bytes.Repeat([]byte("0123456789"), 200_000)
	go func() {
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+len(rest)%4000)
			if _, err := b.Write(rest[:n]); err != nil {
				t.Error(err)
			}
			rest = rest[n:]
		}
		b.finish(io.EOF)
	}()
	if err := iotest.TestReader(iotest.HalfReader(b), want); err != nil {
		t.Error(err)
	}
	if cap(b.data) > 2*bufferSize+8192 {
		t.Errorf("the buffer grew to %d", cap(b.data))
	}
}

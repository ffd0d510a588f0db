package outflow

import (
	"bytes"
	"io"
	"os"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

func TestBlocksWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		wrote := 0
		go func() {
			n, err := b.Write(make([]byte, Size+10))
			if err != nil {
				t.Error(err)
			}
			wrote = n
			b.Finish(io.EOF)
		}()
		synctest.Wait()
		if wrote != 0 {
			t.Errorf("the write returned %d with the buffer full", wrote)
		}
		if n, err := b.Read(make([]byte, 10)); n != 10 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
		synctest.Wait()
		if wrote != Size+10 {
			t.Errorf("the write returned %d with room in the buffer", wrote)
		}
		if rest, err := io.ReadAll(b); len(rest) != Size || err != nil {
			t.Errorf("rest of %d bytes, %v", len(rest), err)
		}
	})
}

func TestEnds(t *testing.T) {
	b := New()
	if _, err := b.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	b.Finish(io.ErrUnexpectedEOF)
	b.Finish(io.EOF)
	if n, err := b.Write([]byte("d")); n != 0 || err != io.ErrClosedPipe {
		t.Errorf("write after the end: %d, %v", n, err)
	}
	if data, err := io.ReadAll(b); string(data) != "abc" || err != io.ErrUnexpectedEOF {
		t.Errorf("got %q, %v", data, err)
	}
}

// Memory stays within twice the buffer, however the reader and the writer alternate, and no byte is lost.
func TestMemory(t *testing.T) {
	b := New()
	want := bytes.Repeat([]byte("0123456789"), 200_000)
	go func() {
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+len(rest)%4000)
			if _, err := b.Write(rest[:n]); err != nil {
				t.Error(err)
			}
			rest = rest[n:]
		}
		b.Finish(io.EOF)
	}()
	if err := iotest.TestReader(iotest.HalfReader(b), want); err != nil {
		t.Error(err)
	}
	if cap(b.data) > 2*Size+8192 {
		t.Errorf("the buffer grew to %d", cap(b.data))
	}
}

// A reader that waits can be called off, and what is written afterwards is for the next one.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		var err error
		go func() { _, err = b.Read(make([]byte, 4)) }()
		synctest.Wait()
		b.Interrupt(true)
		synctest.Wait()
		if err != os.ErrDeadlineExceeded {
			t.Fatalf("the reader that was called off got %v", err)
		}
		if _, err := b.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if n, err := b.Read(got); string(got[:n]) != "abc" || err != nil {
			t.Errorf("what is there while no reader may wait: %q, %v", got[:n], err)
		}
		b.Interrupt(false)
		b.Finish(io.EOF)
		if n, err := b.Read(got); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d, %v", n, err)
		}
	})
}

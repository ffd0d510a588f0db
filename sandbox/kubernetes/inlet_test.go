package kubernetes

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

// An inlet takes what is little without a reader, holds up who writes more, and loses nothing on the way.
func TestInlet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInlet()
		if n, err := i.Write(make([]byte, takes)); n != takes || err != nil { // or this is a deadlock
			t.Fatal(n, err)
		}
		more := false
		go func() {
			_, _ = i.Write([]byte("more"))
			more = true
		}()
		synctest.Wait()
		if more {
			t.Error("it takes more and more")
		}
		got := make([]byte, takes+4)
		if _, err := io.ReadFull(i, got); err != nil || !bytes.HasSuffix(got, []byte("\x00more")) {
			t.Errorf("%v, %q", err, got[takes-4:])
		}
		synctest.Wait()
		if !more {
			t.Error("who writes is still held up")
		}
	})
}

// Whoever waits at either side of an inlet is let go when it is closed.
func TestInletCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInlet()
		var readErr, writeErr error
		go func() { _, readErr = i.Read(make([]byte, 1)) }()
		synctest.Wait()
		_ = i.Close()
		synctest.Wait()
		if !errors.Is(readErr, io.EOF) {
			t.Errorf("read: %v", readErr)
		}
		i = newInlet()
		_, _ = i.Write(make([]byte, takes))
		go func() { _, writeErr = i.Write([]byte("x")) }()
		synctest.Wait()
		_ = i.Close()
		synctest.Wait()
		if !errors.Is(writeErr, io.ErrClosedPipe) {
			t.Errorf("write: %v", writeErr)
		}
	})
}

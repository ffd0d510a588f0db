package cgroup

import (
	"encoding/binary"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Whoever waits hears of every ring, however often others ask meanwhile, and no ring is lost or counted for ever.
func TestRing(t *testing.T) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRing(fd)
	if err != nil {
		t.Fatal(err)
	}
	one := binary.NativeEndian.AppendUint64(nil, 1)
	heard := make(chan uint64)
	go func() {
		defer close(heard)
		for n, ok := r.next(0); ok; n, ok = r.next(n) {
			heard <- n
		}
	}()
	for want := uint64(1); want <= 200; want++ {
		if _, err := unix.Write(fd, one); err != nil {
			t.Fatal(err)
		}
		if n := r.rung(); n != want { // whether or not the other has taken it
			t.Fatalf("rung %d times, want %d", n, want)
		}
		select {
		case n := <-heard:
			if n != want {
				t.Fatalf("heard %d, want %d", n, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("ring %d was not heard", want)
		}
	}
	r.close()
	if _, more := <-heard; more {
		t.Error("heard more after the end")
	}
	r.close()
	if n, ok := r.next(0); ok || r.rung() != 200 || r.take() != 200 {
		t.Errorf("after the end: %d, %v, %d", n, ok, r.rung())
	}
}

package outflow

import (
	"bytes"
	"io"
	"slices"
	"strings"
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

// What is said during a diversion goes to who diverts, in its order and with nothing kept, and what is said later to the reader.
func TestDivert(t *testing.T) {
	b := New()
	write := func(s string) {
		t.Helper()
		if n, err := io.WriteString(b, s); n != len(s) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	var heard []string
	write("a")
	b.Divert(func(p []byte) { heard = append(heard, string(p)) }, func() { heard = append(heard, "end") })
	flood := strings.Repeat("x", 4*Size)
	write("b")
	write(flood)
	if !slices.Equal(heard, []string{"a", "b", flood}) || b.data != nil {
		t.Errorf("%d pieces were heard, %d bytes are kept", len(heard), cap(b.data))
	}
	if !b.Restore([]byte("first ")) {
		t.Fatal("it has ended")
	}
	write("c")
	b.Finish(io.EOF)
	if all, err := io.ReadAll(b); string(all) != "first c" || err != nil {
		t.Errorf("the reader got %q, %v", all, err)
	}
	if len(heard) != 3 {
		t.Errorf("who had diverted heard %q too", heard[3:])
	}
}

// A writer that waits for room when the diversion begins goes on, behind what came before it.
func TestDivertLetsTheWriterGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		want := bytes.Repeat([]byte("0123456789"), Size/5)
		go func() {
			if n, err := b.Write(want); n != len(want) || err != nil {
				t.Errorf("write: %d, %v", n, err)
			}
			b.Finish(io.EOF)
		}()
		synctest.Wait()
		var got []byte
		ends := 0
		b.Divert(func(p []byte) {
			if got == nil {
				synctest.Wait() // whoever could come in between has come
			}
			got = append(got, p...)
		}, func() { ends++ })
		synctest.Wait()
		if !bytes.Equal(got, want) || ends != 1 {
			t.Errorf("heard %d bytes of %d, as they were: %t; %d ends", len(got), len(want), bytes.Equal(got, want), ends)
		}
		if b.Restore(nil) {
			t.Error("a stream that has ended was restored")
		}
	})
}

// The end is told once, whether it comes before the diversion, during it, or from within what hears of it.
func TestTheEndOfADivertedStream(t *testing.T) {
	for name, end := range map[string]func(b *Buffer, divert func(heard func([]byte))){
		"before": func(b *Buffer, divert func(func([]byte))) { b.Finish(io.EOF); divert(func([]byte) {}) },
		"during": func(b *Buffer, divert func(func([]byte))) { divert(func([]byte) {}); b.Finish(io.EOF) },
		"from within": func(b *Buffer, divert func(func([]byte))) {
			divert(func([]byte) { b.Finish(io.ErrUnexpectedEOF) })
			if n, err := b.Write([]byte("ab")); n != 2 || err != nil {
				t.Errorf("write: %d, %v", n, err)
			}
		},
		"from within what came before": func(b *Buffer, divert func(func([]byte))) {
			if _, err := b.Write([]byte("ab")); err != nil {
				t.Error(err)
			}
			divert(func([]byte) { b.Finish(io.ErrUnexpectedEOF) })
		},
	} {
		b, ends := New(), 0
		end(b, func(heard func([]byte)) { b.Divert(heard, func() { ends++ }) })
		b.Finish(io.EOF)
		if ends != 1 || b.Restore([]byte("x")) {
			t.Errorf("%s: %d ends", name, ends)
		}
		if _, err := b.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("%s: write after the end: %v", name, err)
		}
	}
}

// Each byte goes to one side, and in its order: who restores has what was written from then on, and no more.
func TestRestoreIsOneMoment(t *testing.T) {
	want := make([]byte, 1<<16)
	for i := range want {
		want[i] = byte(i * 7)
	}
	for round := range 200 {
		b := New()
		var heard []byte
		moment := round * 300
		restored := make(chan struct{})
		b.Divert(func(p []byte) {
			if heard = append(heard, p...); moment >= 0 && len(heard) >= moment {
				moment = -1
				go func() {
					if !b.Restore([]byte("first")) {
						t.Error("it has ended")
					}
					close(restored)
				}()
			}
		}, func() {})
		go func() {
			for rest := want; len(rest) > 0; {
				n := min(len(rest), 1+len(rest)%50)
				if _, err := b.Write(rest[:n]); err != nil {
					t.Error(err)
				}
				rest = rest[n:]
			}
			<-restored
			b.Finish(io.EOF)
		}()
		got, err := io.ReadAll(b)
		got, found := bytes.CutPrefix(got, []byte("first"))
		if all := append(heard, got...); !found || err != nil || !bytes.Equal(all, want) {
			t.Fatalf("round %d: %d bytes were heard and %d read, of %d, %v", round, len(heard), len(got), len(want), err)
		}
	}
}

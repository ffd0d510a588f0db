package store

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func anEntry() *rapid.Generator[entry] {
	return rapid.Custom(func(t *rapid.T) entry {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) }))
		e := entry{accepted: rapid.Int64().Draw(t, "accepted")}
		for _, to := range e.texts() {
			*to = text.Draw(t, "text")
		}
		return e
	})
}

// An entry is read as it was written, whatever is in it and behind it, and no part of one is read as one.
func TestEntriesAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, behind := anEntry().Draw(t, "entry"), rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "behind")
		b, err := e.pack()
		if err != nil {
			t.Fatal(err)
		}
		if got, n := unpackEntry(append(bytes.Clone(b), behind...)); n != len(b) || got != e {
			t.Fatalf("got %+v, %d of %d bytes", got, n, len(b))
		}
		short := rapid.IntRange(0, len(b)-1).Draw(t, "short")
		if _, n := unpackEntry(b[:short]); n != 0 {
			t.Fatalf("%d of %d bytes were read as %d", short, len(b), n)
		}
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, n := unpackEntry(b); n != 0 {
			t.Fatal("an entry with a wrong bit was read")
		}
	})
}

func TestAnEntryThatIsTooLong(t *testing.T) {
	e := entry{id: "c1", view: strings.Repeat("x", longestEntry)}
	if _, err := e.pack(); err != errLongEntry {
		t.Errorf("got %v", err)
	}
}

func FuzzUnpackEntry(f *testing.F) {
	e := entry{id: "c1", reqID: "r1", principal: "p", agent: "a", digest: "d", instance: "one", view: `{"id":"c1"}`, accepted: 1}
	b, err := e.pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(append(bytes.Clone(b), b[:20]...))
	f.Add(b[:len(b)-1])
	f.Add(make([]byte, 64))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	e.reqID = string(b) // one in another
	b, _ = e.pack()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		e, n := unpackEntry(b)
		if n == 0 {
			if e != (entry{}) {
				t.Errorf("read %+v of none", e)
			}
			return
		}
		if n > len(b) {
			t.Fatalf("%d of %d bytes were read", n, len(b))
		}
		again, err := e.pack()
		if err != nil {
			t.Fatal(err)
		}
		if same, m := unpackEntry(again); m != len(again) || same != e {
			t.Errorf("read again: %+v", same)
		}
	})
}

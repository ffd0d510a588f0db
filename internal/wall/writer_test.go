package wall

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
)

// record notes each Write.
type record struct {
	writes [][]byte
	fail   int // the number of the write that fails, from 1
}

func (r *record) Write(p []byte) (int, error) {
	if r.fail == len(r.writes)+1 {
		return 0, errors.New("gone")
	}
	r.writes = append(r.writes, bytes.Clone(p))
	return len(p), nil
}

func TestEncode(t *testing.T) {
	var r record
	w := NewWriter(&r)
	if err := w.Encode(Event{Type: TypeEvent, Kind: "a<b", Data: []byte(`{"x":"<&>"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Line([]byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	want := []string{`{"type":"skill/event","kind":"a<b","data":{"x":"<&>"}}` + "\n", `{"a":1}` + "\n"}
	for i, s := range want {
		if i >= len(r.writes) || string(r.writes[i]) != s {
			t.Fatalf("writes = %q, want %q, one each", r.writes, want)
		}
	}
}

func TestLineRefusesALineFeed(t *testing.T) {
	var r record
	if err := NewWriter(&r).Line([]byte("{\n}")); err == nil || len(r.writes) > 0 {
		t.Errorf("error = %v, writes = %q", err, r.writes)
	}
}

func TestWriterStopsAtItsFirstError(t *testing.T) {
	r := record{fail: 2}
	w := NewWriter(&r)
	for i, want := range []bool{true, false, false} {
		if err := w.Line([]byte("{}")); (err == nil) != want {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if len(r.writes) != 1 {
		t.Errorf("%d writes got through after the error", len(r.writes)-1)
	}
}

func TestWriterKeepsLinesWhole(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	long := []byte(`"` + strings.Repeat("x", joinLine) + `"`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				_ = w.Line(long)
				_ = w.Encode("short")
			}
		})
	}
	wg.Wait()
	counts := map[int]int{}
	for line := range bytes.Lines(b.Bytes()) {
		counts[len(line)]++
	}
	if counts[len(long)+1] != 160 || counts[len("\"short\"\n")] != 160 || len(counts) != 2 {
		t.Errorf("line lengths %v", counts)
	}
}

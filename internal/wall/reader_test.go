package wall

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// read collects all lines and the final error.
func read(src io.Reader, maxLine, maxLong int) ([]Line, *Reader, error) {
	r := NewReader(src, maxLine, maxLong)
	var lines []Line
	for {
		l, err := r.Next()
		if err != nil {
			return lines, r, err
		}
		l.Bytes = bytes.Clone(l.Bytes)
		lines = append(lines, l)
	}
}

func TestNext(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	long := `{"type":"skill/result","x":"0123456789"}`
	late := `{"success":true,"type":"skill/result","x":"0123456789"}`
	lie := `{"a":{"type":"skill/result"},"x":"01234567890123456789"}`
	for _, tt := range []struct {
		name string
		in   string
		want []Line
	}{
		{"empty", "", nil},
		{"lines", "a\n\nb\n", []Line{{Bytes: text("a")}, {Bytes: text("")}, {Bytes: text("b")}}},
		{"no line feed at the end", "a\nb", []Line{{Bytes: text("a")}, {Bytes: text("b"), Open: true}}},
		{"NUL and CR stay", "a\x00b\r\n", []Line{{Bytes: text("a\x00b\r")}}},
		{"bad UTF-8", "a\xff\xfeb\n", []Line{{Bytes: text("a\uFFFDb")}}},
		{"exactly as long as allowed", strings.Repeat("x", 50) + "\n", []Line{{Bytes: text(strings.Repeat("x", 50))}}},
		{
			"too long, and the stream goes on", strings.Repeat("x", 5000) + "\nb\n",
			[]Line{{Bytes: text(strings.Repeat("x", 50)), Cut: true, Dropped: 4950}, {Bytes: text("b")}},
		},
		{
			"too long at the end", strings.Repeat("x", 5000),
			[]Line{{Bytes: text(strings.Repeat("x", 50)), Cut: true, Dropped: 4950, Open: true}},
		},
		{"a result may be long", strings.Repeat(" ", 20) + long + "\n", []Line{{Bytes: text(strings.Repeat(" ", 20) + long)}}},
		{"its type may come late", late + "\n", []Line{{Bytes: text(late)}}},
		{"a nested type does not count", lie + "\n", []Line{{Bytes: text(lie[:50]), Cut: true, Dropped: int64(len(lie) - 50)}}},
		{
			"a result that is too long", long[:38] + strings.Repeat("y", 5000) + "\n",
			[]Line{{Bytes: text(long[:38] + strings.Repeat("y", 12)), Cut: true, Dropped: 4988, Type: TypeResult}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := read(strings.NewReader(tt.in), 50, 100)
			if err != io.EOF {
				t.Errorf("error = %v, want io.EOF", err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("lines (-want +got):\n%s", d)
			}
		})
	}
}

func TestNextReportsHowTheStreamEnded(t *testing.T) {
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		src  io.Reader
		want error
	}{
		"orderly":     {strings.NewReader("a\nb"), io.EOF},
		"cut short":   {io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrUnexpectedEOF)), io.ErrUnexpectedEOF},
		"broken":      {io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(boom)), boom},
		"with data":   {iotest.DataErrReader(strings.NewReader("a\nb")), io.EOF},
		"no progress": {io.MultiReader(strings.NewReader("a\nb"), idle{}), io.ErrNoProgress},
	} {
		t.Run(name, func(t *testing.T) {
			got, r, err := read(tt.src, 50, 50)
			if !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
			want := []Line{{Bytes: []byte("a")}, {Bytes: []byte("b"), Open: true}}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("lines (-want +got):\n%s", d)
			}
			if _, again := r.Next(); !errors.Is(again, tt.want) {
				t.Errorf("the error did not stay: %v", again)
			}
		})
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// endless is a line that never ends.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	n := min(int64(len(p)), e.left)
	if n == 0 {
		return 0, io.EOF
	}
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return int(n), nil
}

func TestReaderBoundsItsMemory(t *testing.T) {
	for name, head := range map[string]string{"plain": "", "result": `{"type":"skill/result","data":"`} {
		t.Run(name, func(t *testing.T) {
			lines, r, _ := read(io.MultiReader(strings.NewReader(head), &endless{left: 64 << 20}, strings.NewReader("\nb\n")), MaxLine, 4<<20)
			if len(lines) != 2 || !lines[0].Cut || string(lines[1].Bytes) != "b" {
				t.Fatalf("got %d lines", len(lines))
			}
			if want := int64(len(head)) + 64<<20 - 4096; lines[0].Dropped != want {
				t.Errorf("dropped = %d, want %d", lines[0].Dropped, want)
			}
			if c := cap(r.buf); c > 4<<20+1 {
				t.Errorf("the buffer grew to %d", c)
			}
		})
	}
}

// A cell that says little at a time keeps a small buffer, however much it says in the end; one that fills it gets a larger one.
func TestReaderStaysSmall(t *testing.T) {
	line := strings.Repeat("x", 59) + "\n"
	for _, at := range []struct{ once, want int }{{1, firstBuffer}, {1000, startBuffer}} {
		c := chunks{text: []byte(strings.Repeat(line, 2000))}
		for range 2000 / at.once {
			c.sizes = append(c.sizes, at.once*len(line))
		}
		lines, r, err := read(&c, MaxLine, MaxLong)
		if len(lines) != 2000 || err != io.EOF || len(r.buf) != at.want {
			t.Errorf("%d lines at once: %d lines, %v, a buffer of %d, want %d", at.once, len(lines), err, len(r.buf), at.want)
		}
	}
}

func TestReaderGivesALargeBufferBack(t *testing.T) {
	long := `{"type":"skill/result","data":"` + strings.Repeat("x", 5<<20) + `"}`
	r := NewReader(strings.NewReader(long+"\nb\nc\n"), MaxLine, MaxLong)
	for range 2 {
		if l, err := r.Next(); err != nil || l.Cut {
			t.Fatalf("Next = cut %v, %v", l.Cut, err)
		}
	}
	if len(r.buf) > keepBuffer {
		t.Errorf("the buffer still has %d bytes", len(r.buf))
	}
	if l, err := r.Next(); err != nil || string(l.Bytes) != "c" {
		t.Errorf("Next = %q, %v, want c", l.Bytes, err)
	}
}

// chunks hands out a text in pieces of given sizes.
type chunks struct {
	text  []byte
	sizes []int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := len(c.text)
	if len(c.sizes) > 0 {
		n, c.sizes = min(n, c.sizes[0]), c.sizes[1:]
	}
	n = copy(p, c.text[:n])
	c.text = c.text[n:]
	return n, nil
}

func TestSplitsDoNotMatter(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"\n", "a", "é", "\xff", "\xc3", "\x00", `{"type":"skill/result",`, `"x":"`, `"}`, `{"type":"cell/exit"}`, "0123456789", " ", `\`,
	})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), ""))
		whole, _, err := read(bytes.NewReader(text), 20, 60)
		split, r, err2 := read(&chunks{text: text, sizes: rapid.SliceOf(rapid.IntRange(1, 9)).Draw(t, "sizes")}, 20, 60)
		if err != io.EOF || err2 != io.EOF {
			t.Fatalf("errors %v and %v", err, err2)
		}
		if d := cmp.Diff(whole, split); d != "" {
			t.Fatalf("split (-whole +split):\n%s", d)
		}
		for _, l := range split {
			if !utf8.Valid(l.Bytes) || len(l.Bytes) > 60 {
				t.Fatalf("bad line %q", l.Bytes)
			}
		}
		if cap(r.buf) > startBuffer {
			t.Fatalf("the buffer grew to %d", cap(r.buf))
		}
	})
}

func TestWriterRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		var b bytes.Buffer
		w := NewWriter(&b)
		for _, s := range texts {
			if err := w.Encode(Exit{Type: TypeExit, StartError: s[:min(len(s), 100)]}); err != nil {
				t.Fatal(err)
			}
		}
		lines, _, _ := read(&b, MaxLine, MaxLine)
		if len(lines) != len(texts) {
			t.Fatalf("%d lines from %d", len(lines), len(texts))
		}
		for i, s := range texts {
			e, err := DecodeExit(lines[i].Bytes)
			if want := strings.ToValidUTF8(s[:min(len(s), 100)], "\uFFFD"); err != nil || e.StartError != want {
				t.Fatalf("%q came back as %q, %v", want, e.StartError, err)
			}
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nb"), uint8(3))
	f.Add([]byte(`{"type":"skill/result","data":"`+strings.Repeat("x", 200)+"\"}\nb"), uint8(7))
	f.Fuzz(func(t *testing.T, text []byte, step uint8) {
		var sizes []int
		for n := 0; n < len(text); n += int(step) + 1 {
			sizes = append(sizes, int(step)+1)
		}
		lines, r, err := read(&chunks{text: text, sizes: sizes}, 64, 256)
		if err != io.EOF {
			t.Fatalf("error = %v", err)
		}
		feeds := bytes.Count(text, []byte("\n"))
		if n := len(text); n > 0 && text[n-1] != '\n' {
			feeds++
		}
		if len(lines) != feeds {
			t.Fatalf("%d lines, want %d", len(lines), feeds)
		}
		for _, l := range lines {
			if len(l.Bytes) > cutPrefix || !utf8.Valid(l.Bytes) || bytes.ContainsRune(l.Bytes, '\n') || l.Dropped < 0 {
				t.Fatalf("bad line %+v", l)
			}
		}
		if cap(r.buf) > startBuffer {
			t.Fatalf("the buffer grew to %d", cap(r.buf))
		}
	})
}

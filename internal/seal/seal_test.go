package seal

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

func pair(t *testing.T) (*Sealer, *Opener, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	key := NewKey()
	s, err := NewSealer(&out, key)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewOpener(key)
	if err != nil {
		t.Fatal(err)
	}
	return s, o, &out
}

func TestSealAndOpen(t *testing.T) {
	s, o, out := pair(t)
	text := strings.Repeat("secret text ", 10_000)
	if _, err := io.WriteString(s.Stream(Stdout), text); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "secret") {
		t.Error("the text is in the lines")
	}
	var got strings.Builder
	lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	for _, line := range lines {
		if len(line) > MaxLine {
			t.Errorf("a line of %d bytes, MaxLine is %d", len(line), MaxLine)
		}
		kind, payload, err := o.Open(line)
		if err != nil || kind != Stdout {
			t.Fatalf("kind %c, %v", kind, err)
		}
		got.Write(payload)
	}
	if got.String() != text || len(lines) < 2 {
		t.Errorf("%d bytes of %d came back in %d lines", got.Len(), len(text), len(lines))
	}
}

func TestOpenRefuses(t *testing.T) {
	s, _, out := pair(t)
	for i := range 3 {
		if err := s.Say(Stdout, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	changed := bytes.Clone(lines[0])
	if changed[20]++; changed[20] > 'y' {
		changed[20] = 'a'
	}
	if c := changed[20]; c < 'a' || c > 'z' {
		changed[20] = 'b'
	}
	other, _, _ := pair(t)
	var foreign bytes.Buffer
	other.w = &foreign
	_ = other.Say(Stdout, []byte("x"))
	for name, tt := range map[string]struct {
		lines [][]byte
		want  string
	}{
		"dropped":  {[][]byte{lines[0], lines[2]}, "line 2 where line 1"},
		"repeated": {[][]byte{lines[0], lines[0]}, "line 0 where line 1"},
		"changed":  {[][]byte{changed}, "sealed by somebody else"},
		"foreign":  {[][]byte{bytes.TrimSpace(foreign.Bytes())}, "sealed by somebody else"},
		"plain":    {[][]byte{[]byte(`{"type":"skill/result"}`)}, "not sealed"},
		"empty":    {[][]byte{nil}, "not sealed"},
	} {
		o := &Opener{aead: s.aead}
		var err error
		for _, line := range tt.lines {
			if err == nil {
				_, _, err = o.Open(line)
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
	loose := &Opener{aead: s.aead, Loose: true}
	if _, p, err := loose.Open(lines[2]); err != nil || string(p) != "2" {
		t.Errorf("loose: %q, %v", p, err)
	}
}

func TestHello(t *testing.T) {
	want := Hello{Key: NewKey(), Args: []string{"a", "b\nc"}, Env: []string{"X=1"}, Limits: []Limit{{7, 1, 2}}}
	var b bytes.Buffer
	if err := WriteHello(&b, want); err != nil {
		t.Fatal(err)
	}
	b.WriteString("rest")
	r := bufio.NewReader(&b)
	got, err := ReadHello(r)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v", got, err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rest" {
		t.Errorf("rest %q", rest)
	}
	for _, bad := range []string{"", "x\n", "{}\n", strings.Repeat("x", 2*maxHello)} {
		if _, err := ReadHello(bufio.NewReader(strings.NewReader(bad))); err == nil {
			t.Errorf("%.10q was read", bad)
		}
	}
}

func TestFrames(t *testing.T) {
	b := AppendFrame(AppendFrame(nil, Data, []byte("abc")), EOF, nil)
	r := bytes.NewReader(b)
	kind, p, buf, err := ReadFrame(r, nil)
	if kind != Data || string(p) != "abc" || err != nil {
		t.Errorf("%c %q %v", kind, p, err)
	}
	if kind, p, _, err = ReadFrame(r, buf); kind != EOF || len(p) != 0 || err != nil {
		t.Errorf("%c %q %v", kind, p, err)
	}
	if _, _, _, err = ReadFrame(r, buf); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if _, _, _, err = ReadFrame(bytes.NewReader(b[:6]), nil); err != io.ErrUnexpectedEOF {
		t.Errorf("in the middle: %v", err)
	}
	if _, _, _, err = ReadFrame(bytes.NewReader([]byte{'d', 255, 255, 255, 255}), nil); err == nil {
		t.Error("a frame of 4 GiB was read")
	}
}

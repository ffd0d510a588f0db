package a2e

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// purse lends at most so many bytes and counts.
type purse struct {
	left, lent, most int
	empty            error
}

func (p *purse) memory() Memory {
	return Memory{
		Take: func(n int) error {
			if n > p.left {
				return p.empty
			}
			p.left, p.lent = p.left-n, p.lent+n
			p.most = max(p.most, p.lent)
			return nil
		},
		Give: func(n int) { p.left, p.lent = p.left+n, p.lent-n },
	}
}

// pad makes a message of about n bytes whose id comes first.
func pad(n int) string {
	return `{"type":"ping","id":"p1","x":"` + strings.Repeat("x", n) + `"}`
}

func TestLongLinesBorrow(t *testing.T) {
	for size, want := range map[int]int{
		1 << 10: 0, readBuffer: 0, OwnMemory - readBuffer: 0, OwnMemory: readBuffer, 1 << 20: 1<<20 - ownLine,
	} {
		p := &purse{left: 8 << 20}
		d := NewDecoder(strings.NewReader(pad(size)+"\n"+ping2+"\n"), 0).Within(p.memory())
		for range 2 {
			if _, err := d.Decode(); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
		}
		if p.most != want || p.lent != 0 {
			t.Errorf("%d bytes: borrowed %d, kept %d, want %d and 0", size, p.most, p.lent, want)
		}
	}
}

const ping2 = `{"type":"ping","id":"p2"}`

func TestTooLongLinesGiveBackAtOnce(t *testing.T) {
	p := &purse{left: 1 << 20}
	r, w := io.Pipe()
	d := NewDecoder(r, 512<<10).Within(p.memory())
	lent := make(chan int)
	go func() {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) // the last piece has not been read, all others were
		lent <- p.lent
		_ = w.Close()
	}()
	done := make(chan error)
	go func() { _, err := d.Decode(); done <- err }()
	if n := <-lent; n != 0 {
		t.Errorf("%d bytes are borrowed for a line that is too long", n)
	}
	if err := <-done; AsError(err).Code != ParseError || p.most == 0 {
		t.Errorf("error = %v, borrowed at most %d", err, p.most)
	}
}

func TestALineWithoutMemoryEndsTheStream(t *testing.T) {
	p := &purse{left: 100 << 10, empty: Errorf(RuntimeError, "no memory")}
	line := `{"type":"skill/call/req","id":"c1","name":"x","arguments":{"x":"` + strings.Repeat("x", 1<<20)
	_, err := NewDecoder(strings.NewReader(line), 0).Within(p.memory()).Decode()
	var bad *DecodeError
	if !errors.As(err, &bad) || !bad.Final || bad.Err != p.empty || bad.ReqID != "c1" || bad.Type != TypeCallRequest || bad.Name != "x" {
		t.Errorf("error = %+v", err)
	}
	if p.lent != 0 {
		t.Errorf("%d bytes are still borrowed", p.lent)
	}
	p.empty = errors.New("broken")
	if _, err := NewDecoder(strings.NewReader(line), 0).Within(p.memory()).Decode(); err != p.empty {
		t.Errorf("error = %v", err)
	}
}

func TestTooLongLinesAreAddressed(t *testing.T) {
	const limit = 1 << 10
	long := strings.Repeat("x", 100<<10)
	for name, tt := range map[string]struct{ line, id, typ, skill string }{
		"call":            {call(`"arguments":{"x":"` + long + `"}`), "c1", TypeCallRequest, "x"},
		"spaces":          {` { "id" : "c1" , "x":"` + long + `","type":"ping"}`, "c1", "", ""},
		"behind others":   {`{"ts":1,"metadata":{"id":"no"},"id":"c1","x":"` + long + `"}`, "c1", "", ""},
		"no JSON further": {`{"id":"c1","type":"ping","x":` + long, "c1", "ping", ""},
		"behind the head": {`{"x":"` + long + `","id":"c1"}`, "", "", ""},
		"id twice":        {`{"id":"a","type":"ping","id":"b","x":"` + long + `"}`, "", "ping", ""},
		"id cut off":      {`{"type":"ping","id":"` + long + `"}`, "", "ping", ""},
		"second cut off":  {`{"id":"a","type":"ping","id":"` + long + `"}`, "", "ping", ""},
		"id no string":    {`{"id":7,"type":"ping","x":"` + long + `"}`, "", "ping", ""},
		"bad UTF-8":       {"{\"id\":\"\xff\",\"type\":\"ping\",\"x\":\"" + long + `"}`, "", "ping", ""},
		"control":         {`{"id":"a\nb","type":"ping","x":"` + long + `"}`, "", "ping", ""},
		"list":            {`["id","c1","x","` + long + `"]`, "", "", ""},
		"text":            {`id ` + long, "", "", ""},
	} {
		d := NewDecoder(strings.NewReader(tt.line+"\n"+ping2), limit)
		_, err := d.Decode()
		var bad *DecodeError
		if !errors.As(err, &bad) || bad.Final || bad.Err.Code != ParseError || bad.Err.Detail["limit"] != limit {
			t.Errorf("%s: error = %+v", name, err)
			continue
		}
		if got, want := fmt.Sprint(bad.ReqID, "/", bad.Type, "/", bad.Name), fmt.Sprint(tt.id, "/", tt.typ, "/", tt.skill); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if m, err := d.Decode(); err != nil || m.header().ID != "p2" {
			t.Errorf("%s: the next line gives %v, %v", name, m, err)
		}
	}
}

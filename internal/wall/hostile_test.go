package wall

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// held is a sender that keeps lines, and waits while it is locked.
type held struct {
	gate  sync.Mutex // locked: nobody reads
	mu    sync.Mutex
	lines []string
}

func (h *held) Send(lines []byte) error {
	h.gate.Lock()
	defer h.gate.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range bytes.Lines(lines) {
		h.lines = append(h.lines, string(bytes.TrimSpace(line)))
	}
	return nil
}

// said returns the lines up to now that hold a text.
func (h *held) said(text string) (found []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		if strings.Contains(l, text) {
			found = append(found, l)
		}
	}
	return found
}

// lone is a tunnel whose other end is the test.
func lone(t testing.TB, opts TunnelOptions) (*Tunnel, *held) {
	h := &held{}
	tun := NewTunnel(h, opts)
	t.Cleanup(func() {
		tun.Close(nil)
		tun.Wait()
	})
	return tun, h
}

func hand(tun *Tunnel, lines ...string) error {
	for _, l := range lines {
		if err := tun.Handle(TypeOf([]byte(l)), []byte(l)); err != nil {
			return err
		}
	}
	return nil
}

// size is what a tunnel holds.
type size struct{ streams, waiting, refusals, bytes int }

func sizeOf(tun *Tunnel) size {
	tun.mu.Lock()
	defer tun.mu.Unlock()
	s := size{len(tun.streams), len(tun.waiting), len(tun.out.refusals), 0}
	for _, c := range tun.streams {
		s.bytes += len(c.in.buf)
	}
	return s
}

func open(id int, port string) string {
	return fmt.Sprintf(`{"type":"cell/open","id":%d,"port":%q}`, id, port)
}

func data(id, n int) string {
	return string(bytes.TrimSpace(appendData(nil, uint64(id), make([]byte, n))))
}

func credit(id, n int) string { return fmt.Sprintf(`{"type":"cell/credit","id":%d,"n":%d}`, id, n) }

const closeOne = `{"type":"cell/close","id":1}`

func TestLinesThatBreakTheTunnel(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"an id twice", []string{open(1, "a"), open(1, "a")}, "ids must rise"},
		{"an id that falls", []string{open(7, "a"), open(3, "a")}, "ids must rise"},
		{"id 0", []string{open(0, "a")}, "malformed cell/open: id: expected an integer from 1"},
		{"no port", []string{`{"type":"cell/open","id":1}`}, "port: missing"},
		{"a port that is no name", []string{open(1, "../a")}, "bad port name"},
		{"data of a stream that never was", []string{data(1, 1)}, "stream 1 was never opened"},
		{"credit of a stream that never was", []string{credit(1, 1)}, "stream 1 was never opened"},
		{"the end of a stream that never was", []string{closeOne}, "stream 1 was never opened"},
		{"no base64", []string{open(1, "a"), `{"type":"cell/data","id":1,"data":"AAA"}`}, "expected base64"},
		{"no base64, in an unusual form", []string{open(1, "a"), `{"id":1,"type":"cell/data","data":"%%%%"}`}, "expected base64"},
		{"padding within", []string{open(1, "a"), `{"type":"cell/data","id":1,"data":"AA==AAAA"}`}, "expected base64"},
		{"too much in one line", []string{open(1, "a"), data(1, DataChunk+1)}, "at most 65536 are allowed"},
		{"no credit", []string{open(1, "a"), credit(1, 0)}, "n: expected 1 to"},
		{"negative credit", []string{open(1, "a"), credit(1, -1)}, "n: expected 1 to"},
		{"vast credit", []string{open(1, "a"), `{"type":"cell/credit","id":1,"n":9223372036854775807}`}, "n: expected 1 to"},
		{"a negative id", []string{`{"type":"cell/credit","id":-1,"n":1}`}, "id: expected an integer"},
		{"the other end's own word", []string{`{"type":"cell/close","id":0,"error":"enough"}`}, "enough"},
		{"another line", []string{`{"type":"cell/exit"}`}, "none of the tunnel's"},
		{"one stream after another", []string{open(1, "a"), closeOne, open(2, "b"), open(3, "a"), open(4, "a")}, "3 streams were opened, which is the most"},
		{"over the budget", []string{open(1, "a"), data(1, 9000)}, "budget of 10000 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tun, h := lone(t, TunnelOptions{Ports: []string{"a"}, Bytes: 10_000, Total: 3})
			if strings.Contains(tt.want, "65536") {
				tun.opts.Bytes = 0
			}
			err := hand(tun, tt.lines...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %v, want %q", err, tt.want)
			}
			if err := hand(tun, open(99, "a")); err != nil {
				t.Errorf("another error: %v", err)
			}
			if _, _, got := tun.Accept(); !errors.Is(got, err) {
				t.Errorf("Accept = %v", got)
			}
			tun.Wait()
			if last := h.said(`"id":0`); len(last) != 1 {
				t.Errorf("the other end was told %q", h.lines)
			}
		})
	}
}

func TestTheOpenerAcceptsNothing(t *testing.T) {
	tun, _ := lone(t, TunnelOptions{Dials: true})
	if err := hand(tun, open(1, "a")); err == nil {
		t.Error("a stream was accepted")
	}
	tun, _ = lone(t, TunnelOptions{Ports: []string{"a"}})
	if _, err := tun.Dial(context.Background(), "a"); err == nil {
		t.Error("a stream was opened")
	}
}

func TestRulesOfOneStream(t *testing.T) {
	full := []string{data(1, DataChunk), data(1, DataChunk), data(1, DataChunk), data(1, DataChunk)}
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"data beyond its credit", append(full, data(1, 1)), "data beyond its credit"},
		{"data after its half-close", []string{`{"type":"cell/close","id":1,"half":true}`, data(1, 1)}, "data after its end"},
		{"credit beyond the window", []string{credit(1, 1)}, "credit beyond the window"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tun, h := lone(t, TunnelOptions{Ports: []string{"a"}})
			if err := hand(tun, open(1, "a"), open(2, "a")); err != nil {
				t.Fatal(err)
			}
			c, _, _ := tun.Accept()
			if err := hand(tun, append(tt.lines, data(1, 1), credit(1, 1), closeOne)...); err != nil {
				t.Fatalf("the tunnel broke: %v", err)
			}
			if _, err := io.ReadAll(c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read = %v, want %q", err, tt.want)
			}
			if _, err := c.Write([]byte("x")); err == nil {
				t.Error("Write worked")
			}
			_ = c.Close()
			other, _, _ := tun.Accept()
			if err := hand(tun, data(2, 3)); err != nil {
				t.Fatal(err)
			}
			if n, err := other.Read(make([]byte, 9)); n != 3 || err != nil {
				t.Errorf("the other stream: %d, %v", n, err)
			}
			_ = other.Close()
			tun.pumps.Wait()
			if got := h.said(tt.want); len(got) != 1 {
				t.Errorf("the other end was told %q", h.lines)
			}
		})
	}
}

func TestLinesOfAStreamThatHasEndedHereAreDropped(t *testing.T) {
	tun, _ := lone(t, TunnelOptions{Ports: []string{"a"}})
	if err := hand(tun, open(1, "a")); err != nil {
		t.Fatal(err)
	}
	c, _, _ := tun.Accept()
	_ = c.Close()
	if err := hand(tun, data(1, 5), credit(1, 5), closeOne, data(1, 5)); err != nil {
		t.Error(err)
	}
}

func TestTooManyStreams(t *testing.T) {
	tun, h := lone(t, TunnelOptions{Ports: []string{"a"}, Streams: 3})
	for i := 1; i <= 5; i++ {
		if err := hand(tun, open(i, "a")); err != nil {
			t.Fatal(err)
		}
	}
	tun.pumps.Wait()
	if got := h.said("too many connections: 3 are open"); len(got) != 2 {
		t.Errorf("said %q", h.lines)
	}
	c, _, _ := tun.Accept()
	_ = c.Close()
	tun.pumps.Wait()
	if err := hand(tun, open(6, "a")); err != nil || sizeOf(tun).streams != 3 {
		t.Errorf("%+v, %v", sizeOf(tun), err)
	}
	dials, _ := lone(t, TunnelOptions{Dials: true, Streams: 1})
	if _, err := dials.Dial(context.Background(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := dials.Dial(context.Background(), "a"); err == nil {
		t.Error("one stream too many")
	}
}

// TestAFloodOfStreams opens and opens while nothing that the tunnel says is read.
func TestAFloodOfStreams(t *testing.T) {
	for name, line := range map[string]func(i int) []string{
		"of ports that are not granted": func(i int) []string { return []string{open(i, "b")} },
		"that are never closed":         func(i int) []string { return []string{open(i, "a")} },
		"that are closed at once": func(i int) []string {
			return []string{open(i, "a"), fmt.Sprintf(`{"type":"cell/close","id":%d}`, i)}
		},
		"that break the rules": func(i int) []string { return []string{open(i, "a"), credit(i, 5)} },
	} {
		t.Run(name, func(t *testing.T) {
			tun, h := lone(t, TunnelOptions{Ports: []string{"a"}})
			h.gate.Lock()
			defer h.gate.Unlock()
			for i := 1; ; i++ {
				if err := hand(tun, line(i)...); err != nil {
					if !strings.Contains(err.Error(), "faster than their refusals are read") {
						t.Error(err)
					}
					break
				}
				if s := sizeOf(tun); s.streams > maxStreams+maxStreams/lingering || s.refusals > maxRefusals || i > 1000 {
					t.Fatalf("%+v after %d", s, i)
				}
			}
		})
	}
}

func TestAFloodOfStreamsThatAreServedAtOnce(t *testing.T) {
	tun, h := lone(t, TunnelOptions{Ports: []string{"a"}})
	h.gate.Lock()
	defer h.gate.Unlock()
	err := error(nil)
	for i := 1; err == nil && i <= 1000; i++ {
		if err = hand(tun, open(i, "a")); err == nil && sizeOf(tun).waiting > 0 {
			c, _, _ := tun.Accept()
			_ = c.Close()
		}
	}
	if err == nil {
		t.Error("nothing stopped it")
	}
}

func TestAStreamKeepsItsWindow(t *testing.T) {
	tun, _ := lone(t, TunnelOptions{Ports: []string{"a"}})
	if err := hand(tun, open(1, "a")); err != nil {
		t.Fatal(err)
	}
	for range Window / 64 {
		if err := hand(tun, data(1, 64)); err != nil {
			t.Fatal(err)
		}
	}
	if s := sizeOf(tun); s.bytes != Window {
		t.Errorf("%+v for %d", s, Window)
	}
}

func TestACodecForEveryForm(t *testing.T) {
	text := base64.StdEncoding.EncodeToString([]byte("??>>"))
	for _, line := range []string{
		`{"type":"cell/data","id":1,"data":"` + text + `"}`,
		`{"data":"` + strings.ReplaceAll(text, "/", `\/`) + `", "id": 1, "type":"cell/data"}`,
		`{"type":"cell/data","id":1,"data":"` + text + `","more":1}`,
	} {
		d, err := DecodeData([]byte(line))
		if err != nil || d.ID != 1 || string(d.Data) != "??>>" || TypeOf([]byte(line)) != TypeData {
			t.Errorf("%s: %+v, %v", line, d, err)
		}
	}
	for _, line := range []string{
		`{"type":"cell/data","id":01,"data":""}`, `{"type":"cell/data","id":-1,"data":""}`, `{"type":"cell/data","id":,"data":""}`,
		`{"type":"cell/data","id":99999999999999999999,"data":""}`, `{"type":"cell/data","id":1,"data":"","data":""}`,
		`{"type":"cell/data","id":1,"data":"AAAA` + "\r" + `"}`, `{"type":"cell/data","id":1,"data":null}`, `{"type":"cell/data","id":1}`,
	} {
		if d, err := DecodeData([]byte(line)); err == nil {
			t.Errorf("%s: %+v", line, d)
		}
	}
}

// FuzzData compares the quick reading of a data line with the thorough one.
func FuzzData(f *testing.F) {
	f.Add([]byte(data(1, 5)))
	f.Add([]byte(`{"type":"cell/data","id":0,"data":"A==="}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		id, text, ok := plainData(line)
		if !ok {
			return
		}
		o, err := parseLine(line, TypeData)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if string(o.get("id")) != fmt.Sprint(id) || unquote(o.get("data")) != string(text) || len(o) != 3 {
			t.Fatalf("%q: %d, %q", line, id, text)
		}
	})
}

func TestACloseWithoutReasonIsTheEnd(t *testing.T) {
	tun, _ := lone(t, TunnelOptions{Ports: []string{"a"}})
	if err := hand(tun, open(1, "a"), data(1, 3), closeOne); err != nil {
		t.Fatal(err)
	}
	c, _, _ := tun.Accept()
	if !c.Ended() {
		t.Error("not ended")
	}
	if b, err := io.ReadAll(c); len(b) != 3 || err != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write = %v", err)
	}
	if err := errors.Join(c.Close(), nil); err != nil || sizeOf(tun).streams != 0 {
		t.Errorf("%v, %+v", err, sizeOf(tun))
	}
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Close = %v", err)
	}
}

package wall

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// FuzzTunnel plays a hostile peer against each side, which meanwhile uses its streams in good faith. Each byte of the script
// is one thing that the peer does; text is a line of its own words.
func FuzzTunnel(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8}, []byte(`{"type":"cell/data","id":1,"data":"AA=="}`), true)
	f.Add([]byte{0, 16, 32, 3, 19, 35, 6, 22, 4, 20}, []byte(`{"type":"cell/open","id":18446744073709551615,"port":"a"}`), false)
	f.Add(bytes.Repeat([]byte{0, 2}, 200), []byte(`{"type":"cell/close","id":0}`), false)
	f.Add(append([]byte{0}, bytes.Repeat([]byte{3}, 20)...), []byte(`{"type":"cell/credit","id":1,"n":262144}`), true)
	f.Fuzz(func(t *testing.T, script, text []byte, dials bool) {
		h := &held{}
		tun := NewTunnel(h, TunnelOptions{Dials: dials, Ports: []string{"a"}, Streams: 8, Bytes: 8 << 20})
		var users sync.WaitGroup
		if dials {
			for range 3 {
				users.Go(func() { useOwn(tun) })
			}
		} else {
			users.Go(func() { useTheirs(tun, &users) })
		}
		attack(t, tun, h, script[:min(len(script), 2000)], text)
		tun.Close(nil)
		done := make(chan struct{})
		go func() {
			users.Wait()
			tun.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("somebody still waits on a closed tunnel")
		}
		if s := sizeOf(tun); s != (size{}) {
			t.Fatalf("%+v is left", s)
		}
	})
}

func useOwn(tun *Tunnel) {
	for {
		c, err := tun.Dial(context.Background(), "a")
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(time.Millisecond))
		_, err = c.Write(make([]byte, 1000))
		if err == nil {
			_, _ = io.Copy(io.Discard, c)
		}
		_ = c.Close()
	}
}

func useTheirs(tun *Tunnel, users *sync.WaitGroup) {
	for {
		c, _, err := tun.Accept()
		if err != nil {
			return
		}
		users.Go(func() {
			defer c.Close()
			_, _ = io.Copy(c, io.LimitReader(c, 100_000))
			_ = c.CloseWrite()
		})
	}
}

// attack does what a script says, and looks at what it costs.
func attack(t *testing.T, tun *Tunnel, h *held, script, text []byte) {
	opened, deaf := 0, false
	for _, b := range script {
		id := 1 + int(b>>4)
		line := ""
		switch b & 15 {
		case 0, 1:
			opened++
			line = open(opened, "a")
		case 2:
			line = open(id, "b")
		case 3, 4, 5:
			line = data(id, []int{1, 5000, DataChunk}[b&15-3])
		case 6:
			line = credit(id, 1+int(b)*100)
		case 7:
			line = fmt.Sprintf(`{"type":"cell/close","id":%d}`, id)
		case 8:
			line = fmt.Sprintf(`{"type":"cell/close","id":%d,"half":true}`, id)
		case 9:
			line = fmt.Sprintf(`{"type":"cell/close","id":%d,"error":"x"}`, id)
		case 10:
			line = string(text)
		case 11:
			if deaf = !deaf; deaf {
				h.gate.Lock()
			} else {
				h.gate.Unlock()
			}
			continue
		default:
			line = data(id, 10)
			line = line[:len(text)%len(line)]
		}
		_ = tun.Handle(TypeOf([]byte(line)), []byte(line))
		s := sizeOf(tun)
		if s.streams > 10 || s.waiting > 10 || s.refusals > maxRefusals || s.bytes > s.streams*Window {
			t.Fatalf("%+v", s)
		}
	}
	if deaf {
		h.gate.Unlock()
	}
}

// plan is what one stream of a random pair does, in each direction.
type plan struct{ up, down []int }

// TestRandomStreams sends random bytes in random pieces over several streams at once, both ways, and reads them in others.
func TestRandomStreams(t *testing.T) {
	pieces := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, Window+Window/2)), 0, 4)
	rapid.Check(t, func(rt *rapid.T) {
		plans := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) plan {
			return plan{pieces.Draw(rt, "up"), pieces.Draw(rt, "down")}
		}), 1, 4).Draw(rt, "streams")
		read := rapid.SampledFrom([]int{1000, 32 << 10, 1 << 20}).Draw(rt, "read")
		cell, host := linked("a")
		var all sync.WaitGroup
		for i, p := range plans {
			near, far := meet(t, cell, host)
			seed := uint64(i) * 2
			for _, way := range []struct {
				from, to *Conn
				sizes    []int
				seed     uint64
			}{{near, far, p.up, seed}, {far, near, p.down, seed + 1}} {
				want, _ := sums(way.seed, total(way.sizes))
				all.Go(func() { write(t, way.from, want, way.sizes) })
				all.Go(func() {
					var got bytes.Buffer
					_, err := io.CopyBuffer(&got, struct{ io.Reader }{way.to}, make([]byte, read))
					if err != nil || !bytes.Equal(got.Bytes(), want) {
						t.Errorf("%d bytes of %d, %v", got.Len(), len(want), err)
					}
				})
			}
		}
		all.Wait()
		cell.Close(nil)
		host.Close(nil)
		cell.Wait()
		host.Wait()
	})
}

func total(sizes []int) (n int) {
	for _, s := range sizes {
		n += s
	}
	return n
}

func write(t *testing.T, c *Conn, b []byte, sizes []int) {
	for _, n := range sizes {
		if _, err := c.Write(b[:n]); err != nil {
			t.Error(err)
		}
		b = b[n:]
	}
	if err := c.CloseWrite(); err != nil {
		t.Error(err)
	}
}

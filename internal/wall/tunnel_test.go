package wall

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
)

// pair is two tunnels joined by pipes, as in life.
type pair struct {
	cell, host *Tunnel
	broke      chan error // what Handle said
}

// join makes a pair whose lines go through pipes of the operating system.
func join(t testing.TB, ports ...string) *pair {
	t.Helper()
	return joinWith(t, TunnelOptions{Dials: true}, TunnelOptions{Ports: ports})
}

func joinWith(t testing.TB, cell, host TunnelOptions) *pair {
	t.Helper()
	upR, upW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	downR, downW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{cell: NewTunnel(NewWriter(upW), cell), host: NewTunnel(NewWriter(downW), host), broke: make(chan error, 2)}
	var reading sync.WaitGroup
	reading.Go(func() { pass(upR, p.host, p.broke) })
	reading.Go(func() { pass(downR, p.cell, p.broke) })
	t.Cleanup(func() {
		p.cell.Close(nil)
		p.host.Close(nil)
		p.cell.Wait()
		p.host.Wait()
		upW.Close()
		downW.Close()
		reading.Wait()
		upR.Close()
		downR.Close()
	})
	return p
}

// pass gives a tunnel the lines that come out of a stream.
func pass(r io.Reader, to *Tunnel, broke chan<- error) {
	lines := NewReader(r, MaxLine, MaxLine)
	for {
		l, err := lines.Next()
		if err != nil {
			return
		}
		if err := to.Handle(TypeOf(l.Bytes), l.Bytes); err != nil {
			broke <- err
		}
	}
}

// serve handles each stream that comes in until the tunnel ends.
func serve(t testing.TB, tun *Tunnel, handle func(port string, c *Conn)) {
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, port, err := tun.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				handle(port, c)
			})
		}
	})
	t.Cleanup(func() {
		tun.Close(nil)
		all.Wait()
	})
}

func echo(_ string, c *Conn) {
	_, _ = io.Copy(c, c)
	_ = c.CloseWrite()
}

func dial(t testing.TB, p *pair, port string) *Conn {
	t.Helper()
	c, err := p.cell.Dial(context.Background(), port)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBytesPassBothWays(t *testing.T) {
	p := join(t, "llm.openai")
	serve(t, p.host, echo)
	c := dial(t, p, "llm.openai")
	text := strings.Repeat("0123456789", 300_000)
	go func() {
		_, _ = io.WriteString(c, text)
		_ = c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || string(got) != text {
		t.Errorf("%d bytes came back, %v; want %d", len(got), err, len(text))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// sums is a stream of random bytes and its digest.
func sums(seed uint64, n int) ([]byte, [32]byte) {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(b)
	return b, sha256.Sum256(b)
}

func TestAHundredStreamsAtOnce(t *testing.T) {
	size := 1 << 20
	if raceEnabled {
		size = 1 << 16
	}
	p := join(t, "egress")
	serve(t, p.host, func(_ string, c *Conn) {
		got, err := io.ReadAll(c)
		if err == nil {
			sum := sha256.Sum256(got)
			_, err = c.Write(sum[:])
		}
		if err != nil {
			_ = c.CloseWithError(err)
		}
	})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			b, want := sums(uint64(i), size)
			c := dial(t, p, "egress")
			defer c.Close()
			_, err := c.Write(b)
			err = errors.Join(err, c.CloseWrite())
			got, err2 := io.ReadAll(c)
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(got, want[:]) {
				t.Errorf("stream %d: %x, %v", i, got, err)
			}
		})
	}
	all.Wait()
}

func TestRefusals(t *testing.T) {
	p := join(t, "egress")
	c := dial(t, p, "llm.openai")
	_, err := c.Read(make([]byte, 1))
	var closed *ClosedError
	if !errors.As(err, &closed) || closed.Reason != Refused+"this call was not granted llm.openai" {
		t.Errorf("Read = %v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.As(err, &closed) {
		t.Errorf("Write = %v", err)
	}
}

var _ net.Conn = (*Conn)(nil)

func ExampleTunnel() {
	// Lines go from one tunnel to the other; in life they pass through a cell's stdin and stdout.
	var cell, host *Tunnel
	cell = NewTunnel(deliver{&host}, TunnelOptions{Dials: true})
	host = NewTunnel(deliver{&cell}, TunnelOptions{Ports: []string{"llm.openai"}})
	go func() {
		conn, port, _ := host.Accept()
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "this is %s", port)
	}()
	conn, _ := cell.Dial(context.Background(), "llm.openai")
	text, _ := io.ReadAll(conn)
	fmt.Println(string(text))
	_ = conn.Close()
	// Output: this is llm.openai
}

// deliver hands lines to a tunnel at once.
type deliver struct{ to **Tunnel }

func (d deliver) Send(lines []byte) error {
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if err := (*d.to).Handle(TypeOf(line), line); err != nil {
			return err
		}
	}
	return nil
}

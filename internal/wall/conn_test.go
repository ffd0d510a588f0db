package wall

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// linked is a pair whose lines are handed over at once, for tests of time.
func linked(ports ...string) (cell, host *Tunnel) {
	cell = NewTunnel(deliver{&host}, TunnelOptions{Dials: true})
	host = NewTunnel(deliver{&cell}, TunnelOptions{Ports: ports})
	return cell, host
}

// meet opens a stream and returns both ends.
func meet(t testing.TB, cell, host *Tunnel) (near, far *Conn) {
	t.Helper()
	near, err := cell.Dial(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	far, port, err := host.Accept()
	if err != nil || port != "a" {
		t.Fatal(port, err)
	}
	return near, far
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell, host := linked("a")
		near, far := meet(t, cell, host)
		start := time.Now()
		took := func(want time.Duration, err error) {
			t.Helper()
			if got := time.Since(start); got != want || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%v after %v, want %v", err, got, want)
			}
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("%v is no time-out", err)
			}
			start = time.Now()
		}
		_ = near.SetReadDeadline(start.Add(time.Second))
		_, err := near.Read(make([]byte, 1))
		took(time.Second, err)
		_, err = near.Read(make([]byte, 1))
		took(0, err)

		_ = near.SetWriteDeadline(start.Add(time.Second))
		n, err := near.Write(make([]byte, Window+1))
		took(time.Second, err)
		if n != Window {
			t.Errorf("%d bytes were written, want the window's", n)
		}

		_ = near.SetDeadline(time.Time{}) // works again
		go func() {
			time.Sleep(time.Minute)
			_, _ = io.Copy(io.Discard, io.LimitReader(far, Window))
			_, _ = far.Write([]byte("x"))
		}()
		if _, err := near.Write([]byte("y")); err != nil {
			t.Error(err)
		}
		if n, err := near.Read(make([]byte, 9)); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		start = time.Now()
		go func() {
			time.Sleep(time.Second)
			_ = near.SetDeadline(time.Now()) // for who waits already
		}()
		_, err = near.Read(make([]byte, 1))
		took(time.Second, err)
		_ = near.Close()
		_ = far.Close()
		if err := near.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("SetDeadline = %v", err)
		}
	})
}

func TestCloseFreesWhoWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(near, far *Conn, cell *Tunnel)
		want string
	}{
		"Close":         {func(near, _ *Conn, _ *Tunnel) { _ = near.Close() }, net.ErrClosed.Error()},
		"the other end": {func(_, far *Conn, _ *Tunnel) { _ = far.CloseWithError(errBase64) }, errBase64.Error()},
		"of the tunnel": {func(_, _ *Conn, cell *Tunnel) { cell.Close(errBase64) }, errBase64.Error()},
		"of all":        {func(_, _ *Conn, cell *Tunnel) { cell.Close(nil) }, net.ErrClosed.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell, host := linked("a")
				near, far := meet(t, cell, host)
				var all sync.WaitGroup
				failed := func(n int, err error) {
					if err == nil || err.Error() != tt.want {
						t.Errorf("%d, %v, want %s", n, err, tt.want)
					}
				}
				for range 2 {
					all.Go(func() { failed(near.Read(make([]byte, 1))) })
					all.Go(func() { failed(near.Write(make([]byte, 2*Window))) })
				}
				synctest.Wait()
				tt.end(near, far, cell)
				all.Wait()
				host.Close(nil)
				if _, _, err := host.Accept(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("Accept = %v", err)
				}
			})
		})
	}
}

func TestHalfClose(t *testing.T) {
	cell, host := linked("a")
	near, far := meet(t, cell, host)
	_, _ = near.Write([]byte("request"))
	if err := near.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write after CloseWrite = %v", err)
	}
	if b, err := io.ReadAll(far); string(b) != "request" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if far.Ended() {
		t.Error("a half-close ended the stream")
	}
	_, _ = far.Write([]byte("answer"))
	_ = far.Close()
	if b, err := io.ReadAll(near); string(b) != "answer" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	_ = near.Close()
	cell.pumps.Wait()
	host.pumps.Wait()
	if near, far := sizeOf(cell), sizeOf(host); near.streams+far.streams != 0 {
		t.Errorf("%+v and %+v are left", near, far)
	}
}

func TestAReasonIsTold(t *testing.T) {
	cell, host := linked("a")
	near, far := meet(t, cell, host)
	_, _ = far.Write([]byte("half"))
	_ = far.CloseWithError(errors.New(strings.Repeat("é", 300)))
	b, err := io.ReadAll(near)
	var closed *ClosedError
	if string(b) != "half" || !errors.As(err, &closed) || len(closed.Reason) > maxReason || !strings.HasPrefix(closed.Reason, "éé") {
		t.Errorf("%q, %v", b, err)
	}
	if near.LocalAddr().String() != "a" || near.RemoteAddr().Network() != "cell" || near.Port() != "a" {
		t.Error("addresses")
	}
}

func TestDialChecks(t *testing.T) {
	cell, _ := linked("a")
	if _, err := cell.Dial(context.Background(), "A b"); err == nil {
		t.Error("a bad name was taken")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := cell.Dial(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial = %v", err)
	}
	cell.Close(errBase64)
	if _, err := cell.Dial(context.Background(), "a"); !errors.Is(err, errBase64) {
		t.Errorf("Dial = %v", err)
	}
}

func TestALostSenderEndsTheTunnel(t *testing.T) {
	gone := errors.New("gone")
	tun := NewTunnel(lost{gone}, TunnelOptions{Dials: true})
	c, err := tun.Dial(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, gone) {
		t.Errorf("Read = %v", err)
	}
	tun.Wait()
}

type lost struct{ err error }

func (l lost) Send([]byte) error { return l.err }

// TestTurns has eight greedy streams and a modest one, all with something to say: the modest one waits for one turn of each.
// The first stream may have had a turn when it was alone.
func TestTurns(t *testing.T) {
	tun, h := lone(t, TunnelOptions{Dials: true})
	h.gate.Lock()
	var all sync.WaitGroup
	var conns []*Conn
	for i := range 9 {
		c, err := tun.Dial(context.Background(), "a")
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		size := Window
		if i == 8 {
			size = 10
		}
		all.Go(func() { _, _ = c.Write(make([]byte, size)) })
		for range 1000 { // until it has its place
			tun.mu.Lock()
			ready := c.pending != nil
			tun.mu.Unlock()
			if ready {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	h.gate.Unlock()
	all.Wait()
	tun.pumps.Wait()
	before := 0
	for _, l := range h.said(`"cell/data"`) {
		if strings.Contains(l, `"id":9,`) {
			break
		}
		before++
	}
	if before > 9 {
		t.Errorf("the modest stream waited for %d turns of others", before)
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// TestAStreamThatIsNotReadStopsNoOther fills one stream, and uses another and the writer beside it.
func TestAStreamThatIsNotReadStopsNoOther(t *testing.T) {
	p := join(t, "a")
	stuck, _ := meet(t, p.cell, p.host)
	filling := make(chan struct{})
	go func() {
		defer close(filling)
		_, _ = stuck.Write(make([]byte, 2*Window))
	}()
	near, far := meet(t, p.cell, p.host)
	want, _ := sums(1, 2<<20)
	go func() {
		_, _ = near.Write(want)
		_ = near.CloseWrite()
	}()
	if got, err := io.ReadAll(far); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_ = stuck.Close()
	<-filling
}

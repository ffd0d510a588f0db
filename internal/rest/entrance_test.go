package rest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// hall is an entrance over pipes and the far ends of what came in.
type hall struct {
	*entrance
	pipes  *pipes
	inside chan *guest
	wg     sync.WaitGroup
}

func newHall(most int) *hall {
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	h := &hall{entrance: newEntrance(p, most), pipes: p, inside: make(chan *guest, 10)}
	h.wg.Go(func() {
		for {
			c, err := h.Accept()
			if err != nil {
				return
			}
			h.inside <- c.(*guest)
		}
	})
	return h
}

// come offers a connection and returns both ends; guest is nil when it has to wait.
func (h *hall) come() (far net.Conn, g *guest) {
	far, near := net.Pipe()
	h.pipes.conns <- near
	synctest.Wait()
	select {
	case g = <-h.inside:
		h.follow(g, http.StateNew)
	default:
	}
	return far, g
}

func closed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func TestTheLongestRestMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(3)
		busyFar, busy := h.come()
		h.follow(busy, http.StateActive)
		halfFar, _ := h.come()
		keptFar, kept := h.come()
		h.follow(kept, http.StateActive)
		h.follow(kept, http.StateIdle)
		for _, tt := range []struct {
			out  net.Conn
			stay []net.Conn
		}{{halfFar, []net.Conn{busyFar, keptFar}}, {keptFar, []net.Conn{busyFar}}} {
			if _, g := h.come(); g == nil {
				t.Fatal("the new connection waits")
			}
			if !closed(tt.out) {
				t.Error("the one that rested longest is open")
			}
			for _, c := range tt.stay {
				if closed(c) {
					t.Error("another one was closed")
				}
			}
		}
		if h.open != 3 {
			t.Errorf("%d places are taken", h.open)
		}
		h.follow(kept, http.StateIdle) // the server may be behind: this one has left
		if h.resting.Len() != 2 {
			t.Errorf("%d rest", h.resting.Len())
		}
		_ = h.Close()
		h.wg.Wait()
	})
}

func TestNobodyAtWorkIsSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(2)
		firstFar, first := h.come()
		_, second := h.come()
		h.follow(first, http.StateActive)
		h.follow(second, http.StateActive)
		if _, g := h.come(); g != nil {
			t.Fatal("a third connection got in")
		}
		for range 2 { // closing twice makes room once
			_ = second.Close()
		}
		if third := <-h.inside; third.gone || h.open != 2 {
			t.Errorf("%d places are taken", h.open)
		}
		if _, g := h.come(); g != nil { // the third has no state yet, so it is not known to rest
			t.Fatal("a fourth connection got in")
		}
		h.follow(first, http.StateIdle)
		<-h.inside
		if !closed(firstFar) {
			t.Error("the one that came to rest is open")
		}
		waits, g := h.come()
		if g != nil {
			t.Fatal("a fifth connection got in")
		}
		_ = h.Close() // wakes the one that waits
		h.wg.Wait()
		if !closed(waits) {
			t.Error("the one that waited is open")
		}
	})
}

// serving runs Serve on pipes within a bubble.
func serving(t *testing.T, h http.Handler) (connect func() net.Conn, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ln, served := &pipes{make(chan net.Conn), make(chan struct{})}, make(chan error, 1)
	go func() { served <- Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	return func() net.Conn {
			ours, theirs := net.Pipe()
			ln.conns <- theirs
			return ours
		}, func() {
			cancel()
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
		}
}

const health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"

func TestHalfHeadersKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect, stop := serving(t, New(Options{Control: &fake{}}))
		defer stop()
		for range maxConns + 10 {
			if _, err := io.WriteString(connect(), health); err != nil {
				t.Fatal(err)
			}
		}
		start, c := time.Now(), connect()
		if _, err := io.WriteString(c, health+"\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("answered after %v", took)
		}
	})
}

func TestWithheldBodiesAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect, stop := serving(t, New(Options{Control: &fake{}}))
		defer stop()
		start, c := time.Now(), connect()
		if _, err := io.WriteString(c, health+"Content-Length: 5\r\n\r\n1"); err != nil {
			t.Fatal(err)
		}
		_, err := io.Copy(io.Discard, c)
		if took := time.Since(start); took != bodyTimeout {
			t.Errorf("cut off after %v, %v", took, err)
		}
	})
}

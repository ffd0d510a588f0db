package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func TestServeFinishesWhatIsUnderWay(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ln, served := listen(t), make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stop() // the daemon is asked to end while this request is under way
		if r.Context().Err() != nil {
			t.Error("the request was cancelled")
		}
		fmt.Fprint(w, "done")
	})
	go func() { served <- Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "done" {
		t.Errorf("%q %v", body, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Error("the listener is still open")
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	ln := listen(t)
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	err := Serve(context.Background(), ln, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// pipes is a listener over net.Pipe, which works with synctest's clock.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestSlowHeadersAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		ln, served := &pipes{make(chan net.Conn), make(chan struct{})}, make(chan error, 1)
		go func() { served <- Serve(ctx, ln, http.NotFoundHandler(), slog.New(slog.DiscardHandler)) }()
		ours, theirs := net.Pipe()
		ln.conns <- theirs
		start := time.Now()
		if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: loc"); err != nil {
			t.Fatal(err)
		}
		_, err := io.Copy(io.Discard, ours)
		if took := time.Since(start); took != headerTimeout {
			t.Errorf("cut off after %v, %v", took, err)
		}
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func TestStuckRequestsAreCutOffAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		ln, served := &pipes{make(chan net.Conn), make(chan struct{})}, make(chan error, 1)
		h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		go func() { served <- Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
		ours, theirs := net.Pipe()
		ln.conns <- theirs
		if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		stop()
		if err := <-served; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("serve: %v", err)
		}
		if took := time.Since(start); took != drainTimeout {
			t.Errorf("ended after %v", took)
		}
		if _, err := bufio.NewReader(ours).ReadByte(); err == nil {
			t.Error("the connection is open")
		}
	})
}

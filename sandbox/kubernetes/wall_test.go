package kubernetes

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/sandbox"
)

// oldProxy is one between a driver and its cluster that knows SPDY and not WebSocket.
type oldProxy struct {
	refused, spdy atomic.Int32 // connections
}

// between has a driver speak through the proxy.
func (p *oldProxy) between(t *testing.T) func(*rest.Config) {
	return func(config *rest.Config) {
		target, err := url.Parse(config.Host)
		if err != nil {
			t.Fatal(err)
		}
		tls, err := rest.TLSConfigFor(config)
		if err != nil {
			t.Fatal(err)
		}
		forward := httputil.NewSingleHostReverseProxy(target)
		forward.Transport = &http.Transport{TLSClientConfig: tls} // of HTTP/1.1, as upgrades are
		forward.FlushInterval = -1                                // a watch's events come one by one
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			switch up := req.Header.Get("Upgrade"); {
			case strings.EqualFold(up, "websocket"):
				p.refused.Add(1)
				http.Error(w, "this proxy knows no WebSocket", http.StatusBadRequest)
				return
			case up != "":
				p.spdy.Add(1)
			}
			forward.ServeHTTP(w, req)
		}))
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
			forward.Transport.(*http.Transport).CloseIdleConnections()
		})
		config.Host, config.TLSClientConfig = server.URL, rest.TLSClientConfig{}
	}
}

// overSPDY: where a proxy on the way knows no WebSocket, cells are the same: both ways, at their full length, to the end.
func (r *real) overSPDY(t *testing.T) {
	var proxy oldProxy
	o := r.options()
	o.tune = proxy.between(t)
	d := r.driverOf(t, o)
	want := make([]byte, 300_000)
	_, _ = rand.Read(want)
	cell := started(t, d, r.spec("cat"))
	wrote := make(chan error, 1)
	go func() {
		_, err := cell.Stdio().Stdin.Write(want)
		wrote <- errors.Join(err, cell.Stdio().Stdin.Close())
	}()
	got, err := io.ReadAll(cell.Stdio().Stdout)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d came back, %v", len(got), len(want), err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if exit, err := cell.Wait(bounded(t)); err != nil || exit.Code != 0 {
		t.Errorf("wait: %+v, %v", exit, err)
	}
	killed := r.begin(t, d)
	if err := killed.Kill(bounded(t)); err != nil {
		t.Error(err)
	}
	if exit, err := killed.Wait(bounded(t)); err != nil || exit.Code != exitKill {
		t.Errorf("wait after a kill: %+v, %v", exit, err)
	}
	if proxy.refused.Load() < 2 || proxy.spdy.Load() != 2 { // attempts before a pod runs are made over WebSocket alone
		t.Errorf("%d connections were asked for over WebSocket and %d over SPDY, expected at least 2 and 2", proxy.refused.Load(), proxy.spdy.Load())
	}
}

// tooMuch: a cell that says more than is carried is over at once, for that reason, though it says on, and leaves nothing behind.
func (r *real) tooMuch(t *testing.T) {
	o := r.options()
	o.Traffic = 1 << 20
	d := r.driverOf(t, o)
	cell := started(t, d, r.spec("flood", "1000000000"))
	type end struct {
		n   int64
		err error
	}
	came := make(chan end, 1)
	go func() {
		n, err := io.Copy(io.Discard, cell.Stdio().Stdout)
		came <- end{n, err}
	}()
	if _, err := cell.Wait(bounded(t)); !errors.Is(err, sandbox.ErrTooMuch) || !strings.Contains(err.Error(), "more than 1 MiB in all") {
		t.Fatalf("wait: %v", err)
	}
	if e := <-came; !errors.Is(e.err, io.ErrUnexpectedEOF) || e.n == 0 || e.n > 1<<20 {
		t.Errorf("%d bytes came, %v", e.n, e.err)
	}
	if _, err := cell.Stdio().Stdin.Write([]byte("x")); err == nil {
		t.Error("it can still be spoken to")
	}
}

// What comes in place of sealed lines ends the connection, with the reason: whoever reads for it heeds no error.
func TestWhatIsNotSealedEndsTheConnection(t *testing.T) {
	for _, tt := range []struct {
		name, text, why string
		most            int64
		kind            error
	}{
		{"a line", "hello\n", "not what its first program said", 1 << 20, sandbox.ErrUnavailable},
		{"no end", strings.Repeat("x", seal.MaxLine+17), "too long", 1 << 20, sandbox.ErrUnavailable},
		{"too much", strings.Repeat("x", 2<<20), "more than 1 MiB in all", 1 << 20, sandbox.ErrTooMuch},
	} {
		opener, err := seal.NewOpener(seal.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		l := &line{open: opener, most: tt.most, stop: stop, told: func(byte, []byte) error { return nil }}
		if _, err := io.WriteString(l, tt.text); err == nil {
			t.Errorf("%s: is taken", tt.name)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Fatalf("%s: the connection goes on", tt.name)
		}
		if why := context.Cause(ctx); !errors.As(why, &spoiled{}) || !errors.Is(why, tt.kind) || !strings.Contains(why.Error(), tt.why) {
			t.Errorf("%s: %v", tt.name, why)
		}
	}
}

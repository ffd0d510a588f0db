package rest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// Bounds of the listener. A handler that streams lifts its own write deadline with [http.ResponseController].
const (
	maxConns      = 1024 // open at once; see [entrance]. One principal may use half of them at once
	headerTimeout = 2 * time.Second
	bodyTimeout   = 2 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 60 * time.Second
	drainTimeout  = 10 * time.Second
	maxHeader     = 32 << 10 // bytes
)

// Serve answers requests on ln until ctx ends, then waits for those under way, at most ten seconds, and returns nil. It
// closes ln. The error is that of a listener that broke, or of requests that had to be cut off.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger) error {
	door := newEntrance(ln, maxConns)
	srv := &http.Server{
		Handler:           h,
		ConnState:         door.follow,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.WithoutCancel(ctx), closingKey{}, ctx.Done())
		},
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := srv.Serve(door); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		if err := srv.Shutdown(drain); err != nil {
			return errors.Join(err, srv.Close())
		}
		return nil
	})
	return g.Wait()
}

type closingKey struct{}

// closing is closed once the listener of a request is to be closed: who waits for what may take for ever gives up then.
func closing(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(closingKey{}).(<-chan struct{})
	return c
}

var errClosing = &problem{status: http.StatusServiceUnavailable, code: "unavailable", message: "hotcell is stopping", retryAfter: 1}

package broker

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds on a cell's connection. How long a request may take is the call's deadline alone.
const (
	maxHeader     = 32 << 10 // bytes
	headerTime    = 20 * time.Second
	idleTime      = 2 * time.Minute
	lastWordsTime = time.Second // for a refusal, once the call has ended
)

// Serve implements [service.Grant]: HTTP/1.1 on one connection, as many requests as come.
func (g *grant) Serve(port string, conn net.Conn) {
	defer conn.Close()
	if port != PortPrefix+g.plan.to.Name || len(g.Ports()) == 0 {
		return
	}
	one := &oneConn{conn: conn, done: make(chan struct{})}
	srv := &http.Server{
		Handler:                      g,
		ReadHeaderTimeout:            headerTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true, // OPTIONS * is refused like the rest
		BaseContext:                  func(net.Listener) context.Context { return g.life },
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed || s == http.StateHijacked {
				one.Close()
			}
		},
		ErrorLog: log.New(io.Discard, "", 0), // what a cell sends is no news
	}
	over := make(chan struct{})
	var closer sync.WaitGroup
	closer.Go(func() {
		select {
		case <-over:
			return
		case <-g.life.Done():
		}
		srv.SetKeepAlivesEnabled(false) // closes it when it is idle
		last := time.NewTimer(lastWordsTime)
		defer last.Stop()
		select {
		case <-over:
		case <-last.C:
			conn.Close()
		}
	})
	_ = srv.Serve(one) // ends with the connection
	close(over)
	closer.Wait()
}

// oneConn is a listener for a connection that is there already.
type oneConn struct {
	conn  net.Conn
	taken sync.Once
	shut  sync.Once
	done  chan struct{}
}

// Accept returns the connection once, and then waits for its end.
func (l *oneConn) Accept() (c net.Conn, err error) {
	l.taken.Do(func() { c = l.conn })
	if c != nil {
		return c, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *oneConn) Close() error {
	l.shut.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

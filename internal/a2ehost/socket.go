package a2ehost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/internal/a2e"
)

// ServeSocket serves every connection that ln accepts, until ctx ends or ln is closed. Then it closes ln and waits for
// the sessions, which ctx cancels. It returns nil, or the error with which accepting failed for good.
func (h *Host) ServeSocket(ctx context.Context, ln net.Listener) error {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	closing := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer func() {
		closing()
		_ = ln.Close()
	}()
	places := newPlaces(h.opt.MaxSessions, h.opt.IdleTimeout)
	for {
		conn, err := accept(ctx, ln)
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			if conn != nil {
				_ = conn.Close()
			}
			return nil
		case err != nil:
			return fmt.Errorf("accept on %s: %w", ln.Addr(), err)
		}
		own, leave := context.WithCancelCause(ctx)
		p := &place{act: newActivity(), leave: leave}
		if !places.take(p) {
			leave(nil)
			h.turnAway(conn)
			continue
		}
		sessions.Go(func() {
			defer leave(nil)
			defer places.free(p)
			h.serveConn(own, conn, p.act)
		})
	}
}

// accept waits out a lack of descriptors or memory, which passes when other connections end.
func accept(ctx context.Context, ln net.Listener) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		conn, err := ln.Accept()
		if err == nil || !passing(err) {
			return conn, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func passing(err error) bool {
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func (h *Host) serveConn(ctx context.Context, conn net.Conn, act *activity) {
	defer func() { _ = conn.Close() }()
	peer, err := peerOf(conn)
	if err != nil {
		h.opt.Log.Error("who is at the other end of a socket", "door", h.opt.Door, "err", err)
		return
	}
	if err := h.serve(ctx, conn, conn, act, peer); err != nil {
		h.opt.Log.Debug("session ended", "door", h.opt.Door, "why", err.Error())
	}
}

// turnAway tells a connection for which there is no place to come back. The line fits into the fresh socket's buffer.
func (h *Host) turnAway(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	h.opt.Log.Warn("too many connections", "door", h.opt.Door, "limit", h.opt.MaxSessions)
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	busy := a2e.Errorf(a2e.RuntimeError, "%d connections are open already: try again later", h.opt.MaxSessions)
	_ = a2e.NewEncoder(conn).Encode(a2e.ErrorReport("", busy.Because(a2e.ReasonQueueFull).Transient()))
}

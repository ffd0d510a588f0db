package embed

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/hotcell/hotcell/internal/a2ehost"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/rest"
)

// socketMode lets the owner and the group connect.
const socketMode = 0o660

// ServeStdio speaks A2E on a pair of streams: one JSON message a line. It returns once r has ended, or a peer asked for the
// end, and every call has been answered; ctx cancels them. Whoever is there is this program's own user: nobody is
// authenticated. R and w stay the caller's to close.
func (h *Host) ServeStdio(ctx context.Context, r io.Reader, w io.Writer) error {
	return h.stdio.Serve(ctx, r, w)
}

// ServeMCP speaks MCP on a pair of streams, as an agent host wants it of a program that it starts: each skill is a tool. It
// returns once r has ended or ctx has, which cancels the calls. It closes r where that can be closed.
func (h *Host) ServeMCP(ctx context.Context, r io.Reader, w io.Writer) error {
	return h.tools.ServeStdio(ctx, r, w, auth.Nobody())
}

// ServeSocket speaks A2E on a unix socket, which it makes, until ctx ends, which cancels the calls. Callers are
// authenticated as the configuration's auth says.
func (h *Host) ServeSocket(ctx context.Context, path string) error {
	ln, err := a2ehost.Listen(path, socketMode)
	if err != nil {
		return err
	}
	return h.socket.ServeSocket(ctx, ln)
}

// Handler is the daemon's HTTP: A2E, MCP, A2A and REST below the paths that they have there. It checks Host, Origin and the content
// type of writes, and who calls, as the configuration says.
func (h *Host) Handler() http.Handler { return h.web }

// ServeHTTPOn answers requests on a listener with [Host.Handler], within the daemon's bounds of time and size, until ctx ends.
// It closes ln.
func (h *Host) ServeHTTPOn(ctx context.Context, ln net.Listener) error {
	addr, ok := ln.Addr().(*net.TCPAddr)
	if ok && !addr.IP.IsLoopback() && h.cfg.Auth.Mode == config.AuthNone {
		return errors.Join(errors.New("embed: auth.mode is none: expected a listener on loopback, or a mode that knows who calls"), ln.Close())
	}
	return rest.Serve(ctx, ln, h.web, h.log)
}

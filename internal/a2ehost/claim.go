package a2ehost

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// errRefused: a handshake's token is not valid, or is another agent's.
var errRefused = errors.New("handshake was refused")

// claim is what a session's peer says that it is. It is looked at for each request anew: a token may have been revoked.
type claim struct {
	shown  auth.Credentials
	header auth.Secret // of the one request, in the place of what was shown; the zero value: none
	agent  string      // of the handshake
}

func (c claim) credentials() auth.Credentials {
	if !c.header.Empty() {
		return auth.Credentials{Bearer: c.header}
	}
	return c.shown
}

// identify finds out who makes a claim. The error is fit to be answered.
func (h *Host) identify(ctx context.Context, c claim) (auth.Identity, *a2e.Error) {
	id := auth.Nobody()
	var err error
	if a := h.opt.Auth; a != nil {
		id, err = a.Authenticate(ctx, c.credentials())
	}
	if err == nil {
		id, err = id.As(c.agent)
	}
	switch {
	case err == nil:
		return id, nil
	case errors.Is(err, auth.ErrMissing), errors.Is(err, auth.ErrRefused), errors.Is(err, auth.ErrAgent):
		return id, a2e.Errorf(a2e.Unauthorized, "%v", err)
	case ctx.Err() != nil:
		return id, a2e.Errorf(a2e.RuntimeError, "cancelled by the caller").Because(a2e.ReasonCancelled)
	}
	h.opt.Log.Error("authenticate", "door", h.opt.Door, "err", err)
	return id, a2e.Errorf(a2e.RuntimeError, "tokens can't be checked at the moment").Because(a2e.ReasonInternal).Transient()
}

// caller is identify for something that wants a scope.
func (s *session) caller(ctx context.Context, c claim, want auth.Scope) (a2e.Caller, *a2e.Error) {
	id, why := s.host.identify(ctx, c)
	if why == nil && !id.May(want) {
		why = a2e.Errorf(a2e.Unauthorized, "%v: it needs %s", auth.ErrScope, want)
	}
	if why != nil {
		return a2e.Caller{}, why
	}
	return id.Caller(s.host.opt.Door), nil
}

// handshake takes the agent, and a token in the place of what the peer is. Without a valid one the session ends. One
// that agrees on no capability changes nothing.
func (s *session) handshake(ctx context.Context, m *a2e.HandshakeRequest) {
	next := s.claim
	next.agent = m.AgentID
	if m.AuthToken != "" {
		next.shown.Bearer, next.header = auth.NewSecret(m.AuthToken), auth.Secret{}
	}
	resp := s.host.welcome(m, s.id)
	id, why := s.host.identify(ctx, next)
	if why == nil && resp.OK && s.owner != nil {
		switch err := s.owner(id, next); {
		case errors.Is(err, errOthers):
			why = a2e.Errorf(a2e.Unauthorized, "%w", err)
		case err != nil:
			why = a2e.Errorf(a2e.RuntimeError, "%w", err)
		}
	}
	if why != nil {
		resp.OK, resp.Reason, resp.AcceptedCaps = false, reasonServer, nil
		if why.Code == a2e.Unauthorized {
			resp.Reason = reasonAuth
		}
		_ = s.send(resp)
		s.hangUp(fmt.Errorf("%w: %s", errRefused, why.Message))
		return
	}
	if resp.OK {
		s.claim = next
	}
	_ = s.send(resp)
}

// peerOf asks the kernel who is at the other end; nil where a connection is no unix socket.
func peerOf(conn net.Conn) (*auth.Peer, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, nil
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	return &auth.Peer{UID: int(cred.Uid), GID: int(cred.Gid)}, nil
}

package auth

import (
	"context"
	"errors"
	"strings"
	"time"
)

// The reasons for which a request has no identity. Their texts are fit to be answered. Any other error means that it could
// not be found out who is calling.
var (
	// ErrMissing: the request shows nothing, where something is wanted.
	ErrMissing = errors.New("a token is required")
	// ErrRefused: the token is malformed, unknown, expired or revoked. Which of these is nobody's business.
	ErrRefused = errors.New("the token is not valid")
	// ErrAgent: the identity is bound to another agent.
	ErrAgent = errors.New("the token belongs to another agent")
	// ErrScope: the identity may not do this.
	ErrScope = errors.New("the token has no scope for this")
)

// Credentials are what a request shows of itself.
type Credentials struct {
	Bearer Secret // the zero value: none
	Peer   *Peer  // the process at the other end of a unix socket; nil: none
}

// Authenticator finds out who is calling. It is asked for each request, so that a token that was revoked ends at once.
type Authenticator interface {
	Authenticate(ctx context.Context, c Credentials) (Identity, error)
}

// Finder finds a token by its digest, or fails with [ErrRefused] where there is none.
type Finder interface {
	FindToken(ctx context.Context, d Digest) (Token, error)
}

// Open authenticates where nobody has to show anything: who comes through a unix socket is known by it, all others are
// [Nobody]. A token that is shown is not looked at.
type Open struct{ Self int } // the user id of this process

// Authenticate implements [Authenticator].
func (o Open) Authenticate(_ context.Context, c Credentials) (Identity, error) {
	if c.Peer != nil {
		return c.Peer.identity(o.Self), nil
	}
	return Nobody(), nil
}

// Keyed authenticates by tokens, and without one by the peer of a unix socket.
type Keyed struct {
	Tokens Finder
	Others Authenticator    // knows what are no tokens of ours; nil: nobody does
	Self   int              // the user id of this process
	Now    func() time.Time // nil: time.Now
}

// Authenticate implements [Authenticator].
func (k Keyed) Authenticate(ctx context.Context, c Credentials) (Identity, error) {
	switch {
	case c.Bearer.Empty() && c.Peer != nil:
		return c.Peer.identity(k.Self), nil
	case c.Bearer.Empty():
		return Identity{}, ErrMissing
	case k.Others != nil && !strings.HasPrefix(c.Bearer.Reveal(), Prefix):
		return k.Others.Authenticate(ctx, c)
	case !c.Bearer.wellFormed():
		return Identity{}, ErrRefused
	}
	t, err := k.Tokens.FindToken(ctx, c.Bearer.Digest())
	if err != nil {
		return Identity{}, err
	}
	now := time.Now
	if k.Now != nil {
		now = k.Now
	}
	if !t.Lives(now()) {
		return Identity{}, ErrRefused
	}
	return t.identity(), nil
}
